package domain_test

import (
	"sync"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func claim(owner, claimID string) *wire.LeaseClaimRequest {
	return &wire.LeaseClaimRequest{OwnerID: owner, TTL: ttl, ClaimID: claimID}
}

func (w *world) readLease(owner string) *wire.LeaseReadReply {
	w.t.Helper()
	return read(w, domain.ReadLease, &wire.LeaseReadRequest{OwnerID: owner})
}

func TestClaimGivesLeaseForItsTTL(t *testing.T) { // L-01
	t.Parallel()
	w := newWorld(t)
	r := write(w, domain.ClaimLease, claim("owner-a", ""))
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}
	want(t, r, &wire.LeaseClaimReply{
		Kind: wire.KindClaimed, Token: &token, LeaseExpiresAt: t0 + wire.Instant(ttl), StoreNow: t0,
	})
	want(t, w.readLease("owner-a"), &wire.LeaseReadReply{
		Kind: wire.KindFound, Token: &token, LeaseExpiresAt: t0 + wire.Instant(ttl), StoreNow: t0,
	})
}

func TestClaimOfLiveLeaseConflicts(t *testing.T) { // L-02
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	if b.LeaseGeneration <= a.LeaseGeneration {
		t.Fatalf("generation %d after %d, want it to rise", b.LeaseGeneration, a.LeaseGeneration)
	}
	w.quiet(func() {
		want(t, write(w, domain.ClaimLease, claim("owner-a", "")), &wire.LeaseClaimReply{Kind: wire.KindConflict, StoreNow: t0})
	})
	want(t, w.readLease("owner-a").Kind, wire.KindFound)
}

func TestClaimRepeatsItsAnswer(t *testing.T) { // L-03
	t.Parallel()
	w := newWorld(t)
	first := write(w, domain.ClaimLease, claim("owner-a", "c1"))
	w.at(1000)
	w.quiet(func() {
		again := *first
		again.StoreNow = t0 + 1000
		want(t, write(w, domain.ClaimLease, claim("owner-a", "c1")), &again)
		want(t, write(w, domain.ClaimLease, claim("owner-a", "c2")).Kind, wire.KindConflict)
		want(t, write(w, domain.ClaimLease, claim("owner-a", "")).Kind, wire.KindConflict)
	})
	w.renew(*first.Token)
	w.quiet(func() { // a renewed lease keeps its claim id
		want(t, write(w, domain.ClaimLease, claim("owner-a", "c1")).Kind, wire.KindClaimed)
	})
}

func TestClaimWithoutIDIsNoRepetition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim("owner-a")
	want(t, write(w, domain.ClaimLease, claim("owner-a", "c1")).Kind, wire.KindConflict)
}

func TestClaimIDDoesNotOutliveItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := write(w, domain.ClaimLease, claim("owner-a", "c1"))
	w.at(30_000)
	second := write(w, domain.ClaimLease, claim("owner-a", "c1"))
	if second.Kind != wire.KindClaimed || second.Token.LeaseGeneration <= first.Token.LeaseGeneration {
		t.Fatalf("got %+v, want a new lease after %v", second, first.Token)
	}
}

func TestLeaseIsMissingFromItsExpiryOn(t *testing.T) { // L-04
	t.Parallel()
	w := newWorld(t)
	w.claim("owner-a")
	w.at(29_999)
	want(t, w.readLease("owner-a").Kind, wire.KindFound)
	w.at(30_000)
	want(t, w.readLease("owner-a"), &wire.LeaseReadReply{Kind: wire.KindMissing, StoreNow: t0 + 30_000})
}

func TestRenewalMovesExpiryEitherWay(t *testing.T) { // L-05
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.at(1000)
	want(t, write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: a, TTL: ttl}),
		&wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: t0 + 31_000, StoreNow: t0 + 1000})
	want(t, *w.readLease("owner-a").Token, a)
	want(t, write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: a, TTL: 5}).LeaseExpiresAt, t0+1005)
}

func TestReleasedLeaseIsGone(t *testing.T) { // L-06
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.release(a)
	w.quiet(func() {
		want(t, write(w, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: a}).Kind, wire.KindStale)
		want(t, write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: a, TTL: ttl}), &wire.LeaseRenewReply{Kind: wire.KindStale})
	})
	if again := w.claim("owner-a"); again.LeaseGeneration <= a.LeaseGeneration {
		t.Fatalf("generation %d after %d, want it to rise", again.LeaseGeneration, a.LeaseGeneration)
	}
}

func TestLapsedLeaseIsGone(t *testing.T) { // L-07
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.at(30_000)
	w.quiet(func() {
		want(t, write(w, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: a}).Kind, wire.KindStale)
		want(t, write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: a, TTL: ttl}).Kind, wire.KindStale)
	})
	w.claim("owner-a")
}

func TestTokenOfAnotherGenerationIsStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	for _, g := range []wire.Generation{a.LeaseGeneration + 1, a.LeaseGeneration - 1} {
		other := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: g}
		w.quiet(func() {
			want(t, write(w, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: other}).Kind, wire.KindStale)
			want(t, write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: other, TTL: ttl}).Kind, wire.KindStale)
		})
	}
}

func TestRenewalsAtTheSameTimeAllSucceed(t *testing.T) { // L-09
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			var r *wire.LeaseRenewReply
			err := w.update(func(tx *kvstore.Tx) (err error) {
				r, err = domain.RenewLease(tx, &wire.LeaseRenewRequest{Token: a, TTL: ttl})
				return err
			})
			if err != nil || r.Kind != wire.KindRenewed {
				t.Errorf("got %+v, %v, want renewed", r, err)
			}
		})
	}
	wg.Wait()
}

