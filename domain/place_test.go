package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// placeRequest asks for an object on a node of "play".
func (w *world) placeRequest(id string, edits ...func(*wire.ObjectPlaceRequest)) *wire.ObjectPlaceRequest {
	req := placed(w.reserveRequest(id, wire.Target{MeshName: "play"}))
	for _, edit := range edits {
		edit(req)
	}
	return req
}

func releasing(r *wire.ObjectPlaceRequest) { r.EndedOwner = wire.EndedOwnerRelease }

// unplaced requires that a request is refused without a trace. current is the object
// as it is, where the reply has it.
func (w *world) unplaced(req *wire.ObjectPlaceRequest, kind wire.Kind, reason wire.Reason) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		wanted := &wire.ObjectReserveReply{Kind: kind, Reason: reason}
		if kind != wire.KindNoTarget && kind != wire.KindPlacementCapacityExhausted {
			wanted.Current = read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: req.Key})
		}
		want(w.t, w.place(req), wanted)
	})
}

// placedOn requires that a request is carried out on a node, as object.reserve does.
func (w *world) placedOn(req *wire.ObjectPlaceRequest, target wire.Target) reservation {
	w.t.Helper()
	at := w.view().Revision() + 1
	reply := w.place(req)
	g := wire.Generation(at)
	live := true
	creating := &wire.Authority{
		Key: req.Key.Text(), StoreVersion: wire.Version(at.String()), Payload: req.CreatingPayload,
		ObjectGeneration: g, AuthorityOwnerGeneration: g,
		OwnerID: target.Owner.OwnerID, OwnerLeaseGeneration: target.Owner.LeaseGeneration,
		Allocation: &wire.Allocation{
			State: wire.AllocationReserved, ObjectKind: req.Key.Kind, StableType: req.Intent.StableType,
			Descriptor: target.Node(), DescriptorLifecycleGeneration: target.NodeLifecycleGeneration, Capacity: req.Capacity,
		},
		PendingCreation: &wire.PendingCreation{
			ReservationID: req.ReservationID, RequestContentReference: req.Intent.RequestContentReference,
			RequestSHA256: req.Intent.RequestSHA256, RequestEncodedSize: req.Intent.RequestEncodedSize,
		},
		Phase: wire.PhaseSteady, Live: &live, StoreNow: wire.Instant(w.clock.Now()),
	}
	want(w.t, reply, &wire.ObjectReserveReply{
		Kind: wire.KindReserved, ReservationID: req.ReservationID, Creating: creating, Target: &target,
	})
	return reservation{req.Key, reply.ReservationID, creating.StoreVersion, target, creating}
}

func TestObjectIsPlaced(t *testing.T) { // 6.6 row 12
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", lifecycle(9))
	w.at(500)
	target := tgt("n1", a)
	target.NodeLifecycleGeneration = 9
	for _, id := range []string{"a1", "r1", "i1"} {
		r := w.placedOn(w.placeRequest(id), target)
		if r.key.IsSpot() {
			want(t, w.commit(r.commit()).Kind, wire.KindCommitted)
		} else {
			want(t, w.complete(r.complete(wire.CompletionCreated, term(1))).Kind, wire.KindCreated)
		}
	}
	want(t, w.usage("n1"), usage{Actors: use{1, 0}, Spots: use{2, 0}, Rooms: use{1, 0}, Chats: use{1, 0}})
}

func TestFirstRowsOfPlaceAreThoseOfReserve(t *testing.T) { // 6.6, 6.1 rows 1 to 8
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	b := w.hosts("n2", "owner-b", weight(0), entrySpot("r0")) // no node for anything
	hall := func(r *wire.ObjectPlaceRequest) { r.Intent.StableType = "hall" }
	w.unplaced(w.placeRequest("r0"), wire.KindConflict, wire.ReasonEntrySpot) // row 1
	req := w.placeRequest("r1")
	w.placedOn(req, tgt("n1", a))
	w.stored(wire.IntentRenew, node("n1", a, weight(0), revision(2))) // rows 9 and 10 come later
	w.unplaced(w.placeRequest("r1", hall), wire.KindTypeMismatch, "") // row 3
	w.unplaced(w.placeRequest("r1"), wire.KindConflict, wire.ReasonReserved)
	w.ready("i1", "n1", a)
	w.unplaced(w.placeRequest("i1", hall, releasing), wire.KindTypeMismatch, "") // row 6
	w.unplaced(w.placeRequest("i1", releasing), wire.KindAlreadyExists, "")      // row 7
	w.ready("r2", "n2", b)
	w.member("a1", "r2", "n1", a)
	w.ready("i2", "n2", b)
	w.changed("i2", putOf(toPhase(wire.PhaseClosing)))
	w.release(b)
	w.unplaced(w.placeRequest("i2"), wire.KindAlreadyExists, "")
	w.unplaced(w.placeRequest("i2", releasing), wire.KindUnavailable, wire.ReasonNotSteady)  // row 8
	w.unplaced(w.placeRequest("r2", releasing), wire.KindUnavailable, wire.ReasonMemberLive) // 6.2 row 3
}

