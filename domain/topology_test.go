package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// pages reads a list to its end, page by page, and requires that only the last
// page says that it is.
func pages[Q, T any](
	w *world, list func(kvstore.View, *Q, kvstore.Key, domain.Page) ([]T, kvstore.Key, error), req *Q, size uint32,
) (all [][]T) {
	w.t.Helper()
	v := w.view()
	for after := kvstore.Key(""); ; {
		items, next, err := list(v, req, after, domain.Page{Items: size})
		if err != nil {
			w.t.Fatal(err)
		}
		if all = append(all, items); next == "" {
			return all
		}
		if len(items) == 0 || next <= after {
			w.t.Fatalf("page of %d items after %q goes on after %q", len(items), after, next)
		}
		after = next
	}
}

// topologyWorld has three nodes in "play" and one in "lab".
func topologyWorld(t *testing.T) *world {
	w := newWorld(t)
	a, b, c := w.claim("owner-a"), w.claim("owner-b"), w.claim("owner-c")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.at(1)
	w.stored(wire.IntentNewClaim, node("n2", b, state(wire.StateRelocating)))
	w.at(2)
	w.stored(wire.IntentNewClaim, node("n3", c))
	w.release(c)
	w.at(3)
	w.stored(wire.IntentNewClaim, node("n1", b, inMesh("lab"), state(wire.StateError)))
	return w
}

func TestTopologyShowsNodes(t *testing.T) { // P-07
	t.Parallel()
	w := topologyWorld(t)
	lab := wire.TopologyNode{MeshName: "lab", NodeRID: "n1", Endpoint: "tcp://n1:7000", State: wire.TopologyReady, UpdatedAt: t0 + 3}
	n1 := wire.TopologyNode{MeshName: "play", NodeRID: "n1", Endpoint: "tcp://n1:7000", State: wire.TopologyReady, UpdatedAt: t0}
	n2 := wire.TopologyNode{MeshName: "play", NodeRID: "n2", Endpoint: "tcp://n2:7000", Draining: true, State: wire.TopologyReady, UpdatedAt: t0 + 1}
	n3 := wire.TopologyNode{MeshName: "play", NodeRID: "n3", Endpoint: "tcp://n3:7000", State: wire.TopologyLost, UpdatedAt: t0 + 2}
	for name, tt := range map[string]struct {
		req  wire.TopologyListRequest
		want []wire.TopologyNode
	}{
		"everything":   {wire.TopologyListRequest{}, []wire.TopologyNode{lab, n1, n2, n3}},
		"one mesh":     {wire.TopologyListRequest{MeshName: "play"}, []wire.TopologyNode{n1, n2, n3}},
		"ready":        {wire.TopologyListRequest{MeshName: "play", State: wire.TopologyReady}, []wire.TopologyNode{n1, n2}},
		"lost":         {wire.TopologyListRequest{State: wire.TopologyLost}, []wire.TopologyNode{n3}},
		"one node":     {wire.TopologyListRequest{NodeRID: "n1"}, []wire.TopologyNode{lab, n1}},
		"all given":    {wire.TopologyListRequest{MeshName: "play", NodeRID: "n3", State: wire.TopologyLost}, []wire.TopologyNode{n3}},
		"nothing fits": {wire.TopologyListRequest{NodeRID: "n3", State: wire.TopologyReady}, nil},
		"live only":    {wire.TopologyListRequest{MeshName: "play", PageRequest: wire.PageRequest{LiveOnly: true}}, []wire.TopologyNode{n1, n2}},
		"lost and live only": {
			wire.TopologyListRequest{State: wire.TopologyLost, PageRequest: wire.PageRequest{LiveOnly: true}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := uint32(1); size <= 5; size++ {
				var got []wire.TopologyNode
				for _, page := range pages(w, domain.ListTopology, &tt.req, size) {
					got = append(got, page...)
				}
				want(t, got, tt.want)
			}
		})
	}
}

func TestDrainingStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	for s, draining := range map[wire.NodeState]bool{
		wire.StatePreparing: false, wire.StateServing: false, wire.StateRelocating: true, wire.StateRelocated: true,
		wire.StateDraining: true, wire.StateStopped: false, wire.StateError: false,
	} {
		w.stored(wire.IntentTakeover, node("n1", a, state(s)))
		nodes := pages(w, domain.ListTopology, &wire.TopologyListRequest{}, 10)[0]
		if nodes[0].Draining != draining {
			t.Errorf("%s: draining %t, want %t", s, nodes[0].Draining, draining)
		}
	}
}

func TestTopologySummaryCountsNodes(t *testing.T) { // P-07
	t.Parallel()
	w := topologyWorld(t)
	lab := wire.TopologyMesh{MeshName: "lab", TotalCount: 1, ErrorCount: 1, LastUpdatedAt: t0 + 3}
	play := wire.TopologyMesh{MeshName: "play", TotalCount: 3, ReadyCount: 2, StoppedCount: 1, LastUpdatedAt: t0 + 2}
	live := wire.TopologyMesh{MeshName: "play", TotalCount: 2, ReadyCount: 2, LastUpdatedAt: t0 + 1}
	for name, tt := range map[string]struct {
		req  wire.TopologySummaryRequest
		want []wire.TopologyMesh
	}{
		"everything": {wire.TopologySummaryRequest{}, []wire.TopologyMesh{lab, play}},
		"one mesh":   {wire.TopologySummaryRequest{MeshName: "play"}, []wire.TopologyMesh{play}},
		"no mesh":    {wire.TopologySummaryRequest{MeshName: "pla"}, nil},
		"live only":  {wire.TopologySummaryRequest{PageRequest: wire.PageRequest{LiveOnly: true}}, []wire.TopologyMesh{lab, live}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := uint32(1); size <= 3; size++ {
				var got []wire.TopologyMesh
				for _, page := range pages(w, domain.SummarizeTopology, &tt.req, size) {
					got = append(got, page...)
				}
				want(t, got, tt.want)
			}
		})
	}
}

func TestTopologyOfDamagedNodeIsLost(t *testing.T) {
	t.Parallel()
	w := topologyWorld(t)
	k := domain.MeshNodeKey("play", "n2")
	w.plant(k, []byte("x"), 0)
	_, _, err := domain.ListTopology(w.view(), &wire.TopologyListRequest{}, "", domain.Page{})
	wantLost(t, err, k)
	_, _, err = domain.SummarizeTopology(w.view(), &wire.TopologySummaryRequest{}, "", domain.Page{})
	wantLost(t, err, k)
	// It is outside the scope of these.
	want(t, len(pages(w, domain.ListTopology, &wire.TopologyListRequest{MeshName: "lab"}, 10)[0]), 1)
	want(t, len(pages(w, domain.ListTopology, &wire.TopologyListRequest{NodeRID: "n3"}, 10)[0]), 1)
}
