package jetkv_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// faults is how many faults the linearizability tests go through.
var faults = flag.Int("faults", 5, "faults in each linearizability test")

// operation is one call on one key: it sees the row and may write it.
type operation struct {
	kind   operationKind
	key    string
	value  string // written; "" removes
	expect string // for a comparison
}

type operationKind int

const (
	read    operationKind = iota // a view of the stream leader's revision
	look                         // a transaction that writes nothing
	write                        // or remove
	compare                      // and write
)

// outcome is what the caller of an operation knows.
type outcome struct {
	seen    string
	unknown bool
}

// next is the row after an operation on a row.
func (o operation) next(row string) string {
	if o.kind == write || (o.kind == compare && row == o.expect) {
		return o.value
	}
	return row
}

// rowModel is one row. An operation with unknown outcome may have happened at
// any time from its call on, or, which is the same, at the end of time.
var rowModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := make(map[string][]porcupine.Operation)
		for _, o := range history {
			k := o.Input.(operation).key
			byKey[k] = append(byKey[k], o)
		}
		var parts [][]porcupine.Operation
		for _, p := range byKey {
			parts = append(parts, p)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		row, in, out := state.(string), input.(operation), output.(outcome)
		return out.unknown || out.seen == row, in.next(row)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// recorder records the calls of a test.
type recorder struct {
	start time.Time
	done  atomic.Int64 // calls with a known outcome

	mu      sync.Mutex
	history []porcupine.Operation // guarded by mu
}

func (r *recorder) call(ctx context.Context, client int, s kvstore.Store, o operation) {
	called := time.Since(r.start)
	seen, err := perform(ctx, s, o)
	op := porcupine.Operation{
		ClientId: client, Input: o, Output: outcome{seen: seen}, Call: int64(called), Return: int64(time.Since(r.start)),
	}
	switch {
	case errors.Is(err, kvstore.ErrUnknown):
		op.Output, op.Return = outcome{unknown: true}, math.MaxInt64
	case err != nil:
		return // nothing happened
	default:
		r.done.Add(1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, op)
}

func perform(ctx context.Context, s kvstore.Store, o operation) (seen string, err error) {
	k := kvtest.Key("linear", o.key)
	if o.kind == read {
		v, err := s.View(ctx, kvstore.ReadOptions{Leader: true})
		if err != nil {
			return "", err
		}
		return text(v.Row(k)), nil
	}
	_, err = s.Update(ctx, kvstore.UpdateOptions{Yield: o.kind == compare}, func(tx *kvstore.Tx) error {
		saw := text(tx.Row(k))
		seen = saw
		if next := o.next(saw); next != saw {
			return store(tx, k, next)
		}
		return nil
	})
	return seen, err
}

func store(tx *kvstore.Tx, k kvstore.Key, value string) (err error) {
	if value == "" {
		_, err = tx.Delete(k)
	} else {
		_, err = tx.Put(k, []byte(value), 0)
	}
	return err
}

// Every history of calls on two instances, whose connections break in all ways,
// is one that a single row per key could have had.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target target) {
		relays := []*testenv.Relay{testenv.Proxy(t, target.url), testenv.Proxy(t, target.url)}
		var stores []*instance
		for _, r := range relays {
			stores = append(stores, open(t, r.Connect(t, noBuffer), target.o))
		}
		rec := &recorder{start: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for client := range 8 {
			wg.Go(func() { rec.client(ctx, client, stores[client%2]) })
		}
		rnd := rand.New(rand.NewPCG(7, 8))
		for range *faults {
			rec.more(t, 50)
			relay := relays[rnd.IntN(2)]
			fault, mend := relay.Cut, relay.Heal
			switch rnd.IntN(3) {
			case 0:
				fault, mend = relay.Pause, relay.Resume
			case 1:
				fault, mend = func() { relay.DropReplies(true) }, func() { relay.DropReplies(false) }
			}
			fault()
			rec.more(t, 50) // by the other instance
			mend()
		}
		rec.more(t, 50)
		cancel()
		wg.Wait()
		for i, s := range stores {
			if errs := s.logs.at(slog.LevelError); len(errs) > 0 {
				t.Errorf("instance %d logged %q", i, errs)
			}
		}
		t.Logf("%d calls", len(rec.history))
		if got := porcupine.CheckOperationsTimeout(rowModel, rec.history, patience); got != porcupine.Ok {
			t.Errorf("history of %d calls is %s linearizable", len(rec.history), map[porcupine.CheckResult]string{porcupine.Illegal: "not", porcupine.Unknown: "perhaps"}[got])
		}
	})
}

// client makes calls until the context ends. Some have little time.
func (r *recorder) client(ctx context.Context, client int, s kvstore.Store) {
	rnd := rand.New(rand.NewPCG(uint64(client), 9))
	last := ""
	for n := 0; ctx.Err() == nil; n++ {
		o := operation{
			kind: operationKind(rnd.IntN(4)), key: fmt.Sprint(rnd.IntN(3)),
			value: fmt.Sprint(client, ".", n), expect: last,
		}
		if o.kind == write && rnd.IntN(4) == 0 {
			o.value = ""
		}
		last = o.value
		deadline := time.Duration(1+rnd.IntN(3000)) * time.Millisecond
		callCtx, cancel := context.WithTimeout(ctx, deadline)
		r.call(callCtx, client, s, o)
		cancel()
	}
}

// more waits until calls have been answered that were not when it was called.
func (r *recorder) more(t testing.TB, n int64) {
	t.Helper()
	before := r.done.Load()
	testenv.Eventually(t, patience, func() bool { return r.done.Load() >= before+n }, n, "more calls")
}
