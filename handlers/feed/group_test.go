package feed_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// process is a store and a feed as the program runs them. It is killed at any moment.
type process struct {
	*jetkv.Store
	t    testing.TB
	feed *feed.Feed
	run  *instance // nil while the feed is not running
	stop func()
}

// boot opens the bucket from the feed's position on, as the program does.
func boot(t testing.TB, nc *nats.Conn, id string) *process {
	t.Helper()
	f := newFeed(t, nc, id, func(o *feed.Options) { o.Events = nil })
	from, err := f.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := jetkv.Open(t.Context(), jetkv.Options{
		Conn: nc, Bucket: "groups", Schema: domain.Schema(), InstanceID: id, HistoryFrom: from, Hold: true,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
	p := &process{Store: s, t: t, feed: f, stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
	t.Cleanup(p.stop)
	return p
}

// push runs the feed.
func (p *process) push() { p.run = start(p.t, p.feed, p.Store) }

// kill ends the process at whatever it is doing.
func (p *process) kill() {
	if p.run != nil {
		p.run.kill()
	}
	p.stop()
}

func (p *process) update(fn func(*kvstore.Tx) error) kvstore.Revision {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	rev, err := p.Update(ctx, kvstore.UpdateOptions{}, fn)
	if err != nil {
		p.t.Fatal(err)
	}
	return rev
}

// group is some rooms on n1 and the node n2 that they move to.
type group struct {
	ids      []string
	versions []wire.Version
	target   wire.Target
}

// host claims a lease and publishes a node.
func (p *process) host(owner string, rid wire.RID) (token wire.OwnerToken) {
	p.t.Helper()
	p.update(func(tx *kvstore.Tx) error {
		r, err := domain.ClaimLease(tx, &wire.LeaseClaimRequest{OwnerID: owner, TTL: 1_000_000})
		if err == nil {
			token = *r.Token
		}
		return err
	})
	p.update(func(tx *kvstore.Tx) error {
		_, err := domain.UpdateMeshNode(tx, &wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: wire.MeshNodeDescriptor{
			MeshName: "play", RID: rid, LifecycleGeneration: 7, DescriptorRevision: 1, Endpoint: "tcp://n:1", ObjectRole: wire.RoleServer,
			PlacementWeight:       100,
			PopulationCapacity:    wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: "room"}}},
			ActivationConcurrency: wire.ActivationConcurrency{Limit: 8}, ApplicationVersion: 1, State: wire.StateServing,
			SecurityIdentity: "s", OwnerToken: token, ChannelWeights: map[string]uint32{}, ObjectCapabilities: []wire.ObjectCapability{},
		}})
		return err
	})
	return token
}

func rooms(n int) wire.Capacity {
	return wire.Capacity{Spots: uint32(n), SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: uint32(n)}}
}

func roomKey(id string) wire.ObjectKey {
	return wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
}

// group makes rooms.
func (p *process) group(n int) *group {
	p.t.Helper()
	a, b := p.host("a", "n1"), p.host("b", "n2")
	target := func(rid wire.RID, owner wire.OwnerToken) wire.Target {
		return wire.Target{MeshName: "play", NodeRID: rid, NodeLifecycleGeneration: 7, Owner: owner}
	}
	g := &group{target: target("n2", b), versions: make([]wire.Version, n)}
	digest := sha256.Sum256(nil)
	ids := make([]string, n)
	for i := range n {
		g.ids = append(g.ids, fmt.Sprintf("r%03d", i))
		ids[i] = fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
	}
	p.update(func(tx *kvstore.Tx) error {
		for i, id := range g.ids {
			r, err := domain.ReserveObject(tx, &wire.ObjectReserveRequest{
				Key: roomKey(id), Target: target("n1", a), Capacity: rooms(1), ReservationID: ids[i],
				Intent: wire.CreationIntent{StableType: "room", RequestContentReference: "r", RequestSHA256: digest[:]},
			})
			if err != nil {
				return err
			}
			g.versions[i] = r.Creating.StoreVersion
		}
		return nil
	})
	p.update(func(tx *kvstore.Tx) error {
		for i, id := range g.ids {
			r, err := domain.CommitObject(tx, &wire.ObjectCommitRequest{
				Key: roomKey(id), ReservationID: ids[i], ExpectedStoreVersion: g.versions[i], Target: target("n1", a),
			})
			if err != nil {
				return err
			}
			g.versions[i] = r.Ready.StoreVersion
		}
		return nil
	})
	return g
}

var fence = wire.Fence{AggregateID: "move", AggregateGeneration: 1}

