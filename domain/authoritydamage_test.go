package domain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// spoil replaces an object's row by what it makes of it.
func (w *world) spoil(id string, with func([]byte) []byte) kvstore.Key {
	w.t.Helper()
	k := authorityKey(id)
	w.plant(k, with(slices.Clone(w.view().Row(k).Value)), 0)
	return k
}

// spoilt makes values of authorities that the rules cannot read.
var spoilt = func() map[string]func([]byte) []byte {
	all := map[string]func([]byte) []byte{"trailing byte": trailing}
	maps.Copy(all, unreadable)
	return all
}()

// trailing makes a record of which one can still tell where it belongs.
func trailing(v []byte) []byte { return append(v, 0) }

func TestDamagedAuthorityIsLostInEveryRuleThatMeetsIt(t *testing.T) { // 1.5
	t.Parallel()
	for name, with := range spoilt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			r, v := w.reserved("r1", "n1", a), w.ready("r2", "n1", a).StoreVersion
			k := w.spoil("r1", with)
			w.quiet(func() {
				_, err := domain.ReadAuthority(w.view(), &wire.AuthorityReadRequest{Key: keyOf("r1")})
				wantLost(t, err, k)
				_, err = domain.FindObject(w.view(), &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r1"})
				wantLost(t, err, k)
				_, err = domain.AwaitAuthority(w.view(), &wire.ObjectAwaitRequest{Key: keyOf("r1"), Until: wire.AwaitSettled})
				wantLost(t, err, k)
				_, _, err = domain.ListAuthorities(w.view(), &wire.AuthorityListRequest{Limit: 9}, "", domain.Page{})
				wantLost(t, err, k)
				for _, m := range mutations(a, a) {
					_, err = try(w, domain.CompareExchangeAuthority, &wire.AuthorityCompareExchangeRequest{
						Key: r.key, ExpectedStoreVersion: r.version, Mutation: m,
					})
					wantLost(t, err, k)
				}
				_, err = try(w, domain.ReserveObject, w.reserveRequest("r1", r.target))
				wantLost(t, err, k)
				wantLost(t, tryPut(w, wire.IntentTakeover, node("n1", a, entrySpot("r1"))), k)
			})
			// These are out of its scope.
			want(t, w.exchange("r2", v, putOf()).Kind, wire.KindStored)
			want(t, read(w, domain.FindObject, &wire.ObjectFindRequest{Kind: wire.LookupActor, GlobalID: "r1"}).Kind, wire.KindMissing)
			want(t, read(w, domain.FindObject, &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r2"}).Kind, wire.KindFound)
			want(t, len(w.pagesOf(w.view(), "zla1:a:", 9)), 0)
			want(t, len(w.pagesOf(w.view(), "zla1:s:2:r2", 9)), 1)
			w.stored(wire.IntentTakeover, node("n1", a, entrySpot("e1")))
		})
	}
}

func TestListOfObjectsPassesOverNoLostRow(t *testing.T) { // 1.5, 6.8
	t.Parallel()
	kinds := []wire.ObjectKind{wire.ObjectActor, wire.ObjectUserSpot, wire.ObjectInstanceSpot}
	for name, tt := range map[string]struct {
		id   string
		with func([]byte) []byte
		lost map[wire.ObjectKind]bool
	}{
		"illegible actor":    {"a1", unreadable["no record"], map[wire.ObjectKind]bool{wire.ObjectActor: true}},
		"illegible spot":     {"r1", unreadable["cut off"], map[wire.ObjectKind]bool{wire.ObjectUserSpot: true, wire.ObjectInstanceSpot: true}},
		"newer record":       {"i1", unreadable["unknown record version"], map[wire.ObjectKind]bool{wire.ObjectUserSpot: true, wire.ObjectInstanceSpot: true}},
		"legible user spot":  {"r1", trailing, map[wire.ObjectKind]bool{wire.ObjectUserSpot: true}},
		"legible other spot": {"i1", trailing, map[wire.ObjectKind]bool{wire.ObjectInstanceSpot: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			for _, id := range []string{"a1", "r1", "i1"} {
				w.ready(id, "n1", a)
			}
			k := w.spoil(tt.id, tt.with)
			for _, kind := range kinds {
				for _, liveOnly := range []bool{false, true} {
					items, err := w.listObjects(&wire.ObjectListRequest{
						ObjectKind: kind, PageRequest: wire.PageRequest{LiveOnly: liveOnly},
					})
					if tt.lost[kind] {
						wantLost(t, err, k)
						continue
					}
					if err != nil || len(items) != 1 {
						t.Errorf("list of %s: %d items, error %v, want the one that there is", kind, len(items), err)
					}
				}
			}
		})
	}
}

