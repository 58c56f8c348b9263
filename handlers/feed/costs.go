package feed

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What appends cost on an idle machine, to begin with. An unreplicated stream stages each batch in a
// file of its own, a replicated one does not.
const (
	singleCost, batchCost                     = 200 * time.Microsecond, 2200 * time.Microsecond
	replicatedSingleCost, replicatedBatchCost = 140 * time.Microsecond, 150 * time.Microsecond
	// perMessage is what one more message adds to a batch, everywhere.
	perMessage = 10 * time.Microsecond
	// worstCost is the most that one measurement counts for: a stalled server says nothing.
	worstCost = 5 * time.Millisecond
	// smoothing is the inverse weight of one measurement.
	smoothing = 8
)

// costs decides between single messages, one after another, and batches, by what they took lately.
type costs struct {
	single time.Duration
	base   time.Duration // of a batch, without its messages
	limit  int           // most messages in a batch
	most   int           // and in the next one: less after a batch that was not answered in time
}

func newCosts(replicas int) costs {
	if replicas > 1 {
		return costs{replicatedSingleCost, replicatedBatchCost, maxBatch, maxBatch}
	}
	return costs{singleCost, batchCost, maxBatch, maxBatch}
}

// batch is how many of n waiting events go out at once: 1 is a message without a batch.
func (c *costs) batch(n int) int {
	n = min(n, c.limit, c.most)
	if time.Duration(n)*c.single < c.base+time.Duration(n)*perMessage {
		return 1
	}
	return n
}

// took takes a measurement in.
func (c *costs) took(n int, d time.Duration) {
	c.most = min(2*c.most, maxBatch)
	to := &c.single
	if n > 1 {
		to, d = &c.base, max(0, d-time.Duration(n)*perMessage)
	}
	*to += (min(d, worstCost) - *to) / smoothing
}

// failed learns from an append of n messages that failed.
func (c *costs) failed(n int, err error) {
	refusal, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, errNoAnswer):
		c.most = max(1, n/2) // a server in need gets less to do at once
	case refusal == nil:
	case refusal.ErrorCode == codeNoBatches:
		c.limit = 1
	case refusal.ErrorCode == codeBatchTooLarge:
		c.limit = max(1, n/2)
	}
}
