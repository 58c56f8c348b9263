package domaintest_test

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// descriptorCommands are the operations on descriptors, and what follows from those of
// mesh nodes.
var descriptorCommands = []weighed{
	{14, (*client).updateNode},
	{8, (*client).reviveNode},
	{1, (*client).removeNode},
	{1, (*client).listNodes},
	{1, (*client).listTopology},
	{1, (*client).sumUpTopology},
	{3, (*client).updateServer},
	{1, (*client).removeServer},
	{1, (*client).listServers},
	{3, (*client).updatePublisher},
	{1, (*client).removePublisher},
	{1, (*client).listPublishers},
}

func (c *client) updateNode() command {
	k := pick(c, nodes...)
	d := c.newNode(k)
	intent := c.intent()
	if n := c.seen.node(k); n != nil && !c.once(4) {
		d, intent = c.nextNode(n.MeshNodeDescriptor), pick(c, wire.IntentRenew, wire.IntentRenew, c.intent())
	}
	return publishing(d, intent)
}

// reviveNode lets the owner of a node come back and then publish it as it is, and
// publishes one that is not there anew.
func (c *client) reviveNode() command {
	k := pick(c, nodes...)
	n := c.seen.node(k)
	if n == nil {
		return publishing(c.newNode(k), wire.IntentNewClaim)
	}
	d := n.MeshNodeDescriptor
	if _, ok := c.live(d.OwnerID); !ok {
		return changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: d.OwnerID, TTL: 1_000_000})
	}
	d.OwnerToken = *c.nextToken(d.OwnerToken)
	d.State = wire.StateServing
	return publishing(d, wire.IntentNewClaim)
}

func publishing(d wire.MeshNodeDescriptor, intent wire.Intent) command {
	return changing("mesh-node.update", domain.ValidateMeshNodeUpdate, domain.UpdateMeshNode,
		&wire.MeshNodeUpdateRequest{Descriptor: d, Intent: intent})
}

// newNode describes a node anew.
func (c *client) newNode(k wire.DescriptorKey) wire.MeshNodeDescriptor {
	d := nodeOf(k, c.token())
	p := &d.PopulationCapacity
	p.Actors.Limit, p.Spots.Limit = pick(c, uint32(0), 0, 1, 2, 3), pick(c, uint32(0), 0, 1, 2, 3)
	p.SpotTypes[0].Limit, p.SpotTypes[1].Limit = pick(c, uint32(0), 0, 1, 2), pick(c, uint32(0), 0, 1)
	d.PlacementWeight = pick(c, uint32(100), 100, 100, 1, 0)
	d.LifecycleGeneration = pick(c, wire.Generation(7), 7, 7, 7, 8)
	switch c.roll(16) {
	case 12:
		p.SpotTypes = p.SpotTypes[:1]
	case 13:
		d.ObjectCapabilities = []wire.ObjectCapability{{ObjectKind: wire.ObjectActor, StableType: "hero", Policy: wire.PolicyDisabled}}
	case 14, 15:
		d.EntrySpotID = pick(c, "r2", "e1")
	}
	return d
}

// nodeOf is a node that takes everything.
func nodeOf(k wire.DescriptorKey, owner wire.OwnerToken) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: k.MeshName, RID: k.RID, LifecycleGeneration: 7, DescriptorRevision: 1, Endpoint: "tcp://n:1",
		ObjectRole: wire.RoleServer, PlacementWeight: 100,
		PopulationCapacity: wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{
			{ObjectKind: wire.SpotUser, StableType: "room"}, {ObjectKind: wire.SpotInstance, StableType: "chat"},
		}},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 8}, ChannelWeights: map[string]uint32{"north": 1},
		ApplicationVersion: 1, SpotTypes: []string{"room", "chat"}, ObjectCapabilities: []wire.ObjectCapability{},
		State: wire.StateServing, SecurityIdentity: "s", OwnerToken: owner,
	}
}

// nextNode changes a little of a descriptor.
func (c *client) nextNode(d wire.MeshNodeDescriptor) wire.MeshNodeDescriptor {
	if t, ok := c.live(d.OwnerID); ok {
		d.OwnerToken = t
	}
	d.DescriptorRevision += wire.Revision(c.roll(3))
	switch c.roll(4) {
	case 1:
		d.State = pick(c, wire.StateServing, wire.StateServing, wire.StateServing, wire.StateDraining, wire.StateError)
	case 2:
		d.PlacementWeight = pick(c, uint32(1), 100, 0)
	case 3:
		d.PopulationCapacity.Actors.Limit = pick(c, uint32(0), 1)
	}
	return d
}

