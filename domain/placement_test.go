package domain_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// selection asks for a node of "play" for an object such as one of an id.
func selection(id string, edits ...func(*wire.PlacementSelectRequest)) *wire.PlacementSelectRequest {
	k := keyOf(id)
	stableType, takes := sortOf(k)
	req := &wire.PlacementSelectRequest{MeshName: "play", ObjectKind: k.Kind, StableType: stableType, Capacity: takes}
	for _, edit := range edits {
		edit(req)
	}
	return req
}

func without(nodes ...wire.Incarnation) func(*wire.PlacementSelectRequest) {
	return func(r *wire.PlacementSelectRequest) { r.Exclude = nodes }
}

// choose answers placement.select with a seed made of a number.
func (w *world) choose(req *wire.PlacementSelectRequest, n int) *wire.PlacementSelectReply {
	w.t.Helper()
	if err := domain.ValidatePlacementSelect(req); err != nil {
		w.t.Fatal(err)
	}
	r, err := domain.SelectPlacement(w.view(), req, domain.Seed{uint64(n), 7})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// wantNone requires that no node stays, for a reason.
func (w *world) wantNone(req *wire.PlacementSelectRequest, reason wire.Reason) {
	w.t.Helper()
	want(w.t, w.choose(req, 1), &wire.PlacementSelectReply{Kind: wire.KindNone, Reason: reason})
}

// wantSelected requires that a node is the only one.
func (w *world) wantSelected(req *wire.PlacementSelectRequest, target wire.Target) {
	w.t.Helper()
	for n := range 20 {
		want(w.t, w.choose(req, n), &wire.PlacementSelectReply{Kind: wire.KindSelected, Target: &target})
	}
}

func can(kind wire.ObjectKind, stableType string) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) {
		d.ObjectCapabilities = append(d.ObjectCapabilities,
			wire.ObjectCapability{ObjectKind: kind, StableType: stableType, Policy: wire.PolicyDisabled})
	}
}

func TestSelectedNodeServes(t *testing.T) { // 7.1 row 1
	t.Parallel()
	for name, edit := range map[string]func(*wire.MeshNodeDescriptor){
		"client":     role(wire.RoleClient),
		"no role":    role(wire.RoleNone),
		"preparing":  state(wire.StatePreparing),
		"relocating": state(wire.StateRelocating),
		"relocated":  state(wire.StateRelocated),
		"draining":   state(wire.StateDraining),
		"stopped":    state(wire.StateStopped),
		"error":      state(wire.StateError),
		"weight 0":   weight(0),
		"elsewhere":  inMesh("lab"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.hosts("n1", "owner-a", edit)
			w.wantNone(selection("a1"), wire.ReasonNoNode)
			b := w.hosts("n2", "owner-b", weight(1))
			w.wantSelected(selection("a1"), tgt("n2", b))
		})
	}
}

func TestSelectedNodeIsLive(t *testing.T) { // 7.1 row 1
	t.Parallel()
	w := newWorld(t)
	w.wantNone(selection("a1"), wire.ReasonNoNode) // there is none
	a := w.hosts("n1", "owner-a")
	w.at(29_999)
	w.wantSelected(selection("a1"), tgt("n1", a))
	w.at(30_000)
	w.wantNone(selection("a1"), wire.ReasonNoNode)
	w.claim("owner-a") // the descriptor has the token before
	w.wantNone(selection("a1"), wire.ReasonNoNode)
}

func TestSelectedNodeCanHaveTheType(t *testing.T) { // 7.1 row 2
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	for name, tt := range map[string]struct {
		edits []func(*wire.MeshNodeDescriptor)
		id    string
		want  bool
	}{
		"any":           {nil, "a1", true},
		"this":          {[]func(*wire.MeshNodeDescriptor){can(wire.ObjectActor, "npc"), can(wire.ObjectActor, "hero")}, "a1", true},
		"another type":  {[]func(*wire.MeshNodeDescriptor){can(wire.ObjectActor, "npc")}, "a1", false},
		"another kind":  {[]func(*wire.MeshNodeDescriptor){can(wire.ObjectUserSpot, "hero")}, "a1", false},
		"kind of spots": {[]func(*wire.MeshNodeDescriptor){can(wire.ObjectInstanceSpot, "room")}, "r1", false},
		"type of both":  {[]func(*wire.MeshNodeDescriptor){can(wire.ObjectActor, "npc"), can(wire.ObjectUserSpot, "hero")}, "a1", false},
	} {
		t.Log(name)
		w.stored(wire.IntentTakeover, node("n1", a, append(tt.edits, endpoint(name+tt.id))...))
		if tt.want {
			w.wantSelected(selection(tt.id), tgt("n1", a))
		} else {
			w.wantNone(selection(tt.id), wire.ReasonNoCapability)
		}
	}
}

