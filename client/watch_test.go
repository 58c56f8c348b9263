package client_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// workload changes rows of several owners at random until it is stopped.
type workload struct {
	t     testing.TB
	done  atomic.Int64 // changes
	parts sync.WaitGroup
	end   context.CancelFunc
}

func startWorkload(t testing.TB, c *client.Client) *workload {
	ctx, cancel := context.WithCancel(context.Background())
	w := &workload{t: t, end: cancel}
	for i := range 4 {
		w.parts.Go(func() { w.owner(ctx, c, fmt.Sprintf("owner-%d", i), rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	t.Cleanup(w.stop)
	return w
}

func (w *workload) stop() { w.end(); w.parts.Wait() }

// await waits for so many more changes.
func (w *workload) await(more int64) {
	w.t.Helper()
	until := w.done.Load() + more
	testenv.Eventually(w.t, patience, func() bool { return w.done.Load() >= until }, "changes")
}

// owner is one owner at work. Errors are left to the checks: what counts is that the watch shows what became of it.
func (w *workload) owner(ctx context.Context, c *client.Client, id string, r *rand.Rand) {
	var token *wire.OwnerToken
	for ctx.Err() == nil {
		if token == nil {
			if claim, err := c.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: id, TTL: 120_000}); err == nil && claim.Token != nil {
				token = claim.Token
			} else if err == nil { // an earlier claim that nobody knows of; another owner will do
				id += "x"
			}
			continue
		}
		var err error
		spot := fmt.Sprintf("%s-%d", id, r.IntN(5))
		switch n := r.IntN(20); {
		case n == 0:
			_, err = c.Leases.Release(ctx, wire.LeaseReleaseRequest{Token: *token})
			token = nil
		case n < 5:
			_, err = c.Spots.Remove(ctx, wire.SpotRemoveRequest{MeshName: "play", SpotID: spot, Owner: *token})
		default:
			_, err = c.Spots.Update(ctx, spotOf(*token, spot, fmt.Sprintf("t%d", r.IntN(3)), uint64(r.IntN(1000)+1)))
		}
		if err == nil {
			w.done.Add(1)
		}
	}
}

func spotOf(token wire.OwnerToken, id, typ string, generation uint64) wire.SpotUpdateRequest {
	return wire.SpotUpdateRequest{Intent: wire.IntentTakeover, Spot: wire.Spot{
		MeshName: "play", SpotID: id, SpotGeneration: wire.Generation(generation), SpotType: typ, OwnerNodeRID: "n1", OwnerNodeGeneration: 1,
		SpotKind: wire.SpotKindUser, OwnerToken: token,
	}}
}

func mirrorSpots(t testing.TB, c *client.Client, f *wire.SpotFilter, gate <-chan struct{}) *mirror[client.SpotKey, wire.SpotItem] {
	return reflect(t, func(ctx context.Context) iter.Seq2[client.Event[client.SpotKey, wire.SpotItem], error] {
		return c.Spots.Watch(ctx, wire.SpotListRequest{Filter: f})
	}, func(s *wire.SpotItem) wire.Version { return s.Version }, func(s *wire.SpotItem) string { return s.OwnerID }, gate)
}

// spots lists the spots as a mirror shows them.
func spots(t testing.TB, c *client.Client, f *wire.SpotFilter) func() (map[client.SpotKey]held, error) {
	return func() (map[client.SpotKey]held, error) {
		all := make(map[client.SpotKey]held)
		for s, err := range c.Leader().Spots.All(t.Context(), wire.SpotListRequest{Filter: f, PageRequest: wire.PageRequest{PageSize: 3}}) {
			if err != nil {
				return nil, err
			}
			all[client.SpotKey{MeshName: s.MeshName, SpotID: s.SpotID}] = held{s.Version, s.Live}
		}
		return all, nil
	}
}

// filtered is a filter that rows begin and cease to match.
var filtered = &wire.SpotFilter{MeshName: "play", SpotType: "t1"}

func TestWatchShowsWhatTheListDoes(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(t *testing.T, n *testenv.Node, r *testenv.Relay, s []*instancetest.Running, w *workload){
		"undisturbed": func(_ *testing.T, _ *testenv.Node, _ *testenv.Relay, _ []*instancetest.Running, w *workload) {
			w.await(100)
		},
		"instance killed and replaced": func(t *testing.T, n *testenv.Node, _ *testenv.Relay, s []*instancetest.Running, w *workload) {
			s[0].Kill()
			w.await(50)
			serve(t, n, "c", 1)
		},
		"server restarted": func(_ *testing.T, n *testenv.Node, _ *testenv.Relay, _ []*instancetest.Running, _ *workload) {
			n.Restart()
		},
		"server killed": func(_ *testing.T, n *testenv.Node, _ *testenv.Relay, _ []*instancetest.Running, _ *workload) {
			n.Kill()
			n.Start()
		},
		"connection cut": func(_ *testing.T, _ *testenv.Node, r *testenv.Relay, _ []*instancetest.Running, w *workload) {
			r.Cut()
			w.await(50)
			r.Heal()
		},
		"connection held up": func(_ *testing.T, _ *testenv.Node, r *testenv.Relay, _ []*instancetest.Running, w *workload) {
			r.Pause()
			w.await(50)
			r.Resume()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testenv.Server(t, testenv.ServerOptions{})
			services := []*instancetest.Running{serve(t, n, "a", 1), serve(t, n, "b", 1)}
			relay := testenv.Proxy(t, n.URL())
			c := connected(t, n)
			w := startWorkload(t, c)
			w.await(20)
			watching := connected(t, relay)
			all, some := mirrorSpots(t, watching, nil, nil), mirrorSpots(t, watching, filtered, nil)
			w.await(20)
			disturb(t, n, relay, services, w)
			w.await(50)
			w.stop()
			all.awaitState(spots(t, c, nil))
			some.awaitState(spots(t, c, filtered))
			if n := all.count(client.EventResync); n != 0 {
				t.Errorf("%d resyncs, although nothing was removed", n)
			}
		})
	}
}

func TestWatchOutlivesLeaderChangesAndServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	t.Parallel()
	nodes := testenv.Cluster(t, 3, testenv.ServerOptions{})
	serve(t, nodes, "a", 3)
	serve(t, nodes, "b", 3)
	c, watching := connected(t, nodes), connected(t, nodes)
	w := startWorkload(t, c)
	all, some := mirrorSpots(t, watching, nil, nil), mirrorSpots(t, watching, filtered, nil)
	w.await(20)
	nodes.StepDown(t, testenv.GlobalAccount, subjects.ChangesStream)
	w.await(20)
	nodes.StreamLeader(t, testenv.GlobalAccount, subjects.ChangesStream).Restart()
	w.await(20)
	w.stop()
	all.awaitState(spots(t, c, nil))
	some.awaitState(spots(t, c, filtered))
	if n := all.count(client.EventResync); n != 0 {
		t.Errorf("%d resyncs, although nothing was removed", n)
	}
}

