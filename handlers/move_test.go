package handlers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// moveParticipants are nearly as many as ten calls can stage, and several times what a commit, a page of a list or a batch holds.
	moveParticipants = 10_100
	// moveShort is for two calls and two pages, where the tests are to be short, and with the race detector, which makes the creation of
	// the others last for minutes.
	moveShort = 1_500
	// moveCallers create the objects.
	moveCallers = 64
	// moveTTL is a lease that outlives the test.
	moveTTL wire.Millis = 3_600_000
	// settlePatience is for work that leaves the machine to others.
	settlePatience = 6 * patience
	// stageMost is how many participants a call can stage.
	stageMost = 1024
)

// TestManyObjectsMoveAtOneInstant: nobody sees some of them moved and others not, before, while and after their rows are rewritten,
// on whichever instance. 8.5, 8.6, 13
func TestManyObjectsMoveAtOneInstant(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("R%d", replicas), func(t *testing.T) {
			t.Parallel()
			if replicas == 1 {
				moveMany(t, testenv.Server(t, testenv.ServerOptions{}))
				return
			}
			if testing.Short() {
				t.Skip("starts three servers")
			}
			c := testenv.Cluster(t, replicas, testenv.ServerOptions{})
			moveMany(t, c.Node(0), c.Node(1), c.Node(2))
		})
	}
}

func moveMany(t *testing.T, nodes ...*testenv.Node) {
	m := &bigMove{directory: startDirectoryOn(t, nodes, "one", "two"), rooms: make([]*wire.Authority, moveParticipants)}
	if testing.Short() || testenv.RaceDetector {
		m.rooms = m.rooms[:moveShort]
	}
	m.a, m.b = m.hostsForLong("n1", "a"), m.hostsForLong("n2", "b")
	m.took("create", m.create)
	m.out()
	before := m.lastChange()

	second := &witness{fixture: &fixture{t: t, client: nodes[len(nodes)-1].Connect(t)}, objects: len(m.rooms)}
	stop := second.watch()
	m.took("stage", m.stage)
	m.took("prepare", m.prepare)
	m.took("commit", m.commit)
	moved := sight{revision: m.at}
	committed := second.list(&moved)
	if !moved.moved {
		t.Error("the list does not show the commit that its reader knows of")
	}
	m.took("settle", m.settled)
	settled := second.list(&moved)
	stop()
	if diff := cmp.Diff(committed, settled); diff != "" {
		t.Errorf("list after the commit and after settling (-commit +settled):\n%s", diff)
	}
	m.checkChanges(before)
}

// bigMove is a directory whose rooms move from n1 of owner a to n2 of owner b.
type bigMove struct {
	*directory
	rooms []*wire.Authority // in key order
	a, b  wire.OwnerToken
	at    uint64 // the revision of the commit
}

// took logs how long a part took. It is the machine's business.
func (m *bigMove) took(what string, part func()) {
	m.t.Helper()
	began := time.Now()
	part()
	m.t.Logf("%s of %d: %v", what, len(m.rooms), time.Since(began).Round(time.Millisecond))
}

// hostsForLong publishes a node of an owner whose lease outlives the test.
func (m *bigMove) hostsForLong(rid wire.RID, owner string) wire.OwnerToken {
	m.t.Helper()
	claimed := answerTo[wire.LeaseClaimReply](m.fixture, subjects.LeaseClaim, wire.LeaseClaimRequest{OwnerID: owner, TTL: moveTTL})
	m.hostsBy(*claimed.Token, rid, 0)
	return *claimed.Token
}

func roomID(i int) string { return fmt.Sprintf("r%05d", i) } // in key order

func (m *bigMove) create() {
	var next atomic.Int64
	var callers sync.WaitGroup
	for range moveCallers {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(m.rooms); i = int(next.Add(1)) - 1 {
				m.rooms[i] = m.ready(roomID(i), "n1", m.a)
			}
		})
	}
	callers.Wait()
}

var moveFence = wire.Fence{AggregateID: "move", AggregateGeneration: 1}

// stage stages the participants in calls in any order.
func (m *bigMove) stage() {
	m.t.Helper()
	calls, count := (len(m.rooms)+stageMost-1)/stageMost, 0
	for _, call := range rand.Perm(calls) {
		from, to := call*stageMost, min((call+1)*stageMost, len(m.rooms))
		req := wire.AggregateStageRequest{Fence: moveFence, StartIndex: uint32(from)}
		for i, room := range m.rooms[from:to] {
			req.Participants = append(req.Participants, wire.AggregateParticipant{
				AuthorityKey: keyOf(roomID(from + i)), ExpectedStoreVersion: room.StoreVersion, OwnerTransition: wire.OwnerNew,
				AuthorityPayload: wire.Bytes("moved"), MembershipMutation: wire.Bytes{},
			})
		}
		count += len(req.Participants)
		if got := answerTo[wire.AggregateStageReply](m.fixture, subjects.AggregateStage, req); got.Kind != wire.KindStaged || int(got.Count) != count {
			m.t.Fatalf("stage from %d: %+v, want %d staged", from, got, count)
		}
	}
}

