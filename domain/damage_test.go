package domain_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// unreadable makes values that nobody can tell the owner of.
var unreadable = map[string]func(value []byte) []byte{
	"no record":              func([]byte) []byte { return []byte("x") },
	"nothing":                func([]byte) []byte { return nil },
	"unknown record version": func(v []byte) []byte { v[1] = 2; return v },
	"cut off":                func(v []byte) []byte { return v[:3] },
}

// damage replaces a node of "play" by what spoil makes of it.
func (w *world) damage(rid wire.RID, spoil func([]byte) []byte) kvstore.Key {
	w.t.Helper()
	k := domain.MeshNodeKey("play", rid)
	w.plant(k, spoil(slices.Clone(w.view().Row(k).Value)), 0)
	return k
}

func (w *world) deleteRow(k kvstore.Key) {
	w.t.Helper()
	if err := w.update(func(tx *kvstore.Tx) error {
		_, err := tx.Delete(k)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

func tryPut(w *world, intent wire.Intent, d wire.MeshNodeDescriptor) error {
	w.t.Helper()
	_, err := try(w, domain.UpdateMeshNode, &wire.MeshNodeUpdateRequest{Descriptor: d, Intent: intent})
	return err
}

func TestNobodyGetsAnEntrySpotIDThatALostRowMayHold(t *testing.T) { // 1.5, 3.3
	t.Parallel()
	for name, spoil := range unreadable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.claim("owner-a"), w.claim("owner-b")
			w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
			w.stored(wire.IntentNewClaim, node("n2", b, entrySpot("e2")))
			k := w.damage("n1", spoil)
			w.quiet(func() {
				wantLost(t, tryPut(w, wire.IntentNewClaim, node("n3", b, entrySpot("e1"))), k)
				wantLost(t, tryPut(w, wire.IntentNewClaim, node("n3", b, entrySpot("e1"), inMesh("lab"))), k)
				wantLost(t, tryPut(w, wire.IntentTakeover, node("n2", a, entrySpot("e3"))), k)
			})
			// These ask nobody for an id.
			w.stored(wire.IntentNewClaim, node("n3", b))
			w.stored(wire.IntentRenew, node("n2", b, entrySpot("e2"), revision(2)))
			w.deleteRow(k)
			w.stored(wire.IntentNewClaim, node("n4", b, entrySpot("e1")))
		})
	}
}

func TestRemoveAllPassesOverNoLostRow(t *testing.T) { // 1.5, 10
	t.Parallel()
	for name, spoil := range unreadable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.claim("owner-a"), w.claim("owner-b")
			w.stored(wire.IntentNewClaim, node("n1", a))
			w.stored(wire.IntentNewClaim, node("n2", b))
			k := w.damage("n1", spoil)
			w.quiet(func() {
				for _, token := range []wire.OwnerToken{a, b} {
					wantLost(t, w.update(func(tx *kvstore.Tx) error { return removeAllOnce(tx, token) }), k)
				}
				w.removeAll(wire.OwnerToken{OwnerID: "nobody", LeaseGeneration: 1}, 10)
			})
			w.deleteRow(k)
			want(t, w.removeAll(b, 10), []int{1})
		})
	}
}

func TestEndOfLeaseNamesLostRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("n2", a))
	k := w.damage("n1", unreadable["unknown record version"])
	_, err := w.eventsAndDamage()
	wantLost(t, err, k) // its own event
	w.renew(a)
	want(t, w.events(), nil)
	w.release(a)
	events, err := w.eventsAndDamage()
	wantLost(t, err, k)
	if len(events) != 2 || events[0].Kind != wire.EventOwnerLease || events[1].ID != "n2" || events[1].Change != wire.ChangeExpired {
		t.Errorf("events %+v, want those of the lease and of the row that is legible", events)
	}
}

func TestLostRowsAreNamedOnceACommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	k := domain.MeshNodeKey("play", "n1")
	w.plant(k, []byte("x"), 0)
	_, err := w.eventsAndDamage()
	wantLost(t, err, k)
	err = w.update(func(tx *kvstore.Tx) error {
		for _, token := range []wire.OwnerToken{a, b} {
			if _, err := tx.Delete(domain.LeaseKey(token.OwnerID)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := w.eventsAndDamage()
	wantLost(t, err, k)
	want(t, len(events), 2)
	want(t, strings.Count(err.Error(), "stored row"), 1)
}

func TestDamagedNodeIsLostInEveryRuleThatMeetsIt(t *testing.T) { // 1.5
	t.Parallel()
	spoilt := map[string]func([]byte) []byte{
		"trailing byte": func(v []byte) []byte { return append(v, 0) },
	}
	maps.Copy(spoilt, unreadable)
	for name, spoil := range spoilt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.claim("owner-a")
			w.stored(wire.IntentNewClaim, node("n1", a))
			w.stored(wire.IntentNewClaim, node("n1", a, inMesh("lab")))
			k := w.damage("n1", spoil)
			w.quiet(func() {
				for _, intent := range []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover} {
					wantLost(t, tryPut(w, intent, node("n1", a, revision(2))), k)
				}
				_, err := try(w, domain.RemoveMeshNode, &wire.MeshNodeRemoveRequest{MeshName: "play", RID: "n1", Owner: a})
				wantLost(t, err, k)
			})
			for _, liveOnly := range []bool{false, true} {
				p := wire.PageRequest{LiveOnly: liveOnly}
				_, _, err := domain.ListMeshNodes(w.view(), &wire.MeshNodeListRequest{MeshName: "play", PageRequest: p}, "", domain.Page{})
				wantLost(t, err, k)
			}
			want(t, len(pages(w, domain.ListMeshNodes, &wire.MeshNodeListRequest{MeshName: "lab"}, 10)[0]), 1) // out of its scope
		})
	}
}

// TestLostRowFailsThePageThatItIsIn checks pages of each size from each row on.
func TestLostRowFailsThePageThatItIsIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	for _, rid := range []wire.RID{"n1", "n2", "n3", "n4"} {
		w.stored(wire.IntentNewClaim, node(rid, a))
	}
	k := w.damage("n3", unreadable["no record"])
	list := func(size uint32, after kvstore.Key) ([]wire.MeshNodeItem, kvstore.Key, error) {
		return domain.ListMeshNodes(w.view(), &wire.MeshNodeListRequest{MeshName: "play"}, after, domain.Page{Items: size})
	}
	for size := uint32(1); size <= 2; size++ {
		items, next, err := list(size, "")
		if err != nil || len(items) != int(size) || next != domain.MeshNodeKey("play", items[size-1].RID) {
			t.Errorf("page of %d: %d items, next %q, error %v", size, len(items), next, err)
		}
	}
	_, _, err := list(3, "")
	wantLost(t, err, k)
	_, _, err = list(1, domain.MeshNodeKey("play", "n2"))
	wantLost(t, err, k)
	items, _, err := list(5, k)
	if err != nil || len(items) != 1 {
		t.Errorf("after the lost row: %d items, error %v", len(items), err)
	}
}

func TestLostRowFailsTheSummaryOfItsMesh(t *testing.T) {
	t.Parallel()
	w := topologyWorld(t)
	k := w.damage("n1", unreadable["no record"]) // the first of "play"; "lab" comes before
	summary := func(size uint32, after kvstore.Key) ([]wire.TopologyMesh, kvstore.Key, error) {
		return domain.SummarizeTopology(w.view(), &wire.TopologySummaryRequest{}, after, domain.Page{Items: size})
	}
	meshes, next, err := summary(1, "")
	if err != nil || len(meshes) != 1 || meshes[0].MeshName != "lab" || next == "" {
		t.Errorf("first page %+v, next %q, error %v, want lab", meshes, next, err)
	}
	_, _, err = summary(1, next)
	wantLost(t, err, k)
	_, _, err = summary(2, "")
	wantLost(t, err, k)
}
