package node_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(holderEnv); url != "" {
		fmt.Fprintln(os.Stderr, runHolder(url))
		os.Exit(1)
	}
	testenv.VerifyNoLeaks(m)
}

// ahead is how far the store's clock is ahead of the machine's: no runtime may rely on its own.
const ahead = 3 * time.Hour

// storeClock is the store's clock: put forward, and as fast as a test wants.
type storeClock struct {
	start  time.Time
	rate   float64
	jumped atomic.Int64
}

func (c *storeClock) Now() kvstore.Instant {
	passed := time.Duration(float64(time.Since(c.start)) * c.rate)
	return kvstore.Instant(c.start.Add(ahead + passed + time.Duration(c.jumped.Load())).UnixMilli())
}

// jump puts the clock forward by d.
func (c *storeClock) jump(d time.Duration) { c.jumped.Add(int64(d)) }

func (c *storeClock) Wait(ctx context.Context, until kvstore.Instant) error {
	return kvstore.WaitOn(ctx, c.Now, until)
}

// hostClock is the clock of a host: that of the bubble, and the time that the process stood still.
type hostClock struct {
	start time.Time
	stood atomic.Int64
}

func newHostClock() *hostClock { return &hostClock{start: time.Now()} }

func (c *hostClock) now() time.Duration { return time.Since(c.start) + time.Duration(c.stood.Load()) }

// stand lets the process stand still for d.
func (c *hostClock) stand(d time.Duration) { c.stood.Add(int64(d)) }

// send passes a request on.
type send func(ctx context.Context, m *nats.Msg) (*nats.Msg, error)

// fault is something that happens to a request on its way; it may pass the request on.
type fault func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error)

// line carries requests to a service in the process, and does with those of an operation what a test wants.
type line struct {
	local *handlers.Local

	mu     sync.Mutex
	faults map[subjects.Operation]fault // guarded by mu
	sent   []sent                       // guarded by mu
}

// sent is a request that was made.
type sent struct {
	op   subjects.Operation
	data []byte
}

func (l *line) RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	op := subjects.Operation(strings.TrimPrefix(m.Subject, string(subjects.DefaultPrefix)+"."))
	l.mu.Lock()
	f := l.faults[op]
	l.sent = append(l.sent, sent{op, m.Data})
	l.mu.Unlock()
	if f != nil {
		return f(ctx, m, l.local.RequestMsgWithContext)
	}
	return l.local.RequestMsgWithContext(ctx, m)
}

// on has a fault happen to every request of some operations from now on; nil is none.
func (l *line) on(f fault, ops ...subjects.Operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range ops {
		if l.faults[op] = f; f == nil {
			delete(l.faults, op)
		}
	}
}

// everything is every operation that a runtime uses.
var everything = subjects.Operations()

// requests are the requests of an operation so far.
func requests[T any](t *testing.T, l *line, op subjects.Operation) []T {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []T
	for _, s := range l.sent {
		if s.op != op {
			continue
		}
		var request T
		if err := wire.Unmarshal(wire.CBOR, s.data, &request); err != nil {
			t.Fatal(err)
		}
		list = append(list, request)
	}
	return list
}

// operations are the operations that were asked for, but for that of the clock.
func (l *line) operations() []subjects.Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []subjects.Operation
	for _, s := range l.sent {
		if s.op != subjects.StatusGet {
			list = append(list, s.op)
		}
	}
	return list
}

func (l *line) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = nil
}

// refused is a service that answers with a code and a text.
func refused(code wire.Code, text string) fault {
	return func(context.Context, *nats.Msg, send) (*nats.Msg, error) {
		body, err := wire.Marshal(wire.CBOR, wire.ErrorBody{Error: wire.ErrorDetail{Code: code, Message: text}})
		return &nats.Msg{Data: body, Header: nats.Header{
			wire.HeaderContentType: {wire.CBOR.ContentType()}, wire.HeaderError: {text}, wire.HeaderErrorCode: {"500"},
		}}, err
	}
}

// lostReply is a request that is carried out, of which nobody hears.
func lostReply(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
	if _, err := next(ctx, m); err != nil {
		return nil, err
	}
	return lostRequest(ctx, m, next)
}

// lostRequest never arrives.
func lostRequest(ctx context.Context, _ *nats.Msg, _ send) (*nats.Msg, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// after is a request that takes so long, whatever its context says.
func after(d time.Duration) fault {
	return func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
		time.Sleep(d)
		return next(context.WithoutCancel(ctx), m)
	}
}

