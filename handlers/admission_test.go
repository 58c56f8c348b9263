package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// jammed is a service whose store holds every write until it is released or the write's context ends.
type jammed struct {
	*fixture
	release chan struct{} // closed to let them go
}

func startJammed(t *testing.T, maxPending int) *jammed {
	t.Helper()
	j := &jammed{release: make(chan struct{})}
	j.fixture = start(t, func(o *handlers.Options) {
		store := &stub{Store: o.Store}
		store.update = func(ctx context.Context, u kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
			select {
			case <-j.release:
				return store.Store.Update(ctx, u, fn)
			case <-ctx.Done():
				return 0, errors.Join(kvstore.ErrDeadline, ctx.Err())
			}
		}
		o.Store, o.MaxPending = store, maxPending
	})
	return j
}

// claims sends n claims at once and returns what collects the replies.
func (j *jammed) claims(n int) (replies func() []answer) {
	j.t.Helper()
	all := make([]answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			all[i] = j.call(subjects.LeaseClaim, fmt.Sprintf(`{"ownerId":"o%d","leaseTtlMs":30000}`, i), nil)
		})
	}
	testenv.Eventually(j.t, patience, func() bool { return j.Counters().InFlight == n }, n, "claims in flight")
	return func() []answer { wg.Wait(); return all }
}

func TestManyRequestsOfOneEndpointAreInFlight(t *testing.T) {
	t.Parallel()
	j := startJammed(t, 0)
	replies := j.claims(50)
	close(j.release)
	for _, reply := range replies() {
		reply.want(map[string]string{"kind": "claimed"})
	}
	testenv.Eventually(t, patience, func() bool { return j.Counters().InFlight == 0 }, "nothing in flight")
}

func TestFullQueueAnswersOverloadedAtOnce(t *testing.T) {
	t.Parallel()
	j := startJammed(t, 2)
	replies := j.claims(2)
	unchanged := j.unchanged()
	j.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeOverloaded, "")
	j.call(subjects.MeshNodeList, page(1, ""), nil).refused(wire.CodeOverloaded, "")
	j.call(subjects.LeaseRead, readA, nil).want(map[string]string{"kind": "missing"})
	unchanged()
	close(j.release)
	replies()
	if got := j.outcomes(subjects.LeaseClaim)[string(wire.CodeOverloaded)]; got != 1 {
		t.Errorf("overloaded %d, want 1", got)
	}
	testenv.Eventually(t, patience, func() bool { return j.Counters().InFlight == 0 }, "nothing in flight")
	j.claim("a")
}

func TestDeadlineOfAWriteThatWaits(t *testing.T) {
	t.Parallel()
	j := startJammed(t, 0)
	j.call(subjects.LeaseClaim, claimA, headers{"Zlink-Deadline": fmt.Sprint(testT0 + 5)}).
		refused(wire.CodeDeadlineExceeded, "")
}

func TestRequestWithoutDeadlineHasTheDefault(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *handlers.Options) { o.RequestTimeout = 5 * time.Millisecond })
	f.call(subjects.LeaseRead, readA, headers{"Zlink-Min-Revision": "1"}).refused(wire.CodeDeadlineExceeded, "")
}

func TestStopAnswersWhatHadArrived(t *testing.T) {
	t.Parallel()
	j := startJammed(t, 0)
	replies := j.claims(20)
	stopped := make(chan error, 1)
	go func() { stopped <- j.Stop(context.Background()) }()
	// The subjects answer no more while the claims are still waiting.
	gone := func() bool {
		_, err := j.client.Request(subjects.DefaultPrefix.Operation(subjects.LeaseRead), []byte(readA), patience)
		return errors.Is(err, nats.ErrNoResponders)
	}
	testenv.Eventually(t, patience, gone, "no responders")
	if n := j.Counters().InFlight; n != 20 {
		t.Errorf("%d in flight, want 20", n)
	}
	close(j.release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for _, reply := range replies() {
		reply.want(map[string]string{"kind": "claimed"})
	}
	if err := j.Stop(context.Background()); err != nil {
		t.Errorf("second stop: %v", err)
	}
}

func TestStopGivesUpWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	j := startJammed(t, 0)
	j.stopFails = true
	replies := j.claims(3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stop: %v, want %v", err, context.Canceled)
	}
	for _, reply := range replies() {
		reply.refused(wire.CodeUnavailable, "") // the deadline is far away
	}
}
