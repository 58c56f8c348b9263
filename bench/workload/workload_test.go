package workload_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
	"github.com/zlink/zlink-nats/subjects"
)

func TestMain(m *testing.M) {
	peer.ServeChild()
	os.Exit(m.Run())
}

func newGroup(t *testing.T) (*peer.Group, context.Context) {
	t.Helper()
	g, err := peer.NewGroup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error("close group:", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // building the service included
	t.Cleanup(cancel)
	return g, ctx
}

// setUp makes a workload ready and closes it with the test.
func setUp(ctx context.Context, t *testing.T, w load.Workload) load.Workload {
	t.Helper()
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error("close workload:", err)
		}
	})
	if err := w.Setup(ctx); err != nil {
		t.Fatal("set up:", err)
	}
	return w
}

// checkWorkload runs operations of two callers, and then makes sure that the conditions are real: of two workloads on
// the same rows, the one that did not see the other's write must fail.
func checkWorkload(ctx context.Context, t *testing.T, make func(callers int) load.Workload, conflict error) {
	t.Helper()
	const callers, ops = 2, 3
	stale, w := setUp(ctx, t, make(callers)), setUp(ctx, t, make(callers))
	for range ops {
		for caller := range callers {
			if err := w.Op(ctx, caller); err != nil {
				t.Fatalf("operation of caller %d: %v", caller, err)
			}
		}
	}
	if err := stale.Op(ctx, 0); !errors.Is(err, conflict) {
		t.Errorf("got error %v of an operation on an old version, want %v", err, conflict)
	}
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	endpoints, err := g.Etcd(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func([]string, int) load.Workload{
		"update descriptor": workload.EtcdUpdate, "store write": workload.EtcdWrite, "create object": workload.EtcdCreate,
	} {
		checkWorkload(ctx, t, func(n int) load.Workload { return make(endpoints, n) }, workload.ErrConflict)
		if t.Failed() {
			t.Fatal("in", name)
		}
	}
}

func TestRedis(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	addr, err := g.Redis(ctx)
	if errors.Is(err, peer.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string, int) load.Workload{
		"update descriptor": workload.RedisUpdate, "store write": workload.RedisWrite, "create object": workload.RedisCreate,
	} {
		checkWorkload(ctx, t, func(n int) load.Workload { return make(addr, n) }, workload.ErrConflict)
		if t.Failed() {
			t.Fatal("in", name)
		}
	}
}

func TestKVUpdate(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := workload.KVUpdate(urls, 1)
	if err := w.Setup(ctx); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("got error %v without the service's bucket to copy, want %v", err, jetstream.ErrStreamNotFound)
	}
	if err := w.Close(); err != nil {
		t.Error("close after a failed set-up:", err)
	}
	if _, err := g.Service(ctx, peer.ServiceOptions{Servers: urls, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	checkWorkload(ctx, t, func(n int) load.Workload { return workload.KVUpdate(urls, n) }, jetstream.ErrKeyExists)
	checkSettings(ctx, t, urls[0])
}

// checkSettings compares the bucket of the raw updates with the service's.
func checkSettings(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	var settings []jetstream.StreamConfig
	for _, name := range []string{"KV_bench", "KV_zlink"} {
		s, err := js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		settings = append(settings, s.CachedInfo().Config)
	}
	if diff := cmp.Diff(settings[0], settings[1], cmpopts.IgnoreFields(jetstream.StreamConfig{}, "Name", "Subjects")); diff != "" {
		t.Errorf("the bench's bucket (-) and the service's (+) differ:\n%s", diff)
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	url, err := g.Service(ctx, peer.ServiceOptions{Sync: "2m"})
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func([]string, int) load.Workload{
		"update descriptor": workload.NodeUpdate, "store write": workload.StoreWrite,
		"lease renewal": workload.LeaseRenew, "store read": workload.StoreRead,
		"create object": workload.ObjectCreate, "create object where the service chooses": workload.ObjectPlace,
		"list objects": workload.ObjectList,
	} {
		t.Run(name, func(t *testing.T) {
			const callers, ops = 2, 3
			// Two in a row, since a comparison drives each service at several numbers of callers.
			for range 2 {
				w := setUp(ctx, t, make([]string{url}, callers))
				for i := range callers * ops {
					if err := w.Op(ctx, i%callers); err != nil {
						t.Fatalf("operation of caller %d: %v", i%callers, err)
					}
				}
			}
		})
	}
}

func TestOperationsOfTheServiceReportItsErrors(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(urls[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	srv, err := micro.AddService(nc, micro.Config{Name: "refusing", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	refuse := micro.HandlerFunc(func(r micro.Request) {
		if err := r.Error("429", "queue is full", nil); err != nil {
			t.Error(err)
		}
	})
	for _, op := range []subjects.Operation{subjects.LeaseClaim, subjects.StoreWrite} {
		if err := srv.AddEndpoint(op.Verb(), refuse, micro.WithEndpointSubject(subjects.DefaultPrefix.Operation(op))); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func([]string, int) load.Workload{
		"lease": workload.LeaseRenew, "store": workload.StoreWrite,
	} {
		w := make(urls, 1)
		if err := w.Setup(ctx); err == nil || !strings.Contains(err.Error(), "429 queue is full") {
			t.Errorf("%s: got error %v, want the service's own words", name, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1, Echo: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := setUp(ctx, t, workload.Echo(urls, 1)).Op(ctx, 0); err != nil {
		t.Error(err)
	}
}

func TestSetupReportsAMissingPeer(t *testing.T) {
	t.Parallel()
	nobody := "nats://127.0.0.1:1"
	w := workload.KVUpdate([]string{nobody}, 1)
	if err := w.Setup(t.Context()); err == nil {
		t.Error("got no error without a server")
	}
	if err := w.Close(); err != nil {
		t.Error("close after a failed set-up:", err)
	}
}
