package feed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zlink/zlink-nats/testenv"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

const (
	// patience bounds every wait; the machine may be busy.
	patience = 90 * time.Second
	// impatience is how soon feeds give up an answer that will not come.
	impatience = 300 * time.Millisecond
)

// The made-up commits of these tests have entries that say themselves what events they make.
const (
	quiet = kvstore.Key("quiet")
	row   = kvstore.Key("row") // one event
)

// fan makes n events at one revision.
func fan(n int) kvstore.Key { return kvstore.NewKey("fan", strconv.Itoa(n)) }

func events(c *kvstore.Commit) ([]domain.Event, error) {
	var list []domain.Event
	for _, e := range c.Entries {
		n, change := 0, wire.ChangeUpserted
		switch s := e.Key.Split(2); s[0] {
		case "row":
			n = 1
		case "fan":
			change = wire.ChangeExpired
			n, _ = strconv.Atoi(s[1])
		case "damaged":
			return list, errors.New("damaged row")
		}
		for i := range n {
			list = append(list, event(e.Revision, i, change))
		}
	}
	return list, nil
}

func event(rev kvstore.Revision, i int, change wire.ChangeType) domain.Event {
	id := fmt.Sprintf("n:%d", i)
	return domain.Event{
		Revision: rev, Kind: wire.EventMeshNode, Scope: "play", ID: id, Change: change,
		Value: &wire.MeshNodeEvent{
			EventHead: wire.EventHead{Revision: wire.Revision(rev), Kind: wire.EventMeshNode, Change: change, StoreTime: 1},
			MeshName:  "play", RID: wire.RID(id),
		},
	}
}

// world is the history that several instances of a store see.
type world struct {
	mu       sync.Mutex
	revision kvstore.Revision
	stores   []*store
	commits  []*kvstore.Commit
	want     []string // what the stream must hold
}

// store is one instance's view of the world.
type store struct {
	kvstore.Store // what the feed does not use
	log           *kvstore.Log

	mu       sync.Mutex
	state    *kvstore.State
	released kvstore.Revision
}

// join adds an instance that knows the commits after a revision. It forgets none that was not
// released.
func (w *world) join(after kvstore.Revision) *store {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &store{log: kvstore.NewLog(after, 1, true)}
	for _, c := range w.commits {
		if c.Revision > after {
			s.log.Append(c)
		}
	}
	s.advance(w.revision)
	w.stores = append(w.stores, s)
	return s
}

// commit makes one commit with an entry for each key and lets every instance see it.
func (w *world) commit(writer string, keys ...kvstore.Key) kvstore.Revision {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &kvstore.Commit{Writer: writer}
	for _, k := range keys {
		w.revision++
		c.Entries = append(c.Entries, kvstore.Entry{Key: k, Revision: w.revision})
	}
	c.Revision = w.revision
	list, _ := events(c)
	index := 0
	for i, e := range list {
		if i > 0 && list[i-1].Revision != e.Revision {
			index = 0
		}
		w.want = append(w.want, line(e.Revision.String(), strconv.Itoa(index), string(e.Change), e.ID))
		index++
	}
	w.commits = append(w.commits, c)
	for _, s := range w.stores {
		s.log.Append(c)
		s.advance(c.Revision)
	}
	return c.Revision
}

func (w *world) events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.want...)
}

// forget drops what was expected up to now.
func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want = nil
}

func (s *store) advance(to kvstore.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = kvstore.NewState(nil)
	s.state.Advance(to)
}

func (s *store) View(ctx context.Context, o kvstore.ReadOptions) (kvstore.View, error) {
	for {
		changed := s.log.Changed()
		s.mu.Lock()
		state := s.state
		s.mu.Unlock()
		if state.Revision() >= o.MinRevision {
			return state.View(0), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return kvstore.View{}, kvstore.ErrDeadline
		}
	}
}

func (s *store) Watch(after kvstore.Revision) (*kvstore.Watcher, error) { return s.log.Watch(after) }

func (s *store) Release(upTo kvstore.Revision) {
	s.log.Release(upTo)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = max(s.released, upTo)
}

func (s *store) releasedUpTo() kvstore.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}

// instance is a running feed.
type instance struct {
	*feed.Feed
	t    testing.TB
	stop context.CancelFunc
	done chan struct{}
}

// newFeed makes a feed for the made-up commits, with the stream in place.
func newFeed(t testing.TB, nc *nats.Conn, id string, change ...func(*feed.Options)) *feed.Feed {
	t.Helper()
	o := feed.Options{
		JetStream: jetStream(t, nc), InstanceID: id, Events: events,
		Logger: slog.New(slog.NewTextHandler(testLog{t}, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	f := feed.New(o)
	if err := f.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func impatient(o *feed.Options) { o.Timeout = impatience }

// start runs a feed until it is killed or the test ends.
func start(t testing.TB, f *feed.Feed, s kvstore.Store) *instance {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	i := &instance{Feed: f, t: t, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(i.done)
		if err := f.Run(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v, want %v", err, context.Canceled)
		}
	}()
	t.Cleanup(i.kill)
	return i
}

// kill ends the feed at whatever it is doing.
func (i *instance) kill() {
	i.stop()
	<-i.done
}

// out waits until everything up to a revision is out.
func (i *instance) out(rev kvstore.Revision) {
	i.t.Helper()
	testenv.Eventually(i.t, patience, func() bool { return i.Stats().Revision >= rev }, "events out up to", rev)
}

func jetStream(t testing.TB, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func line(revision, index, change, id string) string {
	return fmt.Sprintf("%s-%s %s %s", revision, index, change, id)
}

// describe is the line of a message that the feed made.
func describe(t testing.TB, subject string, h nats.Header) string {
	t.Helper()
	c, err := subjects.DefaultPrefix.ParseChange(subject)
	if err != nil {
		t.Error(err)
	}
	return line(h.Get(wire.HeaderRevision), h.Get("Zlink-Index"), h.Get(wire.HeaderChange), c.ID)
}

// contents lists the events of the stream in order.
func contents(t testing.TB, nc *nats.Conn) []string {
	t.Helper()
	var list []string
	for _, m := range messages(t, nc) {
		list = append(list, describe(t, m.Subject(), m.Headers()))
	}
	return list
}

func messages(t testing.TB, nc *nats.Conn) []jetstream.Msg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	js := jetStream(t, nc)
	s, err := js.Stream(ctx, subjects.ChangesStream)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.OrderedConsumer(ctx, subjects.ChangesStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := c.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer it.Stop()
	n := int(s.CachedInfo().State.Msgs)
	list := make([]jetstream.Msg, 0, n)
	for len(list) < n {
		m, err := it.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// checkContents compares the stream with what the commits say.
func (w *world) checkContents(t testing.TB, nc *nats.Conn) {
	t.Helper()
	got, want := contents(t, nc), w.events()
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		near := func(list []string) []string { return list[max(0, min(i-2, len(list))):min(i+3, len(list))] }
		t.Fatalf("%d events in the stream, want %d; first difference at %d: got %q, want %q",
			len(got), len(want), i, near(got), near(want))
	}
}

// testLog writes to the test's log.
type testLog struct{ t testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("%s", line)
	return len(line), nil
}
