package feed_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// edit changes the settings of the stream.
func edit(t testing.TB, nc *nats.Conn, change func(*jetstream.StreamConfig)) {
	t.Helper()
	js := jetStream(t, nc)
	s, err := js.Stream(t.Context(), subjects.ChangesStream)
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	change(&c)
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureIsRepeatable(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	f := feed.New(feed.Options{JetStream: jetStream(t, nc), InstanceID: "a"})
	if err := f.Check(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("check without a stream: %v, want %v", err, jetstream.ErrStreamNotFound)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := f.Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := f.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if from, err := f.Position(t.Context()); err != nil || from != 0 {
		t.Errorf("position of an empty stream %d, %v, want 0", from, err)
	}
}

func TestDriftIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   string
	}{
		{"batches are off", func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "allow_atomic (needs NATS server 2.14.4 or newer) is false and must be true"},
		{"an age limit would take the position away", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max_age is 1h0m0s and must be 0s"},
		{"a size limit would take events away", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "max_bytes is 1048576 and must be -1"},
		{"a limit per subject would take events away", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max_msgs_per_subject is 1 and must be -1"},
		{"plain subscribers would get nothing", func(c *jetstream.StreamConfig) { c.RePublish = nil }, "republish is none and must be zlink.v1.changes.*.*.* to"},
		{"plain subscribers would get no payload", func(c *jetstream.StreamConfig) { c.RePublish.HeadersOnly = true }, "headers only and must be"},
		{"other subjects", func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "more") }, "subjects is zlink.v1.feed.changes.*.*.* more and must be"},
		{"subjects as they were appended", func(c *jetstream.StreamConfig) { c.SubjectTransform = nil }, "subject transform is none and must be"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
			f := newFeed(t, nc, "a")
			edit(t, nc, tc.change)
			err := f.Ensure(t.Context())
			if !errors.Is(err, feed.ErrDrift) {
				t.Fatalf("ensure: %v, want %v", err, feed.ErrDrift)
			}
			for _, want := range []string{tc.want, "mend it with `nats stream edit ZLINK_CHANGES`"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestOtherPrefixAndDomain(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{Config: `jetstream: {domain: hub}`}).Connect(t)
	js, err := jetstream.NewWithDomain(nc, "hub")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	f := start(t, newFeed(t, nc, "a", func(o *feed.Options) { o.JetStream, o.Prefix = js, "org.dir" }), w.join(0))
	f.out(w.commit("a", row))
	m := messages(t, nc)[0]
	if got, want := m.Subject(), "org.dir.changes.mesh-node.play.n=3A0"; got != want {
		t.Errorf("subject %s, want %s", got, want)
	}
}
