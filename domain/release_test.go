package domain_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/wire"
)

func TestObjectThatIsNotSteadyIsNotReleased(t *testing.T) { // 6.2 row 2, E-06
	t.Parallel()
	for _, p := range []wire.Phase{wire.PhaseClosing, wire.PhaseRecovering} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			for _, id := range []string{"i1", "r1", "a1"} {
				w.ready(id, "n1", a)
				w.changed(id, putOf(toPhase(p)))
			}
			w.lapse(b)
			for _, id := range []string{"i1", "r1", "a1"} {
				w.unreserved(w.reserveRequest(id, tgt("n2", b), orRelease), wire.KindUnavailable, wire.ReasonNotSteady)
			}
		})
	}
}

func TestUserSpotWithMembers(t *testing.T) { // 6.2 rows 2, 3 and 4
	t.Parallel()
	closing := putOf(toPhase(wire.PhaseClosing))
	for name, tt := range map[string]struct {
		given func(w *world, a, b wire.OwnerToken)
		want  wire.Reason // empty: it is replaced
	}{
		"row 2: closing with a live member": {func(w *world, a, b wire.OwnerToken) {
			w.member("a1", "r1", "n2", b)
			w.changed("r1", closing)
		}, wire.ReasonNotSteady},
		"row 3: a live member": {func(w *world, a, b wire.OwnerToken) {
			w.member("a1", "r1", "n2", b)
		}, wire.ReasonMemberLive},
		"row 3: a live member after one that is closing": {func(w *world, a, b wire.OwnerToken) {
			w.member("a1", "r1", "n1", a)
			w.changed("a1", closing)
			w.member("a2", "r1", "n2", b)
			w.changed("a2", closing)
		}, wire.ReasonMemberLive},
		"row 4: a member that is closing": {func(w *world, a, b wire.OwnerToken) {
			w.member("a1", "r1", "n1", a)
			w.changed("a1", closing)
		}, wire.ReasonMemberNotSteady},
		"row 4: the last member is recovering": {func(w *world, a, b wire.OwnerToken) {
			w.member("a1", "r1", "n1", a)
			w.member("a2", "r1", "n1", a)
			w.changed("a2", putOf(toPhase(wire.PhaseRecovering)))
		}, wire.ReasonMemberNotSteady},
		"a live actor of an earlier incarnation": {func(w *world, a, b wire.OwnerToken) {
			w.member("a1", "r1", "n2", b)
			w.changed("r1", wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: wire.Bytes{}})
		}, ""},
		"a live actor with the id as its entry spot": {func(w *world, a, b wire.OwnerToken) {
			w.ready("a1", "n2", b)
			m := w.membershipIn("r1")
			m.SpotKind = wire.MembershipEntry
			w.changed("a1", putOf(joining(m)))
		}, ""},
		"a live member of another spot": {func(w *world, a, b wire.OwnerToken) {
			w.ready("r2", "n2", b)
			w.member("a1", "r2", "n2", b)
		}, ""},
		"a live actor that left": {func(w *world, a, b wire.OwnerToken) {
			w.ready("r2", "n2", b)
			w.member("a1", "r1", "n2", b)
			w.changed("a1", putOf(joining(w.membershipIn("r2"))))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.ready("r1", "n1", a)
			tt.given(w, a, b)
			w.lapse(b)
			if tt.want != "" {
				w.unreserved(w.reserveRequest("r1", tgt("n9", b), orRelease), wire.KindUnavailable, tt.want) // nor 6.1 row 9
				return
			}
			actors := len(w.snapshots()) - 1
			w.anew(w.reserveRequest("r1", tgt("n2", b), orRelease))
			want(t, len(w.snapshots()), actors+1) // none was removed
		})
	}
}

func TestInstanceSpotHasNoMembers(t *testing.T) { // 5.4
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("i1", "n1", a)
	// An actor that names it all the same, as no rule would allow.
	w.ready("r1", "n2", b)
	w.member("a1", "r1", "n2", b)
	k := domain.AuthorityKey(keyOf("a1"))
	body := bodyOf(t, w.view().Row(k).Value)
	body["membership"] = map[string]any{
		"spotId": "i1", "spotGeneration": uint64(w.snapshot("i1").ObjectGeneration), "spotKind": "user",
	}
	w.plant(k, recordOf(t, body), 0)
	w.lapse(b)
	w.anew(w.reserveRequest("i1", tgt("n2", b), orRelease))
	want(t, w.snapshot("a1").Kind, wire.KindSnapshot)
}

func TestMembersGoWithTheirSpot(t *testing.T) { // 6.2, E-07
	t.Parallel()
	w, a, b := creationWorld(t)
	c := w.hosts("n3", "owner-c")
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n2", b)
	w.ready("a2", "n2", b)
	w.lapse(b, c)
	req := w.reserveRequest("r1", tgt("n3", c), orRelease)
	w.unreserved(req, wire.KindUnavailable, wire.ReasonMemberLive)
	w.release(b)
	before := w.view().Revision()
	r := w.anew(req)
	want(t, w.view().Revision(), before+2) // the spot and its member, together
	want(t, r.creating.Membership, nil)
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
	want(t, w.snapshot("a2").Kind, wire.KindSnapshot)
	want(t, w.usage("n1"), usage{})
	want(t, w.usage("n2"), usage{Actors: use{Active: 1}})
	want(t, w.usage("n3"), usage{Spots: use{0, 1}, Rooms: use{0, 1}})
}

