package domain

import (
	"errors"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// CommitAggregate changes all participants of a prepared aggregate at once, by one row:
// from its revision on they read as changed.
//
// Reads: the aggregate, its staged data, the participants, the target's descriptor and
// lease, the leases of preserve owners, the user spots that members change to with their
// owners' leases. Writes: the aggregate. Answers committed, alreadyCommitted, stale or
// generationExhausted. Errors: *kvstore.DataLostError and those of tx.Put.
func CommitAggregate(tx *kvstore.Tx, req *wire.AggregateCommitRequest) (*wire.AggregateCommitReply, error) {
	a, err := findAggregate(tx.View, req.Fence)
	switch {
	case err != nil:
		return nil, err
	case a.is(wire.AggregateCommitted):
		return &wire.AggregateCommitReply{Kind: wire.KindAlreadyCommitted}, nil
	case !a.is(wire.AggregatePrepared):
		return &wire.AggregateCommitReply{Kind: wire.KindStale}, nil
	}
	p, err := a.planIn(tx.View)
	if err != nil {
		return nil, err
	}
	ok, err := a.mayCommit(tx.View, p)
	if err != nil {
		return nil, err
	}
	if !ok {
		return &wire.AggregateCommitReply{Kind: wire.KindStale}, nil
	}
	next, err := tx.Next()
	if err != nil {
		return &wire.AggregateCommitReply{Kind: wire.KindGenerationExhausted}, nil
	}
	committed := &aggregate{aggregateRecord: a.aggregateRecord}
	committed.State, committed.Deadline, committed.Commit = wire.AggregateCommitted, 0, wire.Revision(next)
	committed.plan.Store(p)
	committed.checked = true
	return &wire.AggregateCommitReply{Kind: wire.KindCommitted}, committed.put(tx)
}

// PlanCommit does the part of CommitAggregate that takes time when the aggregate was
// prepared by another instance or in an earlier life, outside of a transaction: what it
// finds is used if it still holds inside. Errors are met again there.
func PlanCommit(v kvstore.View, f wire.Fence) {
	a, err := findAggregate(v, f)
	if err == nil && a.is(wire.AggregatePrepared) {
		_, _ = a.planIn(v)
	}
}

// mayCommit tells whether what a prepared aggregate depends on still holds.
func (a *aggregate) mayCommit(v kvstore.View, p *plan) (bool, error) {
	node, err := liveTarget(v, a.Request.Target)
	if err != nil || node == nil {
		return false, err
	}
	if ok, err := p.liveOwners(v); err != nil || !ok {
		return false, err
	}
	return p.accepted(v)
}

// planIn returns the plan of a prepared aggregate, checked against the rows: the one that
// is known if they are the same, else a new one. Locked participants cannot change, so
// everything that does not fit is lost data.
func (a *aggregate) planIn(v kvstore.View) (*plan, error) {
	if p := a.plan.Load(); p != nil && p.holds(v, a.Fence) {
		return p, nil
	}
	inv, complete, err := readInventory(v, a.Fence)
	if err != nil {
		return nil, err
	}
	err = inv.isOf(a.Request)
	if err == nil && (!complete || !inv.ascending()) {
		err = errors.New("inventory with a gap")
	}
	if err != nil {
		return nil, &kvstore.DataLostError{Key: AggregateKey(a.Fence), Cause: err}
	}
	pl := newPlanner(v, a.Fence, a.Request.Target, inv)
	switch ok, err := pl.run(); {
	case err != nil:
		return nil, err
	case !ok:
		changed := inv.staged[len(pl.plan.participants)]
		return nil, errChanged(changed.authority(), a.Fence)
	}
	a.plan.Store(pl.plan)
	return pl.plan, nil
}

// AbortAggregate undoes an aggregate that is not committed: its participants are
// unlocked, and its headroom is free.
//
// Reads and writes: the aggregate. Answers aborted, alreadyAborted or stale. Errors:
// *kvstore.DataLostError and those of tx.Put.
func AbortAggregate(tx *kvstore.Tx, req *wire.AggregateAbortRequest) (*wire.AggregateAbortReply, error) {
	a, err := findAggregate(tx.View, req.Fence)
	switch {
	case err != nil:
		return nil, err
	case a.is(wire.AggregateAborted):
		return &wire.AggregateAbortReply{Kind: wire.KindAlreadyAborted}, nil
	case a == nil || a.is(wire.AggregateCommitted):
		return &wire.AggregateAbortReply{Kind: wire.KindStale}, nil
	}
	return &wire.AggregateAbortReply{Kind: wire.KindAborted}, a.abort(tx)
}

func (a *aggregate) abort(tx *kvstore.Tx) error {
	aborted := &aggregate{aggregateRecord: a.aggregateRecord}
	aborted.State, aborted.Deadline = wire.AggregateAborted, 0
	return aborted.put(tx)
}
