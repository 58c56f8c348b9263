package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// clockFor is how long an estimate of the store's clock is used: quartz drifts by less than 30 ms meanwhile.
	clockFor = 5 * time.Minute
	// clockPatience bounds the question for the store's time. Requests go without a deadline when there is no answer.
	clockPatience = time.Second
	// clockPause is how long the next question waits after one without an answer.
	clockPause = 10 * time.Second
)

// storeClock estimates the store's clock, in which the deadlines of requests are given: the machine's own may be minutes off, or
// jump.
type storeClock struct {
	mu    sync.Mutex
	at    time.Time    // guarded by mu; when the store's clock showed now, by the monotonic clock
	now   wire.Instant // guarded by mu; 0 while it is not known
	retry time.Time    // guarded by mu; no question before
}

// read returns the store's time, and false when it is not known or old.
func (k *storeClock) read() (wire.Instant, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	passed := time.Since(k.at)
	if k.now == 0 || passed > clockFor {
		return 0, false
	}
	return k.now + wire.Instant(passed.Milliseconds()), true
}

// forget drops an estimate that turned out to be wrong.
func (k *storeClock) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = 0
}

// due tells whether it is time for a question.
func (k *storeClock) due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !time.Now().Before(k.retry)
}

func (k *storeClock) set(at time.Time, now wire.Instant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.now = at, now
}

func (k *storeClock) failed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.retry = time.Now().Add(clockPause)
}

// storeNow returns the store's time, for which it asks when it has to; false when there is no telling.
func (c *Client) storeNow(ctx context.Context) (wire.Instant, bool) {
	k := &c.shared.clock
	if now, ok := k.read(); ok || !k.due() {
		return now, ok
	}
	asking, cancel := context.WithTimeout(ctx, clockPatience)
	defer cancel()
	started := time.Now()
	var reply wire.StatusGetReply
	m, err := c.conn.RequestMsgWithContext(asking, c.message(subjects.StatusGet, nil))
	switch {
	case err == nil && c.understand(subjects.StatusGet, m, &reply) == nil:
		// The answer was given between the two; if at the end, the estimate is late, and a deadline at most that much too far.
		k.set(started, reply.StoreNow)
	case ctx.Err() == nil && !errors.Is(err, nats.ErrNoResponders):
		k.failed()
	}
	return k.read()
}