func TestSelectedNodeIsNotExcluded(t *testing.T) { // 7.1 row 3
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	for _, others := range [][]wire.Incarnation{{}, {{RID: "n1", LifecycleGeneration: 8}}, {{RID: "n2", LifecycleGeneration: 7}}} {
		w.wantSelected(selection("a1", without(others...)), tgt("n1", a))
	}
	this := wire.Incarnation{RID: "n1", LifecycleGeneration: 7}
	w.wantNone(selection("a1", without(this)), wire.ReasonExcluded)
	w.wantNone(selection("a1", without(wire.Incarnation{RID: "n1", LifecycleGeneration: 8}, this)), wire.ReasonExcluded)
	b := w.hosts("n2", "owner-b")
	w.wantSelected(selection("a1", without(this)), tgt("n2", b))
}

func TestSelectedNodeHasRoom(t *testing.T) { // 7.1 row 4
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", limits(1, 1))
	w.wantSelected(selection("a1"), tgt("n1", a))
	w.reserved("a1", "n1", a)
	w.wantNone(selection("a2"), wire.ReasonCapacity)
	w.wantSelected(selection("r1"), tgt("n1", a))
	w.ready("r1", "n1", a)
	w.wantNone(selection("i1"), wire.ReasonCapacity)
	b := w.hosts("n2", "owner-b")
	w.wantSelected(selection("a2"), tgt("n2", b))
}

// TestReasonIsThatOfTheLastFilterReached: a node counts for the first filter that it
// fails alone, and the reason is the last one that any node reached. 7.1
func TestReasonIsThatOfTheLastFilterReached(t *testing.T) {
	t.Parallel()
	reasons := []wire.Reason{wire.ReasonNoNode, wire.ReasonNoCapability, wire.ReasonExcluded, wire.ReasonCapacity}
	const all = 1 << 4
	for first := 1; first < all; first++ {
		for second := 1; second < all; second++ {
			w := newWorld(t)
			a := w.claim("owner-a")
			furthest := 0
			req := selection("r1")
			for rid, fails := range map[wire.RID]int{"n1": first, "n2": second} {
				w.stored(wire.IntentNewClaim, node(rid, a, failing(fails)))
				if fails&4 != 0 {
					req.Exclude = append(req.Exclude, wire.Incarnation{RID: rid, LifecycleGeneration: 7})
				}
				furthest = max(furthest, lowestBit(fails))
			}
			if got := w.choose(req, first).Reason; got != reasons[furthest] {
				t.Fatalf("nodes that fail %04b and %04b: reason %q, want %q", first, second, got, reasons[furthest])
			}
		}
	}
}

// failing makes a node fail filters for a user spot: 1 is the first, 2 the second, 8
// the last. The third one, 4, is up to the request.
func failing(filters int) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) {
		if filters&1 != 0 {
			d.State = wire.StateDraining
		}
		if filters&2 != 0 {
			can(wire.ObjectActor, "hero")(d)
		}
		if filters&8 != 0 {
			d.PopulationCapacity.SpotTypes = nil
		}
	}
}

func lowestBit(n int) (i int) {
	for n>>i&1 == 0 {
		i++
	}
	return i
}

func TestPlacementIsRepeatable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 50)
	chosen := make(map[wire.RID]bool)
	for n := range 50 {
		r := w.choose(selection("a1"), n)
		want(t, w.choose(selection("a1"), n), r)
		chosen[r.Target.NodeRID] = true
	}
	if len(chosen) < 20 {
		t.Errorf("50 seeds chose %d of 50 nodes, want many", len(chosen))
	}
}

func TestNodesOfTheWholeMeshAreConsidered(t *testing.T) { // 7.1: not a first page
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	for i := range 1200 {
		w.stored(wire.IntentNewClaim, node(wire.RID(fmt.Sprintf("n%04d", i)), a, limits(1, 0), can(wire.ObjectUserSpot, "room")))
	}
	w.wantNone(selection("a1"), wire.ReasonNoCapability)
	w.stored(wire.IntentNewClaim, node("z", a))
	w.wantSelected(selection("a1"), tgt("z", a))
}
