package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// partOf answers which aggregate an object takes part in.
func (w *world) partOf(id string) *wire.AggregateFindReply {
	w.t.Helper()
	return read(w, domain.FindAggregate, &wire.AggregateFindRequest{Key: keyOf(id)})
}

func TestFindAggregate(t *testing.T) {
	t.Parallel()
	w, a, b := creationWorld(t)
	r1, r2 := w.ready("r1", "n1", a), w.ready("r2", "n1", a)
	w.ready("r3", "n1", a)
	none := &wire.AggregateFindReply{Kind: wire.KindMissing, StoreNow: wire.Instant(w.view().Now())}
	want(t, w.partOf("r1"), none)
	want(t, w.partOf("r9"), none) // there is no such object

	move := fence("move")
	req := prepareRequest(move, tgt("n2", b), rooms(1), inKeyOrder(takesPart(r1), takesPart(r2, preserved)))
	w.stage(move, 0, req.Participants)
	want(t, w.partOf("r1"), none) // collecting: nothing is locked
	w.prepared(req)
	found := &wire.AggregateFindReply{
		Kind: wire.KindFound, OwnerTransition: wire.OwnerNew, StoreNow: none.StoreNow,
		Aggregate: &wire.AggregateStatus{
			Fence: move, State: wire.AggregatePrepared, Deadline: none.StoreNow + 60_000, ParticipantCount: 2,
			TargetDescriptor: tgt("n2", b).Node(), TargetOwner: b, TargetDescriptorLifecycleGeneration: tgt("n2", b).NodeLifecycleGeneration,
		},
	}
	stays := *found
	stays.OwnerTransition = wire.OwnerPreserve
	want(t, w.partOf("r1"), found)
	want(t, w.partOf("r2"), &stays)
	want(t, w.partOf("r3"), none)

	want(t, w.commitAggregate(move), wire.KindCommitted)
	found.Aggregate.State, found.Aggregate.Deadline = wire.AggregateCommitted, 0
	want(t, w.partOf("r1"), found)
	want(t, w.partOf("r2"), &stays)
	w.changed("r1", putOf())
	want(t, w.partOf("r1"), none) // it was changed since
	want(t, w.partOf("r2"), &stays)

	// The aggregate that locks an object comes before the one that changed it.
	again := fence("again")
	w.prepared(prepareRequest(again, tgt("n2", b), rooms(0), []wire.AggregateParticipant{takesPart(w.snapshot("r2"), preserved)}))
	want(t, w.partOf("r2").Aggregate.Fence, again)
	want(t, w.abortAggregate(again), wire.KindAborted)
	want(t, w.partOf("r2"), &stays)
	w.work()
	want(t, w.partOf("r2"), none)
}

func TestFindAggregateTellsOfDamage(t *testing.T) { // 1.5
	t.Parallel()
	w, a, b := creationWorld(t)
	r1 := w.ready("r1", "n1", a)
	w.prepared(prepareRequest(fence("move"), tgt("n2", b), rooms(1), []wire.AggregateParticipant{takesPart(r1)}))
	w.plant(domain.AggregateKey(fence("move")), []byte("nonsense"), 0)
	_, err := domain.FindAggregate(w.view(), &wire.AggregateFindRequest{Key: keyOf("r1")})
	wantLost(t, err, domain.AggregateKey(fence("move")))
}
