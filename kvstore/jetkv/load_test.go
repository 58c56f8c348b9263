package jetkv_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// calls are increments of rows of their own, one row a call, so that the row
// tells how often the call was carried out; and of a few rows that all share, so
// that a lost update shows.
type calls struct {
	t      testing.TB
	oneRow bool // every call writes its own row only

	mu   sync.Mutex
	errs []error                  // guarded by mu; by call
	revs map[kvstore.Revision]int // guarded by mu; calls by the revision of their row
}

func newCalls(t testing.TB) *calls {
	return &calls{t: t, revs: make(map[kvstore.Revision]int)}
}

// sharedRows is how many rows all callers compete for.
const sharedRows = 4

func ownKey(call int) kvstore.Key    { return kvtest.Key("own", strconv.Itoa(call)) }
func sharedKey(call int) kvstore.Key { return kvtest.Key("shared", strconv.Itoa(call%sharedRows)) }

// countsShared: the others write one row, which takes another way through the
// engine.
func (c *calls) countsShared(call int) bool { return !c.oneRow && call%3 == 0 }

// add reserves the number of a call.
func (c *calls) add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, errPending)
	return len(c.errs) - 1
}

var errPending = errors.New("not answered yet")

// answered counts the calls that have an answer, and those of them that were
// carried out.
func (c *calls) answered() (all, carriedOut int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.errs {
		if !errors.Is(err, errPending) {
			all++
		}
		if err == nil {
			carriedOut++
		}
	}
	return all, carriedOut
}