// once is a fault of the first request alone.
func once(f fault) fault {
	var first sync.Once
	return func(ctx context.Context, m *nats.Msg, next send) (reply *nats.Msg, err error) {
		do := next
		first.Do(func() { do = func(ctx context.Context, m *nats.Msg) (*nats.Msg, error) { return f(ctx, m, next) } })
		return do(ctx, m)
	}
}

// world is a directory in memory, a client of it for looking on, and a host, all in the bubble of a test.
type world struct {
	t       *testing.T
	clock   *storeClock
	line    *line
	look    *client.Client
	metrics *sdk.ManualReader

	mu     sync.Mutex
	events []node.Event // guarded by mu
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: &storeClock{start: time.Now(), rate: 1}, metrics: sdk.NewManualReader()}
	store := memkv.New(memkv.Options{Schema: domain.Schema(), Clock: w.clock})
	local, err := handlers.NewLocal(handlers.Options{Store: store, InstanceID: "here", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	w.line = &line{local: local, faults: make(map[subjects.Operation]fault)}
	if w.look, err = client.New(local, client.Options{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// runtime makes a runtime of an owner, with times and the clock of the bubble unless the options say otherwise.
func (w *world) runtime(o node.Options) *node.Runtime {
	w.t.Helper()
	c, err := client.New(w.line, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if o.Clock == nil {
		o.Clock = newHostClock().now
	}
	o.Client, o.Logger = c, slog.New(slog.DiscardHandler)
	o.MeterProvider = sdk.NewMeterProvider(sdk.WithReader(w.metrics))
	if o.OwnerID == "" {
		o.OwnerID = "host"
	}
	if o.OnEvent == nil {
		o.OnEvent = w.record
	}
	r, err := node.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// started is a runtime that is started, and stopped at the end of the test.
func (w *world) started(o node.Options) *node.Runtime {
	w.t.Helper()
	r := w.runtime(o)
	if err := r.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.stop(r) })
	return r
}

func (w *world) stop(r *node.Runtime) {
	w.t.Helper()
	w.line.on(nil, everything...)
	if err := r.Stop(context.Background()); err != nil {
		w.t.Error(err)
	}
}

func (w *world) record(e node.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// told are the kinds of the events since the last call, with the keys of those that have one.
func (w *world) told() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, e := range w.events {
		text := string(e.Kind)
		if e.Key != (node.Key{}) {
			text += " " + e.Key.String()
		}
		if e.Object != "" {
			text += fmt.Sprintf(" %s %d", e.Object, e.Token.LeaseGeneration)
		}
		list = append(list, text)
	}
	w.events = nil
	return list
}

// count is the value of a counter, or the number of records of a histogram, by its labels.
func (w *world) count(name string) map[string]int64 {
	w.t.Helper()
	var data metricdata.ResourceMetrics
	if err := w.metrics.Collect(context.Background(), &data); err != nil {
		w.t.Fatal(err)
	}
	counts := make(map[string]int64)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					counts[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					counts[p.Attributes.Encoded(attribute.DefaultEncoder())] = int64(p.Count)
					counts["ms "+p.Attributes.Encoded(attribute.DefaultEncoder())] = int64(p.Sum * 1000)
				}
			}
		}
	}
	return counts
}

// lease is the lease of the owner as the service has it; nil is none.
func (w *world) lease(owner string) *wire.OwnerToken {
	w.t.Helper()
	reply, err := w.look.Leases.Read(context.Background(), wire.LeaseReadRequest{OwnerID: owner})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Token
}

// nodes are the live descriptors of the mesh play.
func (w *world) nodes() []wire.MeshNodeItem {
	w.t.Helper()
	reply, err := w.look.MeshNodes.List(context.Background(), wire.MeshNodeListRequest{
		MeshName: "play", PageRequest: wire.PageRequest{LiveOnly: true},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Items
}

// released ends the lease of an owner behind its back.
func (w *world) released(owner string) {
	w.t.Helper()
	token := w.lease(owner)
	if token == nil {
		w.t.Fatalf("owner %s has no lease", owner)
	}
	if _, err := w.look.Leases.Release(context.Background(), wire.LeaseReleaseRequest{Token: *token}); err != nil {
		w.t.Fatal(err)
	}
}

// claimed gives an owner a lease that lasts.
func (w *world) claimed(owner string) wire.OwnerToken {
	w.t.Helper()
	reply, err := w.look.Leases.Claim(context.Background(), wire.LeaseClaimRequest{OwnerID: owner, TTL: 3_600_000})
	if err != nil || reply.Kind != wire.KindClaimed {
		w.t.Fatalf("claim: %+v, %v", reply, err)
	}
	return *reply.Token
}

// meshNode is a descriptor with room for rooms.
func meshNode(rid wire.RID) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: "play", RID: rid, Endpoint: "tcp://" + string(rid) + ":7000", ObjectRole: wire.RoleServer, PlacementWeight: 100,
		PopulationCapacity:    wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: "room"}}},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 8}, State: wire.StateServing, SecurityIdentity: "s",
	}
}

