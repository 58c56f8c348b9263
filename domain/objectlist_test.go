package domain_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// entries lists objects page by page.
func (w *world) entries(req *wire.ObjectListRequest, size uint32) []wire.ObjectEntry {
	w.t.Helper()
	if err := domain.ValidateObjectList(req); err != nil {
		w.t.Fatal(err)
	}
	return slices.Concat(pages(w, domain.ListObjects, req, size)...)
}

func idsOf(entries []wire.ObjectEntry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.GlobalID)
	}
	return ids
}

// populated has objects of every kind, of two types, in two meshes, of owners that are
// live and not, being created and ready. It returns what list should show of them, in
// key order, and whose owners are live.
func populated(t *testing.T) (w *world, all []wire.ObjectEntry, kinds []wire.ObjectKind, live []bool) {
	w = newWorld(t)
	owners := []wire.OwnerToken{w.claim("owner-a"), w.claim("owner-b")}
	types := func(d *wire.MeshNodeDescriptor) {
		d.PopulationCapacity.SpotTypes = nil
		d.Endpoint = "e"
	}
	for _, mesh := range []string{"play", "lab"} {
		for i, owner := range owners {
			w.stored(wire.IntentNewClaim, node(wire.RID(fmt.Sprint("n", i)), owner, inMesh(mesh), types))
		}
	}
	// Spots of both kinds are mixed in key order, and the keys are in the order of
	// the lengths of ids first.
	for _, letter := range []string{"a", "i", "r"} {
		for i := range 16 {
			id := letter + strings.Repeat("x", i%3) + fmt.Sprint(i)
			owner := owners[i&1]
			target := wire.Target{MeshName: []string{"play", "lab"}[i>>1&1], NodeRID: wire.RID(fmt.Sprint("n", i&1)), NodeLifecycleGeneration: 7, Owner: owner}
			req := w.reserveRequest(id, target, taking(wire.Capacity{Actors: 1}))
			req.Intent.StableType = []string{"one", "two"}[i>>2&1]
			reply := w.reserve(req)
			entry := wire.ObjectEntry{
				GlobalID: id, ObjectGeneration: reply.Creating.ObjectGeneration, MeshName: target.MeshName, NodeRID: target.NodeRID,
				State: wire.EntryCreating, StableType: req.Intent.StableType,
			}
			if i>>3 == 1 {
				w.makeReady(reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, target, reply.Creating})
				entry.State = []wire.EntryState{wire.EntryReady, wire.EntryUnavailable}[i&1]
			}
			all, kinds, live = append(all, entry), append(kinds, req.Key.Kind), append(live, i&1 == 0)
		}
	}
	w.release(owners[1])
	return w, all, kinds, live
}

func TestObjectsAreListedByEveryFilter(t *testing.T) { // 6.8, 1.9
	t.Parallel()
	w, all, kinds, live := populated(t)
	for _, kind := range []wire.ObjectKind{wire.ObjectActor, wire.ObjectUserSpot, wire.ObjectInstanceSpot} {
		for _, stableType := range []string{"", "one", "two", "on"} {
			for _, mesh := range []string{"", "play", "lab", "la"} {
				for _, liveOnly := range []bool{false, true} {
					req := &wire.ObjectListRequest{
						ObjectKind: kind, StableType: stableType, MeshName: mesh, PageRequest: wire.PageRequest{LiveOnly: liveOnly},
					}
					var wanted []wire.ObjectEntry
					for i, e := range all {
						if kinds[i] == kind && (stableType == "" || e.StableType == stableType) &&
							(mesh == "" || e.MeshName == mesh) && (!liveOnly || live[i]) {
							wanted = append(wanted, e)
						}
					}
					slices.SortFunc(wanted, func(a, b wire.ObjectEntry) int {
						return strings.Compare(wire.ObjectKey{Kind: kind, GlobalID: a.GlobalID}.Text(), wire.ObjectKey{Kind: kind, GlobalID: b.GlobalID}.Text())
					})
					for _, size := range []uint32{1, 2, 3, 1000} {
						want(t, w.entries(req, size), wanted)
					}
				}
			}
		}
	}
}

