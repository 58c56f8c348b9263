package testenv

import (
	"context"
	"sync"
	"time"
)

// T0 is the instant at which test clocks start by custom, in milliseconds since
// 1970: 2026-07-03 00:00:00 UTC.
const T0 = int64(1783036800000)

// Clock is a clock in milliseconds that moves only by [Clock.Set] and
// [Clock.Advance]. It may be used from any goroutine.
type Clock struct {
	mu       sync.Mutex // guards what follows
	now      int64
	sleepers map[*sleeper]struct{}
}

// sleeper is one call of Sleep that has not returned.
type sleeper struct {
	until int64
	wake  chan struct{} // closed when the time has come
}

// NewClock makes a clock that stands at start, in milliseconds since 1970.
func NewClock(start int64) *Clock {
	return &Clock{now: start, sleepers: make(map[*sleeper]struct{})}
}

// Now is the clock's time in milliseconds since 1970.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to an instant, also backwards, and wakes who waited for
// it or an earlier one.
func (c *Clock) Set(now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(now)
}

// Advance moves the clock on by d, of which parts of a millisecond are dropped.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(c.now + d.Milliseconds())
}

func (c *Clock) setLocked(now int64) {
	c.now = now
	for s := range c.sleepers {
		if s.until <= now {
			close(s.wake)
			delete(c.sleepers, s)
		}
	}
}

// Sleep returns when the clock has reached until, never earlier, or with the
// error of ctx when that ends first.
func (c *Clock) Sleep(ctx context.Context, until int64) error {
	s := &sleeper{until: until, wake: make(chan struct{})}
	c.mu.Lock()
	if c.now >= until {
		c.mu.Unlock()
		return nil
	}
	c.sleepers[s] = struct{}{}
	c.mu.Unlock()

	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sleepers, s)
		return ctx.Err()
	}
}

// Waiters is the number of goroutines in [Clock.Sleep] whose time has not come.
func (c *Clock) Waiters() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sleepers)
}