func (p *process) prepare(g *group) {
	p.t.Helper()
	digest := sha256.Sum256(nil)
	req := &wire.AggregatePrepareRequest{
		Fence: fence, InventoryDigest: digest[:], TargetDescriptor: g.target.Node(), TargetDescriptorLifecycleGeneration: 7,
		TargetOwner: g.target.Owner, Capacity: rooms(len(g.ids)),
	}
	for i, id := range g.ids {
		req.Participants = append(req.Participants, wire.AggregateParticipant{
			AuthorityKey: roomKey(id), ExpectedStoreVersion: g.versions[i], OwnerTransition: wire.OwnerNew, AuthorityPayload: wire.Bytes("moved"),
		})
	}
	prep, err := domain.NewPreparation(req)
	if err != nil {
		p.t.Fatal(err)
	}
	for kind := wire.Kind(""); kind != wire.KindPrepared; {
		p.update(func(tx *kvstore.Tx) error {
			r, err := domain.PrepareAggregate(tx, prep)
			if r != nil {
				if kind = r.Kind; kind != wire.KindPrepared {
					return fmt.Errorf("prepare: %s", kind)
				}
			}
			return err
		})
	}
}

func (p *process) commit() kvstore.Revision {
	p.t.Helper()
	return p.update(func(tx *kvstore.Tx) error {
		r, err := domain.CommitAggregate(tx, &wire.AggregateCommitRequest{Fence: fence})
		if err == nil && r.Kind != wire.KindCommitted {
			err = fmt.Errorf("commit: %s", r.Kind)
		}
		return err
	})
}

// work does what the sweep does about the aggregate, and tells whether anything of it is
// left.
func (p *process) work() (left bool) {
	p.t.Helper()
	for at, done := (domain.Progress{}), false; !done; {
		var next domain.Progress
		p.update(func(tx *kvstore.Tx) (err error) {
			next, done, err = domain.WorkOnAggregate(tx, fence, at, p.Released())
			return err
		})
		at = next
	}
	v, err := p.View(p.t.Context(), kvstore.ReadOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	for range v.Scan(kvstore.Prefix(domain.FamilyParticipant), "") {
		return true
	}
	return false
}

// lines are the events of the commit of the group.
func (g *group) lines(c kvstore.Revision) (all []string) {
	for i, id := range g.ids {
		all = append(all, line(c.String(), fmt.Sprint(i), "upserted", id))
	}
	return all
}

// A process that is killed between the commit of an aggregate and its events leaves
// nothing out: the next one pushes each once, in key order, at the revision of the
// commit, although the rows were settled and changed meanwhile, and nothing that was
// staged is deleted before. 8.6, 13, Z-03
func TestCommitOfAnAggregateIsPushedOnceByWhoeverComesNext(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	p := boot(t, nc, "a")
	p.push()
	g := p.group(12)
	p.prepare(g)
	p.run.out(p.Status().Revision)
	before := contents(t, nc)
	p.run.kill()
	c := p.commit()
	if !p.work() {
		t.Error("staged data was deleted before the events were out")
	}
	last := p.update(func(tx *kvstore.Tx) error { // settled, and then changed
		r, err := domain.CompareExchangeAuthority(tx, &wire.AuthorityCompareExchangeRequest{
			Key: roomKey("r003"), ExpectedStoreVersion: wire.Version(c.String()),
			Mutation: wire.AuthorityMutation{Kind: wire.AuthorityPut, GenerationTransition: wire.GenerationPreserve},
		})
		if err == nil && r.Kind != wire.KindStored {
			err = fmt.Errorf("put: %s", r.Kind)
		}
		return err
	})
	p.kill()

	p = boot(t, nc, "b")
	if p.Released() >= c {
		t.Errorf("released up to %d, which is not out: the commit is %d", p.Released(), c)
	}
	if !p.work() {
		t.Error("staged data was deleted before the events were out")
	}
	p.push()
	p.run.out(last)
	want := append(append(before, g.lines(c)...), line(last.String(), "0", "upserted", "r003"))
	if d := cmp.Diff(contents(t, nc), want); d != "" {
		t.Errorf("events in the stream (-got +want):\n%s", d)
	}
	testenv.Eventually(t, patience, func() bool { return p.Released() >= c }, "release of", c)
	if p.work() {
		t.Error("staged data is left")
	}
	p.run.out(p.Status().Revision)
	if d := cmp.Diff(contents(t, nc), want); d != "" {
		t.Errorf("events after all is settled (-got +want):\n%s", d)
	}
	p.kill()
}

// The same when it is killed while it pushes them, again and again.
func TestCommitOfAnAggregateIsPushedOnceByMany(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	p := boot(t, nc, "0")
	p.push()
	g := p.group(300)
	p.prepare(g)
	p.run.out(p.Status().Revision)
	before := contents(t, nc)
	p.run.kill()
	c := p.commit()
	p.kill()
	for i := range 8 {
		p = boot(t, nc, fmt.Sprint(i+1))
		p.push()
		p.work()
		<-time.After(rand.N(5 * time.Millisecond))
		p.kill()
	}
	p = boot(t, nc, "last")
	p.push()
	p.run.out(c)
	if d := cmp.Diff(contents(t, nc), append(before, g.lines(c)...)); d != "" {
		t.Errorf("events in the stream (-got +want):\n%s", d)
	}
	testenv.Eventually(t, patience, func() bool { return p.Released() >= c }, "release of", c)
	if p.work() {
		t.Error("staged data is left")
	}
	p.kill()
}
