package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func entrySpot(id string) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.EntrySpotID = id }
}

func inMesh(name string) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.MeshName = name }
}

func TestEntrySpotIDIsOneIdentityInTheStore(t *testing.T) { // 3.2 row 7, 3.3
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
	for why, d := range map[string]wire.MeshNodeDescriptor{
		"another node of the mesh":             node("n2", b, entrySpot("e1")),
		"the same routing id in another mesh":  node("n1", b, entrySpot("e1"), inMesh("lab")),
		"another node of the same owner token": node("n2", a, entrySpot("e1")),
	} {
		t.Log(why)
		w.refused(wire.StatusRejectedConflict, wire.IntentNewClaim, d)
		w.refused(wire.StatusRejectedConflict, wire.IntentTakeover, d)
	}
	w.stored(wire.IntentNewClaim, node("n2", b, entrySpot("e2")))
	w.stored(wire.IntentNewClaim, node("n3", b))
}

func TestEntrySpotIDIsFreeForItsOwnRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
	w.stored(wire.IntentTakeover, node("n1", b, entrySpot("e1")))
	w.stored(wire.IntentRenew, node("n1", b, entrySpot("e1"), revision(2)))
}

func TestEntrySpotIDIsFreeAgain(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, holder wire.OwnerToken){
		"the descriptor was removed":  func(w *world, holder wire.OwnerToken) { w.remove("n1", holder) },
		"the descriptor was replaced": func(w *world, holder wire.OwnerToken) { w.stored(wire.IntentTakeover, node("n1", holder)) },
		"the lease was released":      func(w *world, holder wire.OwnerToken) { w.release(holder) },
		"the lease lapsed":            func(w *world, _ wire.OwnerToken) { w.at(30_000) },
		"the owner has a new lease": func(w *world, holder wire.OwnerToken) {
			w.release(holder)
			w.claim(holder.OwnerID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.stored(wire.IntentNewClaim, node("n1", w.claim("owner-a"), entrySpot("e1")))
			end(w, wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1})
			w.stored(wire.IntentNewClaim, node("n2", w.claim("owner-b"), entrySpot("e1")))
		})
	}
}

func TestOldHolderOfEntrySpotIDCannotClaimAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
	w.release(a)
	w.stored(wire.IntentNewClaim, node("n2", b, entrySpot("e1")))
	want(t, len(w.list()), 2) // its descriptor stays as it is
	a2 := w.claim("owner-a")
	w.refused(wire.StatusRejectedConflict, wire.IntentTakeover, node("n1", a2, entrySpot("e1")))
	w.release(b)
	w.stored(wire.IntentTakeover, node("n1", a2, entrySpot("e1")))
}

func TestStaleComesBeforeEntrySpot(t *testing.T) { // row 6 before row 7
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
	w.stored(wire.IntentNewClaim, node("n2", b))
	w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, node("n2", a, entrySpot("e1")))
}

func TestDamagedHolderOfEntrySpotIDIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
	k := domain.MeshNodeKey("play", "n1")
	damaged := append(w.view().Row(k).Value[:len(w.view().Row(k).Value):len(w.view().Row(k).Value)], 0)
	w.plant(domain.MeshNodeKey("play", "n0"), w.view().Row(k).Value, 0) // contradicts its key
	_, err := try(w, domain.UpdateMeshNode, &wire.MeshNodeUpdateRequest{Descriptor: node("n2", a, entrySpot("e1")), Intent: wire.IntentNewClaim})
	wantLost(t, err, domain.MeshNodeKey("play", "n0"))
	w.plant(k, damaged, 0)
	_, err = try(w, domain.UpdateMeshNode, &wire.MeshNodeUpdateRequest{Descriptor: node("n1", a), Intent: wire.IntentTakeover})
	wantLost(t, err, k)
}
