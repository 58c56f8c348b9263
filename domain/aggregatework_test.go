package domain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// unsettled are the ids of the rooms that read otherwise than they are stored, of some.
func (w *world) unsettled(ids ...string) (left []string) {
	w.t.Helper()
	for _, id := range ids {
		if w.view().Row(authorityKey(id)).Over != nil {
			left = append(left, id)
		}
	}
	return left
}

func TestSettlingIsNoChange(t *testing.T) { // 8.5, 11, 13, Z-03
	t.Parallel()
	w, _, _, c := twoMoved(t)
	before, nodes := w.snapshots(), w.list()
	want(t, w.stamp(wire.StampAuthority, ""), wire.Revision(c))
	w.events()
	w.at(1000)
	want(t, w.unsettled("r1", "r2"), []string{"r1", "r2"})
	w.work()
	want(t, w.unsettled("r1", "r2"), nil)
	for i := range before {
		before[i].Snapshot.StoreNow = t0 + 1000
	}
	want(t, w.snapshots(), before)
	want(t, w.list(), nodes)
	want(t, w.events(), nil)
	want(t, w.stamp(wire.StampAuthority, ""), wire.Revision(c))
	w.unlocked("r1", "r2")
	w.quiet(w.work)
}

func TestSettlingInKeyOrder(t *testing.T) { // 8.6: in key order, in several commits, by whoever comes
	t.Parallel()
	w := newWorldWithin(t, 3)
	w.once = newDerived()
	a, b := w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b")
	var all []wire.AggregateParticipant
	ids := []string{"r1", "r2", "r3", "r4", "r5", "r6", "r7"}
	for _, id := range ids {
		all = append(all, takesPart(w.ready(id, "n1", a)))
	}
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(7), all))
	c := w.committedNow(fence("f"))
	before := w.snapshots()
	step := func(at domain.Progress) (next domain.Progress) {
		err := w.update(func(tx *kvstore.Tx) (err error) {
			next, _, err = domain.WorkOnAggregate(tx, fence("f"), at, kvstore.MaxRevision)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, w.snapshots(), before)
		return next
	}
	at := step(domain.Progress{})
	want(t, w.unsettled(ids...), ids[3:])
	step(at)
	want(t, w.unsettled(ids...), ids[6:])
	step(domain.Progress{}) // another instance begins anew
	want(t, w.unsettled(ids...), nil)
	want(t, w.exchange("r7", wire.Version(c.String()), putOf()).Kind, wire.KindStored)
	before = w.snapshots()
	w.work()
	want(t, w.unsettled(ids...), nil)
	want(t, w.snapshots(), before)
	want(t, w.stagedRows(), 0)
	want(t, w.view().Count(domain.FamilyInventory), 0)
}

func TestSettlingManyInBatches(t *testing.T) { // 8.6
	t.Parallel()
	const n = 1200
	w, a, b := creationWorld(t)
	all := make([]wire.AggregateParticipant, n)
	for i := range all {
		all[i] = takesPart(w.quickRoom(fmt.Sprintf("r%05d", i), tgt("n1", a)))
	}
	w.stage(fence("f"), 0, all[:600])
	w.stage(fence("f"), 600, all[600:])
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(n), nil, counted(n)))
	w.committedNow(fence("f"))
	if commits := w.workOn(fence("f"), kvstore.MaxRevision); commits < 6 {
		t.Errorf("%d commits, want smaller ones", commits)
	}
	want(t, w.stagedRows(), 0)
	wantDerived(t, w.view(), newDerived())
}

func TestStagedDataStaysUntilTheEventsAreOut(t *testing.T) { // 8.6
	t.Parallel()
	w, _, _, c := twoMoved(t)
	w.workOn(fence("f"), c-1)
	want(t, w.unsettled("r1", "r2"), nil)
	want(t, w.stagedRows(), 2)
	w.quiet(func() { w.workOn(fence("f"), c-1) })
	w.workOn(fence("f"), c)
	want(t, w.stagedRows(), 0)
	want(t, w.view().Count(domain.FamilyInventory), 0)
	want(t, w.view().Count(domain.FamilyAggregate), 1)
}