func TestLegibleAuthorityIsLostOnlyInItsScope(t *testing.T) { // 1.5: rows outside the list's scope do not matter
	t.Parallel()
	w, a, b := creationWorld(t, limits(2, 2))
	w.ready("a1", "n1", a)
	w.ready("a2", "n2", b)
	k := w.spoil("a1", trailing)
	for _, req := range []wire.ObjectListRequest{{}, {StableType: "hero"}, {MeshName: "play"}, {StableType: "hero", MeshName: "play"}} {
		req.ObjectKind = wire.ObjectActor
		_, err := w.listObjects(&req)
		wantLost(t, err, k)
	}
	for _, req := range []wire.ObjectListRequest{{StableType: "mage"}, {MeshName: "lab"}, {StableType: "hero", MeshName: "lab"}} {
		req.ObjectKind = wire.ObjectActor
		items, err := w.listObjects(&req)
		if err != nil || len(items) != 0 {
			t.Errorf("list of %+v: %d items, error %v", req, len(items), err)
		}
	}
	// It is counted where it is, and goes with its owner only.
	w.reserved("a3", "n1", a)
	w.unreserved(w.reserveRequest("a4", tgt("n1", a)), wire.KindPlacementCapacityExhausted, "")
	want(t, w.usage("n1").Actors, use{Active: 1, Reserved: 1})
	w.quiet(func() { wantLost(t, w.update(func(tx *kvstore.Tx) error { return removeAllOnce(tx, a) }), k) })
	want(t, w.removeAll(b, 100), []int{2})
}

func TestRoomThatALostAuthorityMayTake(t *testing.T) { // 1.5, 1.10
	t.Parallel()
	for name, with := range unreadable {
		for _, lost := range []string{"a1", "r1"} { // a vector may count anything
			t.Run(name+"/"+lost, func(t *testing.T) {
				t.Parallel()
				w, a, b := creationWorld(t, limits(9, 0), typeLimits(9, 0))
				w.ready("a1", "n2", b)
				w.ready("r1", "n2", b)
				before := w.list()
				k := w.spoil(lost, with)
				w.quiet(func() {
					for _, id := range []string{"a2", "r2"} {
						req := w.reserveRequest(id, tgt("n1", a))
						_, err := try(w, domain.ReserveObject, req)
						wantLost(t, err, k)
						_, err = domain.SelectPlacement(w.view(), &wire.PlacementSelectRequest{
							MeshName: "play", ObjectKind: req.Key.Kind, StableType: req.Intent.StableType, Capacity: req.Capacity,
							Exclude: []wire.Incarnation{{RID: "n2", LifecycleGeneration: 7}},
						}, domain.Seed{})
						wantLost(t, err, k)
					}
				})
				w.reserved("i2", "n1", a) // without a limit nothing has to be counted
				w.reserved("a2", "n2", b)
				w.reserved("r2", "n2", b)
				want(t, len(w.list()), len(before)) // nor for a list of nodes
				w.deleteRow(k)
				w.reserved("a3", "n1", a)
			})
		}
	}
}

func TestRemoveAllPassesOverNoLostAuthority(t *testing.T) { // 1.5, 10
	t.Parallel()
	for name, with := range unreadable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.ready("r1", "n1", a)
			w.ready("a1", "n2", b)
			k := w.spoil("r1", with)
			w.quiet(func() {
				for _, token := range []wire.OwnerToken{a, b} {
					wantLost(t, w.update(func(tx *kvstore.Tx) error { return removeAllOnce(tx, token) }), k)
				}
				w.removeAll(wire.OwnerToken{OwnerID: "nobody", LeaseGeneration: 1}, 10) // not live: it looks at nothing
			})
			w.deleteRow(k)
			want(t, w.removeAll(b, 10), []int{2})
		})
	}
}

func TestSpotThatALostActorMayBelongTo(t *testing.T) { // 1.5, 6.2
	t.Parallel()
	release := func(req *wire.ObjectReserveRequest) { req.EndedOwner = wire.EndedOwnerRelease }
	for name, with := range unreadable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.ready("r1", "n1", a)
			w.ready("r9", "n1", a)
			w.ready("i1", "n1", a)
			w.ready("a1", "n2", b)
			w.release(a)
			k := w.spoil("a1", with)
			w.quiet(func() {
				_, err := try(w, domain.ReserveObject, w.reserveRequest("r1", tgt("n2", b), release))
				wantLost(t, err, k)
			})
			w.reserved("i1", "n2", b, release) // it has no members
			w.deleteRow(k)
			w.spoil("r9", with) // no spot is a member
			w.reserved("r1", "n2", b, release)
		})
	}
}

func TestMemberThatIsLost(t *testing.T) { // 1.5, 6.2
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	w.ready("r2", "n1", a)
	w.member("a1", "r1", "n1", a)
	w.release(a)
	k := w.spoil("a1", trailing)
	release := func(req *wire.ObjectReserveRequest) { req.EndedOwner = wire.EndedOwnerRelease }
	w.quiet(func() {
		_, err := try(w, domain.ReserveObject, w.reserveRequest("r1", tgt("n2", b), release))
		wantLost(t, err, k)
	})
	w.reserved("r2", "n2", b, release) // it is known not to belong there
}
