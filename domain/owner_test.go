package domain_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// removeAll calls the batch rule until nothing is left, and returns what each
// commit removed.
func (w *world) removeAll(owner wire.OwnerToken, limit int) (batches []int) {
	w.t.Helper()
	for more := true; more; {
		var removed int
		err := w.update(func(tx *kvstore.Tx) (err error) {
			removed, more, err = domain.RemoveOwnerBatch(tx, &wire.OwnerRemoveAllRequest{Owner: owner}, limit)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		batches = append(batches, removed)
	}
	return batches
}

func (w *world) nodes(token wire.OwnerToken, n int) {
	w.t.Helper()
	for i := range n {
		rid := wire.RID(fmt.Sprintf("%s-%d-%03d", token.OwnerID, token.LeaseGeneration, i))
		w.stored(wire.IntentNewClaim, node(rid, token))
	}
}

func TestRemoveAllTakesTheOwnersRows(t *testing.T) { // O-01
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	prefix := w.claim("owner-") // no owner is a prefix of another
	w.nodes(a, 3)
	w.nodes(b, 1)
	w.nodes(prefix, 1)
	want(t, w.removeAll(prefix, 100), []int{1})
	want(t, w.removeAll(a, 100), []int{3})
	want(t, w.readLease("owner-a").Kind, wire.KindFound)
	w.quiet(func() { want(t, w.removeAll(a, 100), []int{0}) })
	want(t, w.list()[0].OwnerToken, b)
	want(t, len(w.list()), 1)
}

func TestRemoveAllNeedsLiveToken(t *testing.T) { // O-02
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 2)
	w.quiet(func() {
		want(t, w.removeAll(wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: a.LeaseGeneration + 1}, 100), []int{0})
		w.at(30_000)
		want(t, w.removeAll(a, 100), []int{0})
	})
	want(t, len(w.list()), 2)
}

func TestRemoveAllTakesOlderGenerations(t *testing.T) { // O-03
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 2)
	w.release(a)
	a2 := w.claim("owner-a")
	w.nodes(a2, 2)
	want(t, w.removeAll(a2, 100), []int{4})
}

func TestRemoveAllLeavesNewerGenerations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.claim("owner-a")
	w.nodes(old, 1)
	w.release(old)
	w.nodes(w.claim("owner-a"), 1)
	// The lease of the old token as it was is put back, as no rule would.
	k := domain.LeaseKey("owner-a")
	now := w.view().Row(k)
	w.plant(k, recordOf(t, map[string]any{"ownerId": "owner-a", "leaseGeneration": uint64(old.LeaseGeneration)}), now.Expiry)
	want(t, w.removeAll(old, 100), []int{1})
	want(t, len(w.list()), 1)
}

func TestRemoveAllKeepsToTheCommitLimit(t *testing.T) { // O-04
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 10)
	want(t, w.removeAll(a, 4), []int{4, 4, 2})
	w.nodes(a, 8)
	want(t, w.removeAll(a, 4), []int{4, 4}) // the last batch knows that it is the last
}

func TestRemoveAllEndsWithTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 5)
	batch := func() (removed int, more bool) {
		if err := w.update(func(tx *kvstore.Tx) (err error) {
			removed, more, err = domain.RemoveOwnerBatch(tx, &wire.OwnerRemoveAllRequest{Owner: a}, 2)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return removed, more
	}
	if removed, more := batch(); removed != 2 || !more {
		t.Fatalf("removed %d, more %t", removed, more)
	}
	w.release(a)
	if removed, more := batch(); removed != 0 || more {
		t.Fatalf("removed %d, more %t after the release", removed, more)
	}
	want(t, len(w.list()), 3)
}

func TestRowTakenOverBetweenCommitsOfRemoveAllStays(t *testing.T) { // 10
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.nodes(a, 5)
	batch := func() (removed int, more bool) {
		if err := w.update(func(tx *kvstore.Tx) (err error) {
			removed, more, err = domain.RemoveOwnerBatch(tx, &wire.OwnerRemoveAllRequest{Owner: a}, 2)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return removed, more
	}
	if removed, more := batch(); removed != 2 || !more {
		t.Fatalf("removed %d, more %t", removed, more)
	}
	taken := w.list()[1].RID
	w.stored(wire.IntentTakeover, node(taken, b))
	if removed, more := batch(); removed != 2 || more {
		t.Errorf("removed %d, more %t, want the two that are left of the owner", removed, more)
	}
	left := w.list()
	if len(left) != 1 || left[0].RID != taken || left[0].OwnerToken != b {
		t.Errorf("left %+v, want the row that was taken over", left)
	}
}

func TestRemoveAllOfDamagedRowIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.nodes(a, 1)
	k := domain.MeshNodeKey("play", "x")
	w.plant(k, w.view().Row(domain.MeshNodeKey("play", w.list()[0].RID)).Value, 0) // contradicts its key
	err := w.update(func(tx *kvstore.Tx) error {
		_, _, err := domain.RemoveOwnerBatch(tx, &wire.OwnerRemoveAllRequest{Owner: a}, 100)
		return err
	})
	wantLost(t, err, k)
}
