package domain_test

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	t0  = wire.Instant(testenv.T0)
	ttl = wire.Millis(30_000)
)

// tb is what a *testing.T and a *rapid.T have in common.
type tb interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// storeClock makes a clock of the tests one of a store.
type storeClock struct{ *testenv.Clock }

func (c storeClock) Now() kvstore.Instant { return kvstore.Instant(c.Clock.Now()) }

func (c storeClock) Wait(ctx context.Context, until kvstore.Instant) error {
	return c.Sleep(ctx, int64(until))
}

// world is a store with a clock that stands at t0.
type world struct {
	t     tb
	clock *testenv.Clock
	store *memkv.Store
	feed  *kvstore.Watcher
	seen  kvstore.Revision // what feed has delivered
	// once, if there is one, is what was derived once: after every commit the store must
	// keep what follows from its rows, and so must one that loads them.
	once *derived
}

func newWorld(t tb) *world { return newWorldAt(t, 0) }

// newWorldAt begins with a store that is empty at a revision.
func newWorldAt(t tb, start kvstore.Revision) *world {
	t.Helper()
	w := &world{t: t, clock: testenv.NewClock(testenv.T0), seen: start}
	w.store = memkv.New(memkv.Options{Schema: domain.Schema(), Clock: storeClock{w.clock}, Start: start})
	var err error
	if w.feed, err = w.store.Watch(start); err != nil {
		t.Fatal(err)
	}
	return w
}

// at moves the clock to t0 plus some milliseconds.
func (w *world) at(ms int64) { w.clock.Set(testenv.T0 + ms) }

func (w *world) view() kvstore.View {
	w.t.Helper()
	v, err := w.store.View(w.t.Context(), kvstore.ReadOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// update runs a closure as a transaction.
func (w *world) update(fn func(*kvstore.Tx) error) error {
	w.t.Helper()
	_, err := w.store.Update(w.t.Context(), kvstore.UpdateOptions{}, fn)
	if w.once != nil {
		w.checkDerived()
	}
	return err
}

// try runs a write rule. It also runs it once in vain before, as an engine may,
// and requires the same answer.
func try[Q, R any](w *world, rule func(*kvstore.Tx, *Q) (*R, error), req *Q) (*R, error) {
	w.t.Helper()
	inVain, firstErr := rule(kvstore.NewTx(w.view(), w.store.Limits()), req)
	var reply *R
	err := w.update(func(tx *kvstore.Tx) (err error) {
		reply, err = rule(tx, req)
		return err
	})
	if diff := cmp.Diff(inVain, reply); diff != "" || (firstErr == nil) != (err == nil) {
		w.t.Fatalf("the rule is not repeatable: %v, then %v\n%s", firstErr, err, diff)
	}
	return reply, err
}

// write runs a write rule that must not fail.
func write[Q, R any](w *world, rule func(*kvstore.Tx, *Q) (*R, error), req *Q) *R {
	w.t.Helper()
	reply, err := try(w, rule, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// read runs a read rule that must not fail.
func read[Q, R any](w *world, rule func(kvstore.View, *Q) (*R, error), req *Q) *R {
	w.t.Helper()
	reply, err := rule(w.view(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

func want[T any](t tb, got, want T) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Fatalf("got - want +\n%s", diff)
	}
}

// quiet runs fn and requires that it writes nothing.
func (w *world) quiet(fn func()) {
	w.t.Helper()
	before := w.view().Revision()
	fn()
	if after := w.view().Revision(); after != before {
		w.t.Fatalf("revision %d, want %d: nothing was to be written", after, before)
	}
}

func (w *world) claim(owner string) wire.OwnerToken {
	w.t.Helper()
	r := write(w, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: owner, TTL: ttl})
	if r.Kind != wire.KindClaimed {
		w.t.Fatalf("claim by %q: %s", owner, r.Kind)
	}
	return *r.Token
}

func (w *world) renew(token wire.OwnerToken) {
	w.t.Helper()
	r := write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: token, TTL: ttl})
	if r.Kind != wire.KindRenewed {
		w.t.Fatalf("renew %v: %s", token, r.Kind)
	}
}

func (w *world) release(token wire.OwnerToken) {
	w.t.Helper()
	r := write(w, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: token})
	if r.Kind != wire.KindReleased {
		w.t.Fatalf("release %v: %s", token, r.Kind)
	}
}

// node is the descriptor of a node in the mesh "play".
func node(rid wire.RID, token wire.OwnerToken, edits ...func(*wire.MeshNodeDescriptor)) wire.MeshNodeDescriptor {
	d := wire.MeshNodeDescriptor{
		MeshName: "play", RID: rid, LifecycleGeneration: 7, DescriptorRevision: 1,
		Endpoint: "tcp://" + string(rid) + ":7000", ObjectRole: wire.RoleServer, PlacementWeight: 100,
		PopulationCapacity: wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{
			{ObjectKind: wire.SpotUser, StableType: "room"},
			{ObjectKind: wire.SpotInstance, StableType: "chat"},
		}},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 8},
		ChannelWeights:        map[string]uint32{"north": 1, "south": 2},
		ApplicationVersion:    1, SpotTypes: []string{"room", "chat"},
		ObjectCapabilities: []wire.ObjectCapability{}, State: wire.StateServing,
		SecurityIdentity: "s", OwnerToken: token,
	}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

