package feed

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
)

func TestAppendsAfterFailures(t *testing.T) {
	t.Parallel()
	c := newCosts(3)
	expect := func(what string, want int) {
		t.Helper()
		if got, chain := c.next(5 * maxBatch); got != want || chain {
			t.Errorf("%s: %d events (chain: %v), want a batch of %d", what, got, chain, want)
		}
	}
	c.took(false, maxBatch, time.Hour)
	expect("after a stall", maxBatch)
	c.failed(1000, fmt.Errorf("append: %w", errNoAnswer))
	c.failed(500, errNoAnswer)
	expect("after two time-outs", 250)
	c.took(false, 250, 2*time.Millisecond)
	expect("after an answer", 500)
	c.failed(500, fmt.Errorf("append: %w", &jetstream.APIError{ErrorCode: fenced.CodeBatchTooLarge}))
	c.took(false, 250, 2*time.Millisecond)
	c.took(false, 250, 2*time.Millisecond)
	expect("on a server that takes less", 250)
	c.failed(250, &jetstream.APIError{ErrorCode: fenced.CodeBatchesOff})
	expect("on a stream without batches", 1)
}

func TestOneServerNeedsNoBatches(t *testing.T) {
	t.Parallel()
	c := newCosts(1)
	c.took(true, 10, 2*time.Millisecond) // each message is synced
	if n, chain := c.next(500); n != 500 || chain {
		t.Errorf("%d events, chain: %v; want a batch of 500", n, chain)
	}
	c.failed(500, &jetstream.APIError{ErrorCode: fenced.CodeBatchesOff})
	if n, chain := c.next(500); n != 500 || !chain {
		t.Errorf("%d events, chain: %v; want a chain of 500 where batches are off", n, chain)
	}
}
