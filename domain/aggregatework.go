package domain

import (
	"cmp"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// workRows and workBytes bound one commit of the work after an aggregate has ended,
	// so that it does not stand in the way of callers.
	workRows  = 500
	workBytes = 2 << 20
	// workLook bounds the participants that one looks at, most of which may need nothing.
	workLook = 10_000
)

// AggregateWork lists the aggregates that something is to be done about: those whose
// deadline has passed and those that have ended and are not cleaned. The error is that of
// one that nobody can read; the others follow all the same.
func AggregateWork(v kvstore.View) iter.Seq2[wire.Fence, error] {
	return func(yield func(wire.Fence, error) bool) {
		for value := range v.IndexValues(indexWork, "") {
			if value != unreadableValue && binary.BigEndian.Uint64([]byte(value)) > uint64(v.Now()) {
				return // the index is in the order of deadlines
			}
			for r := range v.Index(indexWork, value) {
				a, err := kvstore.Decoded(r, decodeAggregate)
				if err != nil && !yield(wire.Fence{}, err) || err == nil && !yield(a.Fence, nil) {
					return
				}
			}
		}
	}
}

// Progress is how far the work on an aggregate is. The zero value is the beginning; it
// can begin anew at any time.
type Progress struct {
	settled kvstore.Key // the participants up to this one are settled
	all     bool        // every participant is settled
}

// WorkOnAggregate does the next step about an aggregate, in one commit: it aborts one
// whose deadline has passed, settles participants of a committed one in key order, and
// then, once the events of the commit are out, deletes what was staged. out is the
// revision up to which events are out. done says that nothing is left to do for now.
//
// Reads: the aggregate, its staged data, the participants. Writes: some of these.
// Errors: *kvstore.DataLostError and those of tx.Put.
func WorkOnAggregate(tx *kvstore.Tx, f wire.Fence, at Progress, out kvstore.Revision) (next Progress, done bool, err error) {
	a, err := findAggregate(tx.View, f)
	switch {
	case err != nil || a == nil || a.Cleaned:
		return at, true, err
	case a.Deadline != 0:
		if kvstore.Instant(a.Deadline) > tx.Now() {
			return at, true, nil
		}
		return at, false, a.abort(tx)
	case a.unsettled() && !at.all:
		next, err = a.settle(tx, at)
		return next, false, err
	case a.unsettled() && out < kvstore.Revision(a.Commit):
		return at, true, nil // later
	}
	done, err = a.clean(tx)
	return at, done, err
}

// workRoom is how many more rows the work may write in a commit.
func workRoom(tx *kvstore.Tx) int { return max(0, min(workRows, tx.Limits().CommitRows)-tx.Len()) }

// AggregateStep is what is to be done about an aggregate, and how that went.
type AggregateStep struct {
	Fence wire.Fence
	At    Progress
	Done  bool  // nothing is left to do for now
	Err   error // a *kvstore.DataLostError; the others go on
}

// WorkOnAggregates is [WorkOnAggregate] for several, in one commit, as far as that has
// room: those that find none are not done. out is as in [WorkOnAggregate]. It returns
// the steps as they went, and errors of tx.Put.
func WorkOnAggregates(tx *kvstore.Tx, steps []AggregateStep, out kvstore.Revision) ([]AggregateStep, error) {
	went := make([]AggregateStep, 0, len(steps))
	for _, s := range steps {
		s.Done, s.Err = false, nil
		if workRoom(tx) > 0 {
			s.At, s.Done, s.Err = WorkOnAggregate(tx, s.Fence, s.At, out)
		}
		if _, lost := errors.AsType[*kvstore.DataLostError](s.Err); s.Err != nil && !lost {
			return nil, s.Err
		}
		went = append(went, s)
	}
	return went, nil
}

