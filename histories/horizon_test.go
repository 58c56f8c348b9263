package histories_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// never is when a call of unknown outcome has certainly come to its end of which nothing is known.
const never = time.Duration(math.MaxInt64)

// horizon tells when somebody was first told of a revision or a later one: what happened up to that revision had happened then.
// It keeps the search for an order short, which would try each call of unknown outcome at every later place.
type horizon struct {
	told []*call // in the order of their revisions
	// first is when, of the calls from here on, the first returned.
	first []time.Duration
}

func newHorizon(calls []*call) *horizon {
	h := &horizon{told: slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return c.outcome != answered })}
	slices.SortFunc(h.told, func(a, b *call) int { return cmp.Compare(a.revision, b.revision) })
	h.first = make([]time.Duration, len(h.told)+1)
	h.first[len(h.told)] = never
	for i, c := range slices.Backward(h.told) {
		h.first[i] = min(h.first[i+1], c.returned)
	}
	return h
}

// of is when everything up to a revision had happened.
func (h *horizon) of(revision uint64) time.Duration {
	i, _ := slices.BinarySearchFunc(h.told, revision, func(c *call, r uint64) int { return cmp.Compare(c.revision, r) })
	return h.first[i]
}

// draw notes of each call of unknown outcome until when it can have had an effect: it made one of the changes that it may have
// made, or none; and an aggregate is prepared or aborted, as far as its participants are concerned, before one of them changes.
func (h *horizon) draw(calls []*call, events []*event) {
	for _, c := range calls {
		c.until, c.untilEnded = never, never
		if c.outcome == answered {
			continue
		}
		if n := len(c.maybe); n > 0 {
			c.until = h.of(c.maybe[n-1].revision)
		} else if c.group != nil {
			c.until = h.of(c.group.changedAt(events))
		}
		if c.group != nil {
			c.untilEnded = c.group.endedBy(h.told)
		}
	}
}

// changedAt is the first revision at which a participant is no longer as it must be to be prepared.
func (g *group) changedAt(events []*event) uint64 {
	for _, e := range events { // ascending
		if p := g.participant(e.key); p != nil && e.kind == wire.EventAuthority && e.revision > versionOf(p.ExpectedStoreVersion) {
			return e.revision
		}
	}
	return math.MaxUint64
}

// endedBy is when somebody was first told that the aggregate has ended: nothing becomes of it after that.
func (g *group) endedBy(told []*call) time.Duration {
	first := never
	for _, c := range told {
		ends := c.op == subjects.AggregateCommit || c.op == subjects.AggregateAbort
		if c.group == g && ends && c.said() != string(wire.KindStale) {
			first = min(first, c.returned)
		}
	}
	return first
}