// newWorldWithin begins with a store that takes so many rows in one commit. Its
// events are not to be asked for.
func newWorldWithin(t tb, rows int) *world {
	w := newWorld(t)
	w.store = memkv.New(memkv.Options{
		Schema: domain.Schema(), Clock: storeClock{w.clock}, Limits: kvstore.Limits{CommitRows: rows},
	})
	return w
}

func TestMembersAreRemovedInOneCommit(t *testing.T) { // 6.2 row 5, E-08
	t.Parallel()
	const limit = 8
	w := newWorldWithin(t, limit)
	a, b := w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b")
	w.ready("r1", "n1", a)
	for i := range limit {
		w.member(fmt.Sprintf("a%d", i), "r1", "n1", a)
	}
	w.lapse(b)
	req := w.reserveRequest("r1", tgt("n2", b), orRelease)
	before := w.snapshots()
	w.unreserved(w.reserveRequest("r1", tgt("n9", b), orRelease), wire.KindUnavailable, wire.ReasonTooManyRows)
	w.unreserved(req, wire.KindUnavailable, wire.ReasonTooManyRows)
	want(t, w.snapshots(), before)
	w.deleteRow(domain.AuthorityKey(keyOf("a3")))
	w.anew(req)
	want(t, len(w.snapshots()), 1)
}

func TestEndedObjectStaysIfTheRequestFails(t *testing.T) { // 6.1 rows 8, 9 and 10, E-11
	t.Parallel()
	for _, id := range []string{"i1", "r1", "a1"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.stored(wire.IntentNewClaim, node("n3", b, limits(1, 1)))
			w.ready("a9", "n3", b)
			w.ready("r9", "n3", b)
			w.ready(id, "n1", a)
			if id == "r1" {
				w.member("a2", "r1", "n1", a)
			}
			w.lapse(b)
			before := w.snapshots()
			w.unreserved(w.reserveRequest(id, tgt("n1", a), orRelease), wire.KindConflict, wire.ReasonTargetUnavailable)
			w.unreserved(w.reserveRequest(id, tgt("n3", b), orRelease), wire.KindPlacementCapacityExhausted, "")
			want(t, w.snapshots(), before)
			w.anew(w.reserveRequest(id, tgt("n2", b), orRelease))
		})
	}
}

func TestReleaseEndedNeedsTheReservation(t *testing.T) { // 6.7 rows 1, 2 and 3, E-02, E-03
	t.Parallel()
	w, a, b := creationWorld(t)
	stale := func(id string, v wire.Version) {
		t.Helper()
		w.quiet(func() { want(t, w.releaseEnded(id, v), wire.KindStale) })
	}
	stale("r1", "1") // row 1: absent
	r := w.reserved("r1", "n1", a)
	stale("r1", r.version) // row 3: live
	w.stored(wire.IntentRenew, node("n1", a, revision(2), state(wire.StateDraining)))
	stale("r1", r.version) // row 3: draining
	ready := w.ready("i1", "n2", b)
	w.release(a)
	w.release(b)
	stale("r1", "x") // row 1: no version at all
	stale("r1", r.version+"0")
	stale("i1", ready.StoreVersion) // row 2
	want(t, w.releaseEnded("r1", r.version), wire.KindReleased)
	stale("r1", r.version)
}

func TestReleaseEndedRemovesTheReservation(t *testing.T) { // 6.7 row 4, E-02
	t.Parallel()
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			r, actor := w.reserved("r1", "n1", a), w.reserved("a1", "n1", a)
			end(w, a, b)
			want(t, w.releaseEnded("r1", r.version), wire.KindReleased)
			want(t, w.releaseEnded("a1", actor.version), wire.KindReleased)
			want(t, w.snapshots(), nil)
			w.quiet(func() { // what comes later finds nothing
				want(t, w.commit(r.commit()).Kind, wire.KindStale)
				want(t, w.abort(r.abort()), wire.KindStale)
				want(t, w.complete(actor.complete(wire.CompletionFailed, term(1))).Kind, wire.KindStale)
			})
			w.anew(w.reserveRequest("r1", tgt("n2", b)))
		})
	}
}

func TestCommitOrReleaseAsTheOwnerLapses(t *testing.T) { // E-03, E-04
	t.Parallel()
	for name, tt := range map[string]struct {
		at                  int64
		committed, released wire.Kind
	}{
		"just before": {29_999, wire.KindCommitted, wire.KindStale},
		"then":        {30_000, wire.KindStale, wire.KindReleased},
	} {
		for _, commitFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, commit first %t", name, commitFirst), func(t *testing.T) {
				t.Parallel()
				w, a, _ := creationWorld(t)
				r := w.reserved("r1", "n1", a)
				w.at(tt.at)
				if commitFirst {
					want(t, w.commit(r.commit()).Kind, tt.committed)
					want(t, w.releaseEnded("r1", r.version), tt.released)
				} else {
					want(t, w.releaseEnded("r1", r.version), tt.released)
					want(t, w.commit(r.commit()).Kind, tt.committed)
				}
				w.at(30_000)
				if tt.committed == wire.KindCommitted { // the row stays
					want(t, w.releaseEnded("r1", w.snapshot("r1").StoreVersion), wire.KindStale)
					want(t, w.snapshot("r1").Allocation.State, wire.AllocationActive)
				}
			})
		}
	}
}
