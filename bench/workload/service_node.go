package workload

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// NodeUpdate returns "update descriptor" on the service reached at urls: the renewal of a mesh node under the caller's
// lease, with a rising revision and a value that changes. All nodes are in one mesh.
func NodeUpdate(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, claimNode, renewNode)
}

func claimNode(ctx context.Context, c *serviceCaller[wire.MeshNodeDescriptor]) error {
	token, err := claim(ctx, c.Conn, c.name)
	if err != nil {
		return err
	}
	c.rows = newNode(c.name, token)
	return updateNode(ctx, c, wire.IntentNewClaim)
}

func renewNode(ctx context.Context, c *serviceCaller[wire.MeshNodeDescriptor]) error {
	c.rows.DescriptorRevision++
	c.rows.PlacementWeight = uint32(c.rows.DescriptorRevision % 100)
	return updateNode(ctx, c, wire.IntentRenew)
}

func updateNode(ctx context.Context, c *serviceCaller[wire.MeshNodeDescriptor], intent wire.Intent) error {
	request := &wire.MeshNodeUpdateRequest{Descriptor: c.rows, Intent: intent}
	r, err := ask[wire.UpdateReply](ctx, c.Conn, subjects.MeshNodeUpdate, request)
	if err != nil {
		return err
	}
	return expect(subjects.MeshNodeUpdate, r.Status, wire.StatusStored)
}

// newNode is a small node that uses every part of a descriptor. Its names alone come to more than [valueBytes], so its
// row is not smaller than the peers'.
func newNode(name string, token wire.OwnerToken) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: "bench", RID: wire.RID(name), LifecycleGeneration: 1, DescriptorRevision: 1,
		Endpoint: "tcp://" + name + ".nodes.example:7000", ObjectRole: wire.RoleServer, EntrySpotID: "entry-" + name,
		PopulationCapacity: wire.PopulationCapacity{
			Actors: wire.Usage{Limit: 1000}, Spots: wire.Usage{Limit: 100},
			SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: "room", Usage: wire.Usage{Limit: 50}}},
		},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 8},
		ChannelWeights:        map[string]uint32{"north": 1, "south": 2},
		ApplicationVersion:    1,
		SpotTypes:             []string{"room"},
		ObjectCapabilities: []wire.ObjectCapability{
			{ObjectKind: wire.ObjectActor, StableType: "player", Policy: wire.PolicySnapshot, HasSnapshotAdapter: true},
		},
		State: wire.StateServing, SecurityIdentity: name, OwnerToken: token,
	}
}
