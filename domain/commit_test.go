package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

const otherReservation = "ffffffff-ffff-4fff-bfff-ffffffffffff"

// notTheReservation changes one part of what a request says of a reservation.
var notTheReservation = map[string]func(id *string, v *wire.Version, target *wire.Target){
	"another reservation": func(id *string, _ *wire.Version, _ *wire.Target) { *id = otherReservation },
	"another version":     func(_ *string, v *wire.Version, _ *wire.Target) { *v += "0" },
	"no version at all":   func(_ *string, v *wire.Version, _ *wire.Target) { *v = "x" },
	"another mesh":        func(_ *string, _ *wire.Version, t *wire.Target) { t.MeshName = "lab" },
	"another node":        func(_ *string, _ *wire.Version, t *wire.Target) { t.NodeRID = "n3" },
	"another life":        func(_ *string, _ *wire.Version, t *wire.Target) { t.NodeLifecycleGeneration = 8 },
	"another owner":       func(_ *string, _ *wire.Version, t *wire.Target) { t.Owner.OwnerID = "owner-b" },
	"another generation":  func(_ *string, _ *wire.Version, t *wire.Target) { t.Owner.LeaseGeneration++ },
}

func (w *world) staleCommit(req *wire.ObjectCommitRequest) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.commit(req), &wire.ObjectCommitReply{Kind: wire.KindStale})
	})
}

func TestCommitMakesTheSpotActive(t *testing.T) { // 6.3 row 6, C-01
	t.Parallel()
	for _, id := range []string{"r1", "i1"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			r := w.reserved(id, "n1", a)
			w.at(1000)
			reply := w.commit(r.commit())
			ready := *r.creating // generations are kept, and all else but this:
			allocation := *ready.Allocation
			allocation.State = wire.AllocationActive
			ready.Allocation, ready.PendingCreation, ready.Payload = &allocation, nil, wire.Bytes("ready")
			ready.StoreVersion, ready.StoreNow = wire.Version(w.view().Revision().String()), t0+1000
			want(t, reply, &wire.ObjectCommitReply{Kind: wire.KindCommitted, Ready: &ready})
			ready.Kind = wire.KindSnapshot
			want(t, w.snapshot(id), &ready)
			want(t, w.usage("n1").Spots, use{1, 0})
		})
	}
}

func TestCommitOfAbsentSpotIsStale(t *testing.T) { // 6.3 row 1
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	want(t, w.abort(r.abort()), wire.KindAborted)
	w.staleCommit(r.commit())
}

func TestCommitIsRepeatable(t *testing.T) { // 6.3 row 2, C-01
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	first := w.commit(r.commit())
	repeated := func(ready *wire.Authority) {
		t.Helper()
		for name, change := range notTheReservation { // these do not matter any more
			if name == "another reservation" {
				continue
			}
			req := r.commit()
			change(new(string), &req.ExpectedStoreVersion, &req.Target)
			w.quiet(func() {
				want(t, w.commit(req), &wire.ObjectCommitReply{Kind: wire.KindAlreadyCommitted, Ready: ready})
			})
		}
	}
	repeated(first.Ready)
	repeated(w.withoutKind(w.changed("r1", putOf(toPhase(wire.PhaseClosing))))) // as it is now
	want(t, w.remove("n1", a), wire.StatusStored)
	w.release(a)
	repeated(w.withoutKind(w.snapshot("r1")))
}

// withoutKind is a snapshot as replies have it where there is always one.
func (w *world) withoutKind(s *wire.Authority) *wire.Authority {
	plain := *s
	plain.Kind = ""
	return &plain
}

func TestCommitOfAnotherReservationIsStale(t *testing.T) { // 6.3 row 3, C-05
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.stored(wire.IntentNewClaim, node("n3", a))
	r := w.reserved("r1", "n1", a)
	for name, change := range notTheReservation {
		t.Log(name)
		w.staleCommit(r.commit(func(req *wire.ObjectCommitRequest) {
			change(&req.ReservationID, &req.ExpectedStoreVersion, &req.Target)
		}))
	}
	want(t, w.commit(r.commit()).Kind, wire.KindCommitted)
	w.staleCommit(r.commit(func(req *wire.ObjectCommitRequest) { req.ReservationID = otherReservation })) // active
}

func TestCommitOfAnEarlierObjectIsStale(t *testing.T) { // 6.3 row 3, C-06
	t.Parallel()
	w, a, _ := creationWorld(t)
	first := w.reserved("r1", "n1", a)
	v := w.makeReady(first).StoreVersion
	want(t, w.exchange("r1", v, wire.AuthorityMutation{Kind: wire.AuthorityDelete}).Kind, wire.KindDeleted)
	w.staleCommit(first.commit())
	w.ready("r1", "n1", a)
	w.staleCommit(first.commit())
}

func TestCommitAfterReincarnationIsStale(t *testing.T) { // 5.2, 6.3 row 3
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	w.makeReady(r)
	w.changed("r1", wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: wire.Bytes{}})
	w.staleCommit(r.commit())
}

