package domain

import (
	"bytes"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Preparation is a request to prepare an aggregate, as its commits need it.
type Preparation struct {
	req *wire.AggregatePrepareRequest
	// staging is that of inline participants; nil if they are staged.
	staging *Staging
	count   uint32
	digest  []byte // over the entries of inline participants
	// made is the plan as PlanPreparation made it; nil if it did not.
	made *planner
}

// NewPreparation makes the preparation of a checked request. The only error is text that
// is not UTF-8.
func NewPreparation(req *wire.AggregatePrepareRequest) (*Preparation, error) {
	p := &Preparation{req: req, count: req.ParticipantCount}
	if req.Participants == nil {
		return p, nil
	}
	s, err := newStaging(req.Fence, 0, req.Participants)
	if err != nil {
		return nil, err
	}
	p.staging, p.count, p.digest = s, uint32(len(s.participants)), inventoryDigest(s.participants)
	return p, nil
}

// PrepareAggregate locks the participants of an aggregate and reserves room on the
// target node. Inline participants are staged first, in commits of their own: a nil reply
// says that there is more to do, for the next call.
//
// Reads: the aggregate, its staged data, the target's descriptor and lease, the
// participants, the aggregates they are in, the leases of preserve owners, the user spots
// that members change to with their owners' leases, and the usage of the target node.
// Writes: the aggregate; before that what staging writes. Answers prepared,
// alreadyPrepared, conflict, stale or generationExhausted. Errors: *kvstore.DataLostError
// and those of tx.Put.
func PrepareAggregate(tx *kvstore.Tx, p *Preparation) (*wire.AggregatePrepareReply, error) {
	a, err := findAggregate(tx.View, p.req.Fence)
	if err != nil {
		return nil, err
	}
	if kind := p.known(a); kind != "" {
		return p.reply(kind), nil
	}
	if p.staging != nil {
		missing, ok, err := p.staging.missing(tx.View)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return p.reply(wire.KindConflict), nil
		case len(missing) > 0:
			return p.stage(tx, missing)
		}
	}
	return p.prepare(tx)
}

// stage stores some of the inline participants; there is more to do then.
func (p *Preparation) stage(tx *kvstore.Tx, missing []int) (*wire.AggregatePrepareReply, error) {
	runs, rows := p.staging.runs(missing, tx.Limits())
	if !revisionsLeft(tx, rows) {
		return p.reply(wire.KindGenerationExhausted), nil
	}
	return nil, p.staging.store(tx, runs)
}

// known is what the aggregate's state alone answers; empty if it may be prepared.
func (p *Preparation) known(a *aggregate) wire.Kind {
	switch {
	case a == nil || a.is(wire.AggregateCollecting):
		return ""
	case a.Request == nil, !p.repeats(a.Request):
		return wire.KindConflict
	case a.is(wire.AggregatePrepared):
		return wire.KindAlreadyPrepared
	case a.is(wire.AggregateCommitted):
		return wire.KindStale
	}
	return wire.KindConflict
}

// repeats tells whether an aggregate was prepared with the same request.
func (p *Preparation) repeats(r *aggregateRequest) bool {
	return r.ParticipantCount == p.count && bytes.Equal(r.InventoryDigest, p.req.InventoryDigest) &&
		r.Target == p.req.Target() && sameCapacity(r.Capacity, p.req.Capacity) &&
		(p.digest == nil || bytes.Equal(r.EntriesSHA256, p.digest))
}

func (p *Preparation) reply(kind wire.Kind) *wire.AggregatePrepareReply {
	r := &wire.AggregatePrepareReply{Kind: kind}
	if kind == wire.KindPrepared || kind == wire.KindAlreadyPrepared {
		r.Fence = &p.req.Fence
	}
	return r
}

