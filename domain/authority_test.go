package domain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// objectAt reserves an object of any key on n1 and returns its snapshot.
func (w *world) objectAt(k wire.ObjectKey, owner wire.OwnerToken) *wire.Authority {
	w.t.Helper()
	stableType, takes := sortOf(k)
	req := w.reserveRequest("a1", tgt("n1", owner), func(req *wire.ObjectReserveRequest) {
		req.Key, req.Intent, req.Capacity = k, intentFor(stableType), takes
	})
	reply := w.reserve(req)
	if reply.Kind != wire.KindReserved {
		w.t.Fatalf("reserve %+v: %+v, want reserved", k, reply)
	}
	return reply.Creating
}

func TestIdentities(t *testing.T) { // 1.7, K-01, K-02
	t.Parallel()
	w, a, _ := creationWorld(t)
	for _, k := range []wire.ObjectKey{
		{Kind: wire.ObjectActor, GlobalID: "user:42"},
		{Kind: wire.ObjectActor, GlobalID: "User:42"},
		{Kind: wire.ObjectUserSpot, GlobalID: "user:42"},
		{Kind: wire.ObjectActor, GlobalID: "\u00e9"},
		{Kind: wire.ObjectActor, GlobalID: "e\u0301"},
		{Kind: wire.ObjectInstanceSpot, GlobalID: "room:\u00e9"},
		{Kind: wire.ObjectActor, GlobalID: strings.Repeat(":", 255)},
	} {
		s := w.objectAt(k, a)
		want(t, s.Key, k.Text())
		read := read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: k})
		read.Kind = ""
		want(t, read, s)
	}
	var keys []string
	for _, item := range w.snapshots() {
		want(t, item.Snapshot.Key, item.Key)
		keys = append(keys, item.Key)
	}
	want(t, keys, []string{
		"zla1:a:255:" + strings.Repeat("%3A", 255), "zla1:a:2:%C3%A9", "zla1:a:3:e%CC%81", "zla1:a:7:User%3A42", "zla1:a:7:user%3A42",
		"zla1:s:7:room%3A%C3%A9", "zla1:s:7:user%3A42",
	})
}

func TestSpotsShareOneIdentity(t *testing.T) { // 1.7, K-02
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.ready("r1", "n1", a)
	instance := wire.ObjectKey{Kind: wire.ObjectInstanceSpot, GlobalID: "r1"}
	w.unreserved(w.reserveRequest("i1", tgt("n1", a), func(req *wire.ObjectReserveRequest) { req.Key = instance }), wire.KindTypeMismatch, "")
	want(t, read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: instance}), w.snapshot("r1"))
	reply := write(w, domain.CompareExchangeAuthority, &wire.AuthorityCompareExchangeRequest{
		Key: instance, ExpectedStoreVersion: w.snapshot("r1").StoreVersion, Mutation: putOf(),
	})
	want(t, reply.Kind, wire.KindStored)
	want(t, reply.Allocation.ObjectKind, wire.ObjectUserSpot) // it stays what it is
	want(t, len(w.snapshots()), 1)
}

func TestReadAuthority(t *testing.T) { // 5.1, 1.4
	t.Parallel()
	w, a, b := creationWorld(t)
	w.at(3)
	want(t, w.snapshot("r1"), &wire.Authority{Kind: wire.KindMissing, StoreNow: t0 + 3})
	s := w.ready("r1", "n1", a)
	live := func(at wire.Instant, live bool) *wire.Authority {
		now := *s
		now.Kind, now.StoreNow, now.Live = wire.KindSnapshot, at, &live
		return &now
	}
	want(t, w.snapshot("r1"), live(t0+3, true))
	w.at(29_999)
	w.renew(b)
	want(t, w.snapshot("r1"), live(t0+29_999, true))
	w.at(30_000)
	want(t, w.snapshot("r1"), live(t0+30_000, false))
	w.claim("owner-a")
	want(t, w.snapshot("r1"), live(t0+30_000, false)) // another generation
}

func TestListOfAuthorities(t *testing.T) { // 5.1, 1.9
	t.Parallel()
	w, a, b := creationWorld(t)
	for _, id := range []string{"a1", "a2", "a10", "r1", "i1"} {
		w.ready(id, "n1", a)
	}
	w.reserved("r2", "n2", b)
	w.release(a)
	for prefix, keys := range map[string][]string{
		"":                 {"zla1:a:2:a1", "zla1:a:2:a2", "zla1:a:3:a10", "zla1:s:2:i1", "zla1:s:2:r1", "zla1:s:2:r2"},
		"zla1:a:":          {"zla1:a:2:a1", "zla1:a:2:a2", "zla1:a:3:a10"},
		"zla1:a:2:a1":      {"zla1:a:2:a1"},
		"zla1:a:2:a10":     nil,
		"zla1:s:2:r":       {"zla1:s:2:r1", "zla1:s:2:r2"},
		"zla1:s:2:r1\x00":  nil,
		"ZLA1:":            nil,
		"zla1:s:2:r1:more": nil,
	} {
		for limit := uint32(1); limit <= 7; limit++ {
			var got []string
			for _, item := range w.pagesOf(w.view(), prefix, limit) {
				got = append(got, item.Key)
				k, err := wire.ParseObjectKey(item.Key)
				if err != nil {
					t.Fatal(err)
				}
				item.Snapshot.Kind = wire.KindSnapshot
				want(t, &item.Snapshot, read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: k}))
			}
			want(t, got, keys)
		}
	}
}

