package kvtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
)

var sweepPromises = []promise{
	{name: "SweepRemovesExpiredRows", test: sweepRemoves},
	{name: "SweepIsNotEarly", test: sweepIsNotEarly},
	{name: "SweepForgetsTombstonesAndKeepsStamps", test: sweepForgets},
	{name: "SweepKeepsRowsThatWerePutAgain", test: sweepKeeps},
}

// sweep runs Sweep on stores until the test ends.
func (e *env) sweep(stores ...kvstore.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			if err := kvstore.Sweep(ctx, s, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
				e.Errorf("Sweep: %v", err)
			}
		})
	}
	e.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func sweepRemoves(e *env) {
	const rows = 300 // more than one commit of the sweep takes
	stores := e.instances()
	at := e.clock.Now() + 1000
	for i := range rows / 10 {
		e.update(e.store, func(tx *kvstore.Tx) error {
			for j := range 10 {
				if _, err := tx.Put(Key("a", fmt.Sprint(i, j)), []byte("x"), at+kvstore.Instant(j%3)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	rev := e.put(e.store, Key("b", "stays"), "x", 0)
	watchers := make([]*kvstore.Watcher, len(stores))
	for i, s := range stores {
		watchers[i] = e.watch(s, e.view(s, rev).Revision())
	}
	e.sweep(stores...)
	e.clock.Set(int64(at) + 2)
	for i, w := range watchers {
		removed := 0
		for removed < rows {
			commits, err := w.Next(e.ctx())
			if err != nil {
				e.Fatalf("instance %d after %d removals: %v", i, removed, err)
			}
			for _, c := range commits {
				removed += e.checkSwept(c)
			}
		}
		if removed != rows {
			e.Errorf("instance %d: %d removals, want %d", i, removed, rows)
		}
		if r := e.view(stores[i], 0).Row(Key("b", "stays")); r == nil {
			e.Error("a row without expiry is gone")
		}
	}
}

// checkSwept counts the removals of a commit of the sweep.
func (e *env) checkSwept(c *kvstore.Commit) (removed int) {
	e.Helper()
	for _, en := range c.Entries {
		if scope(en.Key) == "" {
			continue // a row of the store itself
		}
		if !en.Expired || en.Row != nil || en.Prior == nil {
			e.Errorf("entry %+v, want the removal of an expired row", en)
		}
		removed++
	}
	return removed
}

func sweepIsNotEarly(e *env) {
	at := e.clock.Now() + 1000
	k := Key("a", "1")
	e.put(e.store, k, "x", at)
	e.sweep(e.store)
	testenv.Eventually(e, patience, func() bool { return e.clock.Waiters() > 0 }, "sweep waits for the expiry")
	e.clock.Set(int64(at) - 1)
	e.put(e.store, k, "y", at+1) // renewed in the last millisecond
	e.clock.Set(int64(at))
	if got := text(e.view(e.store, 0).Row(k)); got != "y" {
		e.Errorf("renewed row is %q", got)
	}
	w := e.watch(e.store, e.view(e.store, 0).Revision())
	testenv.Eventually(e, patience, func() bool { return e.clock.Waiters() > 0 }, "sweep waits for the next expiry")
	if got := w.Ready(); len(got) != 0 {
		e.Errorf("swept before the expiry: %+v", got[0].Entries)
	}
	e.clock.Set(int64(at) + 1)
	if got, err := w.Next(e.ctx()); err != nil || e.checkSwept(got[0]) != 1 {
		e.Errorf("at the expiry: %v, %v", got, err)
	}
	e.put(e.store, k, "z", 0)
	rev := e.remove(e.store, k)
	if last := e.commits(w, rev); last[len(last)-1].Entries[0].Expired {
		e.Error("a removal by hand counts as an expiry")
	}
}

// swept waits until no removed row is remembered.
func (e *env) swept(s kvstore.Store) {
	e.Helper()
	testenv.Eventually(e, patience, func() bool {
		for range e.view(s, 0).State().Tombstones() {
			return false
		}
		return true
	}, "tombstones forgotten")
}

func sweepForgets(e *env) {
	stores := e.instances()
	for i := range 10 {
		e.put(e.store, Key("gone", fmt.Sprint(i)), "x", 0)
		e.put(e.store, Key("left", fmt.Sprint(i)), "x", 0)
	}
	var stamps [2]kvstore.Revision
	for i := range 10 {
		stamps[0] = e.remove(stores[i%len(stores)], Key("gone", fmt.Sprint(i)))
		if i > 0 {
			stamps[1] = e.remove(stores[i%len(stores)], Key("left", fmt.Sprint(i)))
		}
	}
	e.sweep(stores...)
	e.swept(e.store)
	rev := e.view(e.store, 0).Revision()
	if e.shared {
		stores = append(stores, e.open())
	}
	for i, s := range stores {
		v := e.view(s, rev)
		if got := [2]kvstore.Revision{v.Stamp("gone"), v.Stamp("left")}; got != stamps {
			e.Errorf("instance %d: stamps %v, want %v", i, got, stamps)
		}
		if got := keys(v.Scan(kvstore.Prefix(Family), "")); len(got) != 1 || got[0] != Key("left", "0") {
			e.Errorf("instance %d: rows %q, want the one that was not removed", i, got)
		}
	}
}

// sweepKeeps: the history of a removal is forgotten, what came after it is not.
func sweepKeeps(e *env) {
	stores := e.instances()
	k, twice := Key("a", "1"), Key("a", "2")
	e.put(e.store, k, "old", 0)
	e.put(e.store, twice, "old", 0)
	e.remove(e.store, k)
	e.remove(e.store, twice)
	e.put(e.store, twice, "old", 0)
	e.remove(e.store, twice)
	e.put(e.store, k, "new", 0)
	e.sweep(stores...)
	e.swept(e.store)
	rev := e.view(e.store, 0).Revision()
	if e.shared {
		stores = append(stores, e.open())
	}
	for i, s := range stores {
		v := e.view(s, rev)
		if got := text(v.Row(k)); got != "new" {
			e.Errorf("instance %d: row that was put again is %q", i, got)
		}
		if r := v.Row(twice); r != nil {
			e.Errorf("instance %d: removed row is %+v", i, r)
		}
	}
}
