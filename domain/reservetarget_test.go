package domain_test

import (
	"sync"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func role(r wire.ObjectRole) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.ObjectRole = r }
}

func TestReserveNeedsLiveTarget(t *testing.T) { // 1.11, 6.1 row 9, C-12
	t.Parallel()
	for name, tt := range map[string]struct {
		node   func(*wire.MeshNodeDescriptor)
		target func(t *wire.Target, b wire.OwnerToken)
	}{
		"another mesh":       {target: func(t *wire.Target, _ wire.OwnerToken) { t.MeshName = "lab" }},
		"another node":       {target: func(t *wire.Target, _ wire.OwnerToken) { t.NodeRID = "n9" }},
		"another life":       {target: func(t *wire.Target, _ wire.OwnerToken) { t.NodeLifecycleGeneration = 8 }},
		"a dead token":       {target: func(t *wire.Target, _ wire.OwnerToken) { t.Owner.LeaseGeneration++ }},
		"another live token": {target: func(t *wire.Target, b wire.OwnerToken) { t.Owner = b }},
		"role client":        {node: role(wire.RoleClient)},
		"role none":          {node: role(wire.RoleNone)},
		"preparing":          {node: state(wire.StatePreparing)},
		"relocating":         {node: state(wire.StateRelocating)},
		"relocated":          {node: state(wire.StateRelocated)},
		"draining":           {node: state(wire.StateDraining)},
		"stopped":            {node: state(wire.StateStopped)},
		"error":              {node: state(wire.StateError)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full := func(d *wire.MeshNodeDescriptor) { // nor row 10
				d.PopulationCapacity.SpotTypes = nil
				if tt.node != nil {
					tt.node(d)
				}
			}
			w, a, b := creationWorld(t, full)
			target := tgt("n1", a)
			if tt.target != nil {
				tt.target(&target, b)
			}
			w.unreserved(w.reserveRequest("r1", target), wire.KindConflict, wire.ReasonTargetUnavailable)
		})
	}
}

func TestReserveNeedsLiveOwner(t *testing.T) { // 1.11, 6.1 row 9, C-12
	t.Parallel()
	w, a, b := creationWorld(t)
	w.release(a)
	w.unreserved(w.reserveRequest("r1", tgt("n1", a)), wire.KindConflict, wire.ReasonTargetUnavailable)
	w.at(29_999)
	w.anew(w.reserveRequest("r1", tgt("n2", b)))
	w.at(30_000) // the expiry instant itself
	w.unreserved(w.reserveRequest("r2", tgt("n2", b)), wire.KindConflict, wire.ReasonTargetUnavailable)
}

func TestWeightAndCapabilitiesMakeNoTarget(t *testing.T) { // 1.11
	t.Parallel()
	w, a, _ := creationWorld(t, weight(0), capabilities)
	w.anew(w.reserveRequest("i1", tgt("n1", a))) // a type that is no capability
}

func TestReserveNeedsRoom(t *testing.T) { // 6.1 row 10, A-05
	t.Parallel()
	w, a, _ := creationWorld(t, limits(0, 1))
	r1 := w.ready("r1", "n1", a)
	w.unreserved(w.reserveRequest("r2", tgt("n1", a)), wire.KindPlacementCapacityExhausted, "")
	w.unreserved(w.reserveRequest("r2", tgt("n1", a), ofType("hall")), wire.KindPlacementCapacityExhausted, "")
	want(t, w.exchange("r1", r1.StoreVersion, wire.AuthorityMutation{Kind: wire.AuthorityDelete}).Kind, wire.KindDeleted)
	w.anew(w.reserveRequest("r2", tgt("n1", a)))
}

