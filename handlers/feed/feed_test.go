package feed_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func TestEventsAreStoredAndSentInOrder(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	sub, err := nc.SubscribeSync(subjects.DefaultPrefix.ChangesWildcard("", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	w.commit("a", row)
	w.commit("a", row, quiet, row)
	w.commit("a", fan(40), row)
	w.commit("a", quiet)
	f.out(w.commit("a", row))
	w.checkContents(t, nc)

	var sent []string
	for range w.events() {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, describe(t, m.Subject, m.Header))
	}
	if d := cmp.Diff(sent, w.events()); d != "" {
		t.Errorf("events of a plain subscriber (-got +want):\n%s", d)
	}
}

func TestMessageOfAnEvent(t *testing.T) {
	t.Parallel()
	for _, enc := range []wire.Encoding{wire.CBOR, wire.JSON} {
		t.Run(enc.ContentType(), func(t *testing.T) {
			t.Parallel()
			nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
			w := &world{}
			f := start(t, newFeed(t, nc, "a", func(o *feed.Options) { o.Encoding = enc }), w.join(0))
			f.out(w.commit("a", fan(2)))
			m := messages(t, nc)[1]
			want := nats.Header{
				wire.HeaderRevision: {"1"}, "Zlink-Index": {"1"}, wire.HeaderChange: {"expired"},
				wire.HeaderContentType: {enc.ContentType()}, "Nats-Msg-Id": {"1-1"},
			}
			got := nats.Header{}
			for name := range want {
				got[name] = m.Headers()[name]
			}
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("headers (-got +want):\n%s", d)
			}
			if got, want := m.Subject(), "zlink.v1.changes.mesh-node.play.n=3A1"; got != want {
				t.Errorf("subject %s, want %s", got, want)
			}
			var body wire.MeshNodeEvent
			if err := wire.Unmarshal(enc, m.Data(), &body); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&body, event(1, 1, wire.ChangeExpired).Value); d != "" {
				t.Errorf("payload (-got +want):\n%s", d)
			}
		})
	}
}

func TestNextFeedContinues(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	first := start(t, newFeed(t, nc, "a"), w.join(0))
	first.out(w.commit("a", row, fan(3)))
	first.kill()
	w.commit("a", row)
	w.commit("a", quiet)

	next := newFeed(t, nc, "a")
	from, err := next.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if from != 1 {
		t.Errorf("position %d, want 1: the commit before the last event's revision", from)
	}
	start(t, next, w.join(from)).out(w.commit("a", row))
	w.checkContents(t, nc)
}

// A lapse of 5,000 rows is one revision and several batches. Whoever takes over has to continue in
// the middle of it.
func TestFanOutContinuesInTheMiddle(t *testing.T) {
	t.Parallel()
	// So small that the feed also has to find out what the server takes.
	nc := testenv.Server(t, testenv.ServerOptions{MaxBatchSize: 300}).Connect(t)
	w := &world{}
	s := w.join(0)
	w.commit("a", row)
	rev := w.commit("a", fan(5000))
	for cut, n := 0, 0; n < 5001; {
		before := n
		f := start(t, newFeed(t, nc, "a"), s)
		stopAt := uint64(1 + rand.N(900))
		testenv.Eventually(t, patience, func() bool {
			st := f.Stats()
			return st.Events >= stopAt || st.Revision >= rev
		}, "progress")
		f.kill()
		switch n = stored(t, nc); {
		case n <= before:
			t.Fatalf("no progress after %d events", before)
		case n < 5001:
			cut++
		case cut == 0:
			t.Error("never interrupted between the events of the revision")
		}
	}
	w.checkContents(t, nc)
}

// stored counts the messages of the stream.
func stored(t testing.TB, nc *nats.Conn) int {
	t.Helper()
	s, err := jetStream(t, nc).Stream(t.Context(), subjects.ChangesStream)
	if err != nil {
		t.Fatal(err)
	}
	return int(s.CachedInfo().State.Msgs)
}

func TestCommitsOfDeadWriterArePushed(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "b"), w.join(0))
	w.commit("a", row)
	w.commit("", row) // another tool
	f.out(w.commit("a", row))
	w.commit("b", row)
	w.commit("a", row)
	f.out(w.commit("b", row))
	w.checkContents(t, nc)
}

func TestCommitsWithoutEventsAreReleased(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	s := w.join(0)
	start(t, newFeed(t, nc, "a"), s)
	for _, writer := range []string{"a", "b"} {
		rev := w.commit(writer, quiet)
		testenv.Eventually(t, patience, func() bool { return s.releasedUpTo() == rev }, "release of a lone commit by", writer)
		w.commit(writer, row)
		rev = w.commit(writer, quiet)
		testenv.Eventually(t, patience, func() bool { return s.releasedUpTo() == rev }, "release behind an event by", writer)
	}
	w.checkContents(t, nc)
}

func TestEventsBesideAnErrorArePushed(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "a"), w.join(0))
	w.commit("a", row, "damaged")
	f.out(w.commit("a", row))
	w.checkContents(t, nc)
}

// An event that cannot be sent is given up; it must not hold up the others.
func TestEventAboveMaxPayloadIsGivenUp(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{MaxPayload: 32 << 10}).Connect(t)
	w := &world{}
	large := func(c *kvstore.Commit) ([]domain.Event, error) {
		list, err := events(c)
		for i := range list {
			if list[i].Revision == 2 {
				list[i].Value.(*wire.MeshNodeEvent).MeshName = string(make([]byte, 32<<10))
			}
		}
		return list, err
	}
	f := start(t, newFeed(t, nc, "a", func(o *feed.Options) { o.Events = large }), w.join(0))
	w.commit("a", row)
	w.commit("a", row)
	f.out(w.commit("a", row))
	if d := cmp.Diff(contents(t, nc), []string{"1-0 upserted n:0", "3-0 upserted n:0"}); d != "" {
		t.Errorf("events in the stream (-got +want):\n%s", d)
	}
}

func TestTrimKeepsYoungEventsAndTheLast(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	w := &world{}
	f := start(t, newFeed(t, nc, "a", func(o *feed.Options) { o.Retention = time.Hour }), w.join(0))
	f.out(w.commit("a", fan(3)))
	if err := f.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkContents(t, nc)

	old := newFeed(t, nc, "b", func(o *feed.Options) { o.Retention = time.Nanosecond })
	if err := old.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := []string{"1-2 expired n:2"}
	if d := cmp.Diff(contents(t, nc), last); d != "" {
		t.Errorf("events after trim (-got +want):\n%s", d)
	}
	f.out(w.commit("a", row))
	if d := cmp.Diff(contents(t, nc), append(last, "2-0 upserted n:0")); d != "" {
		t.Errorf("events after trim and commit (-got +want):\n%s", d)
	}
}