func TestPlaceIsRepeatable(t *testing.T) { // 6.6, 6.1 rows 4 and 5
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", limits(1, 1))
	w.stored(wire.IntentNewClaim, node("n1", a, inMesh("lab")))
	req := w.placeRequest("r1")
	r := w.placedOn(req, tgt("n1", a))
	w.at(1000)
	w.stored(wire.IntentRenew, node("n1", a, limits(1, 1), weight(0), revision(2))) // no candidate any more
	creating := *r.creating
	creating.StoreNow = t0 + 1000
	again := &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: r.id, Creating: &creating, Target: &r.target}
	w.quiet(func() { want(t, w.place(req), again) })
	for name, edit := range map[string]func(*wire.ObjectPlaceRequest){
		"another mesh":     func(r *wire.ObjectPlaceRequest) { r.MeshName = "lab" },
		"another payload":  func(r *wire.ObjectPlaceRequest) { r.CreatingPayload = wire.Bytes("other") },
		"another capacity": func(r *wire.ObjectPlaceRequest) { r.Capacity = wire.Capacity{Spots: 1} },
		"another size":     func(r *wire.ObjectPlaceRequest) { r.Intent.RequestEncodedSize++ },
		"another id":       func(r *wire.ObjectPlaceRequest) { r.ReservationID = w.newReservationID("x") },
	} {
		t.Log(name)
		other := *req
		edit(&other)
		w.unplaced(&other, wire.KindConflict, wire.ReasonReserved)
	}
	other := *req // these are no content
	other.EndedOwner, other.Exclude = wire.EndedOwnerRelease, []wire.Incarnation{{RID: "n1", LifecycleGeneration: 7}}
	w.quiet(func() { want(t, w.place(&other), again) })
	reserve := w.reserveRequest("r1", r.target)
	reserve.ReservationID = r.id
	want(t, w.reserve(reserve), &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: r.id, Creating: &creating})
}

func TestEndedObjectIsPlacedAnew(t *testing.T) { // 6.6, 6.1 rows 2 and 8
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	b := w.hosts("n2", "owner-b", weight(1))
	w.reserved("r1", "n1", a)
	w.ready("r2", "n1", a)
	w.member("a1", "r2", "n1", a)
	w.release(a)
	w.placedOn(w.placeRequest("r1"), tgt("n2", b))
	w.placedOn(w.placeRequest("r2", releasing), tgt("n2", b))
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
	want(t, w.usage("n1"), usage{})
	want(t, w.usage("n2"), usage{Spots: use{0, 2}, Rooms: use{0, 2}})
}

func TestNoNodeQualifies(t *testing.T) { // 6.6 row 9
	t.Parallel()
	lab := func(r *wire.ObjectPlaceRequest) { r.MeshName = "lab" }
	n1 := func(r *wire.ObjectPlaceRequest) { r.Exclude = []wire.Incarnation{{RID: "n1", LifecycleGeneration: 7}} }
	for name, tt := range map[string]struct {
		node    func(*wire.MeshNodeDescriptor)
		request func(*wire.ObjectPlaceRequest)
	}{
		"no node of the mesh": {weight(1), lab},
		"no serving node":     {state(wire.StateDraining), releasing},
		"no weight":           {weight(0), releasing},
		"no capability":       {can(wire.ObjectInstanceSpot, "room"), releasing},
		"excluded":            {weight(1), n1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.hosts("n1", "owner-a", limits(0, 1))
			w.ready("r0", "n1", a) // full as well: row 9 comes first
			dead := w.hosts("n2", "owner-b")
			w.reserved("r1", "n2", dead) // an ended reservation stays
			w.release(dead)
			w.stored(wire.IntentTakeover, node("n1", a, limits(0, 1), tt.node))
			w.unplaced(w.placeRequest("r1", tt.request), wire.KindNoTarget, "")
			want(t, w.snapshot("r1").Allocation.State, wire.AllocationReserved)
		})
	}
}

func TestNoQualifiedNodeHasRoom(t *testing.T) { // 6.6 row 10
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", limits(0, 1))
	w.ready("r0", "n1", a)
	w.hosts("n2", "owner-b", state(wire.StateDraining)) // has room, but does not qualify
	w.hosts("n3", "owner-c")
	req := w.placeRequest("r1", func(r *wire.ObjectPlaceRequest) {
		r.Exclude = []wire.Incarnation{{RID: "n3", LifecycleGeneration: 7}}
	})
	w.unplaced(req, wire.KindPlacementCapacityExhausted, "")
}

func TestPlaceCountsWhatItGivesBack(t *testing.T) { // 6.6 row 10
	t.Parallel()
	w := newWorld(t)
	a, b := w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b", limits(0, 1), weight(10_000))
	w.ready("r1", "n1", a)
	w.ready("r2", "n2", b)
	w.reserved("i1", "n1", a)
	w.release(a)
	c := w.claim("owner-c")
	w.stored(wire.IntentTakeover, node("n1", c, limits(0, 2)))
	w.unplaced(w.placeRequest("r3"), wire.KindPlacementCapacityExhausted, "")
	w.placedOn(w.placeRequest("r1", releasing), tgt("n1", c)) // never n2, which gets nothing back
	w.placedOn(w.placeRequest("i1"), tgt("n1", c))
	want(t, w.usage("n1"), usage{Spots: use{0, 2}, Rooms: use{0, 1}, Chats: use{0, 1}})
}

func TestNodeThatIsFullIsNoCandidate(t *testing.T) { // C-16
	t.Parallel()
	w := newWorld(t)
	a, b := w.hosts("n1", "owner-a", limits(1, 0), weight(10_000)), w.hosts("n2", "owner-b", limits(1, 0), weight(1))
	w.reserved("a1", "n1", a)
	w.placedOn(w.placeRequest("a2"), tgt("n2", b))
	w.unplaced(w.placeRequest("a3"), wire.KindPlacementCapacityExhausted, "")
	w.unplaced(w.placeRequest("a3", func(r *wire.ObjectPlaceRequest) { r.MeshName = "lab" }), wire.KindNoTarget, "")
}