func TestSlowWatcherLearnsThatItMissedChanges(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c, stream := connected(t, n), changesOf(t, n)
	gate := make(chan struct{})
	all, some := mirrorSpots(t, connected(t, n), nil, gate), mirrorSpots(t, connected(t, n), filtered, gate)
	w := startWorkload(t, c)
	w.await(300) // more than is read ahead
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(info.State.LastSeq)); err != nil {
		t.Fatal(err)
	}
	close(gate)
	all.awaitEvent(client.EventResync, 1)
	w.await(20)
	w.stop()
	all.awaitState(spots(t, c, nil))
	some.awaitState(spots(t, c, filtered))
}

func TestWatchNoticesAStreamThatWasReplaced(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	s := serve(t, n, "a", 1)
	c := connected(t, n)
	token := claimed(t, c, "a")
	m := mirrorSpots(t, connected(t, n), nil, nil)
	m.awaitEvent(client.EventSynced, 1)
	backup := n.CopyDir(t)
	for i := range 10 {
		if _, err := c.Spots.Update(t.Context(), spotOf(token, fmt.Sprint("lost-", i), "t", 1)); err != nil {
			t.Fatal(err)
		}
	}
	m.awaitEvent(client.EventUpserted, 10)
	s.Kill()
	n.RestoreDir(t, backup)
	serve(t, n, "b", 1)
	m.awaitState(spots(t, connected(t, n), nil))
	if rows, _ := m.state(); len(rows) != 0 || m.count(client.EventResync) == 0 {
		t.Errorf("rows %v after %d resyncs, want none after some", rows, m.count(client.EventResync))
	}
}

// claimed is a lease that outlives the test.
func claimed(t testing.TB, c *client.Client, owner string) wire.OwnerToken {
	t.Helper()
	r, err := c.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: owner, TTL: 3_600_000})
	if err != nil || r.Kind != wire.KindClaimed {
		t.Fatalf("claim: %+v, %v", r, err)
	}
	return *r.Token
}