func (m *bigMove) prepare() {
	m.t.Helper()
	n := uint32(len(m.rooms))
	got := answerTo[wire.AggregatePrepareReply](m.fixture, subjects.AggregatePrepare, wire.AggregatePrepareRequest{
		Fence: moveFence, ParticipantCount: n, InventoryDigest: digestOf("inventory"), TargetDescriptor: tgt("n2", m.b).Node(),
		TargetDescriptorLifecycleGeneration: tgt("n2", m.b).NodeLifecycleGeneration, TargetOwner: m.b,
		Capacity: wire.Capacity{Spots: n, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: n}},
	})
	if got.Kind != wire.KindPrepared {
		m.t.Fatalf("prepare: %+v", got)
	}
}

func (m *bigMove) commit() {
	m.t.Helper()
	reply := m.call(subjects.AggregateCommit, payload(m.t, wire.AggregateCommitRequest{Fence: moveFence}), nil)
	if got := resultOf[wire.AggregateCommitReply](reply); got.Kind != wire.KindCommitted {
		m.t.Fatalf("commit: %+v", got)
	}
	m.at = revisionOf(reply)
}

// settled waits until nothing is left to do about the aggregate.
func (m *bigMove) settled() {
	m.t.Helper()
	testenv.Eventually(m.t, settlePatience, func() bool {
		v := m.view(m.instances[0])
		return v.Count(domain.FamilyParticipant)+v.Count(domain.FamilyInventory) == 0
	}, "staged data is deleted")
}

// lastChange is the sequence of the last change that was pushed.
func (m *bigMove) lastChange() uint64 {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	s, err := m.changesStream().Info(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	return s.State.LastSeq
}

func (m *bigMove) changesStream() jetstream.Stream {
	m.t.Helper()
	js, err := jetstream.New(m.client)
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	s, err := js.Stream(ctx, subjects.ChangesStream)
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// checkChanges wants each participant pushed once behind a sequence, in key order and at the revision of the commit, and nothing
// else: settling is no change.
func (m *bigMove) checkChanges(after uint64) {
	m.t.Helper()
	m.out()
	if last := m.lastChange(); last != after+uint64(len(m.rooms)) {
		m.t.Fatalf("%d changes, want %d", last-after, len(m.rooms))
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	c, err := m.changesStream().OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	messages, err := c.Messages()
	if err != nil {
		m.t.Fatal(err)
	}
	defer messages.Stop()
	for i := range m.rooms {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			m.t.Fatal(err)
		}
		m.checkChange(i, msg)
	}
}

func (m *bigMove) checkChange(i int, msg jetstream.Msg) {
	m.t.Helper()
	var event wire.AuthorityEvent
	if err := wire.Unmarshal(wire.JSON, msg.Data(), &event); err != nil {
		m.t.Fatalf("change %q: %v", msg.Data(), err)
	}
	h := msg.Headers()
	got := []string{msg.Subject(), h.Get(wire.HeaderRevision), h.Get("Zlink-Index"), h.Get(wire.HeaderChange), event.Key, fmt.Sprint(event.Revision)}
	want := []string{
		subjects.DefaultPrefix.Change(subjects.ChangeAuthority, "spot", roomID(i)), fmt.Sprint(m.at), fmt.Sprint(i), string(wire.ChangeUpserted),
		keyOf(roomID(i)).Text(), fmt.Sprint(m.at),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("change %d (-want +got):\n%s", i, diff)
	}
	moved := *m.rooms[i]
	moved.Kind, moved.Live, moved.StoreNow = "", nil, 0 // as events have it
	moved.StoreVersion, moved.AuthorityOwnerGeneration = wire.Version(fmt.Sprint(m.at)), wire.Generation(m.at)
	moved.Payload, moved.OwnerID, moved.OwnerLeaseGeneration = wire.Bytes("moved"), m.b.OwnerID, m.b.LeaseGeneration
	moved.Allocation.Descriptor.RID = "n2"
	if diff := cmp.Diff(&moved, event.Value); diff != "" {
		m.t.Fatalf("value of change %d (-want +got):\n%s", i, diff)
	}
}
