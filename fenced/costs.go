package fenced

import (
	"cmp"
	"time"
)

// Costs estimates what a message of a chain and what a batch costs, to choose
// between them. On one replica a chain is cheaper until it has many messages, or
// until each of them is synced; on several replicas batches are cheap, and a
// chain costs a round of the quorum for each message.
//
// An estimate falls at once and rises slowly: what an append takes beyond the
// server's own work depends on who else runs, not on its kind. Create it with
// NewCosts.
type Costs struct {
	message    time.Duration // of a chain; 0 is not known yet
	batch      time.Duration // without its messages; 0 is not known yet
	replicated bool
}

const (
	// likelyMessage and likelyBatch stand for what is not known yet.
	likelyMessage, likelyBatch = 50 * time.Microsecond, 2200 * time.Microsecond
	// batchMessage is what one more message in a batch costs.
	batchMessage = 10 * time.Microsecond
	// amortized is the length from which on a chain tells what a message costs;
	// that of a shorter one is mostly the round trip.
	amortized = 4
	// slowly is the inverse part of a higher figure that an estimate takes in.
	slowly = 128
)

// NewCosts begins without measurements, for a stream of so many replicas.
func NewCosts(replicas int) Costs { return Costs{replicated: replicas > 1} }

// Chain tells whether n messages are better sent as a chain than as a batch.
func (c *Costs) Chain(n int) bool {
	if n < 2 {
		return true
	}
	message, batch := cmp.Or(c.message, likelyMessage), cmp.Or(c.batch, likelyBatch)
	return !c.replicated && time.Duration(n)*message <= batch+time.Duration(n)*batchMessage
}

// Patience is how long it pays to wait until n messages have come together. It is
// 0 where batches are cheap, or not taken at all.
func (c *Costs) Patience(n int) time.Duration {
	if c.replicated || c.Chain(n) {
		return 0
	}
	return cmp.Or(c.batch, likelyBatch) / 8
}

// Observe takes in how long n messages took as a chain or as a batch.
func (c *Costs) Observe(chain bool, n int, took time.Duration) {
	d := time.Duration(n)
	switch {
	case !chain:
		c.batch = estimate(c.batch, max(took-d*batchMessage, 1))
	case n >= amortized:
		c.message = estimate(c.message, max(took/d, 1))
	}
}

func estimate(old, seen time.Duration) time.Duration {
	if old == 0 || seen < old {
		return seen
	}
	return old + (seen-old)/slowly
}
