package feed_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// commitAtRandom makes n commits of all sorts by the writers, in several goroutines' time.
func commitAtRandom(w *world, n int, writers ...string) (last kvstore.Revision) {
	for range n {
		var keys []kvstore.Key
		for range 1 + rand.N(3) {
			keys = append(keys, []kvstore.Key{row, quiet, fan(1 + rand.N(60))}[rand.N(3)])
		}
		last = w.commit(writers[rand.N(len(writers))], keys...)
		if rand.N(4) == 0 {
			<-time.After(rand.N(5 * time.Millisecond))
		}
	}
	return last
}

// The heart of the promise: whoever is killed whenever, each event is there once and in order.
func TestInstancesThatAreKilledLeaveEachEventOnce(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	w := &world{}
	ids := []string{"a", "b"}
	var wg sync.WaitGroup
	done := make(chan struct{})
	last := make([]*instance, len(ids))
	for i, id := range ids {
		nc := node.Connect(t)
		last[i] = launch(t, w, newFeed(t, nc, id))
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(rand.N(30 * time.Millisecond)):
				}
				last[i].kill()
				last[i] = launch(t, w, newFeed(t, nc, id))
			}
		})
	}
	end := commitAtRandom(w, 400, ids...)
	close(done)
	wg.Wait()
	for _, f := range last {
		f.out(end)
	}
	w.checkContents(t, node.Connect(t))
}

// launch starts a feed as a new process does, whose store reads the log from the feed's position on.
func launch(t testing.TB, w *world, f *feed.Feed) *instance {
	from, err := f.Position(t.Context())
	if err != nil {
		t.Error(err)
	}
	return start(t, f, w.join(from))
}

func TestFeedsThatRaceLeaveEachEventOnce(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	w := &world{}
	ids := []string{"a", "b", "c"}
	feeds := make([]*instance, len(ids))
	for i, id := range ids {
		feeds[i] = start(t, newFeed(t, node.Connect(t), id), w.join(0))
	}
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() { commitAtRandom(w, 150, id) })
	}
	wg.Wait()
	end := w.commit("a", row)
	for _, f := range feeds {
		f.out(end)
	}
	w.checkContents(t, node.Connect(t))
}

func TestLostAcknowledgementsLeaveEachEventOnce(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	proxy := testenv.Proxy(t, node.URL())
	w := &world{}
	f := start(t, newFeed(t, proxy.Connect(t), "a", impatient), w.join(0))
	for range 4 {
		f.out(w.commit("a", row))
		proxy.DropReplies(true)
		failures := f.Stats().Failures
		commitAtRandom(w, 5, "a")
		testenv.Eventually(t, patience, func() bool { return f.Stats().Failures > failures }, "append without an answer")
		proxy.DropReplies(false)
		proxy.Cut()
		commitAtRandom(w, 5, "a")
		proxy.Heal()
	}
	f.out(w.commit("a", row))
	w.checkContents(t, node.Connect(t))
}

// A stream leader that dies may have stored events without republishing them, so the feed sends again
// what it was not told about.
func TestSubscriberGetsEventsWhoseAcknowledgementWasLost(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	proxy := testenv.Proxy(t, node.URL())
	nc := node.Connect(t)
	sub, err := nc.SubscribeSync(subjects.DefaultPrefix.ChangesWildcard("", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	f := start(t, newFeed(t, proxy.Connect(t), "a", impatient), w.join(0))
	f.out(w.commit("a", row))
	proxy.DropReplies(true)
	rev := w.commit("a", row)
	testenv.Eventually(t, patience, func() bool { return f.Stats().Failures > 0 }, "append without an answer")
	proxy.DropReplies(false)
	f.out(rev)
	f.out(w.commit("a", row))
	var revisions []string
	for range 4 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, m.Header.Get(wire.HeaderRevision))
	}
	if d := cmp.Diff(revisions, []string{"1", "2", "2", "3"}); d != "" {
		t.Errorf("revisions of a plain subscriber (-got +want):\n%s", d)
	}
	w.checkContents(t, nc)
}

func TestServerThatRestartsLeavesEachEventOnce(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	w := &world{}
	f := start(t, newFeed(t, node.Connect(t), "a"), w.join(0))
	for range 3 {
		commitAtRandom(w, 20, "a")
		node.Kill()
		commitAtRandom(w, 20, "a")
		node.Start()
		f.out(w.commit("a", row))
	}
	w.checkContents(t, node.Connect(t))
}

