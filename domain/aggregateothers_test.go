package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// What other operations make of an object that takes part in an aggregate.

func TestReplaceAParticipant(t *testing.T) { // 6.2 row 1, E-09, E-10
	t.Parallel()
	for _, id := range []string{"i1", "r1", "a1"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w, a, b := aggregateWorld(t)
			_, takes := sortOf(keyOf(id))
			w.ready(id, "n1", a)
			p := takesPart(w.changed(id, putOf(toPhase(wire.PhaseClosing))))
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), takes, []wire.AggregateParticipant{p}))
			w.lapse(b)
			again := w.reserveRequest(id, tgt("n2", b), orRelease)
			w.unreserved(again, wire.KindUnavailable, wire.ReasonInAggregate) // E-09, before row 2
			w.unplaced(placed(again), wire.KindUnavailable, wire.ReasonInAggregate)
			w.committedNow(fence("f"))
			w.unreserved(again, wire.KindAlreadyExists, "") // E-10
			want(t, w.reserve(again).Current.OwnerID, "owner-b")
			w.release(b)
			c := w.hosts("n3", "owner-c")
			again = w.reserveRequest(id, tgt("n3", c), orRelease)
			w.unreserved(again, wire.KindUnavailable, wire.ReasonNotSteady) // the phase is kept
		})
	}
}

func TestReplaceWhatAnAggregateHasMoved(t *testing.T) { // 6.2: one that is not settled does not hinder
	t.Parallel()
	for name, settle := range map[string]func(*world){"settled": (*world).work, "not settled": func(*world) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _, _ := twoMoved(t)
			settle(w)
			w.lapse(a)
			w.anew(w.reserveRequest("r1", tgt("n1", a), orRelease)) // the projected owner has ended
			want(t, w.usage("n2").Rooms, use{Active: 1})
			want(t, w.usage("n1").Rooms, use{Reserved: 1})
			w.work()
			want(t, w.snapshot("r1").Allocation.State, wire.AllocationReserved)
			want(t, w.usage("n2").Rooms, use{Active: 1})
		})
	}
}

func TestReplaceASpotWithLockedMembers(t *testing.T) { // 6.2 rows 3 and 4
	t.Parallel()
	w, a, b := aggregateWorld(t)
	c := w.hosts("n3", "owner-c")
	w.ready("r1", "n1", a)
	p := takesPart(w.member("a1", "r1", "n1", a))
	w.member("a2", "r1", "n2", b)
	w.prepared(prepareRequest(fence("f"), tgt("n3", c), actorCapacity, []wire.AggregateParticipant{p}))
	w.lapse(b, c)
	again := w.reserveRequest("r1", tgt("n3", c), orRelease)
	w.unreserved(again, wire.KindUnavailable, wire.ReasonMemberLive) // a2; row 3 before row 4
	w.release(b)
	w.unreserved(again, wire.KindUnavailable, wire.ReasonMemberNotSteady)
	w.committedNow(fence("f"))
	w.unreserved(again, wire.KindUnavailable, wire.ReasonMemberLive) // a1 is owner-c's now
	w.release(c)
	d := w.hosts("n4", "owner-d")
	w.anew(w.reserveRequest("r1", tgt("n4", d), orRelease))
	for _, id := range []string{"a1", "a2"} {
		want(t, w.snapshot(id).Kind, wire.KindMissing)
	}
	w.work()
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
	want(t, w.usage("n3"), usage{})
}

func TestLockedSpotAcceptsNobody(t *testing.T) { // 5.4: accepted again after commit or abort
	t.Parallel()
	for name, join := range joiners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			spot := takesPart(w.ready("r1", "n1", a))
			in := w.membershipIn("r1")
			w.lockedBy("f", tgt("n2", b), spot)
			want(t, join(w, b, in), false)
			for _, id := range []string{"a1", "a2", "a3"} { // of the joiner
				if s := w.snapshot(id); s.Kind == wire.KindSnapshot && s.Allocation.State == wire.AllocationActive {
					want(t, w.exchange(id, s.StoreVersion, removal()).Kind, wire.KindDeleted)
				} else if s.Kind == wire.KindSnapshot {
					want(t, w.abort((&reservation{keyOf(id), s.PendingCreation.ReservationID, s.StoreVersion, tgt("n2", b), nil}).abort()), wire.KindAborted)
				}
			}
			w.committedNow(fence("f"))
			w.release(a) // the projected owner counts
			want(t, join(w, b, in), true)
		})
	}
}

func TestRemoveAllLeavesWhatIsLocked(t *testing.T) { // 10
	t.Parallel()
	w, a, b, all := twoRooms(t)
	w.ready("r3", "n1", a)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	before := w.takingPart(all)
	want(t, w.removeAll(a, 100), []int{2}) // r3 and n1
	want(t, w.takingPart(all), before)
	want(t, w.snapshot("r3").Kind, wire.KindMissing)
	w.quiet(func() { want(t, w.removeAll(a, 1), []int{0}) }) // whatever is left over does not count
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	want(t, w.removeAll(a, 1), []int{1, 1})
	want(t, w.takingPart(all)[0].Kind, wire.KindMissing)
}

func TestRemoveAllTakesWhatIsTheOwnersNow(t *testing.T) { // 10: the projected token
	t.Parallel()
	for name, settle := range map[string]func(*world){"settled": (*world).work, "not settled": func(*world) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b, _ := twoMoved(t)
			settle(w)
			want(t, w.removeAll(a, 100), []int{1}) // n1
			want(t, w.snapshot("r1").Kind, wire.KindSnapshot)
			want(t, w.removeAll(b, 100), []int{3}) // n2 and both rooms
			want(t, w.snapshot("r1").Kind, wire.KindMissing)
			w.work()
			want(t, w.snapshot("r1").Kind, wire.KindMissing)
			want(t, w.stagedRows(), 0)
			want(t, w.view().Count(domain.FamilyAggregate), 1) // 10: aggregates stay
		})
	}
}
