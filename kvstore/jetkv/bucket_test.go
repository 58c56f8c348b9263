package jetkv_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// wantText checks that an error tells everything that its reader needs.
func wantText(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error lacks %q: %v", p, err)
		}
	}
}

// reconfigure changes the settings of a bucket behind the store's back.
func reconfigure(t testing.TB, node *testenv.Node, bucket string, change func(*jetstream.StreamConfig)) {
	t.Helper()
	js, err := jetstream.New(node.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "KV_"+bucket)
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	change(&c)
	if _, err := js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// clientDrift is what a KV client does that "creates or updates" the bucket.
func clientDrift(t testing.TB, node *testenv.Node, bucket string) {
	t.Helper()
	js, err := jetstream.New(node.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	c := jetstream.KeyValueConfig{Bucket: bucket, History: 3, LimitMarkerTTL: time.Hour}
	if _, err := js.CreateOrUpdateKeyValue(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestDriftIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	for _, tt := range []struct {
		name  string
		drift func(t *testing.T, bucket string)
		want  []string
	}{
		{"a KV client updated the bucket", func(t *testing.T, b string) { clientDrift(t, node, b) }, []string{"allow_atomic must be true", "subject_delete_marker_ttl must be 0", "nats stream edit KV_", "$JS.API.STREAM.UPDATE."}},
		{"less history", func(t *testing.T, b string) {
			reconfigure(t, node, b, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 })
		}, []string{"max_msgs_per_subject must be 3"}},
		{"rows grow old", func(t *testing.T, b string) {
			reconfigure(t, node, b, func(c *jetstream.StreamConfig) { c.MaxAge = 1e12 })
		}, []string{"max_age must be 0"}},
		{"two at once", func(t *testing.T, b string) {
			reconfigure(t, node, b, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.AllowDirect = 1000, false })
		}, []string{"max_msgs must be -1", "allow_direct must be true"}},
		{"no acknowledgements", func(t *testing.T, b string) {
			reconfigure(t, node, b, func(c *jetstream.StreamConfig) { c.NoAck = true })
		}, []string{"no_ack must be false"}},
		{"small messages", func(t *testing.T, b string) {
			reconfigure(t, node, b, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 })
		}, []string{"max_msg_size must be -1"}},
		{"small bucket", func(t *testing.T, b string) {
			reconfigure(t, node, b, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 })
		}, []string{"max_bytes must be -1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := jetkv.Options{Bucket: bucketName()}
			open(t, node.Connect(t), o).stop()
			tt.drift(t, o.Bucket)
			_, err := tryOpen(t, node.Connect(t), o)
			wantText(t, err, append(tt.want, "KV_"+o.Bucket)...)
		})
	}
}

func TestDriftIsNoticedWhileRunning(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	s := open(t, node.Connect(t), o)
	clientDrift(t, node, o.Bucket)
	testenv.Eventually(t, patience, func() bool { return s.Status().LastError != "" }, "drift noticed")
	wantText(t, errors.New(s.Status().LastError), "allow_atomic must be true", "nats stream edit")
	if errs := s.logs.at(slog.LevelError); len(errs) != 1 {
		t.Errorf("errors logged: %q, want one", errs)
	}
	// What needs no batch goes on; what does is refused, not half done.
	s.put(kvtest.Key("a", "1"), "x")
	_, err := s.Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		for _, n := range []string{"2", "3"} {
			if _, err := tx.Put(kvtest.Key("a", n), []byte("x"), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, kvstore.ErrUnavailable) {
		t.Errorf("batch: got %v, want ErrUnavailable", err)
	}
	if got := s.latest().State().Rows(); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
	reconfigure(t, node, o.Bucket, func(c *jetstream.StreamConfig) {
		c.AllowAtomicPublish, c.SubjectDeleteMarkerTTL = true, 0
	})
	testenv.Eventually(t, patience, func() bool { return s.Status().LastError == "" }, "mended drift noticed")
}

func TestCommitLimitOfTheServerIsFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, want int }{{100, 100}, {150, 100}, {1000, 1000}, {0, kvstore.DefaultCommitRows}} {
		node := testenv.Server(t, testenv.ServerOptions{MaxBatchSize: tt.server})
		s := open(t, node.Connect(t), jetkv.Options{Bucket: bucketName()})
		if got := s.Limits().CommitRows; got != tt.want {
			t.Errorf("max_batch_size %d: commits take %d rows, want %d", tt.server, got, tt.want)
		}
		if rev := s.latest().Revision(); rev != 0 {
			t.Errorf("finding the limit has stored something: revision %d", rev)
		}
		c := newCalls(t) // groups are cut to what the server takes
		stop := c.run(64, s)
		c.more(300)
		stop()
		c.check(s.latest())
	}
	node := testenv.Server(t, testenv.ServerOptions{MaxBatchSize: 5})
	_, err := tryOpen(t, node.Connect(t), jetkv.Options{Bucket: bucketName()})
	wantText(t, err, "max_msgs")
}

func TestSmallMessagesAreFound(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{MaxPayload: 1 << 20})
	s := open(t, node.Connect(t), jetkv.Options{Bucket: bucketName()})
	if warnings := s.logs.at(slog.LevelWarn); len(warnings) != 1 || !strings.Contains(warnings[0], "max_payload") {
		t.Errorf("warnings: %q, want one about max_payload", warnings)
	}
	_, err := s.Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(kvtest.Key("a", "1"), make([]byte, 1<<20), 0)
		return err
	})
	if !errors.Is(err, kvstore.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestMissingBucketOfAKnownHistoryIsRefused(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), Hold: true, HistoryFrom: 17}
	_, err := tryOpen(t, node.Connect(t), o)
	wantText(t, err, o.Bucket, "revision 17", "backup")
	js, err := jetstream.New(node.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Stream(t.Context(), "KV_"+o.Bucket); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the bucket was created: %v", err)
	}
}

// A history that goes on beyond the end of the log is another log's.
func TestHistoryBeyondTheLogIsGone(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	s := open(t, node.Connect(t), o)
	rev := s.put(kvtest.Key("a", "1"), "x")
	s.stop()
	o.Hold, o.HistoryFrom = true, rev+5
	again, err := tryOpen(t, node.Connect(t), o)
	if err != nil {
		return // refused with words is as good
	}
	if _, err := again.Watch(rev + 5); !errors.Is(err, kvstore.ErrResync) {
		t.Errorf("Watch beyond the end of the log: got %v, want ErrResync", err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	nc := node.Connect(t)
	nc.Close()
	if _, err := tryOpen(t, nc, jetkv.Options{Bucket: bucketName()}); err == nil {
		t.Error("opened on a closed connection")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := jetkv.Options{Conn: node.Connect(t), Bucket: bucketName(), Logger: slog.New(slog.DiscardHandler)}
	if _, err := jetkv.Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
