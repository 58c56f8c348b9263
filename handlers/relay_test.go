package handlers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// claimLater sends a claim and returns what waits for the reply.
func (f *fixture) claimLater() <-chan answer {
	reply := make(chan answer, 1)
	go func() { reply <- f.call(subjects.LeaseClaim, claimA, nil) }()
	return reply
}

// Whoever carries a request out looks at it; the instance that only hands it on does not.
func TestWriteIsForwardedUndecoded(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	const damaged = `{"ownerId":7`
	r.call(subjects.LeaseClaim, damaged, nil).want(map[string]string{"by": "two"})
	if sent := <-r.sent; string(sent.Data) != damaged {
		t.Errorf("sent %q, want %q", sent.Data, damaged)
	}
}

func TestDamagedWriteIsRefusedHereWhenTheOtherInstanceIsGone(t *testing.T) {
	t.Parallel()
	startRivals(t, nil, 0).call(subjects.LeaseClaim, `{"ownerId":"","leaseTtlMs":30000}`, nil).refused(wire.CodeInvalidArgument, "ownerId")
}

// Nobody waits for it: it is refused as it would be without the other instance.
func TestLateWriteIsNotForwarded(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	r.call(subjects.LeaseClaim, claimA, headers{"Zlink-Deadline": "1"}).refused(wire.CodeDeadlineExceeded, "")
	if n := len(r.sent); n != 0 {
		t.Errorf("%d requests were forwarded", n)
	}
}

func TestForwardedWriteKeepsItsPlace(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *handlers.Options) {
		o.Store, o.MaxPending, o.ForwardTimeout = &stub{Store: o.Store, writer: "two"}, 1, time.Hour
	})
	two, err := f.client.SubscribeSync(subjects.DefaultPrefix.Instance("two", ">"))
	if err != nil {
		t.Fatal(err)
	}
	reply := f.claimLater()
	sent, err := two.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if n := f.Counters().InFlight; n != 1 {
		t.Errorf("%d in flight, want 1", n)
	}
	f.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeOverloaded, "")
	if err := sent.RespondMsg(canned(nil)); err != nil {
		t.Fatal(err)
	}
	(<-reply).want(map[string]string{"by": "two"})
	testenv.Eventually(t, patience, func() bool { return f.Counters().InFlight == 0 }, "nothing in flight")
}

// The first answer counts, and a further one harms nobody.
func TestSecondAnswerOfTheOtherInstanceIsDropped(t *testing.T) {
	t.Parallel()
	r := startRivals(t, func(m *nats.Msg) *nats.Msg {
		first := canned(m)
		first.Data = []byte(`{"by":"first"}`)
		if err := m.RespondMsg(first); err != nil {
			t.Error(err)
		}
		return canned(m)
	}, 0)
	for range 3 {
		r.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"by": "first"})
	}
	testenv.Eventually(t, patience, func() bool { return r.Counters().InFlight == 0 }, "nothing in flight")
}

func TestStopGivesUpOnTheOtherInstance(t *testing.T) {
	t.Parallel()
	r := startRivals(t, silent, time.Hour)
	r.stopFails = true
	r.store.update = func(ctx context.Context, _ kvstore.UpdateOptions, _ func(*kvstore.Tx) error) (kvstore.Revision, error) {
		<-ctx.Done()
		return 0, errors.Join(kvstore.ErrDeadline, ctx.Err())
	}
	reply := r.claimLater()
	<-r.sent
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stop: %v, want %v", err, context.Canceled)
	}
	(<-reply).refused(wire.CodeOutcomeUnknown, "")
}
