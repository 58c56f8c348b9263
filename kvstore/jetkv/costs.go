package jetkv

import (
	"cmp"
	"time"
)

// costs estimates what a message of a chain and what a batch costs, to choose
// between them. On one replica the server stages every batch in a file of its
// own, so that a chain is cheaper until it has many messages, or until each of
// them is synced; on several replicas batches are cheap, and a chain costs a
// round of the quorum for each message.
//
// An estimate falls at once and rises slowly: what a flight takes beyond the
// server's own work depends on who else runs, not on its kind.
type costs struct {
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
	// slowly is the part of a higher figure that an estimate takes in.
	slowly = 128
)

func newCosts(replicas int) costs { return costs{replicated: replicas > 1} }

// chain tells whether n messages are better sent as a chain.
func (c *costs) chain(n int) bool {
	if n < 2 {
		return true
	}
	message, batch := cmp.Or(c.message, likelyMessage), cmp.Or(c.batch, likelyBatch)
	return !c.replicated && time.Duration(n)*message <= batch+time.Duration(n)*batchMessage
}

// observe takes in how long a flight took.
func (c *costs) observe(f *flight, d time.Duration) {
	n := time.Duration(f.landed)
	switch {
	case !f.chain:
		c.batch = estimate(c.batch, max(d-n*batchMessage, 1))
	case f.landed >= amortized:
		c.message = estimate(c.message, max(d/n, 1))
	}
}

func estimate(old, seen time.Duration) time.Duration {
	if old == 0 || seen < old {
		return seen
	}
	return old + (seen-old)/slowly
}
