package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func mutation(key, value string) wire.StoreMutation {
	return wire.StoreMutation{Kind: wire.MutationPut, Key: wire.Bytes(key), Bytes: wire.Bytes(value)}
}

func deletion(key string) wire.StoreMutation {
	return wire.StoreMutation{Kind: wire.MutationDelete, Key: wire.Bytes(key)}
}

func missing(key string) wire.StoreCondition {
	return wire.StoreCondition{Kind: wire.ConditionMissing, Key: wire.Bytes(key)}
}

func hasVersion(key string, v wire.Version) wire.StoreCondition {
	return wire.StoreCondition{Kind: wire.ConditionVersion, Key: wire.Bytes(key), Expected: v}
}

func (w *world) opaque(conditions []wire.StoreCondition, mutations ...wire.StoreMutation) *wire.StoreWriteReply {
	w.t.Helper()
	req := &wire.StoreWriteRequest{Conditions: conditions, Mutations: mutations}
	if err := domain.ValidateStoreWrite(req, w.store.Limits().CommitRows); err != nil {
		w.t.Fatal(err)
	}
	return write(w, domain.WriteOpaque, req)
}

// put stores an opaque value and returns its version.
func put(w *world, key, value string) wire.Version {
	w.t.Helper()
	r := w.opaque(nil, mutation(key, value))
	if r.Kind != wire.KindApplied || len(r.PutVersions) != 1 || string(r.PutVersions[0].Key) != key {
		w.t.Fatalf("put %q: %+v", key, r)
	}
	return r.PutVersions[0].Version
}

func (w *world) readOpaque(key string) *wire.StoreReadReply {
	w.t.Helper()
	return read(w, domain.ReadOpaque, &wire.StoreReadRequest{Key: wire.Bytes(key)})
}

// scan returns the keys that begin with a prefix.
func (w *world) scan(prefix string) (keys []string) {
	w.t.Helper()
	for _, page := range pages(w, domain.ScanOpaque, &wire.StoreScanRequest{Prefix: wire.Bytes(prefix)}, 3) {
		for _, item := range page {
			keys = append(keys, string(item.Key))
		}
	}
	return keys
}

func TestOpaqueReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want(t, w.readOpaque("k"), &wire.StoreReadReply{Kind: wire.KindMissing, StoreNow: t0})
	for _, value := range []string{"v", "", "\x00\xff"} {
		v := put(w, "\x00k\xff", value)
		want(t, w.readOpaque("\x00k\xff"), &wire.StoreReadReply{Kind: wire.KindFound, Bytes: wire.Bytes(value), Version: v, StoreNow: t0})
	}
}

func TestOpaqueWriteIsAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := put(w, "a", "1")
	put(w, "b", "1")
	w.quiet(func() {
		got := w.opaque([]wire.StoreCondition{hasVersion("a", v), missing("b")}, mutation("a", "2"), mutation("b", "2"))
		want(t, got, &wire.StoreWriteReply{Kind: wire.KindConflict, StoreNow: t0})
	})
	want(t, string(w.readOpaque("a").Bytes), "1")
	want(t, string(w.readOpaque("b").Bytes), "1")
}

func TestOpaqueVersionsNeverComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := put(w, "k", "v"), put(w, "k", "v")
	w.opaque(nil, deletion("k"))
	third := put(w, "k", "v")
	if first == second || second == third || first == third {
		t.Fatalf("versions %s, %s, %s, want three", first, second, third)
	}
	for _, v := range []wire.Version{first, second, "no version", "0" + third} {
		want(t, w.opaque([]wire.StoreCondition{hasVersion("k", v)}, mutation("k", "2")).Kind, wire.KindConflict)
	}
	want(t, w.opaque([]wire.StoreCondition{hasVersion("k", third)}, mutation("k", "2")).Kind, wire.KindApplied)
}

func TestOpaqueRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	short := mutation("k", "v")
	short.Retention = 20
	v := w.opaque(nil, short).PutVersions[0].Version
	w.at(19)
	want(t, w.readOpaque("k").ExpiresAt, t0+20)
	w.at(20)
	want(t, w.readOpaque("k").Kind, wire.KindMissing)
	want(t, len(w.scan("")), 0)
	want(t, w.opaque([]wire.StoreCondition{hasVersion("k", v)}).Kind, wire.KindConflict)
	want(t, w.opaque([]wire.StoreCondition{missing("k")}, short).Kind, wire.KindApplied)
	w.at(30)
	put(w, "k", "v")
	w.at(1020)
	want(t, w.readOpaque("k").Kind, wire.KindFound)
	want(t, w.readOpaque("k").ExpiresAt, 0)
}

func TestOpaqueConditionsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.quiet(func() {
		want(t, w.opaque([]wire.StoreCondition{missing("k")}),
			&wire.StoreWriteReply{Kind: wire.KindApplied, PutVersions: []wire.PutVersion{}, StoreNow: t0})
	})
}

func TestOpaqueMutationsApplyInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put(w, "old", "v")
	w.quiet(func() { want(t, w.opaque(nil, deletion("absent")).Kind, wire.KindApplied) })
	r := w.opaque([]wire.StoreCondition{missing("b")}, mutation("b", "1"), deletion("old"), mutation("a", "1"))
	want(t, r.PutVersions, []wire.PutVersion{{Key: wire.Bytes("b"), Version: "2"}, {Key: wire.Bytes("a"), Version: "4"}})
	want(t, w.scan(""), []string{"a", "b"})
}

func TestOpaqueScanByPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := []string{"\x00", "\x00\x00", "a", "a\x00", "a\x00b", "ab", "a\xff", "a\xff\xff", "b", "\xff"}
	for i := len(all) - 1; i >= 0; i-- {
		put(w, all[i], "v")
	}
	want(t, w.scan(""), all)
	want(t, w.scan("a"), all[2:8])
	want(t, w.scan("a\xff"), all[6:8])
	want(t, w.scan("c"), nil)
	item := pages(w, domain.ScanOpaque, &wire.StoreScanRequest{Prefix: wire.Bytes("b")}, 1)[0][0]
	want(t, item, wire.StoreItem{Key: wire.Bytes("b"), Bytes: wire.Bytes("v"), Version: w.readOpaque("b").Version})
}

func TestOpaqueRowsAndServiceRowsAreApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a))
	lease, nodeRow := domain.LeaseKey("owner-a"), domain.MeshNodeKey("play", "n1")
	for _, k := range []kvstore.Key{lease, nodeRow, "opaque\x00k", "stamp\x00meshNode"} {
		want(t, w.readOpaque(string(k)).Kind, wire.KindMissing)
		put(w, string(k), "x")
		w.opaque(nil, deletion(string(k)))
	}
	want(t, w.readLease("owner-a").Kind, wire.KindFound)
	want(t, len(w.list()), 1)
	want(t, w.scan(""), nil)
	put(w, string(nodeRow), "x")
	want(t, w.scan(""), []string{string(nodeRow)})
	want(t, len(w.list()), 1)
}

func TestCountRowsLeavesOpaqueOnesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a))
	put(w, "k", "v")
	rows, leases := domain.CountRows(w.view())
	want(t, []int{rows, leases}, []int{3, 2})
	w.at(30_000)
	rows, leases = domain.CountRows(w.view())
	want(t, []int{rows, leases}, []int{1, 0})
}

func TestExpiredOpaqueRowIsLikeNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	short := mutation("k", "v")
	short.Retention = 20
	first := w.opaque(nil, short).PutVersions[0].Version
	w.at(20)
	want(t, w.opaque([]wire.StoreCondition{missing("k")}, deletion("k")).Kind, wire.KindApplied)
	second := w.opaque(nil, short).PutVersions[0].Version
	w.at(40)
	third := w.opaque(nil, short).PutVersions[0].Version
	if first == second || second == third || first == third {
		t.Errorf("versions %s, %s, %s came back", first, second, third)
	}
}

func TestScanShowsItsInstant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put(w, "a", "v")
	short := mutation("b", "v")
	short.Retention = 20
	w.opaque(nil, short)
	v := w.view()
	_, next, err := domain.ScanOpaque(v, &wire.StoreScanRequest{}, "", domain.Page{Items: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.at(20)
	w.expire()
	want(t, w.scan(""), []string{"a"})
	items, _, err := domain.ScanOpaque(v, &wire.StoreScanRequest{}, next, domain.Page{Items: 1})
	if err != nil || len(items) != 1 || string(items[0].Key) != "b" || items[0].ExpiresAt != t0+20 {
		t.Errorf("items %+v, error %v, want b as it was", items, err)
	}
}