func TestStreamRestoredFromOlderCopyIsCaughtUp(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	w := &world{}
	s := w.join(0)
	s.log = kvstore.NewLog(0, 1000, false) // the store still knows what was released
	f := start(t, newFeed(t, node.Connect(t), "a"), s)
	f.out(w.commit("a", fan(3)))
	backup := node.CopyDir(t)
	f.out(w.commit("a", fan(3)))
	node.RestoreDir(t, backup)
	f.out(w.commit("a", fan(3)))
	w.checkContents(t, node.Connect(t))
}

func TestStoreRestoredFromOlderCopyIsPushedFromThereOn(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	f.out(w.commit("a", fan(2), row, row, row))
	f.kill()
	want := w.events()

	again := &world{}
	again.commit("a", row, row)
	for range 2 { // the second one must not begin anew
		f = start(t, newFeed(t, nc, "a", impatient), again.join(2))
		testenv.Eventually(t, patience, func() bool { return f.Stats().Revision == 2 }, "start at the store's revision")
		f.kill()
	}
	again.forget()
	f = start(t, newFeed(t, nc, "a", impatient), again.join(2))
	testenv.Eventually(t, patience, func() bool { return f.Stats().Revision == 2 }, "start at the store's revision")
	f.out(again.commit("a", row, row))
	f.kill()
	f = start(t, newFeed(t, nc, "a", impatient), again.join(3))
	f.out(again.commit("a", row))
	if d := cmp.Diff(contents(t, nc), append(want, again.events()...)); d != "" {
		t.Errorf("events in the stream (-got +want):\n%s", d)
	}
}

func TestForgottenHistoryIsSkipped(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	f.out(w.commit("a", row))
	f.kill()
	want := w.events()
	w.commit("a", row, row)
	s := w.join(3)
	w.forget()
	f = start(t, newFeed(t, nc, "a"), s)
	testenv.Eventually(t, patience, func() bool { return f.Stats().Revision == 3 }, "start at the store's revision")
	f.out(w.commit("a", row))
	s.log.Reset(4) // and once more, in the middle of the work
	f.out(w.commit("a", row))
	if d := cmp.Diff(contents(t, nc), append(want, w.events()...)); d != "" {
		t.Errorf("events in the stream (-got +want):\n%s", d)
	}
}

func TestStreamEmptiedByOperator(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	s := w.join(0)
	f := start(t, newFeed(t, nc, "a"), s)
	f.out(w.commit("a", row, row))
	stream, err := jetStream(t, nc).Stream(t.Context(), subjects.ChangesStream)
	if err != nil {
		t.Fatal(err)
	}
	for _, restart := range []bool{false, true} {
		if err := stream.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.forget()
		if restart {
			f.kill()
			f = start(t, newFeed(t, nc, "a"), s)
			testenv.Eventually(t, patience, func() bool { return f.Stats().Revision > 0 }, "start")
		}
		f.out(w.commit("a", fan(2)))
		w.checkContents(t, nc)
	}
}

func TestStreamRemovedIsMadeAnew(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	f.out(w.commit("a", row, row))
	if err := jetStream(t, nc).DeleteStream(t.Context(), subjects.ChangesStream); err != nil {
		t.Fatal(err)
	}
	w.forget()
	f.out(w.commit("a", row, fan(3)))
	w.checkContents(t, nc)
}

// Messages of others, and gaps that an operator made at the end, do not hide the position.
func TestPositionBehindForeignMessages(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	js := jetStream(t, nc)
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	f.out(w.commit("a", row, row))
	f.kill()
	for _, rev := range []string{"", "0", "-1", "x", strconv.FormatUint(1<<63, 10)} {
		m := &nats.Msg{Subject: "zlink.v1.feed.changes.a.b.c", Header: nats.Header{wire.HeaderRevision: {rev}, "Zlink-Index": {"0"}}}
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), subjects.ChangesStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	next := newFeed(t, nc, "a")
	if from, err := next.Position(t.Context()); err != nil || from != 1 {
		t.Errorf("position %d, %v, want 1", from, err)
	}
	start(t, next, w.join(1)).out(w.commit("a", row))
	last, err := stream.GetMsg(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	if got := last.Header.Get("Nats-Msg-Id"); got != "3-0" {
		t.Errorf("event behind the foreign messages %q, want 3-0", got)
	}
}

// Somebody turned batches off in the stream while the feed runs.
func TestPushesWithoutBatches(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	f.out(w.commit("a", row))
	edit(t, nc, func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false })
	f.out(w.commit("a", fan(1200)))
	w.checkContents(t, nc)
}