func TestAbortedDataIsDeletedAtOnce(t *testing.T) { // 8.6: after an abort the staged data is deleted
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	w.workOn(fence("f"), 0)
	want(t, w.stagedRows(), 0)
	want(t, w.view().Count(domain.FamilyInventory), 0)
}

func TestEndedAggregateIsForgottenAfterADay(t *testing.T) { // 8.1: 86,400,000 ms after the staged data was deleted
	t.Parallel()
	const day = 86_400_000
	for name, tt := range map[string]struct {
		end  func(*world)
		then wire.Kind // of a commit
		kind wire.Kind // of an abort
	}{
		"committed": {func(w *world) { w.committedNow(fence("f")) }, wire.KindAlreadyCommitted, wire.KindStale},
		"aborted":   {func(w *world) { want(w.t, w.abortAggregate(fence("f")), wire.KindAborted) }, wire.KindStale, wire.KindAlreadyAborted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, b, all := twoRooms(t)
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
			tt.end(w)
			w.at(5_000)
			w.work()
			w.at(5_000 + day - 1)
			w.uncommitted(fence("f"), tt.then)
			want(t, w.abortAggregate(fence("f")), tt.kind)
			want(t, w.stage(fence("f"), 0, all), stageConflict)
			before := w.takingPart(all)
			w.at(5_000 + day)
			w.uncommitted(fence("f"), wire.KindStale)
			want(t, w.abortAggregate(fence("f")), wire.KindStale)
			w.once = nil // the sweep takes many leases at once
			w.expire()
			want(t, w.view().Count(domain.FamilyAggregate), 0)
			for _, s := range before {
				s.StoreNow++
			}
			want(t, w.takingPart(all), before)
			want(t, w.stage(fence("f"), 0, all), staged(2))
			w.checkLoaded()
		})
	}
}

// checkLoaded requires that a store that loads the rows has the same objects.
func (w *world) checkLoaded() {
	w.t.Helper()
	w.once = newDerived()
	w.checkDerived()
}

func TestOverdueAggregatesAreAborted(t *testing.T) { // G-12, 8.1
	t.Parallel()
	w, _, b, all := twoRooms(t)
	req := prepareRequest(fence("f"), tgt("n2", b), rooms(2), all, func(r *wire.AggregatePrepareRequest) { r.PrepareTTL = 1000 })
	w.prepared(req)
	w.at(999)
	w.quiet(w.work)
	want(t, w.partOf("r1").Aggregate.Deadline, t0+1000)
	w.at(1000)
	want(t, w.workOnce(), true)
	want(t, w.exchange("r1", all[0].ExpectedStoreVersion, putOf()).Kind, wire.KindStored)
	w.uncommitted(fence("f"), wire.KindStale)
	want(t, w.stagedRows(), 0)
}

func TestDeadlineOfAPreparedAggregate(t *testing.T) { // 8.1, 8.3 row 2: 60,000 ms if nothing is said, and it stays
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.stage(fence("f"), 0, all)
	w.at(10_000)
	req := prepareRequest(fence("f"), tgt("n2", b), rooms(2), nil, counted(2))
	w.prepared(req)
	w.at(20_000)
	w.quiet(func() { want(t, w.prepare(req).Kind, wire.KindAlreadyPrepared) })
	w.at(69_999) // its own deadline, not that of staging
	w.quiet(w.work)
	w.at(70_000)
	want(t, w.workOnce(), true)
	want(t, w.abortAggregate(fence("f")), wire.KindAlreadyAborted)
}

