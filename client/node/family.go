package node

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

// contentOf encodes a descriptor, of which the parts that are no content have been cleared.
func contentOf(d any) (string, error) {
	encoded, err := wire.Marshal(wire.CBOR, d)
	return string(encoded), err
}

// meshNode is the descriptor of a node of a mesh.
type meshNode struct{ d wire.MeshNodeDescriptor }

// newMeshNode copies a descriptor, in the order that its content is compared in.
func newMeshNode(d wire.MeshNodeDescriptor) meshNode {
	d.ChannelWeights = maps.Clone(d.ChannelWeights)
	d.SpotTypes = slices.Sorted(slices.Values(d.SpotTypes))
	d.ObjectCapabilities = slices.SortedFunc(slices.Values(d.ObjectCapabilities), func(a, b wire.ObjectCapability) int {
		return cmp.Or(cmp.Compare(a.ObjectKind, b.ObjectKind), cmp.Compare(a.StableType, b.StableType))
	})
	c := &d.PopulationCapacity
	c.Actors, c.Spots = wire.Usage{Limit: c.Actors.Limit}, wire.Usage{Limit: c.Spots.Limit}
	c.SpotTypes = slices.SortedFunc(slices.Values(c.SpotTypes), func(a, b wire.SpotTypeUsage) int {
		return cmp.Or(cmp.Compare(a.ObjectKind, b.ObjectKind), cmp.Compare(a.StableType, b.StableType))
	})
	for i := range c.SpotTypes {
		c.SpotTypes[i].Usage = wire.Usage{Limit: c.SpotTypes[i].Limit}
	}
	return meshNode{d}
}

// MeshNodeKey is the key of the descriptor of a node.
func MeshNodeKey(mesh string, rid wire.RID) Key {
	return Key{Kind: KindMeshNode, Scope: mesh, ID: string(rid)}
}

func (n meshNode) key() Key                  { return MeshNodeKey(n.d.MeshName, n.d.RID) }
func (n meshNode) nodeState() wire.NodeState { return n.d.State }

func (n meshNode) issued(token wire.OwnerToken, life wire.Generation, revision wire.Revision) descriptor {
	n.d.OwnerToken, n.d.LifecycleGeneration, n.d.DescriptorRevision = token, life, revision
	return n
}

func (n meshNode) in(s wire.NodeState) descriptor {
	n.d.State = s
	return n
}

func (n meshNode) content() (string, error) {
	n = n.issued(wire.OwnerToken{}, 0, 0).(meshNode)
	n.d.Generation, n.d.UpdatedAt = 0, 0
	return contentOf(n.d)
}

func (n meshNode) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.MeshNodes.Update(ctx, wire.MeshNodeUpdateRequest{Descriptor: n.d, Intent: intent})
}

func (n meshNode) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.MeshNodes.Remove(ctx, wire.MeshNodeRemoveRequest{MeshName: n.d.MeshName, RID: n.d.RID, Owner: owner})
}

// clientServer is the descriptor of a server of a channel.
type clientServer struct{ d wire.ClientServerDescriptor }

// ClientServerKey is the key of the descriptor of a server.
func ClientServerKey(channel string, rid wire.RID) Key {
	return Key{Kind: KindClientServer, Scope: channel, ID: string(rid)}
}

func (s clientServer) key() Key                  { return ClientServerKey(s.d.ChannelName, s.d.ServerRID) }
func (s clientServer) nodeState() wire.NodeState { return s.d.State }

func (s clientServer) issued(token wire.OwnerToken, life wire.Generation, revision wire.Revision) descriptor {
	s.d.OwnerToken, s.d.LifecycleGeneration, s.d.DescriptorRevision = token, life, revision
	return s
}

func (s clientServer) in(state wire.NodeState) descriptor {
	s.d.State = state
	return s
}

func (s clientServer) content() (string, error) {
	s = s.issued(wire.OwnerToken{}, 0, 0).(clientServer)
	s.d.Generation, s.d.UpdatedAt = 0, 0
	return contentOf(s.d)
}

func (s clientServer) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.ClientServers.Update(ctx, wire.ClientServerUpdateRequest{Descriptor: s.d, Intent: intent})
}

func (s clientServer) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.ClientServers.Remove(ctx, wire.ClientServerRemoveRequest{ChannelName: s.d.ChannelName, ServerRID: s.d.ServerRID, Owner: owner})
}

// fanoutPublisher is the descriptor of a publisher of a channel.
type fanoutPublisher struct {
	d wire.FanoutPublisherDescriptor
}

// FanoutPublisherKey is the key of the descriptor of a publisher.
func FanoutPublisherKey(channel string, rid wire.RID) Key {
	return Key{Kind: KindFanoutPublisher, Scope: channel, ID: string(rid)}
}

func (p fanoutPublisher) key() Key                  { return FanoutPublisherKey(p.d.ChannelName, p.d.PublisherRID) }
func (p fanoutPublisher) nodeState() wire.NodeState { return p.d.State }

func (p fanoutPublisher) issued(token wire.OwnerToken, life wire.Generation, revision wire.Revision) descriptor {
	p.d.OwnerToken, p.d.LifecycleGeneration, p.d.DescriptorRevision = token, life, revision
	return p
}

func (p fanoutPublisher) in(state wire.NodeState) descriptor {
	p.d.State = state
	return p
}

func (p fanoutPublisher) content() (string, error) {
	p = p.issued(wire.OwnerToken{}, 0, 0).(fanoutPublisher)
	p.d.Generation, p.d.UpdatedAt = 0, 0
	return contentOf(p.d)
}

func (p fanoutPublisher) update(ctx context.Context, c *client.Client, intent wire.Intent) (*wire.UpdateReply, error) {
	return c.FanoutPublishers.Update(ctx, wire.FanoutPublisherUpdateRequest{Descriptor: p.d, Intent: intent})
}

func (p fanoutPublisher) remove(ctx context.Context, c *client.Client, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	return c.FanoutPublishers.Remove(ctx, wire.FanoutPublisherRemoveRequest{ChannelName: p.d.ChannelName, PublisherRID: p.d.PublisherRID, Owner: owner})
}
