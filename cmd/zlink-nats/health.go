package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// clockText is how far the clock of this machine, where it was that late when it was
// storeNow, is off the store's.
func clockText(storeNow wire.Instant, here time.Time) string {
	off := here.Sub(time.UnixMilli(int64(storeNow))).Round(time.Millisecond)
	switch {
	case off < 0:
		return fmt.Sprintf("this machine is %v behind the store", -off)
	default:
		return fmt.Sprintf("this machine is %v ahead of the store", off)
	}
}

// consumersText is how many read the bucket's stream. An instance that has just started has
// not heard that yet.
func consumersText(s *wire.StatusGetReply) string {
	if s.Server.Consumers == 0 {
		return "not known yet"
	}
	return strconv.Itoa(int(s.Server.Consumers))
}

// lag is how many revisions the pushed changes are behind.
func lag(s *wire.StatusGetReply) wire.Revision { return s.Revision - min(s.Pushed, s.Revision) }

// pushedText is how far changes are pushed.
func pushedText(s *wire.StatusGetReply) string {
	if n := lag(s); n > 0 {
		return fmt.Sprintf("up to revision %d, %d behind", s.Pushed, n)
	}
	return "everything"
}

// aggregatesText is how many aggregates are not done with, and how old they are.
func aggregatesText(s *wire.StatusGetReply) string {
	a := &s.Aggregates
	var parts []string
	for _, part := range []struct {
		n    uint32
		name string
	}{{a.Collecting, "collecting"}, {a.Prepared, "prepared"}, {a.Overdue, "overdue"}, {a.Settling, "not settled yet"}, {a.Unreadable, "unreadable"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.name))
		}
	}
	if parts == nil {
		return "none under way"
	}
	if d := a.OldestDeadline; d != 0 {
		parts = append(parts, "next deadline "+remaining(s.StoreNow, d))
	}
	if a.OldestCommit != 0 {
		parts = append(parts, fmt.Sprintf("oldest commit at revision %d", a.OldestCommit))
	}
	return strings.Join(parts, ", ")
}

// abortTime is within what the service aborts an overdue aggregate.
const abortTime = 5 * time.Second

// checkAggregates looks whether aggregates are left behind.
func checkAggregates(s *wire.StatusGetReply) finding {
	f := finding{Name: "aggregates", State: stateOK, Detail: aggregatesText(s)}
	a := &s.Aggregates
	switch {
	case a.Unreadable > 0:
		f.State = stateFail
		f.Mend = "nobody can tell what they lock or hold: the service's log names their keys (dataLost); restore those rows from a backup of the bucket's stream"
	case a.Overdue > 0 && since(a.OldestDeadline, s.StoreNow) > abortTime:
		f.State = stateWarn
		f.Mend = "the service aborts them within 5 s of their deadline: its log says why it cannot (op=aggregate-sweep); 'zlink-nats explain' on a participant names the aggregate, and aggregate.abort frees it"
	}
	return f
}

// checkRows looks whether there are rows that nobody can read.
func checkRows(s *wire.StatusGetReply) finding {
	f := finding{Name: "rows", State: stateOK, Detail: fmt.Sprintf("%d, all of which can be read", s.Rows)}
	if len(s.Unreadable) > 0 {
		f.State = stateFail
		f.Detail = fmt.Sprintf("%s cannot be read: %s", plural(len(s.Unreadable), "row"), strings.Join(s.Unreadable, ", "))
		f.Mend = "lists and rules that would have to look at them answer dataLost: restore them from a backup of the bucket's stream, or, if nobody misses them, remove each with 'nats kv del BUCKET KEY'"
	}
	return f
}

// manyBehind is more changes than are under way when a service is busy.
const manyBehind = 100_000

// checkPushed looks whether changes are pushed. A little behind is normal under load.
func checkPushed(s *wire.StatusGetReply) finding {
	f := finding{Name: "pushed changes", State: stateOK, Detail: pushedText(s)}
	if lag(s) > manyBehind {
		f.State = stateWarn
		f.Mend = "the service's log says why they are not pushed (op=feed): look at the stream ZLINK_CHANGES and its leader with 'nats stream info ZLINK_CHANGES'; /readyz fails when none are pushed for 5 s"
	}
	return f
}
