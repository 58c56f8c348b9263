package kvstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// TestForgettingLeavesTheStoreToOthers: commits become as large as a short time allows, and half of the time is left.
func TestForgettingLeavesTheStoreToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := kvstore.NewPace()
		if p.Rows() != 8 || p.Rest() > 0 {
			t.Errorf("begins with %d rows after %v, want 8 at once", p.Rows(), p.Rest())
		}
		for i, step := range []struct {
			took time.Duration
			rows int
		}{
			{time.Millisecond, 16},
			{19 * time.Millisecond, 32},
			{20 * time.Millisecond, 32},
			{40 * time.Millisecond, 32},
			{41 * time.Millisecond, 16},
			{time.Second, 8},
			{time.Second, 8},
			{0, 16},
			{0, 32},
			{0, 64},
			{0, 128},
			{0, 250},
			{0, 250},
		} {
			p.Took(step.took)
			if p.Rows() != step.rows || p.Rest() != step.took {
				t.Errorf("step %d: %d rows after %v, want %d after %v", i, p.Rows(), p.Rest(), step.rows, step.took)
			}
			time.Sleep(step.took)
		}
	})
}
