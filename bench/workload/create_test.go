package workload_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// checkCreate makes sure that each condition of "create object" counts: with any of the rows written by somebody else,
// neither the reservation nor the commit may happen.
func checkCreate(ctx context.Context, t *testing.T, make func(callers int) load.Workload, write func(key string) error) {
	t.Helper()
	for _, done := range []int{0, 1, 2} { // a reservation, its commit, the reservation on the next node
		for i := range 6 {
			w := setUp(ctx, t, make(1))
			for range done {
				if err := w.Op(ctx, 0); err != nil {
					t.Fatal(err)
				}
			}
			k := workload.ConditionalRows(w)[i]
			if err := write(k); err != nil {
				t.Fatal(err)
			}
			if err := w.Op(ctx, 0); !errors.Is(err, workload.ErrConflict) {
				t.Errorf("after %d operations and a foreign write of %s got error %v, want %v", done, k, err, workload.ErrConflict)
			}
		}
	}
}

func TestEtcdCreateDependsOnSixRows(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	endpoints, err := g.Etcd(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	checkCreate(ctx, t, func(n int) load.Workload { return workload.EtcdCreate(endpoints, n) }, func(key string) error {
		_, err := client.Put(ctx, key, "foreign")
		return err
	})
}

func TestRedisCreateDependsOnSixRows(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	addr, err := g.Redis(ctx)
	if errors.Is(err, peer.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	checkCreate(ctx, t, func(n int) load.Workload { return workload.RedisCreate(addr, n) }, func(key string) error {
		return client.HSet(ctx, key, "r", 99).Err()
	})
}

// The counters of the nodes tell the order: reserve, commit, then the next node.
func TestEtcdCreateGoesRoundTheNodes(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	endpoints, err := g.Etcd(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	w := setUp(ctx, t, workload.EtcdCreate(endpoints, 1))
	before, err := client.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // 10 objects: two more than nodes
		if err := w.Op(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	after, err := client.Get(ctx, "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if got := after.Count - before.Count; got != 2*10 {
		t.Errorf("got %d new rows, want an object and an index for each of 10", got)
	}
	var counters []int64
	for _, kv := range after.Kvs {
		if strings.HasPrefix(string(kv.Key), "node-count/") {
			counters = append(counters, kv.Version)
		}
	}
	slices.Sort(counters)
	if want := []int64{3, 3, 3, 3, 3, 3, 5, 5}; !slices.Equal(counters, want) {
		t.Errorf("the counters of the nodes were written %d times, want %d", counters, want)
	}
}

func TestObjectFind(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	url, err := g.Service(ctx, peer.ServiceOptions{Sync: "2m"})
	if err != nil {
		t.Fatal(err)
	}
	const objects = 300 // more than are stored at a time
	if err := workload.StoreObjects(ctx, []string{url}, objects); err != nil {
		t.Fatal(err)
	}
	w := setUp(ctx, t, workload.ObjectFind(objects)([]string{url}, 1))
	for range 100 {
		if err := w.Op(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	beyond := setUp(ctx, t, workload.ObjectFind(1000*objects)([]string{url}, 1))
	for range 100 {
		if err = beyond.Op(ctx, 0); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), `got "missing"`) {
		t.Errorf("got error %v of look-ups of objects that are not there, want missing", err)
	}
	if err := workload.StoreObjects(ctx, []string{url}, objects); err == nil {
		t.Error("got no error of storing the objects once more")
	}
}

func TestOwnerRemoveAll(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	url, err := g.Service(ctx, peer.ServiceOptions{Sync: "2m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := workload.StoreBallast(ctx, []string{url}, 600); err != nil {
		t.Fatal(err)
	}
	w, ok := setUp(ctx, t, workload.OwnerRemoveAll([]string{url}, 2)).(load.Preparer)
	if !ok {
		t.Fatal("the removal is not prepared")
	}
	for range 2 {
		for caller := range 2 {
			if err := w.Prepare(ctx, caller); err != nil {
				t.Fatal(err)
			}
		}
		for caller := range 2 {
			if err := w.Op(ctx, caller); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.Op(ctx, 0); err == nil || !strings.Contains(err.Error(), "got 0 rows removed") {
		t.Errorf("got error %v of a removal without rows, want their number", err)
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	url, err := g.Service(ctx, peer.ServiceOptions{Sync: "2m"})
	if err != nil {
		t.Fatal(err)
	}
	const callers = 2
	for _, move := range []func(int) func([]string, int) load.Workload{workload.AggregatePrepare, workload.AggregateCommit} {
		w := setUp(ctx, t, move(3)([]string{url}, callers)).(load.Preparer)
		for range 3 { // to, fro and to
			for caller := range callers {
				if err := w.Prepare(ctx, caller); err != nil {
					t.Fatal(err)
				}
				if err := w.Op(ctx, caller); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Op(ctx, 0); err == nil {
			t.Error("got no error of a step that was done")
		}
	}
}

func TestFindDuringMoves(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	url, err := g.Service(ctx, peer.ServiceOptions{Sync: "2m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := workload.StoreObjects(ctx, []string{url}, 10); err != nil {
		t.Fatal(err)
	}
	w := workload.FindDuringMoves(10, 50)([]string{url}, 1)
	if err := w.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := w.Op(ctx, 0); err != nil {
			t.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