func (c *client) removeNode() command {
	k := pick(c, nodes...)
	return changing("mesh-node.remove", domain.ValidateMeshNodeRemove, domain.RemoveMeshNode,
		&wire.MeshNodeRemoveRequest{MeshName: k.MeshName, RID: k.RID, Owner: c.holder(domain.MeshNodeKey(k.MeshName, k.RID))})
}

func (c *client) page() wire.PageRequest { return wire.PageRequest{LiveOnly: c.once(2)} }

func (c *client) size() uint32 { return uint32(1 + c.roll(3)) }

func (c *client) listNodes() command {
	return listing("mesh-node.list", domain.ValidateMeshNodeList, domain.ListMeshNodes,
		&wire.MeshNodeListRequest{MeshName: pick(c, meshes...), PageRequest: c.page()}, c.size())
}

func (c *client) listTopology() command {
	return listing("topology.list", domain.ValidateTopologyList, domain.ListTopology, &wire.TopologyListRequest{
		MeshName: pick(c, "", "play"), NodeRID: pick(c, wire.RID(""), "", "n1"), State: pick(c, "", wire.TopologyReady, wire.TopologyLost),
		PageRequest: c.page(),
	}, c.size())
}

func (c *client) sumUpTopology() command {
	return listing("topology.summary", domain.ValidateTopologySummary, domain.SummarizeTopology,
		&wire.TopologySummaryRequest{MeshName: pick(c, "", "play", "lab"), PageRequest: c.page()}, c.size())
}

func (c *client) state() wire.NodeState {
	return pick(c, wire.StateServing, wire.StateServing, wire.StateDraining)
}

func (c *client) updateServer() command {
	return changing("client-server.update", domain.ValidateClientServerUpdate, domain.UpdateClientServer, &wire.ClientServerUpdateRequest{
		Descriptor: wire.ClientServerDescriptor{
			ChannelName: pick(c, channels...), ServerRID: pick(c, rids...), LifecycleGeneration: 7, DescriptorRevision: wire.Revision(1 + c.roll(4)),
			Endpoint: "tcp://s:1", Weight: pick(c, uint32(0), 100), State: c.state(), SecurityIdentity: "s", OwnerToken: c.token(),
		},
		Intent: c.intent(),
	})
}

// rids are of what is no mesh node.
var rids = []wire.RID{"s1", "\x00\xff"}

func (c *client) removeServer() command {
	channel, rid := pick(c, channels...), pick(c, rids...)
	return changing("client-server.remove", domain.ValidateClientServerRemove, domain.RemoveClientServer,
		&wire.ClientServerRemoveRequest{ChannelName: channel, ServerRID: rid, Owner: c.holder(domain.ClientServerKey(channel, rid))})
}

func (c *client) listServers() command {
	return listing("client-server.list", domain.ValidateClientServerList, domain.ListClientServers,
		&wire.ClientServerListRequest{ChannelName: pick(c, channels...), PageRequest: c.page()}, c.size())
}

func (c *client) updatePublisher() command {
	return changing("fanout-publisher.update", domain.ValidateFanoutPublisherUpdate, domain.UpdateFanoutPublisher,
		&wire.FanoutPublisherUpdateRequest{
			Descriptor: wire.FanoutPublisherDescriptor{
				ChannelName: pick(c, channels...), PublisherRID: pick(c, rids...), LifecycleGeneration: 7, DescriptorRevision: wire.Revision(1 + c.roll(4)),
				Endpoint: "tcp://p:1", State: c.state(), SecurityIdentity: "s", OwnerToken: c.token(),
			},
			Intent: c.intent(),
		})
}

func (c *client) removePublisher() command {
	channel, rid := pick(c, channels...), pick(c, rids...)
	return changing("fanout-publisher.remove", domain.ValidateFanoutPublisherRemove, domain.RemoveFanoutPublisher,
		&wire.FanoutPublisherRemoveRequest{ChannelName: channel, PublisherRID: rid, Owner: c.holder(domain.FanoutPublisherKey(channel, rid))})
}

func (c *client) listPublishers() command {
	return listing("fanout-publisher.list", domain.ValidateFanoutPublisherList, domain.ListFanoutPublishers,
		&wire.FanoutPublisherListRequest{ChannelName: pick(c, channels...), PageRequest: c.page()}, c.size())
}