// pagesOf reads all pages of a list of authorities on one view.
func (w *world) pagesOf(v kvstore.View, prefix string, limit uint32) (all []wire.AuthorityItem) {
	w.t.Helper()
	for after := kvstore.Key(""); ; {
		items, next, err := domain.ListAuthorities(v, &wire.AuthorityListRequest{Prefix: prefix, Limit: limit}, after, domain.Page{Items: limit})
		if err != nil || len(items) > int(limit) {
			w.t.Fatalf("page of %d: %d items, error %v", limit, len(items), err)
		}
		all = append(all, items...)
		if next == "" {
			return all
		}
		after = next
	}
}

func TestListOfAuthoritiesShowsOneInstant(t *testing.T) { // P-06
	t.Parallel()
	w, a, _ := creationWorld(t)
	ids := []string{"a1", "a2", "a3", "a4", "a5", "a6"}
	for _, id := range ids {
		w.ready(id, "n1", a)
	}
	before := w.snapshots()
	v := w.view()
	first, next, err := domain.ListAuthorities(v, &wire.AuthorityListRequest{Prefix: "zla1:a:", Limit: 2}, "", domain.Page{Items: 2})
	if err != nil {
		t.Fatal(err)
	}
	w.at(5)
	want(t, w.exchange("a5", w.snapshot("a5").StoreVersion, removal()).Kind, wire.KindDeleted)
	w.changed("a6", putOf())
	w.reserved("a7", "n1", a)
	w.release(a)
	rest, _, err := domain.ListAuthorities(v, &wire.AuthorityListRequest{Prefix: "zla1:a:", Limit: 1000}, next, domain.Page{Items: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want(t, slices.Concat(first, rest), before) // store time and liveness as well
	want(t, w.snapshot("a5").Kind, wire.KindMissing)
}

func TestSpotIsNoFreeEntrySpot(t *testing.T) { // 3.2 row 7, 3.3, D-11
	t.Parallel()
	for name, tt := range map[string]struct {
		arrange func(w *world, a, b wire.OwnerToken)
		free    bool
	}{
		"active":           {func(w *world, a, _ wire.OwnerToken) { w.ready("r1", "n1", a) }, false},
		"reserved":         {func(w *world, a, _ wire.OwnerToken) { w.reserved("r1", "n1", a) }, false},
		"of the same node": {func(w *world, _, b wire.OwnerToken) { w.ready("r1", "n2", b) }, false},
		"an instance spot": {func(w *world, a, _ wire.OwnerToken) {
			w.objectAt(wire.ObjectKey{Kind: wire.ObjectInstanceSpot, GlobalID: "r1"}, a)
		}, false},
		"of a dead owner": {func(w *world, a, _ wire.OwnerToken) {
			w.ready("r1", "n1", a)
			w.release(a)
		}, false},
		"reserved by a dead owner": {func(w *world, a, _ wire.OwnerToken) {
			w.reserved("r1", "n1", a)
			w.release(a)
		}, false},
		"an actor": {func(w *world, a, _ wire.OwnerToken) {
			w.objectAt(wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "r1"}, a)
		}, true},
		"deleted": {func(w *world, a, _ wire.OwnerToken) {
			v := w.ready("r1", "n1", a).StoreVersion
			w.exchange("r1", v, removal())
		}, true},
		"aborted": {func(w *world, a, _ wire.OwnerToken) { w.abort(w.reserved("r1", "n1", a).abort()) }, true},
		"another": {func(w *world, a, _ wire.OwnerToken) { w.ready("r2", "n1", a) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			tt.arrange(w, a, b)
			if tt.free {
				w.stored(wire.IntentTakeover, node("n2", b, entrySpot("r1")))
				return
			}
			w.refused(wire.StatusRejectedConflict, wire.IntentTakeover, node("n2", b, entrySpot("r1")))
			w.refused(wire.StatusRejectedConflict, wire.IntentNewClaim, node("n3", b, entrySpot("r1"), inMesh("lab")))
			w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, node("n2", b, entrySpot("r1"))) // row 6 before row 7
			w.stored(wire.IntentTakeover, node("n2", b, entrySpot("r9")))
		})
	}
}
