package jetkv

import (
	"context"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// serverClock estimates the clock of the store's server: the local monotonic
// clock plus an offset, taken from the answer that travelled least of the latest
// few. It never goes back.
type serverClock struct {
	start time.Time // the local monotonic clock counts from here

	mu      sync.Mutex
	samples [clockSamples]clockSample // guarded by mu; ring
	next    int                       // guarded by mu
	offset  time.Duration             // guarded by mu; server time of start since the epoch
	latest  kvstore.Instant           // guarded by mu
}

// clockSamples is how many answers the estimate looks back on: at one every two
// seconds a changed server clock is followed within ten.
const clockSamples = 5

type clockSample struct {
	offset, rtt time.Duration
}

func newServerClock() *serverClock { return &serverClock{start: time.Now()} }

// observe takes in an answer that carries the server's time and arrived rtt
// after it was asked for.
func (c *serverClock) observe(server time.Time, rtt time.Duration) {
	at := time.Since(c.start) - rtt/2
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples[c.next%clockSamples] = clockSample{time.Duration(server.UnixNano()) - at, rtt}
	c.next++
	best := c.samples[0]
	for _, s := range c.samples[1:min(c.next, clockSamples)] {
		if s.rtt < best.rtt {
			best = s
		}
	}
	c.offset = best.offset
}

// Now implements kvstore.Clock.
func (c *serverClock) Now() kvstore.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := kvstore.Instant((c.offset + time.Since(c.start)).Milliseconds())
	c.latest = max(c.latest, now)
	return c.latest
}

// Wait implements kvstore.Clock.
func (c *serverClock) Wait(ctx context.Context, until kvstore.Instant) error {
	return kvstore.WaitOn(ctx, c.Now, until)
}
