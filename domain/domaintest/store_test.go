package domaintest_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// patience bounds what takes milliseconds when nothing is wrong and the machine has
// nothing else to do.
const patience = time.Minute

// tb is what a *testing.T and a *rapid.T have in common.
type tb interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// noBuffer is how the program connects: what cannot be sent now is not sent later.
var noBuffer = nats.ReconnectBufSize(-1)

// place is where the buckets of a test are.
type place struct {
	testing.TB
	connect  func(testing.TB, ...nats.Option) *nats.Conn
	url      string // of one server
	replicas int
}

// everywhere runs a test on one server, and on three unless the tests are to be short.
func everywhere(t *testing.T, test func(*testing.T, place)) {
	t.Helper()
	onServers(t, testenv.ServerOptions{}, test)
}

// onServers is everywhere, on servers of some sort.
func onServers(t *testing.T, o testenv.ServerOptions, test func(*testing.T, place)) {
	t.Helper()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		test(t, oneServerOf(t, o))
	})
	t.Run("three servers", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("a cluster takes seconds")
		}
		cluster := testenv.Cluster(t, 3, o)
		test(t, place{t, cluster.Connect, cluster.Node(0).URL(), 3})
	})
}

func oneServer(t *testing.T) place {
	t.Helper()
	return oneServerOf(t, testenv.ServerOptions{})
}

func oneServerOf(t *testing.T, o testenv.ServerOptions) place {
	t.Helper()
	node := testenv.Server(t, o)
	return place{t, node.Connect, node.URL(), 1}
}

// bucket is a store that any number of instances may open.
type bucket struct {
	place
	name  string
	clock kvtest.Clock
}

func newBucket(p place) bucket { return bucket{p, "b" + nuid.Next(), kvtest.NewClock()} }

// instance is a store that runs.
type instance struct {
	*jetkv.Store
	stop func() // ends Run and waits for it; may be called several times
}

// open opens an instance on a connection of its own, and runs it until the test ends.
func (b bucket) open() *instance {
	b.Helper()
	return b.openOn(b.connect(b, noBuffer))
}

func (b bucket) openOn(nc *nats.Conn) *instance {
	b.Helper()
	s, err := jetkv.Open(within(b), jetkv.Options{
		Conn: nc, Bucket: b.name, Replicas: b.replicas, Schema: domain.Schema(), Clock: b.clock,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatalf("Open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			b.Errorf("Run: %v", err)
		}
	})
	i := &instance{s, sync.OnceFunc(func() { cancel(); wg.Wait(); nc.Close() })}
	b.Cleanup(i.stop)
	return i
}

// within is a context for what must not take longer than patience.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// commitsUpTo are those that a feed has up to a revision.
func commitsUpTo(t tb, f *kvstore.Watcher, rev kvstore.Revision) (all []*kvstore.Commit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(all) == 0 || all[len(all)-1].Revision < rev {
		more, err := f.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	return all
}

// eventsOf are the events of commits.
func eventsOf(t tb, commits []*kvstore.Commit) (all []domain.Event) {
	t.Helper()
	for _, c := range commits {
		events, err := domain.Events(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}

// anyTime leaves out the one thing of an event that is the server's.
var anyTime = cmpopts.IgnoreFields(wire.EventHead{}, "StoreTime")

// latest is the state at the last revision of the stream leader.
func latest(t testing.TB, s kvstore.Store) kvstore.View {
	t.Helper()
	v, err := s.View(within(t), kvstore.ReadOptions{Leader: true})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return v
}
