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

// AggregateFigures count the aggregates that something is or will be to be done about: those
// that are under way, and those that have ended and are not cleaned up.
type AggregateFigures struct {
	ByState    map[wire.AggregateState]int
	Overdue    int // their deadline has passed
	Unreadable int
}

// CountAggregates counts them. It costs their number.
func CountAggregates(v kvstore.View) AggregateFigures {
	f := AggregateFigures{ByState: make(map[wire.AggregateState]int)}
	for r := range v.IndexPrefix(indexWork, "") {
		a, err := kvstore.Decoded(r, decodeAggregate)
		if err != nil {
			f.Unreadable++
			continue
		}
		f.ByState[a.State]++
		if a.Deadline != 0 && kvstore.Instant(a.Deadline) <= v.Now() {
			f.Overdue++
		}
	}
	return f
}
