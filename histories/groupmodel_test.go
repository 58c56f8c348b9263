package histories_test

import (
	"fmt"
	"math/bits"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/wire"
)

// fence is one aggregate in the model. What becomes of its participants is in [object] and [node].
type fence struct {
	state  wire.AggregateState // "": nothing is known of it
	staged set                 // indexes of participants
}

var groupModel = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{fence{}} },
	Step:              func(state, input, _ any) []any { return anys(state.(fence).step(input.(*call))) },
	DescribeOperation: func(input, _ any) string { return input.(*call).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// step are the states in which an aggregate can be after a call that was answered as it was. The service aborts short ones
// meanwhile.
func (f fence) step(c *call) []fence {
	states := f.decide(c)
	if c.group.short && f.state == wire.AggregatePrepared {
		states = append(states, f.ended(wire.AggregateAborted).decide(c)...)
	}
	return states
}

func (f fence) decide(c *call) []fence {
	if c.outcome != answered {
		return f.mayHave(c)
	}
	switch r := c.request.(type) {
	case *wire.AggregateStageRequest:
		next := f.stages(r)
		reply := c.reply.(*wire.AggregateStageReply)
		if reply.Kind == wire.KindConflict {
			return f.only(!f.open())
		}
		return next.only(f.open() && reply.Kind == wire.KindStaged && int(reply.Count) == bits.OnesCount16(uint16(next.staged)))
	case *wire.AggregatePrepareRequest:
		return f.prepare(c.group, c.reply.(*wire.AggregatePrepareReply).Kind)
	case *wire.AggregateCommitRequest:
		return f.commit(c.reply.(*wire.AggregateCommitReply).Kind)
	case *wire.AggregateAbortRequest:
		return f.abort(c.reply.(*wire.AggregateAbortReply).Kind)
	}
	return nil
}

// open tells whether participants can be staged.
func (f fence) open() bool { return f.state == "" || f.state == wire.AggregateCollecting }

func (f fence) stages(r *wire.AggregateStageRequest) fence {
	f.state = wire.AggregateCollecting
	for i := range r.Participants {
		f.staged |= 1 << (int(r.StartIndex) + i)
	}
	return f
}

func (f fence) ended(state wire.AggregateState) fence {
	f.state = state
	return f
}

// prepare is 8.3.
func (f fence) prepare(g *group, kind wire.Kind) []fence {
	whole := set(1<<len(g.participants) - 1)
	next := f
	if g.inline && f.open() {
		next = fence{wire.AggregateCollecting, whole}
	}
	switch kind {
	case wire.KindPrepared:
		return next.ended(wire.AggregatePrepared).only(f.open() && next.staged == whole)
	case wire.KindAlreadyPrepared:
		return f.only(f.state == wire.AggregatePrepared)
	case wire.KindStale:
		return f.only(f.state == wire.AggregateCommitted)
	case wire.KindConflict:
		return next.only(f.open() || f.state == wire.AggregateAborted)
	}
	return nil
}

// commit is 8.6, liveness aside.
func (f fence) commit(kind wire.Kind) []fence {
	switch kind {
	case wire.KindCommitted:
		return f.ended(wire.AggregateCommitted).only(f.state == wire.AggregatePrepared)
	case wire.KindAlreadyCommitted:
		return f.only(f.state == wire.AggregateCommitted)
	}
	return f.only(kind == wire.KindStale && f.state != wire.AggregateCommitted)
}

// abort is 8.7.
func (f fence) abort(kind wire.Kind) []fence {
	pending := f.state == wire.AggregateCollecting || f.state == wire.AggregatePrepared
	switch kind {
	case wire.KindAborted:
		return f.ended(wire.AggregateAborted).only(pending)
	case wire.KindAlreadyAborted:
		return f.only(f.state == wire.AggregateAborted)
	}
	return f.only(kind == wire.KindStale && (f.state == "" || f.state == wire.AggregateCommitted))
}

// mayHave is a call that was not answered. Even of a refused one a part may have been staged.
func (f fence) mayHave(c *call) []fence {
	states := []fence{f}
	switch r := c.request.(type) {
	case *wire.AggregateStageRequest:
		if f.open() {
			states = append(states, f.stages(r))
		}
	case *wire.AggregatePrepareRequest:
		if c.group.inline && f.open() {
			states = append(states, f.prepare(c.group, wire.KindConflict)...)
		}
		if c.outcome == unknown {
			states = append(states, f.prepare(c.group, wire.KindPrepared)...)
		}
	case *wire.AggregateCommitRequest:
		if c.outcome == unknown && len(c.maybe) > 0 {
			states = append(states, f.commit(wire.KindCommitted)...)
		}
	case *wire.AggregateAbortRequest:
		if c.outcome == unknown {
			states = append(states, f.abort(wire.KindAborted)...)
		}
	}
	return states
}

func (f fence) only(holds bool) []fence {
	if holds {
		return []fence{f}
	}
	return nil
}

// locks is what an aggregate does to a participant, as the calls of [inGroup] tell.
func (o object) inGroup(c *call) []object {
	g := c.group
	p := g.participant(c.part)
	locked := o.lock == g.n
	switch r := c.reply.(type) {
	case *wire.AggregatePrepareReply:
		switch r.Kind {
		case wire.KindPrepared:
			return o.locked(g).only(o.lockable(p))
		case wire.KindAlreadyPrepared:
			return o.only(locked)
		}
		return o.only(!locked)
	case *wire.AggregateCommitReply:
		switch r.Kind {
		case wire.KindCommitted:
			return o.moved(g, p, c.revision).only(locked)
		case wire.KindAlreadyCommitted:
			return o.only(!locked)
		}
		return o.only(true)
	case *wire.AggregateAbortReply:
		if r.Kind == wire.KindAborted {
			return o.unlocked(g).only(true)
		}
		return o.only(!locked)
	}
	return nil
}

func (o object) lockable(p *wire.AggregateParticipant) bool {
	return o.state == wire.AllocationActive && o.lock == 0 && o.version == versionOf(p.ExpectedStoreVersion)
}

func (o object) locked(g *group) object {
	o.lock, o.short = g.n, g.short
	return o
}

func (o object) unlocked(g *group) object {
	if o.lock == g.n {
		o.lock, o.short = 0, false
	}
	return o
}

// moved is the object from the commit of an aggregate on. 8.5
func (o object) moved(g *group, p *wire.AggregateParticipant, revision uint64) object {
	o.lock, o.short = 0, false
	o.payload, o.version, o.floor = string(p.AuthorityPayload), revision, revision
	if p.OwnerTransition == wire.OwnerNew {
		o.node, o.lifecycle, o.owner = g.target.NodeRID, g.target.NodeLifecycleGeneration, g.target.Owner
		o.ownership = wire.Generation(revision)
	}
	return o
}

// mayHaveInGroup is a call of unknown outcome on the object's aggregate.
func (o object) mayHaveInGroup(c *call) (states []object) {
	p := c.group.participant(c.part)
	switch c.request.(type) {
	case *wire.AggregatePrepareRequest:
		return o.locked(c.group).only(o.lockable(p))
	case *wire.AggregateCommitRequest:
		for _, e := range c.maybe {
			states = append(states, o.moved(c.group, p, e.revision).only(o.lock == c.group.n && e.revision > o.floor)...)
		}
	case *wire.AggregateAbortRequest:
		return o.unlocked(c.group).only(o.lock == c.group.n)
	}
	return states
}

// shownLocked is aggregate.find.
func (o object) shownLocked(r *wire.AggregateFindReply) bool {
	if r.Kind == wire.KindFound && r.Aggregate.State == wire.AggregatePrepared {
		return o.lock != 0 && r.Aggregate.Fence.AggregateID == fmt.Sprint("g", o.lock)
	}
	return o.lock == 0
}
