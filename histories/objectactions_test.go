package histories_test

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

var objectActions = []action{
	{subjects.ObjectReserve, 8, true, func(c *caller) any {
		k, ended, ok := c.wanted()
		if !ok {
			return nil
		}
		intent, takes := creation(k)
		return &wire.ObjectReserveRequest{
			Key: k, Intent: intent, Target: c.target(), CreatingPayload: c.tag(), Capacity: takes, ReservationID: c.reservationID(),
			EndedOwner: ended,
		}
	}},
	{subjects.ObjectPlace, 8, true, func(c *caller) any {
		k, ended, ok := c.wanted()
		if !ok {
			return nil
		}
		intent, takes := creation(k)
		return &wire.ObjectPlaceRequest{
			Key: k, Intent: intent, MeshName: mesh, CreatingPayload: c.tag(), Capacity: takes, ReservationID: c.reservationID(),
			EndedOwner: ended,
		}
	}},
	{subjects.ObjectCommit, 10, true, func(c *caller) any {
		k, a := c.being(wire.AllocationReserved)
		if a == nil || !k.IsSpot() {
			return nil
		}
		return &wire.ObjectCommitRequest{
			Key: k, ReservationID: a.PendingCreation.ReservationID, ExpectedStoreVersion: a.StoreVersion, Target: targetOf(a),
			ReadyPayload: c.tag(),
		}
	}},
	{subjects.ObjectCompleteCreation, 10, true, func(c *caller) any {
		k, a := c.being(wire.AllocationReserved)
		if a == nil || k.IsSpot() {
			return nil
		}
		return &wire.ObjectCompleteCreationRequest{
			Key: k, ReservationID: a.PendingCreation.ReservationID, ExpectedStoreVersion: a.StoreVersion, Target: targetOf(a),
			Completion: c.completion(),
		}
	}},
	{subjects.ObjectAbort, 2, true, func(c *caller) any {
		k, a := c.being(wire.AllocationReserved)
		if a == nil {
			return nil
		}
		return &wire.ObjectAbortRequest{
			Key: k, ReservationID: a.PendingCreation.ReservationID, ExpectedStoreVersion: a.StoreVersion, Target: targetOf(a),
		}
	}},
	{subjects.ObjectReleaseEnded, 3, false, func(c *caller) any {
		k, a := c.being(wire.AllocationReserved)
		if a == nil {
			return nil
		}
		return &wire.ObjectReleaseEndedRequest{Key: k, ExpectedStoreVersion: a.StoreVersion}
	}},
	{subjects.ObjectFind, 6, false, func(c *caller) any {
		k := pick(c, objects...)
		if k.IsSpot() {
			return &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: k.GlobalID}
		}
		return &wire.ObjectFindRequest{Kind: wire.LookupActor, GlobalID: k.GlobalID}
	}},
}

var authorityActions = []action{
	{subjects.AuthorityList, 3, false, func(*caller) any { return wholeList }},
	{subjects.AuthorityRead, 8, false, func(c *caller) any { return &wire.AuthorityReadRequest{Key: pick(c, objects...)} }},
	{subjects.AuthorityCompareExchange, 20, true, func(c *caller) any {
		k, a := c.being(wire.AllocationActive)
		if a == nil {
			return nil
		}
		return &wire.AuthorityCompareExchangeRequest{Key: k, ExpectedStoreVersion: a.StoreVersion, Mutation: c.mutation(k, a)}
	}},
}

// wanted is an object that is to be created: mostly one that is believed not to be there, or whose owner may have ended.
func (c *caller) wanted() (k wire.ObjectKey, ended wire.EndedOwner, ok bool) {
	k = pick(c, objects...)
	a := c.board.object(k.Text())
	if a == nil || c.once(10) {
		return k, "", true
	}
	if t, held := c.board.token(a.OwnerID); held && t.LeaseGeneration == a.OwnerLeaseGeneration {
		return k, "", false
	}
	return k, wire.EndedOwnerRelease, c.once(3)
}

// being is an object that is believed to be in a state, and its record.
func (c *caller) being(state wire.AllocationState) (wire.ObjectKey, *wire.Authority) {
	k := pick(c, objects...)
	a := c.board.object(k.Text())
	if a == nil || a.Allocation.State != state {
		return k, nil
	}
	return k, a
}

