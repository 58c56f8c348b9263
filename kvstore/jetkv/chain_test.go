package jetkv_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// An instance that comes back under its old name is another one to the log.
func TestInstanceKeepsItsName(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), InstanceID: "same"}
	for life := range 3 {
		s := open(t, node.Connect(t), o)
		began := time.Now()
		for i := range 20 {
			_, err := s.Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
				_, err := tx.Put(kvtest.Key("a", strconv.Itoa(i)), []byte(strconv.Itoa(life)), 0)
				return err
			})
			if err != nil {
				t.Fatalf("life %d, row %d: %v", life, i, err)
			}
		}
		if got, want := s.latest().Revision(), kvstore.Revision(20*(life+1)); got != want {
			t.Errorf("life %d: revision %d, want %d", life, got, want)
		}
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("life %d: %d commits took %v: they were taken for those of an earlier life", life, 20, took)
		}
		s.stop()
	}
}

// Groups of one-row transactions may be stored in part: whatever comes between
// their messages, each is carried out once, on a state that has what came
// before.
func TestGroupsAreStoredInPart(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	relays := []*testenv.Relay{testenv.Proxy(t, node.URL()), testenv.Proxy(t, node.URL())}
	a, b := open(t, relays[0].Connect(t, noBuffer), o), open(t, relays[1].Connect(t, noBuffer), o)
	c := newCalls(t)
	c.oneRow = true
	stop := c.run(64, a, b)
	ctx, cancel := context.WithCancel(within(t))
	hot := kvtest.Key("hot", "1")
	var done, unknown atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 { // all increment one row
		wg.Go(func() {
			for ctx.Err() == nil {
				switch err := kvtest.Increment(ctx, []kvstore.Store{a, b}[i%2], kvstore.UpdateOptions{}, hot); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, kvstore.ErrUnknown):
					unknown.Add(1)
				}
			}
		})
	}
	kv := plainClient(t, node.Connect(t), o.Bucket)
	var foreign int64
	wg.Go(func() { // another tool too
		for ctx.Err() == nil {
			if _, err := kv.Put(t.Context(), "foreign", nil); err != nil {
				t.Errorf("foreign write: %v", err)
				return
			}
			e, err := kv.Get(t.Context(), plainKey(hot))
			if err != nil {
				continue // not there yet
			}
			n, err := strconv.Atoi(string(e.Value()))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := kv.Update(t.Context(), plainKey(hot), []byte(strconv.Itoa(n+1)), e.Revision()); err == nil {
				foreign++
			}
			// The others get a chance.
			if _, err := a.View(ctx, kvstore.ReadOptions{MinRevision: kvstore.Revision(e.Revision()) + 20}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 6 {
		c.more(300)
		relay := relays[i%2]
		if i%3 == 0 {
			relay.DropReplies(true)
			c.more(50)
			relay.DropReplies(false)
		} else {
			relay.Cut()
			c.more(50)
			relay.Heal()
		}
	}
	c.more(300)
	stop()
	cancel()
	wg.Wait()
	v := agree(t, node.Connect(t), o, a, b)
	c.check(v)
	count, err := strconv.ParseInt(text(v.Row(hot)), 10, 64)
	if least := done.Load() + foreign; err != nil || count < least || count > least+unknown.Load() {
		t.Errorf("hot row is %d, want %d and at most %d more", count, least, unknown.Load())
	}
	t.Logf("%d increments here, %d by the other tool, %d unknown", done.Load(), foreign, unknown.Load())
}
