package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// What is planned outside of the transaction counts only as far as it still holds.

func TestPreparationThatWasPlannedAhead(t *testing.T) { // 1.1, 8.3
	t.Parallel()
	type change = func(w *world, a, b wire.OwnerToken, all []wire.AggregateParticipant)
	for name, tt := range map[string]struct {
		change change
		kind   wire.Kind
	}{
		"nothing": {func(*world, wire.OwnerToken, wire.OwnerToken, []wire.AggregateParticipant) {}, wire.KindPrepared},
		"another object is created": {func(w *world, a, _ wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.ready("r9", "n1", a)
		}, wire.KindPrepared},
		"leases are renewed": {func(w *world, a, b wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.renew(a)
			w.renew(b)
		}, wire.KindPrepared},
		"row 4, aborted": {func(w *world, _, _ wire.OwnerToken, _ []wire.AggregateParticipant) {
			want(w.t, w.abortAggregate(fence("f")), wire.KindAborted)
		}, wire.KindConflict},
		"row 4, aborted and cleaned": {func(w *world, _, _ wire.OwnerToken, _ []wire.AggregateParticipant) {
			want(w.t, w.abortAggregate(fence("f")), wire.KindAborted)
			w.work()
		}, wire.KindConflict},
		"row 2, prepared": {func(w *world, _, b wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(1), nil, counted(2)))
		}, wire.KindAlreadyPrepared},
		"row 5, more is staged": {func(w *world, _, _ wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.stage(fence("f"), 2, []wire.AggregateParticipant{validParticipant("r9")})
		}, wire.KindConflict},
		"row 6, target drains": {func(w *world, _, b wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.stored(wire.IntentRenew, node("n2", b, revision(2), state(wire.StateDraining)))
		}, wire.KindConflict},
		"row 7, one is changed": {func(w *world, _, _ wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.changed("r1", putOf())
		}, wire.KindConflict},
		"row 7, one is gone": {func(w *world, _, _ wire.OwnerToken, all []wire.AggregateParticipant) {
			want(w.t, w.exchange("r2", all[1].ExpectedStoreVersion, removal()).Kind, wire.KindDeleted)
		}, wire.KindConflict},
		"row 7, one is locked": {func(w *world, a, _ wire.OwnerToken, all []wire.AggregateParticipant) {
			w.lockedBy("other", tgt("n1", a), all[0])
		}, wire.KindConflict},
		"row 7, one was moved": {func(w *world, a, _ wire.OwnerToken, all []wire.AggregateParticipant) {
			w.movedBy("other", tgt("n1", a), all[0])
		}, wire.KindConflict},
		"one was locked for a while": {func(w *world, a, _ wire.OwnerToken, all []wire.AggregateParticipant) {
			w.lockedBy("other", tgt("n1", a), all[0])
			want(w.t, w.abortAggregate(fence("other")), wire.KindAborted)
		}, wire.KindPrepared},
		"another object is locked": {func(w *world, a, b wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.lockedBy("other", tgt("n2", b), takesPart(w.ready("r9", "n1", a)))
		}, wire.KindPrepared},
		"row 8, preserve owner has ended": {func(w *world, a, _ wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.release(a)
		}, wire.KindConflict},
		"row 11, room is taken": {func(w *world, _, b wire.OwnerToken, _ []wire.AggregateParticipant) {
			w.stored(wire.IntentTakeover, node("n2", b, limits(0, 1)))
			w.reserved("r9", "n2", b)
		}, wire.KindConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b, all := twoRooms(t)
			preserved(&all[1])
			w.stage(fence("f"), 0, all)
			req := prepareRequest(fence("f"), tgt("n2", b), rooms(1), nil, counted(2))
			p, err := domain.NewPreparation(req)
			if err != nil {
				t.Fatal(err)
			}
			domain.PlanPreparation(w.view(), p)
			tt.change(w, a, b, all)
			before := w.snapshots()
			want(t, write(w, domain.PrepareAggregate, p).Kind, tt.kind)
			want(t, w.snapshots(), before)
			if tt.kind != wire.KindConflict {
				w.committedNow(fence("f"))
				want(t, w.snapshot("r1").OwnerID, "owner-b")
				want(t, w.snapshot("r2").OwnerID, "owner-a")
			}
		})
	}
}

func TestPlansWhileAnEarlierAggregateIsSettled(t *testing.T) { // 8.5: settling is no change
	t.Parallel()
	for name, settle := range map[string][2]func(*world){
		"before the prepare": {(*world).work, func(*world) {}},
		"before the commit":  {func(*world) {}, (*world).work},
		"after it":           {func(*world) {}, func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _, c := twoMoved(t)
			all := inKeyOrder(takesPart(w.snapshot("r1")), takesPart(w.snapshot("r2")))
			want(t, all[0].ExpectedStoreVersion, wire.Version(c.String()))
			w.stage(fence("g"), 0, all)
			p, err := domain.NewPreparation(prepareRequest(fence("g"), tgt("n1", a), rooms(2), nil, counted(2)))
			if err != nil {
				t.Fatal(err)
			}
			domain.PlanPreparation(w.view(), p)
			settle[0](w)
			want(t, write(w, domain.PrepareAggregate, p).Kind, wire.KindPrepared)
			domain.PlanCommit(w.view(), fence("g"))
			settle[1](w)
			before := w.snapshot("r1")
			second := w.committedNow(fence("g"))
			want(t, w.snapshot("r1"), movedTo(before, second, tgt("n1", a)))
			w.work()
			want(t, w.snapshot("r1"), movedTo(before, second, tgt("n1", a)))
		})
	}
}

func TestPlanAheadOfWhatCannotBePlanned(t *testing.T) {
	t.Parallel()
	w, _, b, all := twoRooms(t)
	req := prepareRequest(fence("f"), tgt("n2", b), rooms(2), all)
	p, err := domain.NewPreparation(req)
	if err != nil {
		t.Fatal(err)
	}
	view := func(v kvstore.View) {
		domain.PlanPreparation(v, p)
		domain.PlanCommit(v, fence("f"))
	}
	w.quiet(func() { view(w.view()) }) // nothing is staged
	w.prepared(req)
	w.quiet(func() { view(w.view()) })
	w.committedNow(fence("f"))
	w.quiet(func() { view(w.view()) })
	w.work()
	w.quiet(func() { view(w.view()) })
}