func (w *world) put(intent wire.Intent, d wire.MeshNodeDescriptor) *wire.UpdateReply {
	w.t.Helper()
	req := &wire.MeshNodeUpdateRequest{Descriptor: d, Intent: intent}
	if err := domain.ValidateMeshNodeUpdate(req); err != nil {
		w.t.Fatal(err)
	}
	return write(w, domain.UpdateMeshNode, req)
}

// stored puts a descriptor and returns its generation.
func (w *world) stored(intent wire.Intent, d wire.MeshNodeDescriptor) wire.Generation {
	w.t.Helper()
	r := w.put(intent, d)
	if r.Status != wire.StatusStored || r.UpdatedAt != wire.Instant(w.clock.Now()) {
		w.t.Fatalf("%s of %q: %+v, want stored", intent, d.RID, r)
	}
	return r.Generation
}

// refused puts a descriptor and requires that it is refused without a trace.
func (w *world) refused(status wire.UpdateStatus, intent wire.Intent, d wire.MeshNodeDescriptor) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.put(intent, d), &wire.UpdateReply{Status: status, UpdatedAt: wire.Instant(w.clock.Now())})
	})
}

func (w *world) remove(rid wire.RID, owner wire.OwnerToken) wire.UpdateStatus {
	w.t.Helper()
	return write(w, domain.RemoveMeshNode, &wire.MeshNodeRemoveRequest{MeshName: "play", RID: rid, Owner: owner}).Status
}

// list returns all nodes of the mesh "play".
func (w *world) list() []wire.MeshNodeItem {
	w.t.Helper()
	items, next, err := domain.ListMeshNodes(w.view(), &wire.MeshNodeListRequest{MeshName: "play"}, "", domain.Page{Items: 1000})
	if err != nil || next != "" {
		w.t.Fatalf("list: next %q, error %v", next, err)
	}
	return items
}

// plant stores a value that no rule would.
func (w *world) plant(k kvstore.Key, value []byte, expiry kvstore.Instant) {
	w.t.Helper()
	err := w.update(func(tx *kvstore.Tx) error {
		_, err := tx.Put(k, value, expiry)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// wantLost requires a *kvstore.DataLostError about a key.
func wantLost(t tb, err error, k kvstore.Key) {
	t.Helper()
	var lost *kvstore.DataLostError
	if !errors.As(err, &lost) || lost.Key != k {
		t.Fatalf("error %v, want data lost at %q", err, k)
	}
}

// events returns what the commits since the last call pushed.
func (w *world) events() []domain.Event {
	w.t.Helper()
	events, err := w.eventsAndDamage()
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

func (w *world) eventsAndDamage() (events []domain.Event, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	for upTo := w.view().Revision(); w.seen < upTo; {
		commits, nextErr := w.feed.Next(ctx)
		if nextErr != nil {
			w.t.Fatal(nextErr)
		}
		for _, c := range commits {
			of, damage := domain.Events(c)
			events, err, w.seen = append(events, of...), errors.Join(err, damage), c.Revision
		}
	}
	return events, err
}
