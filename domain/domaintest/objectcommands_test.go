package domaintest_test

import (
	"crypto/sha256"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// objectCommands are the operations on leases, objects and placement, each as often as
// its weight says.
var objectCommands = []weighed{
	{8, (*client).claimLease},
	{2, (*client).renewLease},
	{1, (*client).releaseLease},
	{1, (*client).readLease},
	{12, (*client).reserveObject},
	{12, (*client).placeObject},
	{10, (*client).commitObject},
	{4, (*client).abortObject},
	{10, (*client).completeCreation},
	{3, (*client).releaseObject},
	{14, (*client).compareExchange},
	{8, (*client).join},
	{2, (*client).readObject},
	{1, (*client).listAuthorities},
	{2, (*client).readTerminal},
	{2, (*client).findObject},
	{2, (*client).listObjects},
	{2, (*client).awaitObject},
	{3, (*client).selectNode},
}

func (c *client) claimLease() command {
	return changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease, &wire.LeaseClaimRequest{
		OwnerID: pick(c, owners...), TTL: pick(c, wire.Millis(50), 5_000, 1_000_000, 1_000_000, 1_000_000), ClaimID: pick(c, "", "c1", "c2"),
	})
}

func (c *client) renewLease() command {
	return changing("lease.renew", domain.ValidateLeaseRenew, domain.RenewLease, &wire.LeaseRenewRequest{
		Token: c.token(), TTL: pick(c, wire.Millis(50), 1_000_000, 1_000_000, 1_000_000),
	})
}

func (c *client) releaseLease() command {
	return changing("lease.release", domain.ValidateLeaseRelease, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: c.token()})
}

func (c *client) readLease() command {
	return asking("lease.read", domain.ValidateLeaseRead, domain.ReadLease, &wire.LeaseReadRequest{OwnerID: pick(c, owners...)})
}

// keyToCreate is that of any object; often of one that is there.
func (c *client) keyToCreate() wire.ObjectKey {
	if c.once(3) {
		return c.key(wire.AllocationActive, objects...)
	}
	return c.key("", objects...)
}

func (c *client) endedOwner() wire.EndedOwner {
	return pick(c, "", wire.EndedOwnerKeep, wire.EndedOwnerRelease, wire.EndedOwnerRelease)
}

func (c *client) reserveObject() command {
	k := c.keyToCreate()
	intent, takes := c.creation(k)
	req := wire.ObjectReserveRequest{
		Key: k, Intent: intent, Target: c.target(), CreatingPayload: c.payload(), Capacity: takes,
		ReservationID: c.reservationID(), EndedOwner: c.endedOwner(),
	}
	if before, ok := c.asked[k.Text()]; ok && c.once(5) {
		req = before
	}
	c.asked[k.Text()] = req
	return changing("object.reserve", domain.ValidateObjectReserve, domain.ReserveObject, &req)
}

func (c *client) placeObject() command {
	k := c.keyToCreate()
	intent, takes := c.creation(k)
	req := wire.ObjectPlaceRequest{
		Key: k, Intent: intent, MeshName: pick(c, "play", "play", "play", "lab"), CreatingPayload: c.payload(), Capacity: takes,
		Exclude: c.exclude(), ReservationID: c.reservationID(), EndedOwner: c.endedOwner(),
	}
	if before, ok := c.placed[k.Text()]; ok && c.once(5) {
		req = before
	}
	c.placed[k.Text()] = req
	return placing(&req, c.seed())
}

func placing(req *wire.ObjectPlaceRequest, seed domain.Seed) command {
	return changing("object.place", domain.ValidateObjectPlace,
		func(tx *kvstore.Tx, req *wire.ObjectPlaceRequest) (*wire.ObjectReserveReply, error) {
			return domain.PlaceObject(tx, req, seed)
		}, req)
}

func (c *client) exclude() (list []wire.Incarnation) {
	for range pick(c, 0, 0, 0, 1, 4) {
		list = append(list, wire.Incarnation{RID: pick(c, nodes...).RID, LifecycleGeneration: 7})
	}
	return list
}