// deadTargets end n1 of owner-a as a live target, while reservations on it stay as
// they are.
var deadTargets = map[string]func(w *world, a, b wire.OwnerToken){
	"draining": func(w *world, a, _ wire.OwnerToken) {
		w.stored(wire.IntentRenew, node("n1", a, revision(2), state(wire.StateDraining)))
	},
	"of another owner": func(w *world, a, b wire.OwnerToken) { w.stored(wire.IntentTakeover, node("n1", b)) },
	"of role client": func(w *world, a, _ wire.OwnerToken) {
		w.stored(wire.IntentTakeover, node("n1", a, role(wire.RoleClient)))
	},
}

func TestCommitNeedsLiveTarget(t *testing.T) { // 6.3 row 4, C-03, C-07
	t.Parallel()
	for name, end := range deadTargets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			r := w.reserved("r1", "n1", a)
			end(w, a, b)
			w.staleCommit(r.commit())
			want(t, w.abort(r.abort()), wire.KindAborted)
		})
	}
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			r := w.reserved("r1", "n1", a)
			end(w, a, b)
			w.staleCommit(r.commit())
		})
	}
}

func TestCommitDoesNotLookAtWeightAndLimits(t *testing.T) { // 6.3, C-07
	t.Parallel()
	w, a, _ := creationWorld(t)
	r1, r2 := w.reserved("r1", "n1", a), w.reserved("r2", "n1", a)
	w.stored(wire.IntentRenew, node("n1", a, revision(2), weight(0)))
	want(t, w.commit(r1.commit()).Kind, wire.KindCommitted)
	w.stored(wire.IntentTakeover, node("n1", a, limits(0, 1), typeLimits(1, 0)))
	want(t, w.commit(r2.commit()).Kind, wire.KindCommitted)
	want(t, w.usage("n1"), usage{Spots: use{2, 0}, Rooms: use{2, 0}})
}

func (w *world) staleAbort(req *wire.ObjectAbortRequest) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.abort(req), wire.KindStale)
	})
}

func TestAbortOfAnotherReservationIsStale(t *testing.T) { // 6.4 rows 1 and 5
	t.Parallel()
	for _, id := range []string{"r1", "a1"} {
		w, a, _ := creationWorld(t)
		w.stored(wire.IntentNewClaim, node("n3", a))
		r := w.reserved(id, "n1", a)
		for name, change := range notTheReservation {
			t.Log(id, name)
			w.staleAbort(r.abort(func(req *wire.ObjectAbortRequest) {
				change(&req.ReservationID, &req.ExpectedStoreVersion, &req.Target)
			}))
		}
		want(t, w.abort(r.abort()), wire.KindAborted)
	}
}

func TestAbortComesBeforeItsMark(t *testing.T) { // 6.4 rows 1 and 3 before row 4
	t.Parallel()
	w, a, _ := creationWorld(t)
	first := w.reserved("r1", "n1", a)
	want(t, w.abort(first.abort()), wire.KindAborted)
	again := w.reserved("r1", "n1", a, withID(first.id)) // the mark stops nobody
	w.staleAbort(first.abort())
	want(t, w.abort(again.abort()), wire.KindAborted)
}

func TestAbortNeedsLiveOwner(t *testing.T) { // 6.4 row 2
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	w.at(30_000)
	w.staleAbort(r.abort())
	w.release(w.claim("owner-a"))
	w.staleAbort(r.abort())
	want(t, w.releaseEnded("r1", r.version), wire.KindReleased)
}

func TestAbortRemovesTheReservation(t *testing.T) { // 6.4 rows 3 and 4, C-03
	t.Parallel()
	for _, id := range []string{"r1", "i1", "a1"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			r := w.reserved(id, "n1", a)
			want(t, w.remove("n1", a), wire.StatusStored) // the descriptor does not matter
			before := w.view().Revision()
			want(t, w.abort(r.abort()), wire.KindAborted)
			want(t, w.view().Revision(), before+2) // with the mark, in one commit
			want(t, w.snapshot(id).Kind, wire.KindMissing)
			w.quiet(func() { want(t, w.abort(r.abort()), wire.KindAlreadyAborted) })
			w.staleAbort(r.abort(func(req *wire.ObjectAbortRequest) { req.ReservationID = otherReservation }))
			other := r.abort()
			other.Key.GlobalID += "x"
			w.staleAbort(other) // row 5: the mark is of this object
			w.at(29_000)
			w.renew(a)
			w.at(299_999)
			w.quiet(func() { want(t, w.abort(r.abort()), wire.KindAlreadyAborted) })
			w.at(300_000)
			w.staleAbort(r.abort())
		})
	}
}

func TestOnlyAbortLeavesMarks(t *testing.T) { // 6.4
	t.Parallel()
	w, a, _ := creationWorld(t)
	rejected, released, committed := w.reserved("a1", "n1", a), w.reserved("r1", "n1", a), w.reserved("r2", "n1", a)
	want(t, w.complete(rejected.complete(wire.CompletionRejected, term(1))).Kind, wire.KindRejected)
	want(t, w.commit(committed.commit()).Kind, wire.KindCommitted)
	want(t, w.remove("n1", a), wire.StatusStored)
	want(t, w.releaseEnded("r1", released.version), wire.KindReleased)
	for _, r := range []reservation{rejected, released, committed} {
		w.staleAbort(r.abort())
	}
}
