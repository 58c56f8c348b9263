package jetkv_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// noBuffer is how the program connects: what cannot be sent now is not sent later.
var noBuffer = nats.ReconnectBufSize(-1)

// storedBeyond waits until the log has commits that an instance does not know
// of.
func storedBeyond(t testing.TB, nc *nats.Conn, bucket string, i *instance) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, func() bool {
		s, err := js.Stream(t.Context(), "KV_"+bucket)
		return err == nil && s.CachedInfo().State.LastSeq > uint64(i.Status().Revision)
	}, "commit without acknowledgement")
}

// target is where the faults happen.
type target struct {
	url     string // of the server that the faulty instance uses
	connect func(testing.TB, ...nats.Option) *nats.Conn
	o       jetkv.Options
}

// onBoth runs a test on one server and on a cluster.
func onBoth(t *testing.T, test func(*testing.T, target)) {
	t.Helper()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		node := testenv.Server(t, testenv.ServerOptions{})
		test(t, target{node.URL(), node.Connect, jetkv.Options{Bucket: bucketName()}})
	})
	t.Run("three servers", func(t *testing.T) {
		t.Parallel()
		cluster := threeServers(t)
		test(t, target{cluster.Node(0).URL(), cluster.Connect, jetkv.Options{Bucket: bucketName(), Replicas: 3}})
	})
}

// Commits whose acknowledgement was lost are settled from the log.
func TestAcknowledgementsAreLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target target) {
		relay := testenv.Proxy(t, target.url)
		s := open(t, relay.Connect(t, noBuffer), target.o)
		direct := target.connect(t)
		c := newCalls(t)
		stop := c.run(16, s)
		for range 3 {
			c.more(50)
			relay.DropReplies(true)
			storedBeyond(t, direct, target.o.Bucket, s)
			relay.DropReplies(false)
		}
		c.more(50)
		stop()
		c.check(agree(t, direct, target.o, s))
		s.checkSound()
	})
}

// checkSound: nothing has happened that only a broken server can do.
func (i *instance) checkSound() {
	i.t.Helper()
	if errs := i.logs.at(slog.LevelError); len(errs) > 0 || i.Stats().Rebuilds > 0 {
		i.t.Errorf("errors logged: %q; %d rebuilds", errs, i.Stats().Rebuilds)
	}
}

// Callers who leave while the acknowledgement is missing hear that the outcome is
// unknown, and their commit happens at most once.
func TestCallersLeaveWithoutAcknowledgement(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target target) {
		relay := testenv.Proxy(t, target.url)
		s := open(t, relay.Connect(t, noBuffer), target.o)
		direct := target.connect(t)
		other := open(t, direct, target.o)
		c := newCalls(t)
		for round := range 3 {
			ctx, cancel := context.WithCancel(within(t))
			relay.DropReplies(true)
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					err := c.do(ctx, s, kvstore.UpdateOptions{})
					if !errors.Is(err, kvstore.ErrUnknown) && !errors.Is(err, kvstore.ErrDeadline) {
						t.Errorf("round %d: got %v, want ErrUnknown or ErrDeadline", round, err)
					}
				})
			}
			storedBeyond(t, direct, target.o.Bucket, s)
			if round == 2 { // another instance builds on what nobody acknowledged
				for range 10 {
					if err := c.do(within(t), other, kvstore.UpdateOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
			cancel()
			wg.Wait()
			relay.DropReplies(false)
			if err := c.do(within(t), s, kvstore.UpdateOptions{}); err != nil {
				t.Errorf("round %d: after the fault: %v", round, err)
			}
		}
		c.check(agree(t, direct, target.o, s, other))
		s.checkSound()
	})
}

func TestConnectionsBreak(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target target) {
		relay := testenv.Proxy(t, target.url)
		broken, other := open(t, relay.Connect(t, noBuffer), target.o), open(t, target.connect(t), target.o)
		c := newCalls(t)
		stop := c.run(16, broken, other)
		for range 5 {
			c.more(50)
			relay.Cut()
			c.more(20) // by the other one
			relay.Heal()
		}
		c.more(50)
		stop()
		c.check(agree(t, target.connect(t), target.o, broken, other))
		broken.checkSound()
		other.checkSound()
	})
}