func TestOnlyWhatIsDueIsWorkedOn(t *testing.T) { // 8.6
	t.Parallel()
	w, _, b, all := twoRooms(t)
	due := func() (fences []string) {
		for f, err := range domain.AggregateWork(w.view()) {
			if err != nil {
				t.Fatal(err)
			}
			fences = append(fences, f.AggregateID)
		}
		return fences
	}
	w.prepared(prepareRequest(fence("late"), tgt("n2", b), rooms(1), all[:1], func(r *wire.AggregatePrepareRequest) { r.PrepareTTL = 2000 }))
	w.prepared(prepareRequest(fence("early"), tgt("n2", b), rooms(1), all[1:], func(r *wire.AggregatePrepareRequest) { r.PrepareTTL = 1000 }))
	want(t, due(), nil)
	w.at(1000)
	want(t, due(), []string{"early"})
	w.at(2000)
	want(t, due(), []string{"early", "late"})
	w.committedNow(fence("late"))
	want(t, due(), []string{"late", "early"}) // what has ended comes first
	w.work()
	want(t, due(), nil)
	w.workOn(fence("unknown"), 0)
	w.quiet(func() { w.workOn(fence("late"), kvstore.MaxRevision) })
}

func TestEventsOfAnAggregate(t *testing.T) { // 13, Z-03: one upserted for each participant, in key order, at the commit
	t.Parallel()
	w, a, b := aggregateWorld(t)
	before := map[string]*wire.Authority{"a1": w.ready("a1", "n1", a), "i1": w.ready("i1", "n1", a), "r1": w.ready("r1", "n1", a)}
	all := inKeyOrder(takesPart(before["r1"]), takesPart(before["a1"]), takesPart(before["i1"], preserved))
	w.events()
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), sumOf(all), all))
	want(t, w.events(), nil)
	w.at(5)
	c := w.committedNow(fence("f"))
	want(t, w.events(), []domain.Event{
		w.authorityEventAt(c, wire.ChangeUpserted, "a1", movedTo(before["a1"], c, tgt("n2", b))),
		w.authorityEventAt(c, wire.ChangeUpserted, "i1", stayed(before["i1"], c)),
		w.authorityEventAt(c, wire.ChangeUpserted, "r1", movedTo(before["r1"], c, tgt("n2", b))),
	})
	put := w.changed("i1", putOf())
	w.upserted("i1", put) // starts from the projection
	w.work()
	want(t, w.events(), nil)
	want(t, w.exchange("r1", wire.Version(c.String()), removal()).Kind, wire.KindDeleted)
	want(t, w.events(), []domain.Event{w.authorityEvent(wire.ChangeRemoved, "r1", nil)})
}

func TestStampsOfAnAggregate(t *testing.T) { // 11: a committed aggregate, once at its revision
	t.Parallel()
	w, _, b, all := twoRooms(t)
	stamps := func() [3]wire.Revision {
		return [3]wire.Revision{w.stamp(wire.StampAuthority, ""), w.stamp(wire.StampMeshNode, ""), w.stamp(wire.StampOwnerLease, "")}
	}
	before := stamps()
	w.stage(fence("g"), 0, all)
	want(t, w.abortAggregate(fence("g")), wire.KindAborted)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	want(t, stamps(), before)
	c := w.committedNow(fence("f"))
	before[0] = wire.Revision(c)
	want(t, stamps(), before)
	w.work()
	want(t, stamps(), before)
	w.changed("r1", putOf())
	want(t, w.stamp(wire.StampAuthority, ""), w.revision())
}

