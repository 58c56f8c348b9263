package feed

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
)

// costs decides how many waiting events go out at once, and how.
type costs struct {
	fenced.Costs
	replicated bool
	limit      int // most messages in a batch
	most       int // and in the next append: less after one that was not answered in time
}

func newCosts(replicas int) costs {
	return costs{fenced.NewCosts(replicas), replicas > 1, maxBatch, maxBatch}
}

// next is how many of n waiting events go out at once, and whether as a chain.
func (c *costs) next(n int) (int, bool) {
	n = min(n, c.most)
	if c.Chain(n) || c.limit == 1 && !c.replicated {
		return n, true
	}
	return min(n, c.limit), false
}

// took takes a measurement in.
func (c *costs) took(chain bool, n int, d time.Duration) {
	c.most = min(2*c.most, maxBatch)
	c.Observe(chain, n, d)
}

// failed learns from an append of n messages that failed.
func (c *costs) failed(n int, err error) {
	refusal, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, errNoAnswer):
		c.most = max(1, n/2) // a server in need gets less to do at once
	case refusal == nil:
	case refusal.ErrorCode == fenced.CodeBatchesOff:
		c.limit = 1
	case refusal.ErrorCode == fenced.CodeBatchTooLarge:
		c.limit = max(1, n/2)
	}
}
