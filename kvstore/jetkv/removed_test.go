package jetkv_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// An instance that was away while a row was removed and its history forgotten
// loses the row, without taking the purge for a removal of its own: that one was
// told by whoever was there.
func TestForgottenRemovalIsNoSecondRemoval(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), Schema: kvtest.Schema()}
	relay := testenv.Proxy(t, node.URL())
	nc := relay.Connect(t, noBuffer)
	a, b := open(t, node.Connect(t), o), open(t, nc, o)
	gone, other := kvtest.Key("a", "gone"), kvtest.Key("a", "other")
	a.put(gone, "x")
	b.reaches(a.put(other, "x")) // by which b knows the log again
	w, err := b.Watch(b.latest().Revision())
	if err != nil {
		t.Fatal(err)
	}
	relay.Cut()
	testenv.Eventually(t, patience, func() bool { return !nc.IsConnected() }, "cut noticed")
	removed := a.update(func(tx *kvstore.Tx) error { _, err := tx.Delete(gone); return err })
	sweeping, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = kvstore.Sweep(sweeping, a, slog.New(slog.DiscardHandler)) })
	testenv.Eventually(t, patience, func() bool {
		v := a.latest()
		for range v.State().Tombstones() {
			return false
		}
		return v.Revision() > removed
	}, "history forgotten")
	stop()
	wg.Wait()
	relay.Heal()
	v := b.reaches(a.put(other, "y"))
	if r := v.Row(gone); r != nil {
		t.Errorf("the removed row is still there: %+v", r)
	}
	if got, want := v.Stamp("a"), a.latest().Stamp("a"); got != want {
		t.Errorf("stamp %d, want %d as on the other instance", got, want)
	}
	for _, c := range w.Ready() {
		for _, e := range c.Entries {
			if e.Key == gone && e.Revision != removed {
				t.Errorf("commit %d removes the row at %d, it was removed at %d", c.Revision, e.Revision, removed)
			}
		}
	}
}

// Another tool can roll the whole bucket up into one message. That is noticed,
// told, and the state built anew.
func TestEmptiedBucketIsNoticed(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	s := open(t, node.Connect(t), o)
	for _, name := range []string{"1", "2", "3"} {
		s.put(kvtest.Key("a", name), "x")
	}
	m := &nats.Msg{Subject: "$KV." + o.Bucket + "." + plainKey(kvtest.Key("a", "1")), Header: nats.Header{"Nats-Rollup": {"all"}}}
	if _, err := node.Connect(t).RequestMsgWithContext(within(t), m); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, func() bool {
		v := s.latest()
		return v.Row(kvtest.Key("a", "2")) == nil && v.Row(kvtest.Key("a", "1")) != nil
	}, "state built anew")
	if len(s.logs.at(slog.LevelError)) == 0 {
		t.Error("nothing was logged")
	}
}