// settle rewrites participants as they read. It changes nothing for anyone.
func (a *aggregate) settle(tx *kvstore.Tx, at Progress) (next Progress, err error) {
	rows, size, looked := 0, 0, 0
	for k, err := range a.participants(tx.View, at.settled) {
		if err == nil && (workRoom(tx) == 0 || size > workBytes || looked == workLook) {
			return at, nil
		}
		n := 0
		if err == nil {
			n, err = settle(tx, k)
		}
		switch {
		case err != nil && rows > 0:
			return at, nil // those before it are settled; it is met again
		case err != nil:
			return at, err
		case n > 0:
			rows++
		}
		size, looked = size+n, looked+1
		at.settled = k
	}
	at.all = true
	return at, nil
}

// participants lists the authorities of an aggregate that come after one, in key order.
// Nothing of it may be deleted before each of them is settled, so whoever is not on a
// page that is there is looked for among the staged participants.
func (a *aggregate) participants(v kvstore.View, after kvstore.Key) iter.Seq2[kvstore.Key, error] {
	if n, err := a.listed(v); err != nil || n != int(a.Request.ParticipantCount) {
		return a.known(v, after, err)
	}
	return func(yield func(kvstore.Key, error) bool) {
		for r := range v.Scan(indexPrefix(FamilyInventory, a.Fence), "") {
			p, err := kvstore.Decoded(r, decodePage)
			if err != nil {
				yield("", err)
				return
			}
			if last := p.entries[len(p.entries)-1]; last.authority() <= after {
				continue
			}
			for i := range p.entries {
				if k := p.entries[i].authority(); k > after && !yield(k, nil) {
					return
				}
			}
		}
	}
}

// listed counts the authorities on the pages of an aggregate's inventory.
func (a *aggregate) listed(v kvstore.View) (n int, err error) {
	for r := range v.Scan(indexPrefix(FamilyInventory, a.Fence), "") {
		p, err := kvstore.Decoded(r, decodePage)
		if err != nil {
			return 0, err
		}
		n += len(p.entries)
	}
	return n, nil
}

// known is participants when pages are missing or, as the error says, lost.
func (a *aggregate) known(v kvstore.View, after kvstore.Key, lost error) iter.Seq2[kvstore.Key, error] {
	return func(yield func(kvstore.Key, error) bool) {
		keys := participantKeys(v.State(), a.Fence)
		if len(keys) != int(a.Request.ParticipantCount) {
			yield("", cmp.Or(lost, errIncomplete(a.Fence)))
			return
		}
		for _, k := range sortedKeys(keys) {
			if k > after && !yield(k, nil) {
				return
			}
		}
	}
}

// settle rewrites an authority that reads otherwise than it is stored, and returns the
// size of its payload, at least 1; 0 when there is nothing to rewrite.
func settle(tx *kvstore.Tx, k kvstore.Key) (size int, err error) {
	r := tx.Row(k)
	if r == nil || r.Over == nil || tx.Wrote(k) { // for another aggregate, in the same commit
		return 0, nil
	}
	a, err := decodeAuthority(r)
	if err != nil {
		return 0, err
	}
	record := a.authorityRecord
	record.VisibleRevision = wire.Revision(r.Revision)
	_, err = record.store(tx)
	return 1 + len(record.Payload), err
}

// clean deletes what was staged, as much as fits into a commit; done says that it was
// all, and that the aggregate is marked as cleaned. When it is not all, the aggregate is
// marked as settled: whoever goes on must not miss what is deleted already.
func (a *aggregate) clean(tx *kvstore.Tx) (done bool, err error) {
	room := workRoom(tx) - 1 // but for the aggregate
	if room < 1 {
		return false, nil
	}
	for _, family := range []string{FamilyParticipant, FamilyInventory} {
		for r := range tx.Scan(indexPrefix(family, a.Fence), "") {
			if room == 0 {
				return false, a.settled(tx)
			}
			if _, err := tx.Delete(r.Key); err != nil {
				return false, err
			}
			room--
		}
	}
	cleaned := &aggregate{aggregateRecord: a.aggregateRecord}
	cleaned.Settled, cleaned.Cleaned = false, true
	return true, cleaned.put(tx)
}

// settled marks an aggregate that is committed as settled.
func (a *aggregate) settled(tx *kvstore.Tx) error {
	if !a.unsettled() {
		return nil
	}
	settled := &aggregate{aggregateRecord: a.aggregateRecord}
	settled.Settled = true
	return settled.put(tx)
}
