package kvtest

import (
	"context"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
)

// Backend makes the stores that are tested.
type Backend struct {
	// Create makes an empty store and returns the function that opens an
	// instance of it. Instances live until the test ends.
	Create func(t testing.TB, c Config) (open func() kvstore.Store)
	// Shared says that every call of open gives another instance of the same
	// store; otherwise all calls give the same one.
	Shared bool
}

// Config is what the suite wants of a store.
type Config struct {
	Schema *kvstore.Schema
	Clock  Clock
	// Start is the revision of the empty store; the first write is the next.
	Start kvstore.Revision
}

// Clock is a manual clock for stores. Create it with NewClock.
type Clock struct{ *testenv.Clock }

// NewClock returns a clock that stands at testenv.T0.
func NewClock() Clock { return Clock{testenv.NewClock(testenv.T0)} }

// Now implements kvstore.Clock.
func (c Clock) Now() kvstore.Instant { return kvstore.Instant(c.Clock.Now()) }

// Wait implements kvstore.Clock.
func (c Clock) Wait(ctx context.Context, until kvstore.Instant) error {
	return c.Sleep(ctx, int64(until))
}

// promise is one test of the suite.
type promise struct {
	name   string
	shared bool             // it needs two instances of one store
	start  kvstore.Revision // of the empty store
	test   func(*env)
}

// Run tests the promises of the contract, each on a store of its own, in
// parallel.
func Run(t *testing.T, b Backend) {
	t.Helper()
	for _, list := range [][]promise{commitPromises, viewPromises, overlayPromises, limitPromises, callPromises, watchPromises, sweepPromises, instancePromises} {
		for _, p := range list {
			if p.shared && !b.Shared {
				continue
			}
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				clock := NewClock()
				open := b.Create(t, Config{Schema: Schema(), Clock: clock, Start: p.start})
				p.test(&env{T: t, store: open(), open: open, shared: b.Shared, clock: clock, start: p.start})
			})
		}
	}
}

// env is what one test works with.
type env struct {
	*testing.T
	store  kvstore.Store
	open   func() kvstore.Store
	shared bool
	clock  Clock
	start  kvstore.Revision
}

// patience bounds what takes milliseconds when nothing is wrong and the machine
// has nothing else to do.
const patience = time.Minute

// ctx ends long after the test should have.
func (e *env) ctx() context.Context {
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	e.Cleanup(cancel)
	return ctx
}

// update commits a closure that must succeed. Unlike what else fails the test at
// once, it may be called from any goroutine.
func (e *env) update(s kvstore.Store, fn func(*kvstore.Tx) error) kvstore.Revision {
	e.Helper()
	rev, err := s.Update(e.ctx(), kvstore.UpdateOptions{}, fn)
	if err != nil {
		e.Errorf("Update: %v", err)
	}
	return rev
}

// put stores one row.
func (e *env) put(s kvstore.Store, k kvstore.Key, value string, expiry kvstore.Instant) kvstore.Revision {
	e.Helper()
	return e.update(s, func(tx *kvstore.Tx) error {
		_, err := tx.Put(k, []byte(value), expiry)
		return err
	})
}

// remove deletes one row.
func (e *env) remove(s kvstore.Store, k kvstore.Key) kvstore.Revision {
	e.Helper()
	return e.update(s, func(tx *kvstore.Tx) error {
		_, err := tx.Delete(k)
		return err
	})
}

// view is the state once it has reached a revision.
func (e *env) view(s kvstore.Store, atLeast kvstore.Revision) kvstore.View {
	e.Helper()
	v, err := s.View(e.ctx(), kvstore.ReadOptions{MinRevision: atLeast})
	if err != nil {
		e.Fatalf("View: %v", err)
	}
	return v
}

// instances are the store, and another instance of it if there can be one.
func (e *env) instances() []kvstore.Store {
	if !e.shared {
		return []kvstore.Store{e.store}
	}
	return []kvstore.Store{e.store, e.open()}
}

// text is a row's value; "" when there is no row.
func text(r *kvstore.Row) string {
	if r == nil {
		return ""
	}
	return string(r.Value)
}