// An instance that stood still while another wrote goes on from where the other
// is.
func TestInstanceIsPaused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, target target) {
		relay := testenv.Proxy(t, target.url)
		paused, other := open(t, relay.Connect(t, noBuffer), target.o), open(t, target.connect(t), target.o)
		c := newCalls(t)
		var wg sync.WaitGroup
		for range 3 {
			relay.Pause()
			for range 8 {
				wg.Go(func() {
					if err := c.do(within(t), paused, kvstore.UpdateOptions{}); err != nil && !errors.Is(err, kvstore.ErrUnknown) && !errors.Is(err, kvstore.ErrUnavailable) {
						t.Errorf("paused: %v", err)
					}
				})
			}
			for range 30 {
				if err := c.do(within(t), other, kvstore.UpdateOptions{}); err != nil {
					t.Errorf("other: %v", err)
				}
			}
			relay.Resume()
			wg.Wait()
		}
		c.check(agree(t, target.connect(t), target.o, paused, other))
		paused.checkSound()
	})
}

// A store that does not answer says so at once after a while, and comes back by
// itself.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	nc := node.Connect(t, noBuffer)
	s := open(t, nc, o)
	k := kvtest.Key("a", "1")
	rev := s.put(k, "x")
	node.Stop()
	testenv.Eventually(t, patience, func() bool { return !nc.IsConnected() }, "end of the connection noticed")
	_, err := s.Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(k, []byte("y"), 0)
		return err
	})
	if !errors.Is(err, kvstore.ErrUnavailable) || s.Status().LastError == "" {
		t.Errorf("got %v, last error %q, want ErrUnavailable", err, s.Status().LastError)
	}
	if v, err := s.View(t.Context(), kvstore.ReadOptions{}); err != nil || text(v.Row(k)) != "x" {
		t.Errorf("reading: %v", err)
	}
	node.Start()
	testenv.Eventually(t, patience, func() bool {
		return s.Probe(t.Context()) == nil && s.Status().LastError == ""
	}, "healthy store")
	if v := s.latest(); text(v.Row(k)) != "x" || v.Row(k).Revision != rev {
		t.Errorf("row %+v, want revision %d", v.Row(k), rev)
	}
	s.checkSound()
}

func TestServerRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	a, b := open(t, node.Connect(t, noBuffer), o), open(t, node.Connect(t, noBuffer), o)
	c := newCalls(t)
	stop := c.run(16, a, b)
	for range 3 {
		c.more(100)
		node.Restart()
	}
	c.more(100)
	stop()
	c.check(agree(t, node.Connect(t), o, a, b))
	a.checkSound()
	b.checkSound()
}

// A server that comes back with an older copy of its disk has lost commits that
// were acknowledged. Nobody can undo that, but everybody must notice.
func TestServerIsRestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after int // commits of another instance before this one comes back
	}{
		{"the log is shorter", 0},
		{"the log has grown again to the same length", 10},
		{"the log is longer", 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := testenv.Server(t, testenv.ServerOptions{})
			o := jetkv.Options{Bucket: bucketName()}
			relay := testenv.Proxy(t, node.URL())
			s := open(t, relay.Connect(t, noBuffer), o)
			for i := range 10 {
				s.put(kvtest.Key("kept", fmt.Sprint(i)), "x")
			}
			older := node.CopyDir(t)
			for i := range 10 {
				s.put(kvtest.Key("lost", fmt.Sprint(i)), "x")
			}
			s.put(kvtest.Key("kept", "0"), "lost")
			w, err := s.Watch(s.Status().Revision)
			if err != nil {
				t.Fatal(err)
			}
			relay.Cut()
			node.RestoreDir(t, older)
			other := open(t, node.Connect(t), o)
			for i := range tt.after {
				other.put(kvtest.Key("new", fmt.Sprint(i)), "x")
			}
			relay.Heal()
			if _, err := w.Next(within(t)); !errors.Is(err, kvstore.ErrResync) {
				t.Errorf("watcher: got %v, want ErrResync", err)
			}
			s.put(kvtest.Key("new", "last"), "x")
			v := agree(t, node.Connect(t), o, s, other)
			if got := text(v.Row(kvtest.Key("kept", "0"))); got != "x" {
				t.Errorf("row that was changed after the copy is %q", got)
			}
			if errs := s.logs.at(slog.LevelError); len(errs) != 1 || s.Stats().Rebuilds != 1 {
				t.Errorf("errors logged: %q; %d rebuilds, want one of each", errs, s.Stats().Rebuilds)
			}
		})
	}
}
