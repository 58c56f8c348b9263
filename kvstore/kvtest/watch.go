package kvtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
)

var watchPromises = []promise{
	{name: "WatchersGetWholeCommitsInOrder", test: watchOrder},
	{name: "WatchersBeginWhereTheyWant", test: watchFrom},
	{name: "WatchersWaitForWhatIsNotThereYet", test: watchAhead},
	{name: "SlowWatchersHaveToStartOver", test: slowWatcher},
	{name: "WatchersStopWithTheirContext", test: watchContext},
}

// commits reads a watcher up to a revision.
func (e *env) commits(w *kvstore.Watcher, upTo kvstore.Revision) []*kvstore.Commit {
	e.Helper()
	var all []*kvstore.Commit
	for len(all) == 0 || all[len(all)-1].Revision < upTo {
		next, err := w.Next(e.ctx())
		if err != nil {
			e.Fatalf("after %d commits, waiting for revision %d: %v", len(all), upTo, err)
		}
		all = append(all, next...)
	}
	return all
}

func (e *env) watch(s kvstore.Store, after kvstore.Revision) *kvstore.Watcher {
	e.Helper()
	w, err := s.Watch(after)
	if err != nil {
		e.Fatalf("Watch(%d): %v", after, err)
	}
	return w
}

func watchOrder(e *env) {
	stores := e.instances()
	watchers := make([]*kvstore.Watcher, len(stores))
	for i, s := range stores {
		watchers[i] = e.watch(s, e.start)
	}
	c := e.newChanges()
	ends := []kvstore.Revision{e.start}
	for i := range 80 {
		if rev := c.commit(stores[i%len(stores)]); rev > ends[len(ends)-1] {
			ends = append(ends, rev)
		}
	}
	ends = ends[1:]
	for i, w := range watchers {
		all := e.commits(w, ends[len(ends)-1])
		var got []kvstore.Revision
		last := e.start
		for _, commit := range all {
			last = e.checkCommit(commit, last)
			got = append(got, last)
		}
		if diff := cmp.Diff(ends, got); diff != "" {
			e.Errorf("instance %d: revisions of commits (-want +got):\n%s", i, diff)
		}
		c.check(all[len(all)-1].After.View(e.clock.Now()))
	}
}

// checkCommit checks that a commit leads from one state to the next, and returns
// its revision.
func (e *env) checkCommit(c *kvstore.Commit, after kvstore.Revision) kvstore.Revision {
	e.Helper()
	if c.Before.Revision() != after || c.After.Revision() != c.Revision || c.Gap {
		e.Fatalf("commit %d leads from %d to %d, gap %v; the one before is %d",
			c.Revision, c.Before.Revision(), c.After.Revision(), c.Gap, after)
	}
	for i, en := range c.Entries {
		if want := after + kvstore.Revision(i) + 1; en.Revision != want {
			e.Fatalf("entry %d of commit %d has revision %d, want %d", i, c.Revision, en.Revision, want)
		}
		if prior := c.Before.Get(en.Key); en.Prior != prior {
			e.Fatalf("entry %d of commit %d replaces %+v, want %+v", i, c.Revision, en.Prior, prior)
		}
		if row := c.After.Get(en.Key); en.Row != row || (row != nil && row.Revision != en.Revision) {
			e.Fatalf("entry %d of commit %d stores %+v, want %+v", i, c.Revision, en.Row, row)
		}
	}
	if want := after + kvstore.Revision(len(c.Entries)); c.Revision != want {
		e.Fatalf("commit has revision %d, want %d", c.Revision, want)
	}
	return c.Revision
}

func watchFrom(e *env) {
	var revs []kvstore.Revision
	for i := range 10 {
		revs = append(revs, e.put(e.store, Key("a", fmt.Sprint(i)), "x", 0))
	}
	for i, rev := range revs[:len(revs)-1] {
		all := e.commits(e.watch(e.store, rev), revs[len(revs)-1])
		if len(all) != len(revs)-1-i || all[0].Revision != revs[i+1] {
			e.Errorf("after %d: %d commits from %d", rev, len(all), all[0].Revision)
		}
	}
	w := e.watch(e.store, revs[len(revs)-1])
	if ready := w.Ready(); len(ready) != 0 {
		e.Errorf("nothing has happened since, got %d commits", len(ready))
	}
}

func watchAhead(e *env) {
	w := e.watch(e.store, e.start+2)
	for i := range 3 {
		e.put(e.store, Key("a", fmt.Sprint(i)), "x", 0)
	}
	if got := e.commits(w, e.start+3); len(got) != 1 || got[0].Revision != e.start+3 {
		e.Errorf("got %d commits from %d, want that of %d", len(got), got[0].Revision, e.start+3)
	}
}

// slowWatcher commits more than a store keeps for those who lag behind.
func slowWatcher(e *env) {
	const callers, rounds = 64, 150
	slow := e.watch(e.store, e.start)
	var wg sync.WaitGroup
	ctx := e.ctx()
	for i := range callers {
		wg.Go(func() {
			for range rounds {
				if err := Increment(ctx, e.store, kvstore.UpdateOptions{}, Key("a", fmt.Sprint(i))); err != nil {
					e.Errorf("increment: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := slow.Next(ctx); !errors.Is(err, kvstore.ErrResync) {
		e.Errorf("slow watcher: got %v, want ErrResync", err)
	}
	if _, err := e.store.Watch(e.start); !errors.Is(err, kvstore.ErrResync) {
		e.Errorf("watch of forgotten history: got %v, want ErrResync", err)
	}
	rev := e.view(e.store, 0).Revision()
	w := e.watch(e.store, rev)
	if got := e.commits(w, e.put(e.store, Key("b", "1"), "x", 0)); len(got) != 1 || got[0].Revision != rev+1 {
		e.Errorf("after starting over: %d commits from %d", len(got), got[0].Revision)
	}
}

func watchContext(e *env) {
	w := e.watch(e.store, e.start)
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.Canceled) {
		e.Errorf("got %v, want the context's error", err)
	}
	e.store.Release(e.start)
	rev := e.put(e.store, Key("a", "1"), "x", 0)
	if got, err := w.Next(e.ctx()); err != nil || len(got) != 1 || got[0].Revision != rev {
		e.Errorf("after that: %d commits, %v", len(got), err)
	}
}
