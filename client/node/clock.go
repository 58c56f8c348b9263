package node

import (
	"context"
	"time"
)

// processClock is Go's monotonic clock. Whether it counts the time that the machine was suspended depends on the system.
func processClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// look is how often a wait looks at the clock: timers may stand still while the machine is suspended, where the clock does not.
const look = time.Second

// wait returns when the clock has reached an instant, never before, or with the error of ctx.
func wait(ctx context.Context, clock func() time.Duration, until time.Duration) error {
	for {
		left := until - clock()
		if left <= 0 {
			return ctx.Err()
		}
		t := time.NewTimer(min(left, look))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
