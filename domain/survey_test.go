package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func TestSurveyShowsFirstWhatNeedsALook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	room := func(limit uint32) func(*wire.MeshNodeDescriptor) {
		return func(d *wire.MeshNodeDescriptor) { d.PopulationCapacity.Actors.Limit = limit }
	}
	w.stored(wire.IntentNewClaim, node("n1", a, room(4)))
	w.stored(wire.IntentNewClaim, node("n2", a, room(1)))
	w.stored(wire.IntentNewClaim, node("n3", b))
	w.stored(wire.IntentNewClaim, node("n4", a, room(0), func(d *wire.MeshNodeDescriptor) { d.State = wire.StateError }))
	w.stored(wire.IntentNewClaim, node("n5", a, room(0), inMesh("lab")))
	for id, rid := range map[string]wire.RID{"a1": "n1", "a2": "n2"} {
		reply := w.reserve(w.reserveRequest(id, wire.Target{MeshName: "play", NodeRID: rid, NodeLifecycleGeneration: 7, Owner: a}, taking(wire.Capacity{Actors: 1})))
		want(t, reply.Kind, wire.KindReserved)
	}
	w.release(b)

	s := domain.SurveyNodes(w.view(), 4)
	var order []wire.RID
	for _, n := range s.Nodes {
		order = append(order, n.RID)
	}
	want(t, order, []wire.RID{"n3", "n4", "n2", "n1"}) // lost, in error, full, a quarter full
	want(t, s.Nodes[0].Live, false)
	want(t, s.Nodes[2].PopulationCapacity.Actors, wire.Usage{Limit: 1, Reserved: 1})
	want(t, []int{s.Total, s.Lost, s.InError, s.Full, s.Unreadable}, []int{5, 1, 1, 1, 0})
	want(t, []string{s.Meshes[0].MeshName, s.Meshes[1].MeshName}, []string{"play", "lab"})
	want(t, []uint32{s.Meshes[0].TotalCount, s.Meshes[0].StoppedCount, s.Meshes[0].ErrorCount, s.Meshes[0].ReadyCount}, []uint32{4, 1, 1, 2})

	w.damage("n1", func([]byte) []byte { return []byte("no record") })
	s = domain.SurveyNodes(w.view(), 4)
	want(t, []int{s.Total, s.Unreadable, len(s.Nodes)}, []int{4, 1, 4})
}
