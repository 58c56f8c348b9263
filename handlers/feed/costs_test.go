package feed

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestBatchesWhenTheyPay(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for _, tc := range []struct {
		name            string
		replicas        int
		single, several time.Duration // of a message alone, of a batch of 100
		want            int           // fewest waiting events that go out as a batch
	}{
		{name: "one server that syncs, to begin with", replicas: 1, want: 12},
		{name: "three servers, to begin with", replicas: 3, want: 2},
		{name: "one server that does not sync", replicas: 1, single: 20 * us, several: 3000 * us, want: 200},
		{name: "one server with a slow disk", replicas: 1, single: 2000 * us, several: 4000 * us, want: 2},
		{name: "three servers that do not sync", replicas: 3, single: 140 * us, several: 1140 * us, want: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newCosts(tc.replicas)
			if tc.single > 0 {
				for range 100 {
					c.took(1, tc.single)
					c.took(100, tc.several)
				}
			}
			n := 2
			for c.batch(n) == 1 && n < maxBatch {
				n++
			}
			if n != tc.want {
				t.Errorf("batches from %d events on, want %d", n, tc.want)
			}
			if got := c.batch(n); got != n {
				t.Errorf("batch of %d, want all %d", got, n)
			}
			if got := c.batch(5 * maxBatch); got != maxBatch {
				t.Errorf("batch of %d, want at most %d", got, maxBatch)
			}
			if got := c.batch(1); got != 1 {
				t.Errorf("batch of %d of one event", got)
			}
		})
	}
}

func TestBatchesAfterFailures(t *testing.T) {
	t.Parallel()
	c := newCosts(3)
	expect := func(what string, want int) {
		t.Helper()
		if got := c.batch(5 * maxBatch); got != want {
			t.Errorf("%s: batch of %d, want %d", what, got, want)
		}
	}
	c.took(maxBatch, time.Hour)
	expect("after a stall", maxBatch)
	c.failed(1000, fmt.Errorf("append: %w", errNoAnswer))
	c.failed(500, errNoAnswer)
	expect("after two time-outs", 250)
	c.took(250, 2*time.Millisecond)
	expect("after an answer", 500)
	c.failed(500, fmt.Errorf("append: %w", &jetstream.APIError{ErrorCode: codeBatchTooLarge}))
	c.took(250, 2*time.Millisecond)
	c.took(250, 2*time.Millisecond)
	expect("on a server that takes less", 250)
	c.failed(250, &jetstream.APIError{ErrorCode: codeNoBatches})
	expect("on a stream without batches", 1)
}
