package domain_test

import (
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// What nodes are asked for is what lists show of them.
func TestFiguresOfNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "a", limits(5, 4), typeLimits(3, 0))
	w.hosts("n\x00\xff", "b", func(d *wire.MeshNodeDescriptor) { d.Endpoint = "tcp://n2:7000" })
	w.ready("r1", "n1", a)
	w.reserved("r2", "n1", a)
	w.ready("a1", "n1", a)
	w.plant(domain.MeshNodeKey("play", "damaged"), []byte("damaged"), 0)
	got := slices.Collect(domain.Nodes(w.view()))
	if len(got) != 2 || got[0].RID != "n\x00\xff" || got[1].RID != "n1" || got[1].MeshName != "play" || !got[1].Live || got[1].State != wire.StateServing {
		t.Fatalf("nodes %+v", got)
	}
	want(t, got[1].Capacity, wire.PopulationCapacity{
		Actors: wire.Usage{Active: 1, Limit: 5},
		Spots:  wire.Usage{Active: 1, Reserved: 1, Limit: 4},
		SpotTypes: []wire.SpotTypeUsage{
			{ObjectKind: wire.SpotUser, StableType: "room", Usage: wire.Usage{Active: 1, Reserved: 1, Limit: 3}},
			{ObjectKind: wire.SpotInstance, StableType: "chat"},
		},
	})
	w.release(a)
	for n := range domain.Nodes(w.view()) {
		if n.Live == (n.RID == "n1") {
			t.Errorf("node %q is live: %t", n.RID, n.Live)
		}
		if n.RID == "n1" {
			break
		}
	}
}