func (c *client) commitObject() command {
	k := c.key(wire.AllocationReserved, objects[4:]...)
	if c.needless(k) {
		return c.placeObject()
	}
	return committing(c.toEnd(k), c.payload())
}

// needless tells of most requests about an object that is not there.
func (c *client) needless(k wire.ObjectKey) bool { return c.object(k) == nil && !c.once(6) }

func committing(r reservation, payload wire.Bytes) command {
	return changing("object.commit", domain.ValidateObjectCommit, domain.CommitObject, &wire.ObjectCommitRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, ReadyPayload: payload,
	})
}

func (c *client) abortObject() command {
	state := pick(c, wire.AllocationReserved, wire.AllocationReserved, "")
	r := c.toEnd(c.key(state, objects...))
	return changing("object.abort", domain.ValidateObjectAbort, domain.AbortObject, &wire.ObjectAbortRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target,
	})
}

func (c *client) completeCreation() command {
	k := c.key(wire.AllocationReserved, objects[:4]...)
	if c.needless(k) {
		return c.reserveObject()
	}
	done := wire.Completion{
		Kind:     pick(c, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionCreated, wire.CompletionRejected, wire.CompletionFailed),
		Terminal: terminal(c.operation(), wire.Instant(c.view.Now())+wire.Instant(pick(c, 10_000, 10_000, 10_000, 10_000, 10_000, 0, -299_990, -300_000))),
	}
	if done.Kind == wire.CompletionCreated {
		done.ReadyPayload, done.Membership = c.payload(), c.membership()
	}
	return completing(c.toEnd(k), done)
}

func terminal(o wire.OperationKey, deadline wire.Instant) wire.Terminal {
	digest := sha256.Sum256([]byte("done"))
	return wire.Terminal{
		Operation: o, TerminalEnvelope: wire.Bytes("done"), TerminalEnvelopeSHA256: digest[:], OperationDeadline: deadline,
	}
}

func completing(r reservation, done wire.Completion) command {
	return changing("object.complete-creation", domain.ValidateObjectCompleteCreation, domain.CompleteCreation,
		&wire.ObjectCompleteCreationRequest{
			Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, Completion: done,
		})
}

func (c *client) releaseObject() command {
	k := c.key(wire.AllocationReserved, objects...)
	return changing("object.release-ended", domain.ValidateObjectReleaseEnded, domain.ReleaseEnded,
		&wire.ObjectReleaseEndedRequest{Key: k, ExpectedStoreVersion: c.version(k)})
}

func (c *client) compareExchange() command {
	k := c.key(wire.AllocationActive, objects...)
	if c.needless(k) {
		return c.placeObject()
	}
	return c.exchange(k, c.mutation(k))
}

// join lets an actor join a user spot.
func (c *client) join() command {
	k := c.key(wire.AllocationActive, objects[:4]...)
	if c.needless(k) {
		return c.reserveObject()
	}
	return c.exchange(k, wire.AuthorityMutation{
		Kind: wire.AuthorityPut, Payload: c.payload(), GenerationTransition: wire.GenerationPreserve, Membership: c.membership(),
	})
}

func (c *client) exchange(k wire.ObjectKey, m wire.AuthorityMutation) command {
	return changing("authority.compare-exchange "+string(m.Kind), domain.ValidateAuthorityCompareExchange, domain.CompareExchangeAuthority,
		&wire.AuthorityCompareExchangeRequest{Key: k, ExpectedStoreVersion: c.version(k), Mutation: m})
}

