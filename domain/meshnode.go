package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// meshNodeRecords are the mesh-node rows. Their bodies are descriptors without
// usage.
var meshNodeRecords = ownedRecords[wire.MeshNodeDescriptor]{
	key: meshNodeKey, facts: meshNodeFacts, stamped: stampedMeshNode, keep: true,
}

// meshNodes are the rules of mesh-node descriptors.
var meshNodes = descriptorFamily[wire.MeshNodeDescriptor]{
	ownedRecords: meshNodeRecords,
	same:         sameMeshNode,
	renewable:    renewableMeshNode,
	claimable: func(v kvstore.View, d *wire.MeshNodeDescriptor) (bool, error) {
		return entrySpotFree(v, d.EntrySpotID, meshNodeKey(d))
	},
}

func meshNodeKey(d *wire.MeshNodeDescriptor) kvstore.Key { return MeshNodeKey(d.MeshName, d.RID) }

func meshNodeFacts(d *wire.MeshNodeDescriptor) facts {
	return facts{
		token: d.OwnerToken, lifecycle: d.LifecycleGeneration, revision: d.DescriptorRevision,
		generation: d.Generation, updatedAt: d.UpdatedAt,
	}
}

// decodeMeshNode understands a mesh-node row or returns a *kvstore.DataLostError.
func decodeMeshNode(r *kvstore.Row) (*wire.MeshNodeDescriptor, error) {
	return meshNodeRecords.decode(r)
}

// stampedMeshNode is what the service stores of a descriptor that was sent.
func stampedMeshNode(sent *wire.MeshNodeDescriptor, g wire.Generation, updatedAt wire.Instant) *wire.MeshNodeDescriptor {
	d := *sent
	d.PopulationCapacity = withoutUse(d.PopulationCapacity)
	d.Generation, d.UpdatedAt = g, updatedAt
	return &d
}

// UpdateMeshNode stores a mesh-node descriptor, as its intent and the row allow.
//
// Reads: the writer's lease, the row, the lease of the row's owner, and for a
// claim with an entry spot id the authority of such a spot, the descriptors that have
// the id, and their leases.
// Writes: the row. Errors: *kvstore.DataLostError and those of tx.Put,
// kvstore.ErrExhausted among them.
func UpdateMeshNode(tx *kvstore.Tx, req *wire.MeshNodeUpdateRequest) (*wire.UpdateReply, error) {
	return meshNodes.update(tx, &req.Descriptor, req.Intent)
}

// RemoveMeshNode removes a descriptor if it carries the token of the request,
// which need not be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemoveMeshNode(tx *kvstore.Tx, req *wire.MeshNodeRemoveRequest) (*wire.RemoveReply, error) {
	return meshNodes.remove(tx, MeshNodeKey(req.MeshName, req.RID), req.Owner)
}

// ListMeshNodes lists the descriptors of a mesh that come after a row, in byte
// order of their routing ids, with the usage of the nodes. It returns the key to go on
// after, empty at the end.
//
// Reads: the rows, the leases of their owners and the usage of the nodes. Errors: *kvstore.DataLostError.
func ListMeshNodes(v kvstore.View, req *wire.MeshNodeListRequest, after kvstore.Key, p Page) ([]wire.MeshNodeItem, kvstore.Key, error) {
	return listOwned(v, &meshNodeRecords, ownedList[wire.MeshNodeDescriptor, wire.MeshNodeItem]{
		rows: v.Scan(kvstore.Prefix(FamilyMeshNode, req.MeshName), after), liveOnly: req.LiveOnly,
		item: func(d *wire.MeshNodeDescriptor, s wire.RowState) *wire.MeshNodeItem {
			item := &wire.MeshNodeItem{MeshNodeDescriptor: *d, RowState: s}
			item.PopulationCapacity = withUse(v, d)
			return item
		},
	}, p)
}

func meshNodeEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	d, err := meshNodeRecords.decodeAny(r)
	return &wire.MeshNodeEvent{EventHead: head, MeshName: k.scope, RID: wire.RID(k.id), Value: d}, err
}
