package histories_test

import (
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// action is a sort of request that callers make.
type action struct {
	op     subjects.Operation
	weight int
	// repeats says that a caller may make the same request again, as one does that heard nothing.
	repeats bool
	// make makes up a request, or returns nil when nothing fits what the caller knows.
	make func(*caller) any
}

// workload is what callers do: every writing operation, and the reads that show what came of it.
var workload = slices.Concat(leaseActions, nodeActions, objectActions, authorityActions, aggregateActions, storeActions, rowActions)

// weights is the sum of the weights of the workload.
var weights = func() (sum int) {
	for _, a := range workload {
		sum += a.weight
	}
	return sum
}()

func (c *caller) action() action {
	n := c.IntN(weights)
	for _, a := range workload {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("the weights of the workload have another sum")
}

// What requests are about: so little that requests meet.
const mesh = "play"

var (
	owners  = []string{"o1", "o2", "o3"}
	nodes   = []wire.RID{"n1", "n2", "n3"}
	objects = []wire.ObjectKey{
		{Kind: wire.ObjectActor, GlobalID: "a1"},
		{Kind: wire.ObjectActor, GlobalID: "a2"},
		{Kind: wire.ObjectActor, GlobalID: "a3"},
		{Kind: wire.ObjectActor, GlobalID: "a4"},
		{Kind: wire.ObjectUserSpot, GlobalID: "r1"},
		{Kind: wire.ObjectUserSpot, GlobalID: "r2"},
		{Kind: wire.ObjectUserSpot, GlobalID: "r3"},
		{Kind: wire.ObjectUserSpot, GlobalID: "r4"},
	}
)

// leaseTTL outlives every run: leases end by their release, so that the time at which things happen does not decide.
const leaseTTL = wire.Millis(3_600_000)

var leaseActions = []action{
	{subjects.LeaseClaim, 5, true, func(c *caller) any {
		owner := pick(c, owners...)
		if _, held := c.board.token(owner); held && !c.once(6) {
			return nil
		}
		return &wire.LeaseClaimRequest{OwnerID: owner, TTL: leaseTTL, ClaimID: fmt.Sprint("c", c.id())}
	}},
	{subjects.LeaseRenew, 3, true, func(c *caller) any {
		return &wire.LeaseRenewRequest{Token: c.token(), TTL: leaseTTL + wire.Millis(c.IntN(1000))}
	}},
	{subjects.LeaseRelease, 1, true, func(c *caller) any {
		if !c.once(3) {
			return nil
		}
		return &wire.LeaseReleaseRequest{Token: c.token()}
	}},
	{subjects.LeaseRead, 4, false, func(c *caller) any { return &wire.LeaseReadRequest{OwnerID: pick(c, owners...)} }},
	{subjects.OwnerRemoveAll, 1, false, func(c *caller) any {
		if !c.once(3) {
			return nil
		}
		return &wire.OwnerRemoveAllRequest{Owner: c.token()}
	}},
}

// token is mostly that of a lease that is held, else one that was.
func (c *caller) token() wire.OwnerToken {
	if old := c.board.former(); len(old) > 0 && c.once(10) {
		return pick(c, old...)
	}
	owner := pick(c, owners...)
	if t, ok := c.board.token(owner); ok {
		return t
	}
	return wire.OwnerToken{OwnerID: owner, LeaseGeneration: 1}
}

var nodeActions = []action{
	{subjects.MeshNodeUpdate, 6, true, func(c *caller) any { return c.update() }},
	{subjects.MeshNodeRemove, 1, false, func(c *caller) any {
		d := c.board.node(pick(c, nodes...))
		if d == nil || !c.once(4) {
			return nil
		}
		return &wire.MeshNodeRemoveRequest{MeshName: mesh, RID: d.RID, Owner: d.OwnerToken}
	}},
	{subjects.MeshNodeList, 4, false, func(*caller) any { return &wire.MeshNodeListRequest{MeshName: mesh} }},
}

// update changes the state of a node as its owner does, or claims the node, or takes it over, with limits that a few objects reach.
func (c *caller) update() any {
	rid := pick(c, nodes...)
	owner, ok := c.board.token(owners[slices.Index(nodes, rid)])
	if !ok || c.once(10) {
		owner = c.token()
	}
	d := c.board.node(rid)
	if d == nil || d.OwnerToken != owner || c.once(12) {
		intent := pick(c, wire.IntentNewClaim, wire.IntentTakeover)
		return &wire.MeshNodeUpdateRequest{Descriptor: c.descriptor(rid, owner), Intent: intent}
	}
	renewed := *d
	renewed.DescriptorRevision, renewed.Generation, renewed.UpdatedAt = wire.Revision(c.id()), 0, 0
	renewed.State = pick(c, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateDraining)
	return &wire.MeshNodeUpdateRequest{Descriptor: renewed, Intent: wire.IntentRenew}
}

func (c *caller) descriptor(rid wire.RID, owner wire.OwnerToken) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: mesh, RID: rid, LifecycleGeneration: wire.Generation(1 + c.IntN(2)), DescriptorRevision: wire.Revision(c.id()),
		Endpoint: "tcp://" + string(rid), ObjectRole: wire.RoleServer, PlacementWeight: 100,
		PopulationCapacity: wire.PopulationCapacity{
			Actors:    wire.Usage{Limit: uint32(pick(c, 1, 2, 3, 0))},
			Spots:     wire.Usage{Limit: uint32(pick(c, 1, 2, 3, 0))},
			SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: "room"}},
		},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 8}, ChannelWeights: map[string]uint32{}, SpotTypes: []string{"room"},
		ApplicationVersion: 1, ObjectCapabilities: []wire.ObjectCapability{}, State: wire.StateServing,
		SecurityIdentity: string(rid), OwnerToken: owner,
	}
}