func TestOverdueAggregateIsNotKeptWaiting(t *testing.T) { // 8.1: within 5 s, whatever else there is to do
	t.Parallel()
	w, a, b := creationWorld(t)
	const n = 700 // more than one commit settles or cleans up
	list := make([]wire.AggregateParticipant, n)
	for i := range list {
		list[i] = takesPart(w.ready(fmt.Sprintf("r%05d", i), "n1", a))
	}
	w.prepared(prepareRequest(fence("large"), tgt("n2", b), rooms(n), inKeyOrder(list...)))
	want(t, w.commitAggregate(fence("large")), wire.KindCommitted)
	late := w.ready("r9", "n1", a)
	w.prepared(prepareRequest(fence("late"), tgt("n2", b), rooms(1), inKeyOrder(takesPart(late)),
		func(req *wire.AggregatePrepareRequest) { req.PrepareTTL = 10 }))
	w.at(10)
	steps := []domain.AggregateStep{{Fence: fence("late")}, {Fence: fence("large")}}
	went := w.workOnAll(steps)
	want(t, went[0].Done, false) // aborted, and not cleaned up yet
	want(t, w.abortAggregate(fence("late")), wire.KindAlreadyAborted)
	if r := w.view().Row(domain.AuthorityKey(keyOf("r00699"))); r.Over == nil {
		t.Error("one commit settled everything: the test shows nothing")
	}
	for i := 0; !went[0].Done || !went[1].Done; i++ {
		if went = w.workOnAll(went); i > 20 {
			t.Fatal("the work does not end")
		}
	}
	w.nothingStaged()
}

func TestManySmallAggregatesShareCommits(t *testing.T) { // 8.6
	t.Parallel()
	w, a, b := creationWorld(t)
	const n = 40
	var steps []domain.AggregateStep
	for i := range n {
		r := w.ready(fmt.Sprintf("r%d", i), "n1", a)
		f := fence(fmt.Sprintf("f%d", i))
		w.prepared(prepareRequest(f, tgt("n2", b), rooms(1), inKeyOrder(takesPart(r))))
		want(t, w.commitAggregate(f), wire.KindCommitted)
		steps = append(steps, domain.AggregateStep{Fence: f})
	}
	again := w.snapshot("r0") // moved once more before it is settled: one row for two aggregates
	w.prepared(prepareRequest(fence("again"), tgt("n1", a), rooms(1), inKeyOrder(takesPart(again))))
	want(t, w.commitAggregate(fence("again")), wire.KindCommitted)
	steps = append(steps, domain.AggregateStep{Fence: fence("again")})
	shown := w.snapshot("r0")
	for range 2 { // settled, then cleaned up
		steps = w.workOnAll(steps)
	}
	for _, s := range steps {
		want(t, s.Done, true)
	}
	w.nothingStaged()
	want(t, w.snapshot("r0"), shown)
}

// workOnAll does steps in one commit, with all events out.
func (w *world) workOnAll(steps []domain.AggregateStep) (went []domain.AggregateStep) {
	w.t.Helper()
	err := w.update(func(tx *kvstore.Tx) (err error) {
		went, err = domain.WorkOnAggregates(tx, steps, kvstore.MaxRevision)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return went
}

func (w *world) nothingStaged() {
	w.t.Helper()
	for _, family := range []string{domain.FamilyInventory, domain.FamilyParticipant} {
		want(w.t, w.view().Count(family), 0)
	}
}

func TestAggregatesAreCountedUntilNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	w, _, b, all := twoRooms(t)
	count := func() wire.AggregateCounts { return domain.AggregatesUnderWay(w.view()) }
	want(t, count(), wire.AggregateCounts{})
	w.stage(fence("s"), 0, all[:1])
	want(t, count(), wire.AggregateCounts{Collecting: 1, OldestDeadline: t0 + 60_000})
	w.clock.Advance(time.Second)
	w.prepared(prepareRequest(fence("p"), tgt("n2", b), rooms(2), all))
	want(t, count(), wire.AggregateCounts{Collecting: 1, Prepared: 1, OldestDeadline: t0 + 60_000})
	w.committedNow(fence("p"))
	at := wire.Revision(w.view().Revision())
	want(t, count(), wire.AggregateCounts{Collecting: 1, Settling: 1, OldestDeadline: t0 + 60_000, OldestCommit: at})
	w.clock.Advance(59 * time.Second)
	want(t, count(), wire.AggregateCounts{Overdue: 1, Settling: 1, OldestDeadline: t0 + 60_000, OldestCommit: at})
	w.work()
	want(t, count(), wire.AggregateCounts{})
	w.plant(domain.AggregateKey(fence("x")), []byte("no record"), 0)
	want(t, count(), wire.AggregateCounts{Unreadable: 1})
}
