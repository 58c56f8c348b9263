package handlers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/wire"
)

// TestWaitsAreLimited counts on from where few more may wait.
func TestWaitsAreLimited(t *testing.T) {
	t.Parallel()
	base, cancel := context.WithCancel(t.Context())
	s := &Service{store: memkv.New(memkv.Options{Schema: domain.Schema()}), base: base, awaiting: awaiting{endpoint: awaitEndpoint()}}
	one := func() *waiter {
		r := &request{start: time.Now(), deadline: 60_000}
		key := wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "a1"}
		return &waiter{request: r, req: &wire.ObjectAwaitRequest{Key: key, Until: wire.AwaitChanged}}
	}
	const few, before = 3, maxAwaiting - 3
	s.awaiting.count = before
	for i := range few {
		if res, err := s.awaiting.park(s, one()); err != nil || !res.parked {
			t.Fatalf("wait %d: %+v, %v", i, res, err)
		}
	}
	if _, err := s.awaiting.park(s, one()); !errors.Is(err, kvstore.ErrOverloaded) || detail(err).Code.Status() != 429 {
		t.Errorf("one more: %v, want %v", err, kvstore.ErrOverloaded)
	}
	if n := s.awaiting.length(); n != maxAwaiting {
		t.Errorf("%d wait, want %d", n, maxAwaiting)
	}
	s.awaiting.mu.Lock()
	s.awaiting.count -= before
	s.awaiting.mu.Unlock()
	s.awaiting.close(s)
	if _, err := s.awaiting.park(s, one()); !errors.Is(err, errStopping) {
		t.Errorf("after the stop: %v, want %v", err, errStopping)
	}
	if n := s.awaiting.length(); n != 0 {
		t.Errorf("%d wait after the stop", n)
	}
	cancel()
	s.awaiting.wg.Wait()
}

func TestPatienceIsWhatIsLeftOfTheDeadline(t *testing.T) {
	t.Parallel()
	r := request{arrived: 1000, deadline: 1000 + kvstore.Instant((2 * maxWait).Milliseconds())}
	if got := r.patience(maxAwait); got != 2*maxWait {
		t.Errorf("a wait has %v, want %v", got, 2*maxWait)
	}
	if got := r.patience(maxWait); got != maxWait {
		t.Errorf("another request has %v, want %v", got, maxWait)
	}
	if DefaultAwaitTimeout != 30*time.Second { // 1.1
		t.Errorf("a wait without a deadline has %v", DefaultAwaitTimeout)
	}
}
