package jetkv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// tolerance is how far Now may be off in a test that cannot stop the machine's
// clock.
const tolerance = 2000

func near(got kvstore.Instant, want time.Time) bool {
	d := int64(got) - want.UnixMilli()
	return d >= -tolerance && d <= tolerance
}

func TestServerClockFollowsTheServerNotTheMachine(t *testing.T) {
	t.Parallel()
	c := newServerClock()
	server := time.Now().Add(-72 * time.Hour)
	c.observe(server, time.Millisecond)
	if got := c.Now(); !near(got, server) {
		t.Errorf("now is %d, want about %d", got, server.UnixMilli())
	}
}

func TestServerClockBelievesTheAnswerThatTravelledLeast(t *testing.T) {
	t.Parallel()
	c := newServerClock()
	server := time.Now()
	c.observe(server, time.Millisecond)
	c.observe(server.Add(time.Hour), 500*time.Millisecond)
	if got := c.Now(); !near(got, server) {
		t.Errorf("now is %d, want about %d: a slow answer was believed", got, server.UnixMilli())
	}
}

func TestServerClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	c := newServerClock()
	server := time.Now()
	c.observe(server, time.Millisecond)
	before := c.Now()
	for range clockSamples {
		c.observe(server.Add(-time.Hour), time.Millisecond)
		if now := c.Now(); now < before {
			t.Fatalf("now went back from %d to %d", before, now)
		}
	}
	c.observe(server.Add(time.Hour), time.Microsecond)
	if got := c.Now(); !near(got, server.Add(time.Hour)) {
		t.Errorf("now is %d: a server clock that was set forward is not followed", got)
	}
}

func TestServerClockFollowsAChangedServerClock(t *testing.T) {
	t.Parallel()
	c := newServerClock()
	server := time.Now()
	c.observe(server, time.Microsecond) // the best answer there will be
	for range clockSamples {
		c.observe(server.Add(time.Minute), time.Millisecond)
	}
	if got := c.Now(); !near(got, server.Add(time.Minute)) {
		t.Errorf("now is %d after %d answers, want about %d", got, clockSamples, server.Add(time.Minute).UnixMilli())
	}
}

func TestServerClockWaits(t *testing.T) {
	t.Parallel()
	c := newServerClock()
	c.observe(time.Now(), time.Millisecond)
	until := c.Now() + 20
	if err := c.Wait(t.Context(), until); err != nil || c.Now() < until {
		t.Errorf("waited until %d for %d: %v", c.Now(), until, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Wait(ctx, c.Now()+3_600_000); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled wait: %v", err)
	}
}
