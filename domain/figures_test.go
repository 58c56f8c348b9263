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

func TestFiguresOfAggregates(t *testing.T) {
	t.Parallel()
	w, a, b := creationWorld(t)
	r1, r2, r3 := w.ready("r1", "n1", a), w.ready("r2", "n1", a), w.ready("r3", "n1", a)
	want(t, domain.CountAggregates(w.view()), domain.AggregateFigures{ByState: map[wire.AggregateState]int{}})
	w.stage(fence("staged"), 0, inKeyOrder(takesPart(r3)))
	w.prepared(prepareRequest(fence("held"), tgt("n2", b), rooms(1), inKeyOrder(takesPart(r1))))
	w.prepared(prepareRequest(fence("done"), tgt("n2", b), rooms(1), inKeyOrder(takesPart(r2))))
	want(t, w.commitAggregate(fence("done")), wire.KindCommitted)
	w.plant(domain.AggregateKey(fence("lost")), []byte("damaged"), 0)
	figures := domain.AggregateFigures{
		ByState: map[wire.AggregateState]int{
			wire.AggregateCollecting: 1, wire.AggregatePrepared: 1, wire.AggregateCommitted: 1,
		},
		Unreadable: 1,
	}
	want(t, domain.CountAggregates(w.view()), figures)
	w.at(60_000) // the collecting and the prepared one end after a minute
	figures.Overdue = 2
	want(t, domain.CountAggregates(w.view()), figures)
}
