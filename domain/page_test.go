package domain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func TestPagesAreFilledToTheirSize(t *testing.T) { // P-03
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 5)
	for size, lengths := range map[uint32][]int{1: {1, 1, 1, 1, 1}, 2: {2, 2, 1}, 4: {4, 1}, 5: {5}, 6: {5}, 0: {5}} {
		var got []int
		for _, page := range pages(w, domain.ListMeshNodes, &wire.MeshNodeListRequest{MeshName: "play"}, size) {
			got = append(got, len(page))
		}
		want(t, got, lengths)
	}
	want(t, len(pages(w, domain.ListMeshNodes, &wire.MeshNodeListRequest{MeshName: "lab"}, 1)[0]), 0)
}

func TestPageSizeDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(w.claim("owner-a"), 101)
	want(t, len(pages(w, domain.ListMeshNodes, &wire.MeshNodeListRequest{MeshName: "play"}, 0)[0]), domain.DefaultPageItems)
}

func TestLiveIsJudgedForEachRow(t *testing.T) { // P-05
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("n2", a))
	w.stored(wire.IntentNewClaim, node("n3", b))
	w.release(a)
	w.claim("owner-a") // another generation does not make the rows live
	var live []bool
	for _, item := range w.list() {
		live = append(live, item.Live)
	}
	want(t, live, []bool{false, false, true})
	req := &wire.MeshNodeListRequest{MeshName: "play", PageRequest: wire.PageRequest{LiveOnly: true}}
	for _, size := range []uint32{1, 10} { // a page is filled with matching rows
		got := pages(w, domain.ListMeshNodes, req, size)
		want(t, len(got), 1)
		want(t, got[0][0].RID, "n3")
	}
}

func TestPagesShowTheirView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 3)
	v, req := w.view(), &wire.MeshNodeListRequest{MeshName: "play"}
	_, next, err := domain.ListMeshNodes(v, req, "", domain.Page{Items: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.removeAll(a, 100)
	w.release(a)
	items, next, err := domain.ListMeshNodes(v, req, next, domain.Page{Items: 10})
	if err != nil || next != "" || len(items) != 2 || !items[0].Live {
		t.Fatalf("items %v, next %q, error %v, want the two other nodes as they were", items, next, err)
	}
}

// TestPagesStayWithinTheirBytes checks that pages are as full as they may be: the
// first item of each would not have fitted into the page before.
func TestPagesStayWithinTheirBytes(t *testing.T) {
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		for name, sizes := range map[string][]int{
			"of a MiB":           slices.Repeat([]int{1 << 20}, 5),
			"of different sizes": {0, 1, 1 << 20, 700_000, 10, 900_000, 800_000, 0, 1 << 20, 5, 20},
		} {
			t.Run(fmt.Sprintf("%s/values %s", enc.ContentType(), name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				for i, size := range sizes {
					w.plant(domain.OpaqueKey(fmt.Appendf(nil, "%03d", i)), make([]byte, size), 0)
				}
				checkPages(t, enc, func(v kvstore.View, after kvstore.Key, p domain.Page) ([]wire.StoreItem, kvstore.Key, error) {
					return domain.ScanOpaque(v, &wire.StoreScanRequest{}, after, p)
				}, w.view(), len(sizes))
			})
		}
	}
}

// TestPagesOfEscapedText has items that become six times as large in JSON, some
// larger than a page: each still gets its page.
func TestPagesOfEscapedText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	sizes := []int{0, 2300, 3900, 1} // spot types; the third needs 6 MiB
	for i, n := range sizes {
		d := node(wire.RID(fmt.Sprint("n", i)), a)
		d.Generation, d.UpdatedAt = 1, t0
		d.SpotTypes = nil
		for j := range n {
			d.SpotTypes = append(d.SpotTypes, strings.Repeat("\x01", 250)+fmt.Sprintf("%05d", j))
		}
		value, err := domain.EncodeRecord(&d)
		if err != nil {
			t.Fatal(err)
		}
		w.plant(domain.MeshNodeKey("play", d.RID), value, 0)
	}
	checkPages(t, wire.JSON, func(v kvstore.View, after kvstore.Key, p domain.Page) ([]wire.MeshNodeItem, kvstore.Key, error) {
		return domain.ListMeshNodes(v, &wire.MeshNodeListRequest{MeshName: "play"}, after, p)
	}, w.view(), len(sizes))
}

func checkPages[T any](
	t *testing.T, enc wire.Encoding, list func(kvstore.View, kvstore.Key, domain.Page) ([]T, kvstore.Key, error), v kvstore.View, count int,
) {
	t.Helper()
	free, after := 0, kvstore.Key("")
	for {
		items, next, err := list(v, after, domain.Page{Items: 1000, Encoding: enc})
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		sum := 0
		for i := range items {
			b, err := wire.Marshal(enc, &items[i])
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(b)+1)
			sum += len(b) + 1
		}
		if after != "" && sizes[0] <= free {
			t.Fatalf("an item of %d bytes starts a page after one with %d bytes left", sizes[0], free)
		}
		if sum > domain.RoomBytes && len(items) > 1 {
			t.Fatalf("page of %d items and %d bytes, want at most %d", len(items), sum, domain.RoomBytes)
		}
		count -= len(items)
		free = domain.RoomBytes - sum
		if after = next; next == "" {
			break
		}
	}
	if count != 0 {
		t.Fatalf("%d items are missing", count)
	}
}
