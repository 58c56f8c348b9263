package testenv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/testenv"
)

func TestT0IsTheSecondHalfOf2026(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, time.July, 3, 0, 0, 0, 0, time.UTC)
	if got := time.UnixMilli(testenv.T0).UTC(); !got.Equal(want) {
		t.Errorf("T0 = %v, want %v", got, want)
	}
}

func TestClockMovesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	c := testenv.NewClock(testenv.T0)
	for _, step := range []struct {
		name string
		do   func()
		want int64
	}{
		{"at the start", func() {}, testenv.T0},
		{"after an advance", func() { c.Advance(1500 * time.Microsecond) }, testenv.T0 + 1},
		{"set ahead", func() { c.Set(testenv.T0 + 100) }, testenv.T0 + 100},
		{"set back", func() { c.Set(testenv.T0 - 5) }, testenv.T0 - 5},
	} {
		step.do()
		if got := c.Now(); got != step.want {
			t.Errorf("%s: Now() = %d, want %d", step.name, got, step.want)
		}
	}
}

func TestSleepEndsAtItsInstantAndNotBefore(t *testing.T) {
	t.Parallel()
	c := testenv.NewClock(testenv.T0)
	woken := make(chan int64, 2)
	for _, d := range []int64{10, 20} {
		go func() {
			if err := c.Sleep(t.Context(), testenv.T0+d); err != nil {
				t.Errorf("Sleep(+%d) = %v", d, err)
			}
			woken <- d
		}()
	}
	awaitWaiters(t, c, 2)
	c.Advance(9 * time.Millisecond)
	if got := c.Waiters(); got != 2 {
		t.Errorf("Waiters() one millisecond early = %d, want 2", got)
	}
	c.Advance(time.Millisecond)
	if got := <-woken; got != 10 {
		t.Errorf("first to wake slept %d ms, want 10", got)
	}
	if got := c.Waiters(); got != 1 {
		t.Errorf("Waiters() = %d, want the one of 20 ms", got)
	}
	c.Advance(time.Hour)
	if got := <-woken; got != 20 {
		t.Errorf("second to wake slept %d ms, want 20", got)
	}
}

func TestSleepUntilNowDoesNotWait(t *testing.T) {
	t.Parallel()
	c := testenv.NewClock(testenv.T0)
	if err := c.Sleep(t.Context(), testenv.T0); err != nil {
		t.Errorf("Sleep(now) = %v", err)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := testenv.NewClock(testenv.T0)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { result <- c.Sleep(ctx, testenv.T0+1) }()
	awaitWaiters(t, c, 1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep = %v, want %v", err, context.Canceled)
	}
	if got := c.Waiters(); got != 0 {
		t.Errorf("Waiters() = %d, want 0", got)
	}
}

func awaitWaiters(t *testing.T, c *testenv.Clock, n int) {
	t.Helper()
	testenv.Eventually(t, time.Minute, func() bool { return c.Waiters() == n }, n, "waiters")
}
