package feed_test

import (
	"sync/atomic"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
)

// latecomer is a running feed whose store hears of the others' commits when the test says so.
type latecomer struct {
	*instance
	world *world
	store *store
	asked atomic.Int64 // how often it was asked for the events of a commit
}

// startLatecomer starts the instance "b", which has pushed one event of its own.
func startLatecomer(t *testing.T, w *world, node *testenv.Node) *latecomer {
	t.Helper()
	l := &latecomer{world: w, store: w.join(0)}
	count := func(c *kvstore.Commit) ([]domain.Event, error) {
		l.asked.Add(1)
		return events(c)
	}
	l.instance = start(t, newFeed(t, node.Connect(t), "b", func(o *feed.Options) { o.Events = count }), l.store)
	l.out(w.commit("b", row))
	w.stores = nil
	return l
}

// hear shows the store all commits but the first.
func (l *latecomer) hear() {
	for _, c := range l.world.commits[1:] {
		l.store.log.Append(c)
		l.store.advance(c.Revision)
	}
}

// What the stream has past is not derived. The last commit is: its revision may have more events.
func TestEventsThatAnotherInstancePushedAreNotDerived(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	w := &world{}
	b := startLatecomer(t, w, node)
	a := start(t, newFeed(t, node.Connect(t), "a"), w.join(0))
	for range 20 {
		w.commit("a", row)
	}
	last := w.commit("a", row)
	a.out(last)
	b.hear()
	b.out(last)
	if got := b.asked.Load(); got != 2 {
		t.Errorf("asked for the events of %d commits, want 2: its own and the last", got)
	}
	if got := b.store.releasedUpTo(); got != last {
		t.Errorf("released up to %d, want %d", got, last)
	}
	w.checkContents(t, node.Connect(t))
}

// The other instance died between the events of a revision: the rest is derived and pushed, and what was committed after it.
func TestRestOfARevisionThatWasLeftIsPushed(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{MaxBatchSize: 300})
	w := &world{}
	b := startLatecomer(t, w, node)
	a := start(t, newFeed(t, node.Connect(t), "a"), w.join(0))
	w.commit("a", fan(5000))
	testenv.Eventually(t, patience, func() bool { return a.Stats().Events > 0 }, "a part of the events")
	a.kill()
	w.commit("a", quiet)
	last := w.commit("a", row, quiet)
	b.hear()
	b.out(last)
	w.checkContents(t, node.Connect(t))
}