// room makes an active room on the only node.
func (w *world) room(id string) *wire.Authority {
	w.t.Helper()
	reserved, err := w.look.Objects.Place(context.Background(), wire.ObjectPlaceRequest{
		Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}, MeshName: "play", CreatingPayload: wire.Bytes{},
		Intent:   wire.CreationIntent{StableType: "room", RequestContentReference: "x", RequestSHA256: make([]byte, 32)},
		Capacity: wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}},
	})
	if err != nil || reserved.Kind != wire.KindReserved {
		w.t.Fatalf("place %s: %+v, %v", id, reserved, err)
	}
	committed, err := w.look.Objects.Commit(context.Background(), wire.ObjectCommitRequest{
		Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}, ReservationID: reserved.ReservationID,
		ExpectedStoreVersion: reserved.Creating.StoreVersion, Target: *reserved.Target, ReadyPayload: wire.Bytes("ready"),
	})
	if err != nil || committed.Kind != wire.KindCommitted {
		w.t.Fatalf("commit %s: %+v, %v", id, committed, err)
	}
	return committed.Ready
}

func (w *world) authority(id string) *wire.Authority {
	w.t.Helper()
	a, err := w.look.Authorities.Read(context.Background(), wire.AuthorityReadRequest{Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// spotRow is the row of a spot on node n1.
func spotRow(id string) wire.Spot {
	return wire.Spot{
		MeshName: "play", SpotID: id, SpotGeneration: 1, SpotType: "room", OwnerNodeRID: "n1", OwnerNodeGeneration: 1, SpotKind: wire.SpotKindUser,
	}
}

// actorRow is the row of an actor on node n1.
func actorRow(id string) wire.Actor {
	return wire.Actor{
		MeshName: "play", ActorID: id, ActorType: "hero", OwnerNodeRID: "n1", OwnerNodeGeneration: 1, SpotKind: wire.SpotKindUser,
		SpotID: "s1", SpotGeneration: 1, ActorRef: wire.ActorRef{ActorID: id, ObjectGeneration: 1, MeshName: "play", NodeRID: "n1"},
	}
}

// equal fails the test when two lists differ.
func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// at is the time of the bubble since an instant, for messages.
func at(start time.Time) string { return fmt.Sprintf("at %v", time.Since(start)) }

func text(revision wire.Revision) string { return strconv.FormatUint(uint64(revision), 10) }

// lock prepares a move of a room of node n1, which stays where it is, to another host, and returns the fence of the move.
func (w *world) lock(id string) wire.Fence {
	w.t.Helper()
	other := w.claimed("other")
	d := meshNode("n2")
	d.OwnerToken, d.LifecycleGeneration, d.DescriptorRevision = other, 1, 1
	if r, err := w.look.MeshNodes.Update(context.Background(), wire.MeshNodeUpdateRequest{Descriptor: d, Intent: wire.IntentNewClaim}); err != nil || r.Status != wire.StatusStored {
		w.t.Fatalf("node of the move: %+v, %v", r, err)
	}
	fence := wire.Fence{AggregateID: "move", AggregateGeneration: 1}
	a := w.authority(id)
	reply, err := w.look.Aggregates.Prepare(context.Background(), wire.AggregatePrepareRequest{
		Fence: fence, InventoryDigest: make(wire.Bytes, 32), TargetDescriptor: wire.DescriptorKey{MeshName: "play", RID: "n2"},
		TargetDescriptorLifecycleGeneration: 1, TargetOwner: other,
		Participants: []wire.AggregateParticipant{{
			AuthorityKey: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}, ExpectedStoreVersion: a.StoreVersion,
			OwnerTransition: wire.OwnerPreserve, AuthorityPayload: a.Payload, MembershipMutation: wire.Bytes{},
		}},
	})
	if err != nil || reply.Kind != wire.KindPrepared {
		w.t.Fatalf("prepare: %+v, %v", reply, err)
	}
	return fence
}
