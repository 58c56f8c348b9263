package histories_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/wire"
)

// lease is the lease of one owner in the model. It lapses only by being released.
type lease struct {
	generation wire.Generation // 0: it is not held
	claimID    string
	last       wire.Generation // the greatest there was
}

var leaseModel = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{lease{}} },
	Step:              func(state, input, _ any) []any { return anys(state.(lease).step(input.(*call))) },
	DescribeOperation: func(input, _ any) string { return input.(*call).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// anys are the states in the form that Porcupine takes.
func anys[State any](states []State) []any {
	list := make([]any, len(states))
	for i, s := range states {
		list[i] = s
	}
	return list
}

// step are the states in which a lease can be after a call that was answered as it was; there is none if it cannot be.
func (l lease) step(c *call) []lease {
	if c.outcome == unknown {
		return l.mayHave(c)
	}
	switch r := c.request.(type) {
	case *wire.LeaseClaimRequest:
		return l.claim(r, c.reply.(*wire.LeaseClaimReply))
	case *wire.LeaseReadRequest:
		reply := c.reply.(*wire.LeaseReadReply)
		if reply.Kind == wire.KindFound {
			return l.only(l.generation == reply.Token.LeaseGeneration)
		}
		return l.only(l.generation == 0)
	case *wire.LeaseRenewRequest:
		held := l.generation == r.Token.LeaseGeneration
		return l.only(held == (c.reply.(*wire.LeaseRenewReply).Kind == wire.KindRenewed))
	case *wire.LeaseReleaseRequest:
		held := l.generation == r.Token.LeaseGeneration
		if c.reply.(*wire.LeaseReleaseReply).Kind == wire.KindStale {
			return l.only(!held)
		}
		return l.released().only(held)
	}
	return nil
}

// claim is rows 1, 2 and 4 of lease.claim.
func (l lease) claim(r *wire.LeaseClaimRequest, reply *wire.LeaseClaimReply) []lease {
	switch {
	case reply.Kind == wire.KindConflict:
		return l.only(l.generation != 0 && l.claimID != r.ClaimID)
	case reply.Kind != wire.KindClaimed:
		return nil
	case l.generation != 0:
		return l.only(l.claimID == r.ClaimID && l.generation == reply.Token.LeaseGeneration)
	}
	return l.claimed(r.ClaimID, reply.Token.LeaseGeneration)
}

func (l lease) claimed(id string, g wire.Generation) []lease {
	return lease{generation: g, claimID: id, last: g}.only(l.generation == 0 && g > l.last)
}

func (l lease) released() lease { return lease{last: l.last} }

// mayHave is a call of unknown outcome: nothing, or what it would have done.
func (l lease) mayHave(c *call) []lease {
	states := []lease{l}
	switch r := c.request.(type) {
	case *wire.LeaseClaimRequest:
		for _, e := range c.maybe {
			states = append(states, l.claimed(r.ClaimID, e.lease.LeaseGeneration)...)
		}
	case *wire.LeaseReleaseRequest:
		if len(c.maybe) > 0 && l.generation == r.Token.LeaseGeneration {
			states = append(states, l.released())
		}
	}
	return states
}

// only is the state, if what the answer says holds.
func (l lease) only(holds bool) []lease {
	if holds {
		return []lease{l}
	}
	return nil
}
