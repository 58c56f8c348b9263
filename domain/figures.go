package domain

import (
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// NodeFigures are what operators watch of a mesh node.
type NodeFigures struct {
	MeshName string
	RID      wire.RID
	Live     bool // its owner's lease is
	State    wire.NodeState
	Capacity wire.PopulationCapacity // with the usage
}

// Nodes lists the mesh nodes that can be read, in order of mesh and routing id. It costs their
// number, not that of the objects on them: usage is a sum that the store keeps.
func Nodes(v kvstore.View) iter.Seq[NodeFigures] {
	return func(yield func(NodeFigures) bool) {
		for r := range meshNodeRows(v, "", "") {
			n, err := decodeNode(v, r)
			if err != nil {
				continue // whoever asks for it is told
			}
			if !yield(NodeFigures{n.MeshName, n.RID, n.live, n.State, withUse(v, n.MeshNodeDescriptor)}) {
				return
			}
		}
	}
}
