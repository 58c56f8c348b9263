package domain

import (
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// meshNodes are the rules of mesh-node descriptors.
var meshNodes = descriptorFamily[wire.MeshNodeDescriptor]{
	key:       meshNodeKey,
	decode:    decodeMeshNode,
	facts:     meshNodeFacts,
	same:      sameMeshNode,
	renewable: renewableMeshNode,
	claimable: func(v kvstore.View, d *wire.MeshNodeDescriptor) (bool, error) {
		return entrySpotFree(v, d.EntrySpotID, meshNodeKey(d))
	},
	stamped: stampedMeshNode,
}

func meshNodeKey(d *wire.MeshNodeDescriptor) kvstore.Key { return MeshNodeKey(d.MeshName, d.RID) }

func meshNodeFacts(d *wire.MeshNodeDescriptor) facts {
	return facts{
		token: d.OwnerToken, lifecycle: d.LifecycleGeneration, revision: d.DescriptorRevision,
		generation: d.Generation, updatedAt: d.UpdatedAt,
	}
}

// decodeMeshNode understands a mesh-node row or returns a *kvstore.DataLostError.
// The body of the record is the descriptor without usage.
func decodeMeshNode(r *kvstore.Row) (*wire.MeshNodeDescriptor, error) {
	d := new(wire.MeshNodeDescriptor)
	if err := decodeRecord(r, d); err != nil {
		return nil, err
	}
	switch {
	case meshNodeKey(d) != r.Key:
		return nil, lost(r, fmt.Errorf("record names node %q of mesh %q", d.RID, d.MeshName))
	case !generationOf(d.Generation, r):
		return nil, lost(r, fmt.Errorf("generation %d in a row of revision %d", d.Generation, r.Revision))
	case d.UpdatedAt <= 0:
		return nil, lost(r, errors.New("record without updatedAt"))
	}
	return d, nil
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
// claim with an entry spot id the descriptors that have it and their leases.
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
// order of their routing ids. It returns the key to go on after, empty at the end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListMeshNodes(v kvstore.View, req *wire.MeshNodeListRequest, after kvstore.Key, p Page) ([]wire.MeshNodeItem, kvstore.Key, error) {
	rows := v.Scan(kvstore.Prefix(FamilyMeshNode, req.MeshName), after)
	return fill(itemsOf(rows, func(r *kvstore.Row) (*wire.MeshNodeItem, error) {
		d, err := decodeMeshNode(r)
		if err != nil {
			return nil, err
		}
		state, ok, err := rowState(v, r, d.OwnerToken, req.LiveOnly)
		if err != nil || !ok {
			return nil, err
		}
		return &wire.MeshNodeItem{MeshNodeDescriptor: *d, RowState: state}, nil
	}), p)
}

func meshNodeToken(r *kvstore.Row) (wire.OwnerToken, error) {
	d, err := decodeMeshNode(r)
	if err != nil {
		return wire.OwnerToken{}, err
	}
	return d.OwnerToken, nil
}

func meshNodeEvent(head wire.EventHead, scope, id string, r *kvstore.Row) (any, error) {
	e := &wire.MeshNodeEvent{EventHead: head, MeshName: scope, RID: wire.RID(id)}
	if r == nil {
		return e, nil
	}
	d, err := decodeMeshNode(r)
	if err != nil {
		return nil, err
	}
	e.Value = d
	return e, nil
}
