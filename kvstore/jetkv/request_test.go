package jetkv_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

func TestRequestTwiceOnOneInstance(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	s := open(t, node.Connect(t), jetkv.Options{Bucket: bucketName()})
	k := kvtest.Key("a", "1")
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = kvtest.Increment(t.Context(), s, kvstore.UpdateOptions{Request: "r"}, k) })
	}
	wg.Wait()
	carriedOut := 0
	for _, err := range errs {
		switch {
		case err == nil:
			carriedOut++
		case !errors.Is(err, kvstore.ErrUnknown):
			t.Errorf("got %v, want ErrUnknown", err)
		}
	}
	if got := text(s.latest().Row(k)); got != "1" || carriedOut > 1 {
		t.Errorf("carried out %s times, acknowledged %d times", got, carriedOut)
	}
}

// A request that another instance carried out is not carried out again, although
// later commits have rewritten every message that tells of it.
func TestRequestWhoseMessagesAreRewritten(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	relay := testenv.Proxy(t, node.URL())
	nc := relay.Connect(t, noBuffer)
	a, b := open(t, node.Connect(t), o), open(t, nc, o)
	hot, once := kvtest.Key("a", "hot"), kvtest.Key("a", "once")
	a.put(hot, "0")
	b.reaches(a.put(kvtest.Key("a", "other"), "x")) // by which b knows the log again
	request := kvstore.UpdateOptions{Request: "r"}
	relay.Cut()
	testenv.Eventually(t, patience, func() bool { return !nc.IsConnected() }, "cut noticed")
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err = b.Update(within(t), request, func(tx *kvstore.Tx) error {
			_, err := tx.Put(once, []byte("again"), 0)
			return err
		})
	})
	if err := kvtest.Increment(within(t), a, request, hot); err != nil {
		t.Fatal(err)
	}
	for range 5 { // more than the log keeps of a row
		if err := kvtest.Increment(within(t), a, kvstore.UpdateOptions{}, hot); err != nil {
			t.Fatal(err)
		}
	}
	relay.Heal()
	wg.Wait()
	if r := a.latest().Row(once); r != nil || err == nil {
		t.Errorf("the request was carried out again: row %+v, answer %v", r, err)
	}
}

// The same when it is tried here only after the state has passed the gap, as by an
// instance that had asked another one before the gap.
func TestRequestFromBeforeAGap(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	relay := testenv.Proxy(t, node.URL())
	nc := relay.Connect(t, noBuffer)
	a, b := open(t, node.Connect(t), o), open(t, nc, o)
	hot, once := kvtest.Key("a", "hot"), kvtest.Key("a", "once")
	before := a.put(hot, "0")
	b.reaches(before)
	relay.Cut()
	testenv.Eventually(t, patience, func() bool { return !nc.IsConnected() }, "cut noticed")
	if err := kvtest.Increment(within(t), a, kvstore.UpdateOptions{Request: "r"}, hot); err != nil {
		t.Fatal(err)
	}
	for range 5 { // more than the log keeps of a row
		if err := kvtest.Increment(within(t), a, kvstore.UpdateOptions{}, hot); err != nil {
			t.Fatal(err)
		}
	}
	relay.Heal()
	b.reaches(a.latest().Revision())
	_, err := b.Update(within(t), kvstore.UpdateOptions{Request: "r", Since: before}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(once, []byte("again"), 0)
		return err
	})
	if r := b.latest().Row(once); r != nil || !errors.Is(err, kvstore.ErrCarriedOut) {
		t.Errorf("the request was carried out again: row %+v, answer %v", r, err)
	}
}

// Of two instances that race, the one whose id comes first goes on, and the other
// gives way.
func TestLosersMayYield(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), InstanceID: "1-winner"}
	a := open(t, node.Connect(t), o)
	o.InstanceID = "2-loser"
	b := open(t, node.Connect(t), o)
	c := newCalls(t)
	stop := c.run(16, a)
	c.more(100)
	var contended *kvstore.ContendedError
	for n := 0; contended == nil || b.Writer() == ""; n++ {
		err := c.do(within(t), b, kvstore.UpdateOptions{Yield: true})
		if err != nil && !errors.As(err, &contended) {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	writer := b.Writer()
	stop()
	if contended.Writer != "1-winner" || writer != "1-winner" {
		t.Errorf("contended by %q, writer %q, want the winner", contended.Writer, writer)
	}
	if !errors.As(fmt.Errorf("wrapped: %w", contended), &contended) || contended.Error() == "" {
		t.Errorf("error %v", contended)
	}
	if w := a.Writer(); w != "" {
		t.Errorf("the winner hands its requests to %q", w)
	}
	testenv.Eventually(t, patience, func() bool { return b.Writer() == "" }, "nobody writes any more")
	c.check(agree(t, node.Connect(t), o, a, b))
}

// An instance whose id comes first but which loses all the same, again and again,
// hands a transaction to the faster one, and never all of them.
func TestSlowWinnerMayYield(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), InstanceID: "2-fast"}
	fast := open(t, node.Connect(t), o)
	o.InstanceID = "1-slow"
	relay := testenv.Proxy(t, node.URL())
	slow := open(t, relay.Connect(t), o)
	c := newCalls(t)
	stop := c.run(16, fast)
	c.more(100)
	relay.Delay(2 * time.Millisecond)
	var contended *kvstore.ContendedError
	for n := 0; contended == nil; n++ {
		err := c.do(within(t), slow, kvstore.UpdateOptions{Yield: true})
		if err != nil && !errors.As(err, &contended) {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	writer := slow.Writer()
	stop()
	if contended.Writer != "2-fast" || writer != "" {
		t.Errorf("contended by %q, writer %q, want the fast one and none", contended.Writer, writer)
	}
	relay.Delay(0)
	c.check(agree(t, node.Connect(t), o, fast, slow))
}

// A full queue says so at once.
func TestOverload(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	s := open(t, node.Connect(t), jetkv.Options{Bucket: bucketName(), MaxPending: 2})
	started, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		s.update(func(*kvstore.Tx) error {
			once.Do(func() { close(started) })
			<-goOn
			return nil
		})
	})
	<-started
	for range 2 {
		wg.Go(func() { s.put(kvtest.Key("a", "1"), "x") })
	}
	testenv.Eventually(t, patience, func() bool { return s.Stats().Queue == 2 }, "full queue")
	_, err := s.Update(t.Context(), kvstore.UpdateOptions{}, func(*kvstore.Tx) error { return nil })
	if !errors.Is(err, kvstore.ErrOverloaded) || s.Stats().Overloaded != 1 {
		t.Errorf("got %v, %d overloaded, want ErrOverloaded once", err, s.Stats().Overloaded)
	}
	close(goOn)
	wg.Wait()
}
