package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// creationWorld has the nodes n1 of owner-a and n2 of owner-b.
func creationWorld(t tb, edits ...func(*wire.MeshNodeDescriptor)) (w *world, a, b wire.OwnerToken) {
	t.Helper()
	w = newWorld(t)
	return w, w.hosts("n1", "owner-a", edits...), w.hosts("n2", "owner-b")
}

// lapse lets the leases of all but the given tokens end.
func (w *world) lapse(but ...wire.OwnerToken) {
	w.t.Helper()
	w.at(29_000)
	for _, token := range but {
		w.renew(token)
	}
	w.at(30_000)
}

// unreserved sends a request and requires that it is refused without a trace, and
// that current is what authority.read answers.
func (w *world) unreserved(req *wire.ObjectReserveRequest, kind wire.Kind, reason wire.Reason) {
	w.t.Helper()
	current := read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: req.Key})
	if kind == wire.KindPlacementCapacityExhausted || kind == wire.KindGenerationExhausted {
		current = nil
	}
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.reserve(req), &wire.ObjectReserveReply{Kind: kind, Reason: reason, Current: current})
	})
}

// anew sends a request and requires a new reservation.
func (w *world) anew(req *wire.ObjectReserveRequest) reservation {
	w.t.Helper()
	before := w.view().Revision()
	reply := w.reserve(req)
	if reply.Kind != wire.KindReserved || wire.Generation(before) >= reply.Creating.ObjectGeneration {
		w.t.Fatalf("reserve %s: %+v, want a new reservation", req.Key.GlobalID, reply)
	}
	return reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, req.Target, reply.Creating}
}

func ofType(stableType string) func(*wire.ObjectReserveRequest) {
	return func(r *wire.ObjectReserveRequest) { r.Intent.StableType = stableType }
}

func withID(id string) func(*wire.ObjectReserveRequest) {
	return func(r *wire.ObjectReserveRequest) { r.ReservationID = id }
}

// orRelease replaces an object whose owner has ended.
func orRelease(r *wire.ObjectReserveRequest) { r.EndedOwner = wire.EndedOwnerRelease }

func TestEntrySpotCannotBeReserved(t *testing.T) { // 6.1 row 1
	t.Parallel()
	w, a, b := creationWorld(t)
	w.stored(wire.IntentNewClaim, node("n3", a, entrySpot("r1"), inMesh("lab")))
	gone := w.reserveRequest("r1", tgt("n9", b)) // nor row 9
	w.unreserved(w.reserveRequest("r1", tgt("n2", b)), wire.KindConflict, wire.ReasonEntrySpot)
	w.unreserved(gone, wire.KindConflict, wire.ReasonEntrySpot)
	chat := w.reserveRequest("i1", tgt("n2", b))
	chat.Key.GlobalID = "r1"
	w.unreserved(chat, wire.KindConflict, wire.ReasonEntrySpot)
	w.release(a) // live or not
	w.unreserved(w.reserveRequest("r1", tgt("n2", b)), wire.KindConflict, wire.ReasonEntrySpot)
	actor := w.reserveRequest("a1", tgt("n2", b))
	actor.Key.GlobalID = "r1"
	w.anew(actor)
	w.deleteRow(domain.MeshNodeKey("lab", "n3"))
	w.anew(w.reserveRequest("r1", tgt("n2", b)))
}

// endings end a reservation of owner-a on n1.
var endings = map[string]func(w *world, a, b wire.OwnerToken){
	"its owner lapsed":             func(w *world, _, b wire.OwnerToken) { w.lapse(b) },
	"its owner released its lease": func(w *world, a, _ wire.OwnerToken) { w.release(a) },
	"its owner has a new lease": func(w *world, a, _ wire.OwnerToken) {
		w.release(a)
		w.claim(a.OwnerID)
	},
	"its node is gone": func(w *world, a, _ wire.OwnerToken) { want(w.t, w.remove("n1", a), wire.StatusStored) },
	"its node has another life": func(w *world, a, _ wire.OwnerToken) {
		w.stored(wire.IntentTakeover, node("n1", a, lifecycle(8)))
	},
}