// creation says what an object becomes and what it takes: actors are heroes, user spots rooms.
func creation(k wire.ObjectKey) (wire.CreationIntent, wire.Capacity) {
	sum := sha256.Sum256(nil)
	intent := wire.CreationIntent{StableType: "hero", RequestContentReference: "none", RequestSHA256: sum[:]}
	if !k.IsSpot() {
		return intent, wire.Capacity{Actors: 1}
	}
	intent.StableType = "room"
	return intent, wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}}
}

// target is mostly a node as it was seen last.
func (c *caller) target() wire.Target {
	for range 4 {
		d := c.board.node(pick(c, nodes...))
		if d == nil {
			continue
		}
		if t, held := c.board.token(d.OwnerID); held && t == d.OwnerToken || c.once(12) {
			return wire.Target{MeshName: mesh, NodeRID: d.RID, NodeLifecycleGeneration: d.LifecycleGeneration, Owner: d.OwnerToken}
		}
	}
	return wire.Target{MeshName: mesh, NodeRID: pick(c, nodes...), NodeLifecycleGeneration: 1, Owner: c.token()}
}

// targetOf is where an object is.
func targetOf(a *wire.Authority) wire.Target {
	return wire.Target{
		MeshName: a.Allocation.Descriptor.MeshName, NodeRID: a.Allocation.Descriptor.RID,
		NodeLifecycleGeneration: a.Allocation.DescriptorLifecycleGeneration, Owner: ownerOf(a),
	}
}

func ownerOf(a *wire.Authority) wire.OwnerToken {
	return wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: a.OwnerLeaseGeneration}
}

func (c *caller) reservationID() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", c.id()) }

// completion ends the creation of an actor in one of the three ways, as an operation of its own.
func (c *caller) completion() wire.Completion {
	envelope := wire.Bytes("done")
	sum := sha256.Sum256(envelope)
	end := wire.Completion{
		Kind: pick(c, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionRejected, wire.CompletionFailed),
		Terminal: wire.Terminal{
			Operation:        wire.OperationKey{SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{Low: wire.U64(c.id())}},
			TerminalEnvelope: envelope, TerminalEnvelopeSHA256: sum[:],
			OperationDeadline: wire.Instant(time.Now().Add(time.Hour).UnixMilli()),
		},
	}
	if end.Kind == wire.CompletionCreated {
		end.ReadyPayload = c.tag()
	}
	return end
}

// mutation changes an active object.
func (c *caller) mutation(k wire.ObjectKey, a *wire.Authority) wire.AuthorityMutation {
	owner := ownerOf(a)
	next, held := c.board.token(a.OwnerID)
	switch n := c.IntN(20); {
	case held && next != owner && n < 14:
		return wire.AuthorityMutation{Kind: wire.AuthorityRebind, Payload: c.tag(), ExpectedOwner: &owner, TargetOwner: &next}
	case n < 10:
		return c.put(k)
	case n < 13:
		return wire.AuthorityMutation{Kind: wire.AuthorityRestore, Payload: c.tag(), ExpectedOwner: &owner, Phase: c.phase()}
	case n < 15:
		return wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: c.tag()}
	default:
		return wire.AuthorityMutation{Kind: wire.AuthorityDelete}
	}
}

func (c *caller) put(k wire.ObjectKey) wire.AuthorityMutation {
	m := wire.AuthorityMutation{
		Kind: wire.AuthorityPut, Payload: c.tag(), GenerationTransition: wire.GenerationPreserve, Phase: c.phase(),
	}
	if !k.IsSpot() && c.once(4) {
		m.Membership = &wire.Membership{SpotID: "gate", SpotGeneration: wire.Generation(1 + c.IntN(3)), SpotKind: wire.MembershipEntry}
	}
	return m
}

// phase is mostly left as it is or set back.
func (c *caller) phase() wire.Phase {
	return pick(c, "", "", wire.PhaseSteady, wire.PhaseSteady, wire.PhaseClosing, wire.PhaseRecovering)
}
