package handlers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// awaitSlack is how soon after a commit everybody who waits for it is answered, when the machine has nothing else to do.
const awaitSlack = 50 * time.Millisecond

// moving is a group of rooms that an aggregate moves.
type moving struct {
	f        *fixture
	ids      []string
	versions []wire.Version
}

// waiting are requests for another version of each room.
func (m *moving) waiting() (all []*wire.ObjectAwaitRequest) {
	for i, id := range m.ids {
		all = append(all, changed(id, m.versions[i]))
	}
	return all
}

// prepare prepares a move of all rooms.
func (m *moving) prepare(n int, rid wire.RID, owner wire.OwnerToken) wire.Fence {
	m.f.t.Helper()
	_, takes := sortOf(keyOf(m.ids[0]))
	takes.Spots, takes.SpotType.Count = uint32(len(m.ids)), uint32(len(m.ids))
	req := &wire.AggregatePrepareRequest{
		Fence: wire.Fence{AggregateID: "move", AggregateGeneration: wire.Generation(n)}, InventoryDigest: digestOf("move"),
		TargetDescriptor: tgt(rid, owner).Node(), TargetDescriptorLifecycleGeneration: 7, TargetOwner: owner, Capacity: takes,
	}
	for i, id := range m.ids {
		req.Participants = append(req.Participants, wire.AggregateParticipant{
			AuthorityKey: keyOf(id), ExpectedStoreVersion: m.versions[i], OwnerTransition: wire.OwnerNew, AuthorityPayload: wire.Bytes("moved"),
		})
	}
	if kind := answerTo[wire.AggregatePrepareReply](m.f, subjects.AggregatePrepare, req).Kind; kind != wire.KindPrepared {
		m.f.t.Fatalf("prepare: %s", kind)
	}
	return req.Fence
}

// settle rewrites the rooms as they read, as every instance does of its own accord.
func (m *moving) settle(fence wire.Fence) {
	m.f.t.Helper()
	before := m.f.store.Status().Revision
	for at, done := (domain.Progress{}), false; !done; {
		_, err := m.f.store.Update(m.f.t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
			at, done, err = domain.WorkOnAggregate(tx, fence, at, kvstore.MaxRevision)
			return err
		})
		if err != nil {
			m.f.t.Fatal(err)
		}
	}
	if m.f.store.Status().Revision < before+kvstore.Revision(len(m.ids)) {
		m.f.t.Fatal("nothing was settled")
	}
}

// TestAwaitEndsWithTheCommitOfAnAggregate has the commit answer everybody who waits for a participant, at its revision, and at
// once; neither preparing nor settling answers anybody. 6.8, 8.5
func TestAwaitEndsWithTheCommitOfAnAggregate(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a, b := f.hosts("n1", "a", 0), f.hosts("n2", "b", 0)
	m := &moving{f: f}
	for i := range 20 {
		id := fmt.Sprintf("r%02d", i)
		m.ids, m.versions = append(m.ids, id), append(m.versions, f.ready(id, "n1", a).StoreVersion)
	}
	w := f.waits()
	fastest := time.Hour
	for n := 1; n <= 6; n++ {
		rid, owner := wire.RID("n2"), b
		if n%2 == 0 {
			rid, owner = "n1", a
		}
		w.parks(m.waiting()...)
		fence := m.prepare(n, rid, owner)
		w.quiet()
		began := time.Now()
		f.call(subjects.AggregateCommit, payload(t, wire.AggregateCommitRequest{Fence: fence}), nil).want(map[string]string{"kind": "committed"})
		c := wire.Version(f.store.Status().Revision.String())
		for i := range m.ids {
			if got := w.next().shows(c); got.OwnerID != owner.OwnerID || string(got.Payload) != "moved" {
				t.Errorf("%s of %s with %q", got.Key, got.OwnerID, got.Payload)
			}
			m.versions[i] = c
		}
		fastest = min(fastest, time.Since(began))
		w.parks(m.waiting()...)
		m.settle(fence)
		w.quiet()
		f.parked(len(m.ids))
		for i, id := range m.ids {
			m.versions[i] = f.exchanged(id, c, wire.AuthorityPut).StoreVersion
			w.next().shows(m.versions[i])
		}
	}
	if fastest > awaitSlack {
		t.Errorf("answered %s after the commit was asked for, want at most %s", fastest, awaitSlack)
	}
	t.Logf("all answered %s after the commit was asked for", fastest)
}