func TestEndedReservationIsReplaced(t *testing.T) { // 6.1 row 2, E-01
	t.Parallel()
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			old := w.reserved("r1", "n1", a)
			end(w, a, b)
			req := w.reserveRequest("r1", tgt("n2", b), withID(old.id), ofType("chat")) // neither row 3 nor 4
			req.Key.Kind, req.Capacity = wire.ObjectInstanceSpot, chatCapacity
			r := w.anew(req)
			want(t, len(w.snapshots()), 1)
			if r.creating.AuthorityOwnerGeneration <= old.creating.AuthorityOwnerGeneration {
				t.Errorf("generation %d after %d, want it to rise", r.creating.AuthorityOwnerGeneration, old.creating.AuthorityOwnerGeneration)
			}
			w.quiet(func() {
				want(t, w.commit(old.commit()), &wire.ObjectCommitReply{Kind: wire.KindStale})
				want(t, w.abort(old.abort()), wire.KindStale)
			})
		})
	}
}

func TestEndedReservationStaysIfTheRequestFails(t *testing.T) { // 6.1 rows 2, 9 and 10
	t.Parallel()
	w, a, b := creationWorld(t)
	w.stored(wire.IntentNewClaim, node("n3", b, typeLimits(1, 0)))
	w.ready("r2", "n3", b)
	w.reserved("r1", "n1", a)
	w.release(a)
	w.unreserved(w.reserveRequest("r1", tgt("n1", a)), wire.KindConflict, wire.ReasonTargetUnavailable)
	w.unreserved(w.reserveRequest("r1", tgt("n3", b)), wire.KindPlacementCapacityExhausted, "")
	want(t, w.snapshot("r1").Kind, wire.KindSnapshot)
}

func TestReservationOfDrainingNodeHasNotEnded(t *testing.T) { // 1.11, 6.1 row 5
	t.Parallel()
	w, a, b := creationWorld(t)
	w.reserved("r1", "n1", a)
	for i, s := range []wire.NodeState{wire.StateDraining, wire.StateStopped, wire.StateError} {
		w.stored(wire.IntentRenew, node("n1", a, revision(wire.Revision(i)+2), state(s)))
		w.unreserved(w.reserveRequest("r1", tgt("n2", b)), wire.KindConflict, wire.ReasonReserved)
	}
}

func TestReservationOfAnotherType(t *testing.T) { // 6.1 row 3, C-02
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	hall := w.reserveRequest("r1", tgt("n1", a), ofType("hall"), withID(r.id)) // nor row 4
	w.unreserved(hall, wire.KindTypeMismatch, "")
	instance := w.reserveRequest("r1", tgt("n1", a), withID(r.id))
	instance.Key.Kind = wire.ObjectInstanceSpot
	w.unreserved(instance, wire.KindTypeMismatch, "")
	w.unreserved(w.reserveRequest("r1", tgt("n9", a), ofType("hall")), wire.KindTypeMismatch, "") // nor row 9
}

func TestReserveIsRepeatable(t *testing.T) { // 6.1 row 4, C-08
	t.Parallel()
	w, a, _ := creationWorld(t, limits(0, 1))
	req := w.reserveRequest("r1", tgt("n1", a))
	first := w.reserve(req)
	again := w.reserveRequest("r1", tgt("n1", a), withID(req.ReservationID), orRelease)
	takes := *again.Capacity.SpotType // equal, not the same
	again.Capacity.SpotType = &takes
	w.quiet(func() { want(t, w.reserve(again), first) }) // though there is no room left
	w.stored(wire.IntentRenew, node("n1", a, limits(0, 1), revision(2), state(wire.StateDraining)))
	w.at(1000)
	w.quiet(func() { // nor is the target one any more
		first.Creating.StoreNow = t0 + 1000
		want(t, w.reserve(again), first)
	})
	want(t, len(w.snapshots()), 1)
}

