package handlers_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// TestManyWaitsCostNoGoroutines has one commit answer thousands of requests. It is not parallel: it counts the goroutines of the
// process.
func TestManyWaitsCostNoGoroutines(t *testing.T) {
	const many = 5000
	for _, c := range []struct {
		why     string
		objects int
	}{
		{"each for its own object", many},
		{"all for one object", 1},
	} {
		t.Run(c.why, func(t *testing.T) {
			var store *memkv.Store
			f := start(t, func(o *handlers.Options) {
				store = memkv.New(memkv.Options{Schema: domain.Schema(), Clock: o.Store.Clock(), Limits: kvstore.Limits{CommitRows: many}})
				o.Store = store
			})
			a := f.hosts("n1", "a", 0)
			w := f.waits()
			w.parks(changed("r0", "")) // so that somebody follows the commits
			few := runtime.NumGoroutine()
			requests := make([]*wire.ObjectAwaitRequest, many-1)
			for i := range requests {
				requests[i] = changed(fmt.Sprintf("r%d", (i+1)%c.objects), "")
			}
			w.parks(requests...)
			var n int
			testenv.Eventually(t, patience, func() bool { n = runtime.NumGoroutine(); return n <= few+5 }, "goroutines of before:", few)
			t.Logf("%d goroutines with one request that waits, %d with %d", few, n, many)

			revision, err := store.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
				for i := range c.objects {
					reply, err := domain.ReserveObject(tx, reserveOf(fmt.Sprintf("r%d", i), "n1", a))
					if err != nil || reply.Kind != wire.KindReserved {
						return fmt.Errorf("%+v: %w", reply, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			answered := make(map[string]bool)
			for range many {
				reply := w.next()
				var i int
				if _, err := fmt.Sscanf(reply.Subject, w.inbox+".%d", &i); err != nil || answered[reply.Subject] {
					t.Fatalf("answer on %s: %v", reply.Subject, err)
				}
				answered[reply.Subject] = true
				key := keyOf(fmt.Sprintf("r%d", (i-1)%c.objects)).Text()
				if !bytes.Contains(reply.Data, []byte(`"key":"`+key+`"`)) || reply.revision() != revision.String() {
					t.Fatalf("answer %s at revision %s, want %s at the commit's, %s", reply.Data, reply.revision(), key, revision)
				}
			}
			f.parked(0)
		})
	}
}