func (c *client) mutation(k wire.ObjectKey) wire.AuthorityMutation {
	m := wire.AuthorityMutation{Payload: c.payload(), Kind: pick(c,
		wire.AuthorityPut, wire.AuthorityPut, wire.AuthorityPut, wire.AuthorityRestore, wire.AuthorityRebind, wire.AuthorityRebind,
		wire.AuthorityReincarnate, wire.AuthorityReincarnate, wire.AuthorityDelete)}
	owner := c.token()
	if a := c.object(k); a != nil && !c.once(10) {
		owner = ownerOf(a)
	}
	if next, ok := c.live(owner.OwnerID); ok && next != owner && !c.once(3) {
		m.Kind = wire.AuthorityRebind
	}
	switch m.Kind {
	case wire.AuthorityPut:
		m.GenerationTransition = wire.GenerationPreserve
		m.Phase = pick(c, "", wire.PhaseSteady, wire.PhaseSteady, wire.PhaseSteady, wire.PhaseSteady, wire.PhaseClosing)
		if !k.IsSpot() {
			m.Membership = c.membership()
		}
	case wire.AuthorityRestore:
		m.Phase, m.ExpectedOwner = pick(c, "", wire.PhaseSteady, wire.PhaseSteady, wire.PhaseRecovering), &owner
	case wire.AuthorityRebind:
		m.ExpectedOwner, m.TargetOwner = &owner, c.nextToken(owner)
	case wire.AuthorityDelete:
		m.Payload = nil
	}
	return m
}

// nextToken is another token of the same owner, the live one if possible.
func (c *client) nextToken(t wire.OwnerToken) *wire.OwnerToken {
	next, ok := c.live(t.OwnerID)
	if !ok || next == t {
		next = wire.OwnerToken{OwnerID: t.OwnerID, LeaseGeneration: t.LeaseGeneration + 1}
	}
	return &next
}

func (c *client) readObject() command {
	return asking("authority.read", domain.ValidateAuthorityRead, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: c.key("", objects...)})
}

func (c *client) listAuthorities() command {
	return listing("authority.list", domain.ValidateAuthorityList, domain.ListAuthorities,
		&wire.AuthorityListRequest{Prefix: pick(c, "", "zla1:a", "zla1:s:2"), Limit: 1000}, uint32(1+c.roll(4)))
}

func (c *client) readTerminal() command {
	return asking("object.read-terminal", domain.ValidateObjectReadTerminal, domain.ReadTerminal,
		&wire.ObjectReadTerminalRequest{Operation: c.operation()})
}

func (c *client) findObject() command {
	k := c.key("", objects...)
	req := &wire.ObjectFindRequest{Kind: wire.LookupActor, GlobalID: k.GlobalID}
	if k.IsSpot() {
		req.Kind = wire.LookupSpot
	}
	return asking("object.find", domain.ValidateObjectFind, domain.FindObject, req)
}

func (c *client) listObjects() command {
	return listing("object.list", domain.ValidateObjectList, domain.ListObjects, &wire.ObjectListRequest{
		ObjectKind: pick(c, wire.ObjectActor, wire.ObjectUserSpot, wire.ObjectInstanceSpot), StableType: pick(c, "", "", "hero", "room"),
		MeshName: pick(c, "", "play", "lab"), PageRequest: wire.PageRequest{LiveOnly: c.once(2)},
	}, uint32(1+c.roll(4)))
}

func (c *client) awaitObject() command {
	k := c.key("", objects...)
	req := &wire.ObjectAwaitRequest{Key: k, Until: pick(c, wire.AwaitSettled, wire.AwaitChanged)}
	if req.Until == wire.AwaitChanged && c.once(2) {
		req.SinceVersion = c.version(k)
	}
	return asking("object.await", domain.ValidateObjectAwait, domain.AwaitAuthority, req)
}

func (c *client) selectNode() command {
	k := c.key("", objects...)
	intent, takes := c.creation(k)
	seed := c.seed()
	return asking("placement.select", domain.ValidatePlacementSelect,
		func(v kvstore.View, req *wire.PlacementSelectRequest) (*wire.PlacementSelectReply, error) {
			return domain.SelectPlacement(v, req, seed)
		}, &wire.PlacementSelectRequest{
			MeshName: pick(c, meshes...), ObjectKind: k.Kind, StableType: intent.StableType, Capacity: takes, Exclude: c.exclude(),
		})
}