func TestObjectsAreListedInKeyOrder(t *testing.T) { // 1.9, 6.8
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	order := []string{"a\x01", "a\u00e9", "a:\x7f", "a::", "aB0", "aa0", "a_9", "a~0", "a123456789"}
	slices.SortFunc(order, func(a, b string) int { return strings.Compare(keyOf(a).Text(), keyOf(b).Text()) })
	for _, id := range slices.Backward(order) {
		w.reserved(id, "n1", a)
	}
	if slices.IsSorted(order) {
		t.Fatal("the order of ids is that of keys: they say nothing")
	}
	for size := range uint32(len(order) + 1) {
		want(t, idsOf(w.entries(&wire.ObjectListRequest{ObjectKind: wire.ObjectActor}, size)), order)
	}
}

func TestPagesOfObjectsEndWithTheList(t *testing.T) { // 1.9: no token means the end
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	for i := range 6 {
		w.reserved(fmt.Sprint("a", i), "n1", a)
		w.reserved(fmt.Sprint("r", i), "n1", a) // of another kind, behind
	}
	for size, lengths := range map[uint32][]int{1: {1, 1, 1, 1, 1, 1}, 2: {2, 2, 2}, 4: {4, 2}, 6: {6}, 7: {6}} {
		var got []int
		for _, page := range pages(w, domain.ListObjects, &wire.ObjectListRequest{ObjectKind: wire.ObjectActor}, size) {
			got = append(got, len(page))
		}
		want(t, got, lengths)
	}
	want(t, len(pages(w, domain.ListObjects, &wire.ObjectListRequest{ObjectKind: wire.ObjectInstanceSpot}, 1)[0]), 0)
}

// TestPagesOfObjectsShowOneState: whatever changes between the pages, no object is left
// out or comes twice. 1.9
func TestPagesOfObjectsShowOneState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b")
	for i := range 8 {
		w.ready(fmt.Sprint("i", i), "n1", a)
	}
	v, req := w.view(), &wire.ObjectListRequest{ObjectKind: wire.ObjectInstanceSpot, PageRequest: wire.PageRequest{LiveOnly: true}}
	before := w.entries(req, 100)
	first, next, err := domain.ListObjects(v, req, "", domain.Page{Items: 3})
	if err != nil {
		t.Fatal(err)
	}
	want(t, w.exchange("i2", w.snapshot("i2").StoreVersion, removal()).Kind, wire.KindDeleted) // the last one listed
	want(t, w.exchange("i3", w.snapshot("i3").StoreVersion, removal()).Kind, wire.KindDeleted) // the next one
	w.changed("i4", putOf())
	w.ready("i00", "n2", b)
	w.release(a)
	orRelease := w.reserveRequest("i5", tgt("n2", b))
	orRelease.EndedOwner = wire.EndedOwnerRelease
	want(t, w.reserve(orRelease).Kind, wire.KindReserved) // another object of the same key
	rest, next, err := domain.ListObjects(v, req, next, domain.Page{Items: 100})
	if err != nil || next != "" {
		t.Fatalf("next %q, error %v", next, err)
	}
	want(t, append(first, rest...), before)
	want(t, idsOf(w.entries(req, 100)), []string{"i5", "i00"})
}

func TestPagesOfObjectsDoNotCountPayloads(t *testing.T) { // 1.9: a page is filled
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	for i := range 6 {
		req := w.reserveRequest(fmt.Sprint("a", i), tgt("n1", a))
		req.CreatingPayload = bytes.Repeat([]byte("x"), 1<<20)
		if err := w.update(func(tx *kvstore.Tx) error {
			_, err := domain.ReserveObject(tx, req)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	got := pages(w, domain.ListObjects, &wire.ObjectListRequest{ObjectKind: wire.ObjectActor}, 100)
	want(t, len(got), 1)
	want(t, len(got[0]), 6)
}