func TestReplacingCountsWhatItGivesBack(t *testing.T) { // 6.1 row 10
	t.Parallel()
	w, a, b := creationWorld(t, limits(1, 1), typeLimits(1, 1))
	w.reserved("r1", "n1", a)
	w.release(a)
	again := w.claim("owner-a")
	w.stored(wire.IntentTakeover, node("n1", again, limits(1, 1), typeLimits(1, 1)))
	w.unreserved(w.reserveRequest("r2", tgt("n1", again)), wire.KindPlacementCapacityExhausted, "")
	w.makeReady(w.anew(w.reserveRequest("r1", tgt("n1", again)))) // row 2
	w.member("a1", "r1", "n1", again)
	w.release(again)
	third := w.claim("owner-a")
	w.stored(wire.IntentTakeover, node("n1", third, limits(1, 1), typeLimits(1, 1)))
	both := w.reserveRequest("r1", tgt("n1", third), orRelease, func(r *wire.ObjectReserveRequest) { r.Capacity.Actors = 1 })
	elsewhere := *both
	elsewhere.Target = tgt("n2", b)
	w.stored(wire.IntentTakeover, node("n2", b, limits(1, 1), typeLimits(1, 1), revision(2)))
	w.ready("a2", "n2", b)
	w.unreserved(&elsewhere, wire.KindPlacementCapacityExhausted, "") // it gives nothing back there
	w.anew(both)                                                      // row 8, and its member
	want(t, w.usage("n1"), usage{Actors: use{0, 1}, Spots: use{0, 1}, Rooms: use{0, 1}})
}

func TestReservationIsShown(t *testing.T) { // 6.1 row 12
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.at(500)
	req := w.reserveRequest("r1", tgt("n1", a))
	reply := w.reserve(req)
	row := w.view().Row(domain.AuthorityKey(req.Key))
	g := wire.Generation(row.Revision)
	snapshot := &wire.Authority{
		Key: "zla1:s:2:r1", StoreVersion: wire.Version(row.Revision.String()), Payload: wire.Bytes("creating"),
		ObjectGeneration: g, AuthorityOwnerGeneration: g, OwnerID: "owner-a", OwnerLeaseGeneration: a.LeaseGeneration,
		Allocation: &wire.Allocation{
			State: wire.AllocationReserved, ObjectKind: wire.ObjectUserSpot, StableType: "room",
			Descriptor: wire.DescriptorKey{MeshName: "play", RID: "n1"}, DescriptorLifecycleGeneration: 7, Capacity: roomCapacity,
		},
		PendingCreation: &wire.PendingCreation{
			ReservationID: req.ReservationID, RequestContentReference: "requests/1",
			RequestSHA256: req.Intent.RequestSHA256, RequestEncodedSize: 7,
		},
		Phase: wire.PhaseSteady, Live: new(true), StoreNow: t0 + 500,
	}
	want(t, reply, &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: req.ReservationID, Creating: snapshot})
	shown := *snapshot
	shown.Kind = wire.KindSnapshot
	want(t, w.snapshot("r1"), &shown)
	want(t, w.usage("n1"), usage{Spots: use{0, 1}, Rooms: use{0, 1}})
}

func TestReservesAtTheSameTimeKeepToTheLimit(t *testing.T) { // C-11
	t.Parallel()
	w, a, _ := creationWorld(t, limits(1, 0))
	kinds := make(chan wire.Kind, 20)
	var wg sync.WaitGroup
	for i := range 20 {
		req := w.reserveRequest("a"+string(rune('a'+i)), tgt("n1", a))
		wg.Go(func() {
			var reply *wire.ObjectReserveReply
			if err := w.update(func(tx *kvstore.Tx) (err error) {
				reply, err = domain.ReserveObject(tx, req)
				return err
			}); err != nil {
				t.Error(err)
				return
			}
			kinds <- reply.Kind
		})
	}
	wg.Wait()
	close(kinds)
	got := map[wire.Kind]int{}
	for k := range kinds {
		got[k]++
	}
	want(t, got, map[wire.Kind]int{wire.KindReserved: 1, wire.KindPlacementCapacityExhausted: 19})
	want(t, w.usage("n1").Actors, use{0, 1})
}
