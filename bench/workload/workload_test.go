package workload_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
		"update descriptor": workload.EtcdUpdate, "store write": workload.EtcdWrite,
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
		"update descriptor": workload.RedisUpdate, "store write": workload.RedisWrite,
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
	checkWorkload(ctx, t, func(n int) load.Workload { return workload.KVUpdate(urls, n) }, jetstream.ErrKeyExists)
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
