package domain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Survey is what somebody who looks after the nodes wants to see first.
type Survey struct {
	// Meshes are all meshes that have a descriptor, those with the most nodes that are lost
	// or in error first.
	Meshes []wire.TopologyMesh
	// Nodes are the nodes to show: lost ones first, then those in error, then the fullest.
	Nodes []wire.MeshNodeItem
	// Total, Lost, InError and Full count all nodes. Those of an owner that is not live are
	// lost; the others are in error by their state, full when a limit of theirs is reached.
	Total, Lost, InError, Full int
	// Unreadable counts descriptors that nobody can read. They are left out of the rest.
	Unreadable int
}

// SurveyNodes looks at all nodes, and shows at most limit of them. It costs the number of
// descriptors.
//
// Reads: the mesh-node descriptors, the leases of their owners, the usage of the nodes.
func SurveyNodes(v kvstore.View, limit int) Survey {
	s := Survey{}
	meshes := make(map[string]*wire.TopologyMesh)
	var nodes []surveyed
	for r := range meshNodeRows(v, "", "") {
		n, err := decodeNode(v, r)
		if err != nil {
			s.Unreadable++
			continue
		}
		m := meshes[n.MeshName]
		if m == nil {
			m = new(wire.TopologyMesh)
			meshes[n.MeshName] = m
		}
		addNode(m, n)
		nodes = append(nodes, survey(v, n, r))
	}
	for _, n := range nodes {
		s.Total++
		switch {
		case n.rank == rankLost:
			s.Lost++
		case n.rank == rankError:
			s.InError++
		case n.use >= 1:
			s.Full++
		}
	}
	slices.SortStableFunc(nodes, func(a, b surveyed) int { // of equal ones, in the order of keys
		return cmp.Or(cmp.Compare(a.rank, b.rank), -cmp.Compare(a.use, b.use))
	})
	for _, n := range nodes[:min(limit, len(nodes))] {
		item := wire.MeshNodeItem{MeshNodeDescriptor: *n.MeshNodeDescriptor}
		item.Live, item.Version = n.live, wire.Version(n.row.Revision.String())
		item.PopulationCapacity = withUse(v, n.MeshNodeDescriptor)
		s.Nodes = append(s.Nodes, item)
	}
	for _, name := range slices.Sorted(maps.Keys(meshes)) {
		s.Meshes = append(s.Meshes, *meshes[name])
	}
	slices.SortStableFunc(s.Meshes, func(a, b wire.TopologyMesh) int {
		return -cmp.Compare(a.StoppedCount+a.ErrorCount, b.StoppedCount+b.ErrorCount)
	})
	return s
}

// surveyed is a node and what decides whether it is shown.
type surveyed struct {
	node
	row  *kvstore.Row
	rank int
	use  float64 // of the limit that it is closest to; 0 without limits
}

const (
	rankLost = iota
	rankError
	rankOther
)

func survey(v kvstore.View, n node, r *kvstore.Row) surveyed {
	s := surveyed{node: n, row: r, rank: rankOther}
	switch {
	case !n.live:
		s.rank = rankLost
	case n.State == wire.StateError:
		s.rank = rankError
	}
	key := wire.DescriptorKey{MeshName: n.MeshName, RID: n.RID}
	for _, what := range []counted{countActors, countSpots} {
		if limit, _ := limitOf(n.MeshNodeDescriptor, what); limit > 0 {
			active, reserved := used(v, key, what)
			s.use = max(s.use, float64(active+reserved)/float64(limit))
		}
	}
	return s
}
