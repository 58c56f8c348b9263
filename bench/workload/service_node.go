package workload

import (
	"context"

	"github.com/nats-io/nats.go"

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
	return updateNode(ctx, c.Conn, c.rows, wire.IntentNewClaim)
}

func renewNode(ctx context.Context, c *serviceCaller[wire.MeshNodeDescriptor]) error {
	c.rows.DescriptorRevision++
	c.rows.PlacementWeight = uint32(c.rows.DescriptorRevision % 100)
	return updateNode(ctx, c.Conn, c.rows, wire.IntentRenew)
}

func updateNode(ctx context.Context, nc *nats.Conn, d wire.MeshNodeDescriptor, intent wire.Intent) error {
	request := &wire.MeshNodeUpdateRequest{Descriptor: d, Intent: intent}
	r, err := ask[wire.UpdateReply](ctx, nc, subjects.MeshNodeUpdate, request)
	if err != nil {
		return err
	}
	return expect(subjects.MeshNodeUpdate, r.Status, wire.StatusStored)
}

// newNode is a plain node. Its row is somewhat larger than the peers' [valueBytes].
func newNode(name string, token wire.OwnerToken) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: "bench", RID: wire.RID(name), LifecycleGeneration: 1, DescriptorRevision: 1,
		Endpoint: "tcp://" + name + ":7000", ObjectRole: wire.RoleServer, EntrySpotID: "entry-" + name,
		PopulationCapacity:    wire.PopulationCapacity{Actors: wire.Usage{Limit: 1000}, Spots: wire.Usage{Limit: 100}},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 8},
		ApplicationVersion:    1, State: wire.StateServing, SecurityIdentity: name, OwnerToken: token,
	}
}