func TestReservationWithOtherContentIsNotRepeated(t *testing.T) { // 6.1 rows 4 and 5, C-08
	t.Parallel()
	w, a, b := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	type edit = func(*wire.ObjectReserveRequest)
	for name, change := range map[string]edit{
		"reservationId":           withID("ffffffff-ffff-4fff-bfff-ffffffffffff"),
		"creatingPayload":         func(r *wire.ObjectReserveRequest) { r.CreatingPayload = wire.Bytes{} },
		"requestContentReference": func(r *wire.ObjectReserveRequest) { r.Intent.RequestContentReference = "requests/2" },
		"requestSha256":           func(r *wire.ObjectReserveRequest) { r.Intent.RequestSHA256 = make(wire.Bytes, 32) },
		"requestEncodedSize":      func(r *wire.ObjectReserveRequest) { r.Intent.RequestEncodedSize++ },
		"actors":                  func(r *wire.ObjectReserveRequest) { r.Capacity.Actors++ },
		"spots":                   func(r *wire.ObjectReserveRequest) { r.Capacity.Spots++ },
		"no spotType":             func(r *wire.ObjectReserveRequest) { r.Capacity.SpotType = nil },
		"another spotType":        func(r *wire.ObjectReserveRequest) { r.Capacity.SpotType = chatCapacity.SpotType },
		"meshName":                func(r *wire.ObjectReserveRequest) { r.Target.MeshName = "lab" },
		"nodeRid":                 func(r *wire.ObjectReserveRequest) { r.Target.NodeRID = "n2" },
		"nodeLifecycleGeneration": func(r *wire.ObjectReserveRequest) { r.Target.NodeLifecycleGeneration++ },
		"ownerId":                 func(r *wire.ObjectReserveRequest) { r.Target.Owner.OwnerID = "owner-b" },
		"leaseGeneration":         func(r *wire.ObjectReserveRequest) { r.Target.Owner.LeaseGeneration++ },
		"all of the target":       func(r *wire.ObjectReserveRequest) { r.Target = tgt("n2", b) },
	} {
		t.Log(name)
		req := w.reserveRequest("r1", tgt("n1", a), withID(r.id), orRelease, change)
		w.unreserved(req, wire.KindConflict, wire.ReasonReserved)
	}
}

func TestObjectOfAnotherType(t *testing.T) { // 6.1 row 6, C-02
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	instance := w.reserveRequest("r1", tgt("n1", a))
	instance.Key.Kind = wire.ObjectInstanceSpot
	hall := w.reserveRequest("r1", tgt("n2", b), ofType("hall"), orRelease)
	w.unreserved(instance, wire.KindTypeMismatch, "")
	w.unreserved(hall, wire.KindTypeMismatch, "")
	w.release(a) // nor row 8, E-06
	w.unreserved(hall, wire.KindTypeMismatch, "")
}

func TestObjectThatExists(t *testing.T) { // 6.1 row 7, C-02
	t.Parallel()
	w, a, b := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	w.makeReady(r)
	w.unreserved(w.reserveRequest("r1", tgt("n1", a)), wire.KindAlreadyExists, "")
	w.unreserved(w.reserveRequest("r1", tgt("n1", a), withID(r.id)), wire.KindAlreadyExists, "") // no repetition
	w.unreserved(w.reserveRequest("r1", tgt("n9", a)), wire.KindAlreadyExists, "")               // nor row 9
	w.unreserved(w.reserveRequest("r1", tgt("n2", b), orRelease), wire.KindAlreadyExists, "")
	want(t, w.remove("n1", a), wire.StatusStored) // E-05: the node does not matter
	w.unreserved(w.reserveRequest("r1", tgt("n2", b), orRelease), wire.KindAlreadyExists, "")
	w.release(a) // E-06: absent is keep
	w.unreserved(w.reserveRequest("r1", tgt("n2", b)), wire.KindAlreadyExists, "")
	w.unreserved(w.reserveRequest("r1", tgt("n2", b), func(r *wire.ObjectReserveRequest) {
		r.EndedOwner = wire.EndedOwnerKeep
	}), wire.KindAlreadyExists, "")
}