// do makes one call.
func (c *calls) do(ctx context.Context, s kvstore.Store, o kvstore.UpdateOptions) error {
	call := c.add()
	var first kvstore.Revision
	_, err := s.Update(ctx, o, func(tx *kvstore.Tx) (err error) {
		first, err = tx.Put(ownKey(call), increment(tx, ownKey(call)), 0)
		if err != nil || !c.countsShared(call) {
			return err
		}
		_, err = tx.Put(sharedKey(call), increment(tx, sharedKey(call)), 0)
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs[call] = err
	if err == nil {
		if other, taken := c.revs[first]; taken {
			c.t.Errorf("calls %d and %d both got revision %d", call, other, first)
		}
		c.revs[first] = call
	}
	return err
}

func increment(tx *kvstore.Tx, k kvstore.Key) []byte {
	n, _ := strconv.Atoi(text(tx.Row(k))) // an absent row is 0
	return []byte(strconv.Itoa(n + 1))
}

// check compares every call's answer with what a state says: done exactly once,
// not at all, or, for an unknown outcome, at most once.
func (c *calls) check(v kvstore.View) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var shared [sharedRows]int
	unknown := 0
	for call, err := range c.errs {
		done := text(v.Row(ownKey(call)))
		switch {
		case err == nil && done == "1", err != nil && done == "":
		case errors.Is(err, kvstore.ErrUnknown) && done == "1":
			unknown++
		default:
			c.t.Errorf("call %d was carried out %q times and answered with %v", call, done, err)
		}
		if done != "" && c.countsShared(call) {
			shared[call%sharedRows]++
		}
	}
	for i, want := range shared {
		if got, _ := strconv.Atoi(text(v.Row(sharedKey(i)))); got != want {
			c.t.Errorf("shared row %d counts %d, want %d", i, got, want)
		}
	}
	for rev, call := range c.revs {
		if r := v.Row(ownKey(call)); r == nil || r.Revision != rev {
			c.t.Errorf("row of call %d is %+v, want revision %d", call, r, rev)
		}
	}
	c.t.Logf("%d calls, %d carried out with unknown outcome", len(c.errs), unknown)
}

// run makes calls on stores, n of them at a time, until they are closed or the
// function that it returns is called, which waits for the last answers.
func (c *calls) run(n int, stores ...kvstore.Store) (stop func()) {
	var wg sync.WaitGroup
	ctx, stopping := within(c.t), make(chan struct{})
	for i := range n {
		wg.Go(func() {
			for {
				select {
				case <-stopping:
					return
				default:
				}
				switch err := c.do(ctx, stores[i%len(stores)], kvstore.UpdateOptions{}); {
				case errors.Is(err, kvstore.ErrClosed):
					return
				case errors.Is(err, context.DeadlineExceeded):
					c.t.Errorf("a call took all the time there is: %v", err)
					return
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(stopping)
		wg.Wait()
	})
	c.t.Cleanup(stop)
	return stop
}

// more waits until calls have been answered that were not when it was called.
func (c *calls) more(n int) {
	c.t.Helper()
	_, before := c.answered()
	testenv.Eventually(c.t, patience, func() bool {
		_, now := c.answered()
		return now >= before+n
	}, n, "more calls carried out")
}

// agree checks that all instances, one that is opened now, and a plain KV client
// see the same rows.
func agree(t testing.TB, nc *nats.Conn, o jetkv.Options, stores ...*instance) kvstore.View {
	t.Helper()
	fresh := open(t, nc, o)
	v := fresh.latest()
	want := kvtest.Dump(v.State())
	for i, s := range stores {
		if diff := cmp.Diff(want, kvtest.Dump(s.latest().State())); diff != "" {
			t.Errorf("instance %d differs from one that was opened now (-new +it):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(want[1:], plainRows(t, nc, o.Bucket)); diff != "" {
		t.Errorf("a KV client sees other rows (-store +client):\n%s", diff)
	}
	fresh.stop()
	return v
}

// plainRows lists the rows as a KV client sees them.
func plainRows(t testing.TB, nc *nats.Conn, bucket string) []string {
	t.Helper()
	kv := plainClient(t, nc, bucket)
	w, err := kv.WatchAll(within(t), jetstream.IgnoreDeletes())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Stop() }()
	state := kvstore.NewState(nil)
	for e := range w.Updates() {
		if e == nil {
			return kvtest.Dump(state)[1:]
		}
		key, err := subjects.SubjectKey(e.Key())
		if err != nil {
			t.Fatal(err)
		}
		state.Put(&kvstore.Row{Key: kvstore.Key(key), Value: e.Value(), Revision: kvstore.Revision(e.Revision())})
	}
	t.Fatal("the client stopped watching")
	return nil
}

func plainClient(t testing.TB, nc *nats.Conn, bucket string) jetstream.KeyValue {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(within(t), bucket)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func TestIncrementsOfManyCallers(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	for _, instances := range []int{2, 3} {
		t.Run(fmt.Sprint(instances, " instances"), func(t *testing.T) {
			t.Parallel()
			o := jetkv.Options{Bucket: bucketName()}
			var opened []*instance
			var stores []kvstore.Store
			for range instances {
				i := open(t, node.Connect(t), o)
				opened, stores = append(opened, i), append(stores, i)
			}
			c := newCalls(t)
			stop := c.run(64, stores...)
			c.more(1500)
			stop()
			c.check(agree(t, node.Connect(t), o, opened...))
		})
	}
}

// An instance that ends answers everybody; one that is opened later goes on from
// what the log says.
func TestInstanceIsReopenedUnderLoad(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	stays := open(t, node.Connect(t), o)
	c := newCalls(t)
	stop := c.run(8, stays)
	for range 4 {
		leaves := open(t, node.Connect(t), o)
		ended := c.run(16, leaves)
		c.more(200)
		leaves.stop()
		ended()
		for range 10_000 { // more than can wait in a line that nobody serves
			if err := kvtest.Increment(t.Context(), leaves, kvstore.UpdateOptions{}, ownKey(0)); !errors.Is(err, kvstore.ErrClosed) {
				t.Fatalf("call after the end: got %v, want ErrClosed", err)
			}
		}
	}
	stop()
	c.check(agree(t, node.Connect(t), o, stays))
}
