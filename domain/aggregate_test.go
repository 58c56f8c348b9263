package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

func TestAggregateMovesItsParticipants(t *testing.T) { // G-01, 8.5
	t.Parallel()
	w, a, b := creationWorld(t)
	r1, r2 := w.ready("r1", "n1", a), w.ready("r2", "n1", a)
	once := newDerived()
	w.prepared(prepareRequest(fence("move"), tgt("n2", b), rooms(2), inKeyOrder(takesPart(r1), takesPart(r2))))
	wantDerived(t, w.view(), once)
	r1.Kind, r2.Kind = wire.KindSnapshot, wire.KindSnapshot // as they are read
	want(t, w.snapshot("r1"), r1)
	want(t, w.commitAggregate(fence("move")), wire.KindCommitted)
	c := w.view().Revision()
	for _, s := range []*wire.Authority{r1, r2} {
		moved := *s
		allocation := *s.Allocation
		allocation.Descriptor.RID = "n2"
		moved.Allocation = &allocation
		moved.StoreVersion, moved.AuthorityOwnerGeneration = wire.Version(c.String()), wire.Generation(c)
		moved.OwnerID, moved.OwnerLeaseGeneration, moved.Payload = b.OwnerID, b.LeaseGeneration, wire.Bytes("moved")
		k, _ := wire.ParseObjectKey(s.Key)
		want(t, w.snapshot(k.GlobalID), &moved)
	}
	wantDerived(t, w.view(), once)
	want(t, w.usage("n1").Spots, use{})
	want(t, w.usage("n2").Spots, use{Active: 2})
	moved := w.snapshot("r1")
	w.events()
	w.work()
	want(t, w.events(), nil)
	want(t, w.snapshot("r1"), moved)
	wantDerived(t, w.view(), once)
}
