package domain_test

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func (c *machine) reserveObject() {
	k := c.keyToCreate()
	intent, takes := c.creation(k)
	req := wire.ObjectReserveRequest{
		Key: k, Intent: intent, Target: c.target(), CreatingPayload: c.payload(), Capacity: takes,
		ReservationID: c.reservationID(), EndedOwner: c.endedOwner(),
	}
	if asked, ok := c.asked[k.GlobalID]; ok && c.once(6) {
		req = asked
	}
	c.asked[k.GlobalID] = req
	r := decide(c, domain.ValidateObjectReserve, domain.ReserveObject, alone(c.m.reserve), &req)
	c.sawReservation(r, req.Key)
}

func (c *machine) placeObject() {
	k := c.keyToCreate()
	intent, takes := c.creation(k)
	req := wire.ObjectPlaceRequest{
		Key: k, Intent: intent, MeshName: pick(c, "play", "play", "play", "lab"), CreatingPayload: c.payload(),
		Capacity: takes, Exclude: c.exclude(), ReservationID: c.reservationID(), EndedOwner: c.endedOwner(),
	}
	if placed, ok := c.places[k.GlobalID]; ok && c.once(6) {
		req = placed
	}
	c.places[k.GlobalID] = req
	seed := domain.Seed{uint64(c.roll(1 << 20)), 1}
	rule := func(tx *kvstore.Tx, req *wire.ObjectPlaceRequest) (*wire.ObjectReserveReply, error) {
		return domain.PlaceObject(tx, req, seed)
	}
	should := func(req *wire.ObjectPlaceRequest, got *wire.ObjectReserveReply) (*wire.ObjectReserveReply, error) {
		return c.m.place(req, got.Target)
	}
	c.sawReservation(decide(c, domain.ValidateObjectPlace, rule, should, &req), req.Key)
}

func (c *machine) sawReservation(r *wire.ObjectReserveReply, k wire.ObjectKey) {
	c.saw(c.op, string(r.Kind), string(r.Reason))
	if r.Kind == wire.KindReserved {
		o := c.m.objects[modelText(k)]
		c.ending[k.GlobalID] = reservation{key: k, id: r.ReservationID, version: o.StoreVersion, target: o.target()}
	}
}

// exclude draws nodes that are not to be chosen.
func (c *machine) exclude() (nodes []wire.Incarnation) {
	for range pick(c, 0, 0, 1, 3) {
		nodes = append(nodes, wire.Incarnation{RID: c.nodeKey().RID, LifecycleGeneration: pick(c, wire.Generation(7), 7, 8)})
	}
	return nodes
}

func (c *machine) commitObject() {
	r := c.toEnd(c.keyIn(wire.AllocationReserved, modelObjects[4:]))
	reply := decide(c, domain.ValidateObjectCommit, domain.CommitObject, alone(c.m.commit), r.commit())
	c.saw(c.op, string(reply.Kind))
}

func (c *machine) abortObject() {
	r := c.toEnd(c.keyIn(wire.AllocationReserved, modelObjects))
	if reply := decide(c, domain.ValidateObjectAbort, domain.AbortObject, alone(c.m.abort), r.abort()); reply != nil {
		c.saw(c.op, string(reply.Kind))
	}
}

func (c *machine) completeCreation() {
	r, t := c.toEnd(c.keyIn(wire.AllocationReserved, modelObjects[:4])), term(uint64(1+c.roll(40)))
	t.OperationDeadline = c.m.now + wire.Instant(pick(c, 10_000, 0, 0, 0, -299_999, -299_999, -299_900, -300_000))
	kind := pick(c, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionRejected, wire.CompletionFailed)
	req := r.complete(kind, t)
	if kind == wire.CompletionCreated && c.once(3) {
		req.Completion.Membership = c.membership()
	}
	if reply := decide(c, domain.ValidateObjectCompleteCreation, domain.CompleteCreation, alone(c.m.complete), req); reply != nil {
		c.saw(c.op, string(reply.Kind))
	}
}

func (c *machine) releaseObject() {
	k := c.keyIn(wire.AllocationReserved, modelObjects)
	req := &wire.ObjectReleaseEndedRequest{Key: k, ExpectedStoreVersion: c.version(k)}
	if r := decide(c, domain.ValidateObjectReleaseEnded, domain.ReleaseEnded, alone(c.m.releaseEnded), req); r != nil {
		c.saw(c.op, string(r.Kind))
	}
}

func (c *machine) compareExchange() {
	k := c.keyIn(wire.AllocationActive, modelObjects)
	c.exchangeBy(k, c.mutation(k))
}

// join lets an actor join a user spot that is there, if there are both.
func (c *machine) join() {
	k, spot := c.keyIn(wire.AllocationActive, modelObjects[:4]), c.keyIn(wire.AllocationActive, modelObjects[4:7])
	m := putOf()
	if o, ok := c.m.objects[modelText(spot)]; ok {
		m.Membership = &wire.Membership{SpotID: spot.GlobalID, SpotGeneration: o.ObjectGeneration, SpotKind: wire.MembershipUser}
	}
	c.exchangeBy(k, m)
}

func (c *machine) exchangeBy(k wire.ObjectKey, m wire.AuthorityMutation) {
	req := &wire.AuthorityCompareExchangeRequest{Key: k, ExpectedStoreVersion: c.version(k), Mutation: m}
	r := decide(c, domain.ValidateAuthorityCompareExchange, domain.CompareExchangeAuthority, alone(c.m.compareExchange), req)
	c.saw(c.op, string(m.Kind), string(r.Kind))
	c.op += " " + string(m.Kind)
}

func (c *machine) mutation(k wire.ObjectKey) wire.AuthorityMutation {
	m := wire.AuthorityMutation{Payload: c.payload(), Kind: pick(c,
		wire.AuthorityPut, wire.AuthorityPut, wire.AuthorityPut, wire.AuthorityPut, wire.AuthorityPut,
		wire.AuthorityRestore, wire.AuthorityRebind, wire.AuthorityRebind, wire.AuthorityReincarnate, wire.AuthorityDelete)}
	expected := c.token()
	if o, ok := c.m.objects[modelText(k)]; ok && !c.once(10) {
		expected = o.token()
	}
	switch m.Kind {
	case wire.AuthorityPut:
		m.GenerationTransition = wire.GenerationPreserve
		m.Phase = pick(c, "", "", wire.PhaseSteady, wire.PhaseSteady, wire.PhaseSteady, wire.PhaseClosing)
		if !k.IsSpot() {
			m.Membership = c.membership()
		}
	case wire.AuthorityRestore:
		m.Phase = pick(c, "", wire.PhaseSteady, wire.PhaseSteady, wire.PhaseRecovering)
		m.ExpectedOwner = &expected
	case wire.AuthorityRebind:
		m.ExpectedOwner, m.TargetOwner = &expected, c.nextToken(expected)
	case wire.AuthorityDelete:
		m.Payload = nil
	}
	return m
}

// nextToken is another token of the same owner, the latest one if possible.
func (c *machine) nextToken(t wire.OwnerToken) *wire.OwnerToken {
	next := c.m.leases[t.OwnerID].token
	if next.OwnerID == "" || next == t {
		next = wire.OwnerToken{OwnerID: t.OwnerID, LeaseGeneration: t.LeaseGeneration&1 + 1}
	}
	return &next
}
