package handlers

import (
	"math"
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
)

func TestForwardedDeadlineIsEarlier(t *testing.T) {
	t.Parallel()
	const now = kvstore.Instant(1_000_000)
	for left, want := range map[kvstore.Instant]kvstore.Instant{
		-1: -2, 0: -1, 1: 0, 5: 4, 100: 90, 1999: 1800, 2000: 1800, 86_400_000: 86_399_800,
		math.MaxInt64 - now: math.MaxInt64 - now - 200,
	} {
		if got := forwardDeadline(now, now+left) - now; got != want {
			t.Errorf("%d ms before the deadline: got one in %d ms, want %d", left, got, want)
		}
	}
}
