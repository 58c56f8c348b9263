package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// findMeshNode returns the descriptor of a node; nil when there is none.
func findMeshNode(v kvstore.View, node wire.DescriptorKey) (*wire.MeshNodeDescriptor, error) {
	return meshNodes.find(v, MeshNodeKey(node.MeshName, node.RID))
}

// liveTarget returns the descriptor of a live target; nil when the target is none.
//
// Reads: the descriptor and the lease.
func liveTarget(v kvstore.View, t wire.Target) (*wire.MeshNodeDescriptor, error) {
	d, err := findMeshNode(v, t.Node())
	if err != nil || d == nil {
		return nil, err
	}
	if targetOf(d) != t || d.ObjectRole != wire.RoleServer || d.State != wire.StateServing {
		return nil, nil
	}
	live, err := isLive(v, t.Owner)
	if err != nil || !live {
		return nil, err
	}
	return d, nil
}

// targetOf is a node as a target.
func targetOf(d *wire.MeshNodeDescriptor) wire.Target {
	return wire.Target{
		MeshName: d.MeshName, NodeRID: d.RID, NodeLifecycleGeneration: d.LifecycleGeneration, Owner: d.OwnerToken,
	}
}

// target is where an authority is, and whose it is.
func (r *authorityRecord) target() wire.Target {
	return wire.Target{
		MeshName: r.Allocation.Descriptor.MeshName, NodeRID: r.Allocation.Descriptor.RID,
		NodeLifecycleGeneration: r.Allocation.DescriptorLifecycleGeneration, Owner: r.token(),
	}
}

// ended tells whether the owner of an authority has ended: its token is not live or,
// while the object is reserved, the node is gone or in another life.
//
// Reads: the lease, and for a reserved one the descriptor.
func ended(v kvstore.View, a *authority) (bool, error) {
	live, err := isLive(v, a.token())
	if err != nil || !live || !a.reserved() {
		return !live, err
	}
	d, err := findMeshNode(v, a.Allocation.Descriptor)
	return d == nil || d.LifecycleGeneration != a.Allocation.DescriptorLifecycleGeneration, err
}
