package feed

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	// firstRetry is the wait after the first failure; it doubles up to lastRetry, which bounds how
	// late a feed notices that the server is back.
	firstRetry, lastRetry = 10 * time.Millisecond, time.Second
	// complaint is the least time between two log lines about failures that go on.
	complaint = 10 * time.Second
)

// retry spaces out attempts that fail.
type retry struct {
	log       *slog.Logger
	next      time.Duration
	complaint time.Time
}

func newRetry(log *slog.Logger) retry { return retry{log: log, next: firstRetry} }

// pause waits before another attempt, each time longer, or returns the context's error. It logs why.
func (r *retry) pause(ctx context.Context, why error) error {
	if time.Since(r.complaint) > complaint {
		r.complaint = time.Now()
		r.log.Warn("push changes", "err", why)
	}
	d := jitter(r.next)
	r.next = min(2*r.next, lastRetry)
	return pause(ctx, d)
}

// reset makes the next pause a short one.
func (r *retry) reset() { r.next = firstRetry }

// jitter adds up to half, so that instances which start together drift apart.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/2+1) }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