func TestNoRevisionLeft(t *testing.T) { // L-10
	t.Parallel()
	w := newWorldAt(t, kvstore.MaxRevision)
	for range 2 {
		want(t, write(w, domain.ClaimLease, claim("owner-a", "")), &wire.LeaseClaimReply{Kind: wire.KindGenerationExhausted})
	}
	want(t, w.readLease("owner-a").Kind, wire.KindMissing)
}

func TestNoRevisionLeftForOtherWrites(t *testing.T) { // L-10
	t.Parallel()
	w := newWorldAt(t, kvstore.MaxRevision-2)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a))
	for name, rule := range map[string]func(*kvstore.Tx) error{
		"claim of a node":   func(tx *kvstore.Tx) error { return updateNode(tx, node("n2", a), wire.IntentNewClaim) },
		"renewal of a node": func(tx *kvstore.Tx) error { return updateNode(tx, node("n1", a, revision(2)), wire.IntentRenew) },
		"removal of a node": func(tx *kvstore.Tx) error {
			_, err := domain.RemoveMeshNode(tx, &wire.MeshNodeRemoveRequest{MeshName: "play", RID: "n1", Owner: a})
			return err
		},
		"removal of all rows": func(tx *kvstore.Tx) error { return removeAllOnce(tx, a) },
		"opaque put": func(tx *kvstore.Tx) error {
			_, err := domain.WriteOpaque(tx, &wire.StoreWriteRequest{Mutations: []wire.StoreMutation{mutation("k", "v")}})
			return err
		},
		"release of a lease": func(tx *kvstore.Tx) error {
			_, err := domain.ReleaseLease(tx, &wire.LeaseReleaseRequest{Token: a})
			return err
		},
		"renewal of a lease": func(tx *kvstore.Tx) error {
			_, err := domain.RenewLease(tx, &wire.LeaseRenewRequest{Token: a, TTL: ttl})
			return err
		},
	} {
		if err := w.update(rule); err == nil || err.Error() != kvstore.ErrExhausted.Error() {
			t.Errorf("%s: error %v, want %v", name, err, kvstore.ErrExhausted)
		}
	}
	want(t, write(w, domain.ClaimLease, claim("owner-a", "")).Kind, wire.KindConflict) // exhaustion is checked last
}

func updateNode(tx *kvstore.Tx, d wire.MeshNodeDescriptor, intent wire.Intent) error {
	_, err := domain.UpdateMeshNode(tx, &wire.MeshNodeUpdateRequest{Descriptor: d, Intent: intent})
	return err
}

func TestLeaseWithoutExpiryIsLost(t *testing.T) { // L-11
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	k := domain.LeaseKey("owner-a")
	w.plant(k, w.view().Row(k).Value, 0)
	_, err := domain.ReadLease(w.view(), &wire.LeaseReadRequest{OwnerID: "owner-a"})
	wantLost(t, err, k)
	_, err = try(w, domain.ClaimLease, claim("owner-a", ""))
	wantLost(t, err, k)
	_, err = try(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: a, TTL: ttl})
	wantLost(t, err, k)
	_, err = try(w, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: a})
	wantLost(t, err, k)
}

func TestDamagedLeaseIsLostInEveryRuleThatMeetsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
	k := domain.LeaseKey("owner-a")
	w.plant(k, []byte("x"), kvstore.Instant(t0+30_000))
	list := &wire.MeshNodeListRequest{MeshName: "play"}
	for name, rule := range map[string]func(tx *kvstore.Tx) error{
		"update by its owner":      func(tx *kvstore.Tx) error { return updateNode(tx, node("n2", a), wire.IntentNewClaim) },
		"claim of its owner's row": func(tx *kvstore.Tx) error { return updateNode(tx, node("n1", b), wire.IntentNewClaim) },
		"claim of its entry spot":  func(tx *kvstore.Tx) error { return updateNode(tx, node("n2", b, entrySpot("e1")), wire.IntentNewClaim) },
		"list": func(tx *kvstore.Tx) error {
			_, _, err := domain.ListMeshNodes(tx.View, list, "", domain.Page{})
			return err
		},
		"removal of all its rows": func(tx *kvstore.Tx) error { return removeAllOnce(tx, a) },
		"topology":                func(tx *kvstore.Tx) error { return listTopologyOnce(tx.View) },
		"summary of the topology": func(tx *kvstore.Tx) error { return summarizeOnce(tx.View) },
	} {
		t.Log(name)
		w.quiet(func() { wantLost(t, w.update(rule), k) })
	}
	w.stored(wire.IntentTakeover, node("n1", b)) // takes no interest in the owner before
}

func removeAllOnce(tx *kvstore.Tx, owner wire.OwnerToken) error {
	_, _, err := domain.RemoveOwnerBatch(tx, &wire.OwnerRemoveAllRequest{Owner: owner}, 10)
	return err
}

func listTopologyOnce(v kvstore.View) error {
	_, _, err := domain.ListTopology(v, &wire.TopologyListRequest{}, "", domain.Page{})
	return err
}

func summarizeOnce(v kvstore.View) error {
	_, _, err := domain.SummarizeTopology(v, &wire.TopologySummaryRequest{}, "", domain.Page{})
	return err
}