// prepare decides, once everything is staged.
func (p *Preparation) prepare(tx *kvstore.Tx) (*wire.AggregatePrepareReply, error) {
	conflict := p.reply(wire.KindConflict)
	pl := p.made
	if pl == nil || !pl.holds(tx.View) {
		var err error
		if pl, err = p.plan(tx.View); err != nil {
			return nil, err
		}
	}
	if pl == nil {
		return conflict, nil
	}
	if ok, err := p.qualifies(tx.View, pl); err != nil || !ok {
		return conflict, err
	}
	if _, err := tx.Next(); err != nil {
		return p.reply(wire.KindGenerationExhausted), nil
	}
	return p.reply(wire.KindPrepared), p.aggregate(tx, pl).put(tx)
}

// PlanPreparation does the part of PrepareAggregate that takes time, outside of a
// transaction: what it finds is used if it still holds inside. Errors are met again there.
func PlanPreparation(v kvstore.View, p *Preparation) {
	a, err := findAggregate(v, p.req.Fence)
	if err != nil || p.known(a) != "" {
		return
	}
	if pl, err := p.plan(v); err == nil {
		p.made = pl
	}
}

// plan takes in what is staged; nil when that does not make an aggregate.
func (p *Preparation) plan(v kvstore.View) (*planner, error) {
	if v.Sum(stagedSum(p.req.Fence)) != int64(p.count) {
		return nil, nil
	}
	inv, complete, err := readInventory(v, p.req.Fence)
	if err != nil || !complete || len(inv.entries) != int(p.count) || !inv.ascending() {
		return nil, err
	}
	pl := newPlanner(v, p.req.Fence, p.req.Target(), inv)
	if ok, err := pl.run(); err != nil || !ok {
		return nil, err
	}
	return pl, nil
}

// qualifies tells whether nothing else stands against the aggregate.
func (p *Preparation) qualifies(v kvstore.View, pl *planner) (bool, error) {
	node, err := liveTarget(v, p.req.Target())
	if err != nil || node == nil {
		return false, err
	}
	if ok, err := pl.plan.liveOwners(v); err != nil || !ok {
		return false, err
	}
	if ok, err := pl.plan.accepted(v); err != nil || !ok {
		return false, err
	}
	if !pl.sumsTo(p.req.Capacity) {
		return false, nil
	}
	return hasRoom(v, node, pl.headroomOf(), nil)
}

// sumsTo tells whether the vectors of the newOwner participants add up to one. Those of
// different types of spots have no sum.
func (p *planner) sumsTo(c wire.Capacity) bool {
	if len(p.types) > 1 {
		return false
	}
	wanted := make(vector)
	wanted.add(c)
	if len(wanted) != len(p.sum) {
		return false
	}
	for what, n := range wanted {
		if p.sum[what] != n {
			return false
		}
	}
	return true
}

// headroomOf is the headroom as a capacity vector. Its counts are at most those of the
// request.
func (p *planner) headroomOf() wire.Capacity {
	c := wire.Capacity{Actors: uint32(p.headroom[countActors]), Spots: uint32(p.headroom[countSpots])}
	for what, n := range p.headroom {
		if what != countActors && what != countSpots {
			c.SpotType = &wire.SpotCapacity{
				ObjectKind: wire.SpotObjectKind(what.kind), StableType: what.stableType, Count: uint32(n),
			}
		}
	}
	return c
}

// aggregate is what is stored.
func (p *Preparation) aggregate(tx *kvstore.Tx, pl *planner) *aggregate {
	ttl := p.req.PrepareTTL
	if ttl == 0 {
		ttl = defaultPrepareTTL
	}
	inv := pl.plan.inventory
	a := &aggregate{aggregateRecord: aggregateRecord{
		Fence: p.req.Fence, State: wire.AggregatePrepared, Deadline: wire.Instant(tx.Now()) + wire.Instant(ttl),
		Request: &aggregateRequest{
			ParticipantCount: p.count, PageCount: uint32(len(inv.pages)),
			PagesSHA256: inv.pagesSHA256(), EntriesSHA256: pl.entriesSHA256, InventoryDigest: p.req.InventoryDigest,
			Target: p.req.Target(), Capacity: p.req.Capacity, Headroom: pl.headroomOf(),
		},
	}}
	a.plan.Store(pl.plan)
	return a
}
