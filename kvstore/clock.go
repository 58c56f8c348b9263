package kvstore

import (
	"context"
	"time"
)

// Clock is the store's clock.
type Clock interface {
	// Now never goes back.
	Now() Instant
	// Wait returns when Now has reached until, or with the context's error.
	Wait(ctx context.Context, until Instant) error
}

// SystemClock is the clock of this process, for stores that live in it. It does
// not go back while the process runs. Create it with NewSystemClock.
type SystemClock struct {
	wall  int64
	start time.Time
}

// NewSystemClock starts a clock at the machine's wall time.
func NewSystemClock() *SystemClock {
	now := time.Now()
	return &SystemClock{wall: now.UnixMilli(), start: now}
}

// Now is the wall time of the start plus what has passed since.
func (c *SystemClock) Now() Instant { return Instant(c.wall + time.Since(c.start).Milliseconds()) }

// Wait sleeps until the instant.
func (c *SystemClock) Wait(ctx context.Context, until Instant) error {
	return WaitOn(ctx, c.Now, until)
}

// WaitOn sleeps until now() has reached an instant, for clocks that run as fast
// as the machine's.
func WaitOn(ctx context.Context, now func() Instant, until Instant) error {
	for {
		left := until - now()
		if left <= 0 {
			return ctx.Err()
		}
		t := time.NewTimer(time.Duration(left) * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
