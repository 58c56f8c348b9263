package domain_test

import (
	"slices"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func (c *machine) advance() {
	c.m.now += wire.Instant(pick(c, 1, 1, 1, 5, 5, 100, 5_000, 300_000))
	if c.once(60) { // until an aggregate that has ended is forgotten
		c.m.now += 86_400_000
	}
	c.at(int64(c.m.now - t0))
}

// sweep takes away what has lapsed, as every instance does all the time.
func (c *machine) sweep() {
	n := c.m.lapsed()
	if kvstore.MaxRevision-c.m.revision < kvstore.Revision(n) {
		return
	}
	for range n { // each in a commit of its own
		if err := c.update(func(tx *kvstore.Tx) (err error) {
			for r := range tx.Expired() {
				_, err = tx.Expire(r)
				break
			}
			return err
		}); err != nil {
			c.t.Fatal(err)
		}
	}
	c.m.sweep()
}

func (c *machine) claimLease() {
	req := &wire.LeaseClaimRequest{
		OwnerID: c.owner(), TTL: pick(c, wire.Millis(5), 100, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000), ClaimID: pick(c, "", "c1", "c2"),
	}
	r := decide(c, domain.ValidateLeaseClaim, domain.ClaimLease, alone(c.m.claim), req)
	c.saw(c.op, string(r.Kind))
}

func (c *machine) renewLease() {
	req := &wire.LeaseRenewRequest{Token: c.token(), TTL: pick(c, wire.Millis(1), 1_000_000, 1_000_000, 1_000_000)}
	if r := decide(c, domain.ValidateLeaseRenew, domain.RenewLease, alone(c.m.renew), req); r != nil {
		c.saw(c.op, string(r.Kind))
	}
}

func (c *machine) releaseLease() {
	req := &wire.LeaseReleaseRequest{Token: c.token()}
	if r := decide(c, domain.ValidateLeaseRelease, domain.ReleaseLease, alone(c.m.release), req); r != nil {
		c.saw(c.op, string(r.Kind))
	}
}

func (c *machine) readLeases() {
	req := &wire.LeaseReadRequest{OwnerID: c.owner()}
	r := read(c.world, domain.ReadLease, req)
	c.same(req, r, c.m.readLease(req))
	c.saw(c.op, string(r.Kind))
}

func (c *machine) updateNode() {
	k := c.nodeKey()
	req := &wire.MeshNodeUpdateRequest{
		Descriptor: c.newNode(k),
		Intent:     pick(c, wire.IntentNewClaim, wire.IntentNewClaim, wire.IntentNewClaim, wire.IntentTakeover, wire.IntentRenew),
	}
	if row, ok := c.m.nodes[k]; ok && !c.once(4) {
		req.Descriptor = c.nextNode(row.MeshNodeDescriptor)
		if !c.once(3) {
			req.Intent = wire.IntentRenew
		}
	}
	c.publish(req)
}

func (c *machine) publish(req *wire.MeshNodeUpdateRequest) {
	c.op = "mesh-node.update"
	if r := decide(c, domain.ValidateMeshNodeUpdate, domain.UpdateMeshNode, alone(c.m.updateNode), req); r != nil {
		c.saw(c.op, string(r.Status))
	}
}

// revive lets an owner come back and publish its nodes anew, and others that nobody
// has.
func (c *machine) revive() {
	owner := c.owner()
	req := &wire.LeaseClaimRequest{OwnerID: owner, TTL: 1_000_000}
	c.saw("lease.claim", string(decide(c, domain.ValidateLeaseClaim, domain.ClaimLease, alone(c.m.claim), req).Kind))
	l, ok := c.m.leases[owner]
	for _, k := range modelNodes {
		d, there := c.m.nodes[k]
		switch {
		case !ok:
			return // no revision was left
		case there && d.OwnerID == owner:
			d.OwnerToken, d.State, d.Generation, d.UpdatedAt = l.token, wire.StateServing, 0, 0
			c.publish(&wire.MeshNodeUpdateRequest{Descriptor: d.MeshNodeDescriptor, Intent: wire.IntentNewClaim})
		case !there && c.once(4):
			c.publish(&wire.MeshNodeUpdateRequest{Descriptor: node(k.RID, l.token, inMesh(k.MeshName), endpoint("tcp://n:1")), Intent: wire.IntentNewClaim})
		}
	}
}

// newNode describes a node anew.
func (c *machine) newNode(k wire.DescriptorKey) wire.MeshNodeDescriptor {
	d := node(k.RID, c.token(), inMesh(k.MeshName), endpoint("tcp://n:1"),
		limits(pick(c, uint32(0), 0, 0, 1, 2), pick(c, uint32(0), 0, 0, 1, 2)),
		typeLimits(pick(c, uint32(0), 0, 0, 1, 2), pick(c, uint32(0), 0, 0, 1)),
		weight(pick(c, uint32(100), 100, 100, 1, 0)), lifecycle(pick(c, wire.Generation(7), 7, 7, 7, 7, 8)),
		state(pick(c, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateDraining)))
	switch c.roll(16) {
	case 12:
		d.PopulationCapacity.SpotTypes = d.PopulationCapacity.SpotTypes[:1]
	case 13:
		d.ObjectRole = wire.RoleClient
	case 14:
		capabilities(&d)
	case 15:
		d.EntrySpotID = pick(c, "r1", "e1")
	}
	return d
}

// nextNode changes a little of a descriptor, which gets the latest token of its owner.
func (c *machine) nextNode(d wire.MeshNodeDescriptor) wire.MeshNodeDescriptor {
	d.Generation, d.UpdatedAt = 0, 0
	if l, ok := c.m.leases[d.OwnerID]; ok {
		d.OwnerToken = l.token
	}
	d.DescriptorRevision += wire.Revision(c.roll(3))
	switch c.roll(4) {
	case 1:
		d.State = pick(c, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateDraining)
	case 2:
		d.PlacementWeight = pick(c, uint32(1), 100, 100, 0)
	case 3:
		d.PopulationCapacity.Actors.Limit = pick(c, uint32(0), 1)
	}
	return d
}

func (c *machine) removeNode() {
	k := c.nodeKey()
	req := &wire.MeshNodeRemoveRequest{MeshName: k.MeshName, RID: k.RID, Owner: c.token()}
	if row, ok := c.m.nodes[k]; ok && !c.once(4) {
		req.Owner = row.OwnerToken
	}
	if r := decide(c, domain.ValidateMeshNodeRemove, domain.RemoveMeshNode, alone(c.m.removeNode), req); r != nil {
		c.saw(c.op, string(r.Status))
	}
}

func (c *machine) removeOwner() {
	owner := c.token()
	objects, nodes := c.m.removable(owner)
	if kvstore.MaxRevision-c.m.revision < kvstore.Revision(len(objects)+len(nodes)) {
		return // a part would be removed
	}
	got := 0
	for _, n := range c.removeAll(owner, c.m.rows) {
		got += n
	}
	c.same(owner, got, c.m.removeAll(owner))
	c.saw(c.op, noneOrSome(got))
}

func noneOrSome(n int) string {
	if n == 0 {
		return "none"
	}
	return "some"
}

func (c *machine) readTerminal() {
	req := &wire.ObjectReadTerminalRequest{Operation: term(uint64(1 + c.roll(40))).Operation}
	r := read(c.world, domain.ReadTerminal, req)
	c.same(req, r, c.m.readTerminal(req))
	c.saw(c.op, string(r.Kind))
}

func (c *machine) findObject() {
	k := c.key()
	req := &wire.ObjectFindRequest{Kind: wire.LookupActor, GlobalID: k.GlobalID}
	if k.IsSpot() {
		req.Kind = wire.LookupSpot
	}
	r := read(c.world, domain.FindObject, req)
	c.same(req, r, c.m.find(req))
	if r.Entry != nil {
		c.saw(c.op, string(r.Entry.State))
		return
	}
	c.saw(c.op, string(r.Kind))
}

func (c *machine) listObjects() {
	req := &wire.ObjectListRequest{
		ObjectKind: pick(c, wire.ObjectActor, wire.ObjectUserSpot, wire.ObjectInstanceSpot),
		StableType: pick(c, "", "", "hero", "room", "other"), MeshName: pick(c, "", "play", "lab"),
		PageRequest: wire.PageRequest{LiveOnly: c.once(2)},
	}
	got := slices.Concat(pages(c.world, domain.ListObjects, req, uint32(1+c.roll(3)))...)
	c.same(req, got, c.m.list(req))
	c.saw(c.op, noneOrSome(len(got)))
}

func (c *machine) awaitObject() {
	k := c.key()
	req := &wire.ObjectAwaitRequest{Key: k, Until: pick(c, wire.AwaitSettled, wire.AwaitChanged)}
	if req.Until == wire.AwaitChanged && c.once(2) {
		req.SinceVersion = c.version(k)
	}
	r := read(c.world, domain.AwaitAuthority, req)
	c.same(req, r, c.m.await(req))
	if r == nil {
		c.saw(c.op, string(req.Until), "waits")
		return
	}
	c.saw(c.op, string(req.Until), string(r.Kind))
}

func (c *machine) selectNode() {
	k := c.key()
	intent, takes := c.creation(k)
	req := &wire.PlacementSelectRequest{
		MeshName: pick(c, "play", "play", "play", "lab"), ObjectKind: k.Kind, StableType: intent.StableType,
		Capacity: takes, Exclude: c.exclude(),
	}
	r, err := domain.SelectPlacement(c.view(), req, domain.Seed{uint64(c.roll(1 << 20)), 2})
	if err != nil {
		c.t.Fatal(err)
	}
	c.same(req, r, c.m.choose(req, r.Target))
	c.saw(c.op, string(r.Kind), string(r.Reason))
}
