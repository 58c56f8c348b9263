package domain_test

import (
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// mayStage tells whether commands of several commits can be carried out to their end.
func (c *machine) mayStage() bool {
	const revisions = 16 // more than any has
	return c.m.rows >= modelMoveRows && kvstore.MaxRevision-c.m.revision >= revisions
}

// written takes over how far the store has come in commits of which nobody says how many
// rows they have.
func (c *machine) written() { c.m.revision = c.view().Revision() }

// decideSteps is decide for a rule of several commits.
func decideSteps[Q, B, R any](c *machine, validate func(*Q) error, bind func(*Q) (*B, error), rule func(*kvstore.Tx, *B) (*R, error),
	should func(*Q) (*R, error), req *Q,
) *R {
	c.t.Helper()
	got, err := steps(c.world, validate, bind, rule, req)
	wanted, wantErr := should(req)
	if err != nil || wantErr != nil {
		c.t.Fatalf("%s %+v: error %v, want %v", c.op, req, err, wantErr)
	}
	c.same(req, got, wanted)
	return got
}

func (c *machine) fence() wire.Fence {
	return wire.Fence{AggregateID: pick(c, "f", "g", "h"), AggregateGeneration: pick(c, wire.Generation(1), 1, 2)}
}

// fenceIn is mostly that of an aggregate in one of some states.
func (c *machine) fenceIn(states ...wire.AggregateState) wire.Fence {
	var found []wire.Fence
	for f, a := range c.m.aggregates {
		if slices.Contains(states, a.state) {
			found = append(found, f)
		}
	}
	if len(found) == 0 || c.once(5) {
		return c.fence()
	}
	slices.SortFunc(found, func(a, b wire.Fence) int {
		return strings.Compare(a.AggregateID, b.AggregateID)*2 + int(a.AggregateGeneration) - int(b.AggregateGeneration)
	})
	return pick(c, found...)
}

// newFence is that of an aggregate that nobody knows, if possible.
func (c *machine) newFence() wire.Fence {
	for range 4 {
		if f := c.fence(); c.m.aggregate(f) == nil {
			return f
		}
	}
	f := c.fence()
	if !c.once(3) {
		f.AggregateGeneration = wire.Generation(c.m.revision)
	}
	return f
}

// participants are a few objects, mostly ones that can take part, in key order.
func (c *machine) participants() (all []wire.AggregateParticipant) {
	ids := pick(c, modelObjects, modelObjects[:4], modelObjects[4:7], modelObjects[4:7])
	seen := make(map[string]bool)
	for range 1 + c.roll(4) {
		k := c.keyIn(wire.AllocationActive, ids)
		if seen[k.GlobalID] {
			continue
		}
		seen[k.GlobalID] = true
		p := wire.AggregateParticipant{
			AuthorityKey: k, ExpectedStoreVersion: c.version(k), AuthorityPayload: c.payload(), MembershipMutation: c.payload(),
			OwnerTransition: pick(c, wire.OwnerNew, wire.OwnerNew, wire.OwnerPreserve),
		}
		if !k.IsSpot() && c.once(3) {
			p.Membership = c.membership()
		}
		all = append(all, p)
	}
	return inKeyOrder(all...)
}

func (c *machine) stageParticipants() {
	req := &wire.AggregateStageRequest{Fence: c.fenceIn(wire.AggregateCollecting), StartIndex: pick(c, uint32(0), 0, 1, 2), Participants: c.participants()}
	switch a := c.m.aggregate(req.Fence); {
	case !c.mayStage(): // but one, so that something can be prepared once there is no revision left
		if c.m.rows < modelMoveRows || kvstore.MaxRevision-c.m.revision < 3 {
			return
		}
		req.Fence, req.StartIndex, req.Participants = c.newFence(), 0, req.Participants[:1]
	case a != nil && len(a.participants()) > 0 && c.once(3): // what is staged, once more
		req.StartIndex, req.Participants = 0, a.participants()[:1]
	}
	r := decideSteps(c, domain.ValidateAggregateStage, domain.NewStaging, domain.StageAggregate, c.m.stage, req)
	if r.Kind == wire.KindStaged {
		c.written()
	}
	c.saw(c.op, string(r.Kind))
}

func (c *machine) prepareAggregate() {
	req := c.preparation()
	c.moves[req.Fence] = *req
	bind := func(req *wire.AggregatePrepareRequest) (*domain.Preparation, error) {
		p, err := domain.NewPreparation(req)
		if err == nil && c.once(2) {
			domain.PlanPreparation(c.earlier, p) // what has changed since must be noticed
		}
		return p, err
	}
	reply := decideSteps(c, domain.ValidateAggregatePrepare, bind, domain.PrepareAggregate,
		func(req *wire.AggregatePrepareRequest) (*wire.AggregatePrepareReply, error) {
			after := c.view().Revision()
			return c.m.prepare(req, func() { c.m.revision = after - kvstore.Revision(one(c.isPrepared(req.Fence))) })
		}, req)
	c.saw(c.op, string(reply.Kind))
}

// preparation is a new request, or one that was sent before, or almost.
func (c *machine) preparation() *wire.AggregatePrepareRequest {
	f := c.fenceIn(wire.AggregatePrepared, wire.AggregateCommitted, wire.AggregateAborted)
	if again, ok := c.moves[f]; ok && c.once(5) && (c.m.aggregate(f) != nil || c.mayStage()) {
		if c.once(4) {
			again.InventoryDigest = digestOf("3")
		}
		return &again
	}
	t := c.target()
	req := &wire.AggregatePrepareRequest{
		Fence: c.newFence(), Participants: c.participants(),
		InventoryDigest: digestOf(pick(c, "1", "2")), TargetDescriptor: t.Node(),
		TargetDescriptorLifecycleGeneration: t.NodeLifecycleGeneration, TargetOwner: t.Owner, PrepareTTL: pick(c, wire.Millis(0), 0, 0, 0, 1, 100),
	}
	all := req.Participants
	if !c.mayStage() || c.once(3) { // of what is staged
		req.Fence, req.Participants, req.ParticipantCount = c.fenceIn(wire.AggregateCollecting), nil, 1
		if a := c.m.aggregate(req.Fence); a != nil && len(a.staged) > 0 {
			all, req.ParticipantCount = a.participants(), uint32(len(a.staged))
		}
	}
	req.Capacity = c.capacityOf(req, all)
	return req
}

// isPrepared tells whether the store has an aggregate that is prepared.
func (c *machine) isPrepared(f wire.Fence) bool {
	r := c.view().Row(domain.AggregateKey(f))
	if r == nil {
		return false
	}
	_, _, prepared, err := domain.HeadroomOf(r)
	return err == nil && prepared
}

// capacityOf is mostly what the participants take that move.
func (c *machine) capacityOf(req *wire.AggregatePrepareRequest, all []wire.AggregateParticipant) wire.Capacity {
	all = slices.DeleteFunc(slices.Clone(all), func(p wire.AggregateParticipant) bool {
		_, ok := c.m.objects[modelText(p.AuthorityKey)]
		return !ok
	})
	sum, _, ok := c.m.sums(req, all)
	if !ok || c.once(12) {
		return pick(c, wire.Capacity{}, actorCapacity, roomCapacity)
	}
	takes := sum.Capacity
	for name, n := range sum.types {
		kind, stableType, _ := strings.Cut(name, " ")
		takes.SpotType = &wire.SpotCapacity{ObjectKind: wire.SpotObjectKind(kind), StableType: stableType, Count: n}
	}
	return takes
}

func (c *machine) commitAggregates() {
	req := &wire.AggregateCommitRequest{Fence: c.fenceIn(wire.AggregatePrepared)}
	if c.once(2) {
		domain.PlanCommit(c.earlier, req.Fence)
	}
	r := decide(c, domain.ValidateAggregateCommit, domain.CommitAggregate, alone(c.m.commitAggregate), req)
	c.saw(c.op, string(r.Kind))
}

func (c *machine) abortAggregates() {
	req := &wire.AggregateAbortRequest{Fence: c.fenceIn(wire.AggregatePrepared, wire.AggregateCollecting)}
	if r := decide(c, domain.ValidateAggregateAbort, domain.AbortAggregate, alone(c.m.abortAggregate), req); r != nil {
		c.saw(c.op, string(r.Kind))
	}
}

// workOnAggregates does what is due about one aggregate, or only its first step.
func (c *machine) workOnAggregates() {
	if !c.mayStage() {
		return
	}
	f := c.fenceIn(wire.AggregateCommitted, wire.AggregateAborted, wire.AggregatePrepared, wire.AggregateCollecting)
	a := c.m.aggregate(f)
	if a != nil && a.state == wire.AggregateCommitted && c.once(3) {
		err := c.update(func(tx *kvstore.Tx) error {
			_, _, err := domain.WorkOnAggregate(tx, f, domain.Progress{}, 0)
			return err
		})
		if err != nil {
			c.t.Fatal(err)
		}
		c.written()
		c.saw(c.op, "in part")
		return
	}
	out := !c.once(3)
	upTo := kvstore.MaxRevision
	if !out {
		upTo = 0
	}
	c.workOn(f, upTo)
	c.m.work(f, out)
	c.written()
	c.saw(c.op, "all")
}

func (c *machine) findAggregate() {
	req := &wire.AggregateFindRequest{Key: c.keyIn(wire.AllocationActive, modelObjects)}
	r := read(c.world, domain.FindAggregate, req)
	switch should := c.m.findAggregate(req); {
	case should != nil:
		c.same(req, r, should)
		c.saw(c.op, "prepared")
	case r.Kind == wire.KindFound && r.Aggregate.State != wire.AggregateCommitted:
		c.t.Fatalf("%s %+v: %+v, want no aggregate that is not committed", c.op, req, r)
	case r.Kind == wire.KindFound:
		c.saw(c.op, "committed")
	default:
		c.saw(c.op, string(r.Kind))
	}
}
