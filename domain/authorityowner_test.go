package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func TestRemoveAllTakesEveryFamilyOfRows(t *testing.T) { // O-01, 10
	t.Parallel()
	w, a, b := creationWorld(t)
	for _, f := range []*channelFamily{channelFamilies["client-server"], channelFamilies["fanout-publisher"]} {
		in := channelWorld{w, f}
		in.stored(wire.IntentNewClaim, memberOf("n1", a))
	}
	w.storePeer(peer("n1", a))
	w.storeSpot(spot("s1", a))
	w.storeActor(actor("p1", a))
	w.storeRoute(route("k1", a))
	w.ready("r1", "n1", a)
	w.reserved("r2", "n1", a)
	w.ready("r3", "n2", b)
	before := w.snapshot("r3")
	want(t, w.removeAll(a, 100), []int{9})
	want(t, w.readLease("owner-a").Kind, wire.KindFound)
	w.stored(wire.IntentNewClaim, node("n1", a))
	want(t, w.usage("n1"), usage{})
	want(t, len(w.snapshots()), 1)
	want(t, w.snapshot("r3"), before)
	want(t, w.removeAll(a, 100), []int{1}) // the node that was published anew
	w.quiet(func() { want(t, w.removeAll(a, 100), []int{0}) })
}

func TestRemoveAllTakesAuthoritiesOfExactlyThisToken(t *testing.T) { // 10, O-02, O-03
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("a1", "n1", a)
	w.reserved("r1", "n1", a)
	w.ready("r2", "n2", b)
	w.quiet(func() {
		want(t, w.removeAll(wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: a.LeaseGeneration + 1}, 100), []int{0})
	})
	next := w.reclaimed(a)
	w.quiet(func() { want(t, w.removeAll(a, 100), []int{0}) }) // no longer live
	w.ready("a2", "n1", next)
	w.changed("a1", rebindTo(a, next))
	want(t, w.removeAll(next, 100), []int{3}) // the node, a1 and a2
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
	want(t, w.snapshot("r1").OwnerLeaseGeneration, a.LeaseGeneration)
	want(t, w.snapshot("r2").Kind, wire.KindSnapshot)
}

func TestRemoveAllLeavesMembersOfOthers(t *testing.T) { // 10
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n1", a)
	w.member("a2", "r1", "n2", b)
	before := w.snapshot("a2")
	want(t, w.removeAll(a, 100), []int{3})
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
	want(t, w.snapshot("a2"), before)
}

func TestRemoveAllLeavesOutcomesOfCreations(t *testing.T) { // 10: terminals and abort marks stay
	t.Parallel()
	w, a, _ := creationWorld(t)
	aborted := w.reserved("r1", "n1", a)
	want(t, w.abort(aborted.abort()), wire.KindAborted)
	rejected := w.reserved("a1", "n1", a)
	want(t, w.complete(rejected.complete(wire.CompletionRejected, term(1))).Kind, wire.KindRejected)
	want(t, w.removeAll(a, 100), []int{1})
	want(t, w.abort(aborted.abort()), wire.KindAlreadyAborted)
	want(t, read(w, domain.ReadTerminal, &wire.ObjectReadTerminalRequest{Operation: term(1).Operation}).Kind, wire.KindFound)
}

func TestRemoveAllOfAuthoritiesKeepsToTheCommitLimit(t *testing.T) { // 10, O-04
	t.Parallel()
	w, a, b := creationWorld(t)
	for _, id := range []string{"a1", "a2", "a3", "r1", "i1", "i2"} {
		w.ready(id, "n1", a)
	}
	w.ready("a4", "n2", b)
	removed := func(limit int) (n int, more bool) {
		t.Helper()
		if err := w.update(func(tx *kvstore.Tx) (err error) {
			n, more, err = domain.RemoveOwnerBatch(tx, &wire.OwnerRemoveAllRequest{Owner: a}, limit)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n, more
	}
	if n, more := removed(2); n != 2 || !more {
		t.Errorf("removed %d, more %t, want 2 and more", n, more)
	}
	// A row that changes hands meanwhile stays. It is the last in key order.
	next := w.changedHands("r1", b)
	if n, more := removed(100); n != 4 || more {
		t.Errorf("removed %d, more %t, want the 4 that are left", n, more)
	}
	want(t, w.snapshot("r1"), next)
	want(t, w.snapshot("a4").Kind, wire.KindSnapshot)
}

// changedHands gives an object to another owner, as an aggregate would, and returns its
// snapshot.
func (w *world) changedHands(id string, to wire.OwnerToken) *wire.Authority {
	w.t.Helper()
	k := authorityKey(id)
	body, err := domain.DecodeAuthority(w.view().Row(k))
	if err != nil {
		w.t.Fatal(err)
	}
	rec := body.(domain.AuthorityRecord)
	rec.OwnerID, rec.OwnerLeaseGeneration = to.OwnerID, to.LeaseGeneration
	w.plant(k, rowOf(w.t, rec).Value, 0)
	return w.snapshot(id)
}
