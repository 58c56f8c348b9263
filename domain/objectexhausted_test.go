package domain_test

import (
	"errors"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// worldThatEnds has so many revisions left after what was given, which it does twice.
func worldThatEnds(t tb, left kvstore.Revision, given func(*world)) *world {
	t.Helper()
	first := newWorld(t)
	given(first)
	w := newWorldAt(t, kvstore.MaxRevision-first.view().Revision()-left)
	given(w)
	want(t, w.view().Revision(), kvstore.MaxRevision-left)
	return w
}

// creationAtTheEnd is what is given at the end of the revisions.
type creationAtTheEnd struct {
	a, b wire.OwnerToken
	r    reservation
}

// reservedAtTheEnd has a reservation of an object on n1 and so many revisions left.
func reservedAtTheEnd(t tb, left kvstore.Revision, id string) (*world, *creationAtTheEnd) {
	c := new(creationAtTheEnd)
	return worldThatEnds(t, left, func(w *world) {
		c.a, c.b = w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b")
		c.r = w.reserved(id, "n1", c.a)
	}), c
}

func (w *world) place(req *wire.ObjectPlaceRequest) *wire.ObjectReserveReply {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateObjectPlace, func(tx *kvstore.Tx, req *wire.ObjectPlaceRequest) (*wire.ObjectReserveReply, error) {
		return domain.PlaceObject(tx, req, domain.Seed{1, 2})
	}, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// placed is a reservation request without its target.
func placed(r *wire.ObjectReserveRequest) *wire.ObjectPlaceRequest {
	return &wire.ObjectPlaceRequest{
		Key: r.Key, Intent: r.Intent, MeshName: r.Target.MeshName, CreatingPayload: r.CreatingPayload,
		Capacity: r.Capacity, ReservationID: r.ReservationID, EndedOwner: r.EndedOwner,
	}
}

func TestNoRevisionLeftToReserve(t *testing.T) { // 1.3, 6.1 and 6.6 row 11
	t.Parallel()
	exhausted := &wire.ObjectReserveReply{Kind: wire.KindGenerationExhausted}
	w, c := reservedAtTheEnd(t, 0, "r1")
	req := w.reserveRequest("r2", tgt("n2", c.b))
	w.quiet(func() {
		want(t, w.reserve(req), exhausted)
		want(t, w.place(placed(req)), exhausted)
	})
	w.unreserved(w.reserveRequest("r2", tgt("n9", c.b)), wire.KindConflict, wire.ReasonTargetUnavailable) // it comes last
	w.unreserved(w.reserveRequest("r1", tgt("n2", c.b)), wire.KindConflict, wire.ReasonReserved)
	hall := w.reserveRequest("r2", tgt("n2", c.b), func(r *wire.ObjectReserveRequest) {
		r.Capacity = spotsOf(wire.SpotUser, "hall")
	})
	w.unreserved(hall, wire.KindPlacementCapacityExhausted, "")
	w.quiet(func() { want(t, w.place(placed(hall)).Kind, wire.KindPlacementCapacityExhausted) })
	again := w.reserveRequest("r1", tgt("n1", c.a), withID(c.r.id))
	w.quiet(func() { want(t, w.reserve(again).Creating, c.r.creating) }) // nothing is written
	w, c = reservedAtTheEnd(t, 1, "r1")
	w.anew(w.reserveRequest("r2", tgt("n2", c.b)))
	w, _ = reservedAtTheEnd(t, 1, "r1")
	want(t, w.place(placed(req)).Kind, wire.KindReserved)
}

func TestNoRevisionLeftToReplace(t *testing.T) { // 1.3, 6.1 rows 2, 8 and 11
	t.Parallel()
	for left := range kvstore.Revision(4) {
		var b wire.OwnerToken
		w := worldThatEnds(t, left, func(w *world) {
			a := w.hosts("n1", "owner-a")
			b = w.hosts("n2", "owner-b")
			w.ready("r1", "n1", a)
			w.member("a1", "r1", "n1", a)
			w.member("a2", "r1", "n1", a)
			w.lapse(b)
		})
		req := w.reserveRequest("r1", tgt("n2", b), orRelease)
		if left == 3 { // the spot and its two members
			w.anew(req)
			continue
		}
		before := w.snapshots()
		w.unreserved(req, wire.KindGenerationExhausted, "")
		w.quiet(func() { want(t, w.place(placed(req)), &wire.ObjectReserveReply{Kind: wire.KindGenerationExhausted}) })
		want(t, w.snapshots(), before)
	}
}

func TestNoRevisionLeftToCommit(t *testing.T) { // 1.3, 6.3 row 5
	t.Parallel()
	w, c := reservedAtTheEnd(t, 0, "r1")
	w.quiet(func() {
		want(t, w.commit(c.r.commit()), &wire.ObjectCommitReply{Kind: wire.KindGenerationExhausted})
	})
	w.staleCommit(c.r.commit(func(r *wire.ObjectCommitRequest) { r.ReservationID = otherReservation }))
	w, c = reservedAtTheEnd(t, 1, "r1")
	want(t, w.commit(c.r.commit()).Kind, wire.KindCommitted)
	w.quiet(func() { want(t, w.commit(c.r.commit()).Kind, wire.KindAlreadyCommitted) })
}

func TestNoRevisionLeftToComplete(t *testing.T) { // 1.3, 6.5 row 5
	t.Parallel()
	for _, kind := range completions {
		for left := range kvstore.Revision(2) { // the row and the terminal take two
			w, c := reservedAtTheEnd(t, left, "a1")
			w.quiet(func() {
				want(t, w.complete(c.r.complete(kind, term(1))), &wire.ObjectCompleteCreationReply{Kind: wire.KindGenerationExhausted})
			})
			w.staleCompletion(c.r.complete(kind, term(1), func(r *wire.ObjectCompleteCreationRequest) {
				r.Target.NodeLifecycleGeneration++
			}))
			want(t, w.readTerminal(term(1).Operation).Kind, wire.KindMissing)
		}
		w, c := reservedAtTheEnd(t, 2, "a1")
		want(t, w.complete(c.r.complete(kind, term(1))).Kind, wire.Kind(kind))
		w.quiet(func() {
			want(t, w.complete(c.r.complete(kind, term(1))).Kind, wire.KindAlreadyCompleted)
		})
	}
}

func TestNoRevisionLeftToRemoveReservation(t *testing.T) { // 1.3: 503 where it is no result
	t.Parallel()
	for left := range kvstore.Revision(2) {
		w, c := reservedAtTheEnd(t, left, "r1")
		w.quiet(func() {
			_, err := try(w, domain.AbortObject, c.r.abort())
			if !errors.Is(err, kvstore.ErrExhausted) {
				t.Errorf("abort with %d revisions left: error %v, want %v", left, err, kvstore.ErrExhausted)
			}
		})
		want(t, w.snapshot("r1").Kind, wire.KindSnapshot)
	}
	w, c := reservedAtTheEnd(t, 0, "r1")
	w.at(30_000)
	w.quiet(func() {
		_, err := try(w, domain.ReleaseEnded, &wire.ObjectReleaseEndedRequest{Key: c.r.key, ExpectedStoreVersion: c.r.version})
		if !errors.Is(err, kvstore.ErrExhausted) {
			t.Errorf("release: error %v, want %v", err, kvstore.ErrExhausted)
		}
	})
	w, c = reservedAtTheEnd(t, 2, "r1")
	want(t, w.abort(c.r.abort()), wire.KindAborted)
}
