package domain

import (
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// ListTopology lists nodes that come after a row, in order of mesh and routing id.
// It returns the key to go on after, empty at the end.
//
// Reads: the mesh-node descriptors and the leases of their owners. Errors:
// *kvstore.DataLostError.
func ListTopology(v kvstore.View, req *wire.TopologyListRequest, after kvstore.Key, p Page) ([]wire.TopologyNode, kvstore.Key, error) {
	return fill(itemsOf(meshNodeRows(v, req.MeshName, after), func(r *kvstore.Row) (*wire.TopologyNode, error) {
		if k, ok := splitOwned(r.Key); ok && req.NodeRID != "" && k.id != string(req.NodeRID) {
			return nil, nil
		}
		n, err := decodeNode(v, r)
		if err != nil || (req.LiveOnly && !n.live) {
			return nil, err
		}
		item := n.topology()
		if req.State != "" && req.State != item.State {
			return nil, nil
		}
		return item, nil
	}), p)
}

// meshNodeRows lists the descriptors of a mesh, or of all when it has no name.
func meshNodeRows(v kvstore.View, meshName string, after kvstore.Key) iter.Seq[*kvstore.Row] {
	if meshName == "" {
		return v.Scan(kvstore.Prefix(FamilyMeshNode), after)
	}
	return v.Scan(kvstore.Prefix(FamilyMeshNode, meshName), after)
}

// node is a descriptor and whether its owner is live.
type node struct {
	*wire.MeshNodeDescriptor
	live bool
}

func decodeNode(v kvstore.View, r *kvstore.Row) (node, error) {
	d, err := decodeMeshNode(r)
	if err != nil {
		return node{}, err
	}
	live, err := isLive(v, d.OwnerToken)
	return node{d, live}, err
}

func (n node) topology() *wire.TopologyNode {
	state := wire.TopologyLost
	if n.live {
		state = wire.TopologyReady
	}
	return &wire.TopologyNode{
		MeshName: n.MeshName, NodeRID: n.RID, Endpoint: n.Endpoint,
		Draining: n.draining(), State: state, UpdatedAt: n.UpdatedAt,
	}
}

func (n node) draining() bool {
	switch n.State {
	case wire.StateDraining, wire.StateRelocating, wire.StateRelocated:
		return true
	default:
		return false
	}
}

// SummarizeTopology lists the meshes that come after a row, in order of their
// names, with the numbers of their nodes. It returns the key to go on after, empty
// at the end.
//
// Reads: the mesh-node descriptors and the leases of their owners. Errors:
// *kvstore.DataLostError.
func SummarizeTopology(v kvstore.View, req *wire.TopologySummaryRequest, after kvstore.Key, p Page) ([]wire.TopologyMesh, kvstore.Key, error) {
	return fill(meshesOf(v, meshNodeRows(v, req.MeshName, after), req.LiveOnly), p)
}

// meshesOf sums up rows that are in order of their meshes.
func meshesOf(v kvstore.View, rows iter.Seq[*kvstore.Row], liveOnly bool) iter.Seq2[listed[wire.TopologyMesh], error] {
	return func(yield func(listed[wire.TopologyMesh], error) bool) {
		var mesh listed[wire.TopologyMesh] // the one being summed up, if its row is there
		for r := range rows {
			// The mesh before is complete, whatever the row turns out to be.
			if k, _ := splitOwned(r.Key); mesh.row != nil && mesh.item.MeshName != k.scope {
				if !yield(mesh, nil) {
					return
				}
				mesh = listed[wire.TopologyMesh]{}
			}
			n, err := decodeNode(v, r)
			if err != nil {
				yield(listed[wire.TopologyMesh]{}, err)
				return
			}
			if n.live || !liveOnly {
				addNode(&mesh.item, n)
				mesh.row = r
			}
		}
		if mesh.row != nil {
			yield(mesh, nil)
		}
	}
}

func addNode(m *wire.TopologyMesh, n node) {
	m.MeshName = n.MeshName
	m.TotalCount++
	m.LastUpdatedAt = max(m.LastUpdatedAt, n.UpdatedAt)
	switch {
	case !n.live:
		m.StoppedCount++
	case n.State == wire.StateError:
		m.ErrorCount++
	default:
		m.ReadyCount++
	}
}
