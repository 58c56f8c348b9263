package jetkv

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
)

func smoke(t *testing.T, nc *nats.Conn, r int, id string) *Store {
	s, err := Open(context.Background(), Options{Conn: nc, Bucket: "zlink", Replicas: r, InstanceID: id, Logger: slog.Default()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return s
}

func load(t *testing.T, name string, n int, stores ...*Store) {
	var wg sync.WaitGroup
	start := time.Now()
	end := start.Add(2 * time.Second)
	var mu sync.Mutex
	total := 0
	var worst time.Duration
	for i := range n {
		s := stores[i%len(stores)]
		wg.Go(func() {
			key := kvstore.NewKey("row", fmt.Sprint(i))
			val := make([]byte, 400)
			ops := 0
			for time.Now().Before(end) {
				st := time.Now()
				_, err := s.Update(context.Background(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
					tx.Row(key)
					tx.Row(kvstore.NewKey("lease", "x"))
					_, err := tx.Put(key, val, 0)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				d := time.Since(st)
				ops++
				mu.Lock()
				worst = max(worst, d)
				mu.Unlock()
			}
			mu.Lock()
			total += ops
			mu.Unlock()
		})
	}
	wg.Wait()
	fmt.Printf("%s c=%d: %.0f/s worst %v\n", name, n, float64(total)/time.Since(start).Seconds(), worst)
	for _, s := range stores {
		fmt.Printf("   %+v\n", s.Stats())
	}
}

func TestSmoke(t *testing.T) {
	for _, sync := range []bool{false, true} {
		n := testenv.Server(t, testenv.ServerOptions{SyncAlways: sync})
		s := smoke(t, n.ConnectInProcess(t), 1, "a")
		for _, c := range []int{1, 64, 256} {
			load(t, fmt.Sprint("R1 sync=", sync), c, s)
		}
	}
	cl := testenv.Cluster(t, 3, testenv.ServerOptions{})
	s := smoke(t, cl.Connect(t), 3, "a")
	for _, c := range []int{1, 64, 256} {
		load(t, "R3", c, s)
	}
	s2 := smoke(t, cl.Connect(t), 3, "b")
	load(t, "R3x2", 64, s, s2)
}
