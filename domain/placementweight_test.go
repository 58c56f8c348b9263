package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// chiSquareBounds are the values that chi-square passes with a probability of 0.001,
// by degrees of freedom.
var chiSquareBounds = []float64{0, 10.83, 13.82, 16.27, 18.47}

// wantInProportion draws many times and requires that the nodes come as often as their
// weights say, and others never.
func wantInProportion(t *testing.T, weights map[wire.RID]int, draw func(n int) wire.RID) {
	t.Helper()
	const draws = 4000
	total := 0
	for _, weight := range weights {
		total += weight
	}
	drawn := make(map[wire.RID]int)
	for n := range draws {
		drawn[draw(n)]++
	}
	chiSquare := 0.0
	for rid, weight := range weights {
		expected := float64(draws) * float64(weight) / float64(total)
		difference := float64(drawn[rid]) - expected
		chiSquare += difference * difference / expected
		delete(drawn, rid)
	}
	if bound := chiSquareBounds[len(weights)-1]; chiSquare > bound {
		t.Errorf("chi-square %.2f, want at most %.2f", chiSquare, bound)
	}
	want(t, drawn, map[wire.RID]int{})
}

// weighedWorld has nodes with weights, four that do not qualify for a room but have
// much weight, and one without weight.
func weighedWorld(t *testing.T, weights map[wire.RID]int) *world {
	t.Helper()
	w := newWorld(t)
	a, dead := w.claim("owner-a"), w.claim("owner-dead")
	for rid, n := range weights {
		w.stored(wire.IntentNewClaim, node(rid, a, weight(uint32(n))))
	}
	heavy := weight(10_000)
	w.stored(wire.IntentNewClaim, node("full", a, heavy, typeLimits(1, 0)))
	w.ready("r0", "full", a)
	w.stored(wire.IntentNewClaim, node("excluded", a, heavy))
	w.stored(wire.IntentNewClaim, node("unable", a, heavy, can(wire.ObjectUserSpot, "hall")))
	w.stored(wire.IntentNewClaim, node("dead", dead, heavy))
	w.release(dead)
	w.stored(wire.IntentNewClaim, node("weightless", a, weight(0)))
	return w
}

var excluded = []wire.Incarnation{{RID: "excluded", LifecycleGeneration: 7}}

var weightings = map[string]map[wire.RID]int{
	"one":          {"a": 1},
	"equal":        {"a": 100, "b": 100, "c": 100},
	"one to three": {"a": 100, "b": 300},
	"far apart":    {"a": 200, "b": 1000, "c": 4000, "d": 10_000},
	"small":        {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5},
}

func TestNodesAreSelectedInProportionToTheirWeights(t *testing.T) { // 7.1
	t.Parallel()
	for name, weights := range weightings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := weighedWorld(t, weights)
			wantInProportion(t, weights, func(n int) wire.RID {
				return w.choose(selection("r1", without(excluded...)), n).Target.NodeRID
			})
		})
	}
}

func TestObjectsArePlacedInProportionToTheWeights(t *testing.T) { // 6.6 row 12, 7.1
	t.Parallel()
	for name, weights := range weightings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := weighedWorld(t, weights)
			req := w.placeRequest("r1")
			req.Exclude = excluded
			wantInProportion(t, weights, func(n int) wire.RID {
				tx := kvstore.NewTx(w.view(), w.store.Limits()) // each in the same state
				r, err := domain.PlaceObject(tx, req, domain.Seed{7, uint64(n)})
				if err != nil {
					t.Fatal(err)
				}
				return r.Target.NodeRID
			})
		})
	}
}

func TestSelectedNodes(t *testing.T) { // C-15
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", limits(1, 0))
	b := w.hosts("n2", "owner-b", weight(300), limits(1, 0))
	second := 0
	for n := range 4000 {
		if *w.choose(selection("a1"), n).Target == tgt("n2", b) {
			second++
		}
	}
	if second < 2850 || second > 3150 {
		t.Errorf("n2 was selected %d times of 4000, want 2850..3150", second)
	}
	n2 := without(wire.Incarnation{RID: "n2", LifecycleGeneration: 7})
	w.wantSelected(selection("a1", n2), tgt("n1", a))
	w.wantNone(selection("a1", func(r *wire.PlacementSelectRequest) { r.MeshName = "lab" }), wire.ReasonNoNode)
	w.reserved("a1", "n1", a)
	w.reserved("a2", "n2", b)
	w.wantNone(selection("a3"), wire.ReasonCapacity)
	w.stored(wire.IntentRenew, node("n1", a, limits(1, 0), weight(0), revision(2)))
	w.wantNone(selection("a1", n2), wire.ReasonExcluded)
	w.stored(wire.IntentTakeover, node("n1", a, can(wire.ObjectActor, "npc"), revision(3)))
	w.stored(wire.IntentTakeover, node("n2", b, can(wire.ObjectActor, "npc"), revision(3)))
	w.wantNone(selection("a1"), wire.ReasonNoCapability)
}
