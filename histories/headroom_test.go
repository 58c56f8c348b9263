package histories_test

import (
	"math/bits"
	"slices"

	"github.com/zlink/zlink-nats/wire"
)

// coming are the objects that prepared aggregates are about to move to a node, which have room reserved there. There are no more
// aggregates than half of the objects, since an object is in one at most.
type coming [4]arrival

type arrival struct {
	group   int // 0: none
	short   bool
	objects set // that need room
	all     set // that take part
}

// with adds an arrival; false when an object would be in two aggregates.
func (c coming) with(a arrival) (coming, bool) {
	for _, other := range c {
		if other.all&a.all != 0 || other.group == a.group {
			return c, false
		}
	}
	c[0] = a // the smallest, of those that are there none
	slices.SortFunc(c[:], func(a, b arrival) int { return a.group - b.group })
	return c, true
}

func (c coming) without(group int) coming {
	for i := range c {
		if c[i].group == group {
			c[i] = arrival{}
		}
	}
	slices.SortFunc(c[:], func(a, b arrival) int { return a.group - b.group })
	return c
}

func (c coming) has(group int) bool {
	return slices.ContainsFunc(c[:], func(a arrival) bool { return a.group == group })
}

// objects are all that need room.
func (c coming) objects() (s set) {
	for _, a := range c {
		s |= a.objects
	}
	return s
}

// inGroup is what a call on an aggregate does to a node.
func (n node) inGroup(rid wire.RID, c *call) []node {
	switch r := c.reply.(type) {
	case *wire.AggregatePrepareReply:
		return n.expecting(rid, c.group)
	case *wire.AggregateCommitReply:
		return n.arrived(rid, c.group).only(c.group.target.NodeRID != rid || n.coming.has(c.group.n))
	case *wire.AggregateAbortReply:
		if r.Kind == wire.KindAborted {
			n.coming = n.coming.without(c.group.n)
		}
		return []node{n}
	}
	return nil
}

// mayHaveInGroup is a call of unknown outcome on an aggregate.
func (n node) mayHaveInGroup(rid wire.RID, c *call) []node {
	switch c.request.(type) {
	case *wire.AggregatePrepareRequest:
		return n.expecting(rid, c.group)
	case *wire.AggregateCommitRequest:
		return n.arrived(rid, c.group).only(len(c.maybe) > 0 && (c.group.target.NodeRID != rid || n.coming.has(c.group.n)))
	}
	has := n.coming.has(c.group.n)
	n.coming = n.coming.without(c.group.n)
	return n.only(has)
}

// expecting is the node with the headroom of an aggregate, for which there must be room. 8.4
func (n node) expecting(rid wire.RID, g *group) []node {
	if g.target.NodeRID != rid {
		return []node{n}
	}
	var ok bool
	needs := g.moves() &^ n.holds
	n.coming, ok = n.coming.with(arrival{g.n, g.short, needs, g.all()})
	if !ok || !n.known {
		return nil
	}
	used := n.used()
	for kind, of := range []set{actors, ^actors} {
		if needs&of != 0 && n.limits[kind] > 0 && used[kind] > n.limits[kind] {
			return nil
		}
	}
	return []node{n}
}

// arrived is the node after the commit of an aggregate.
func (n node) arrived(rid wire.RID, g *group) node {
	n.coming = n.coming.without(g.n)
	if g.target.NodeRID == rid {
		n.holds |= g.moves()
	} else {
		n.holds &^= g.moves()
	}
	return n
}

// withoutShort are the states of a node after the service aborted some of the short aggregates.
func (n node) withoutShort() (states []node) {
	for _, a := range n.coming {
		if a.short {
			next := n
			next.coming = n.coming.without(a.group)
			states = append(append(states, next), next.withoutShort()...)
		}
	}
	return states
}

func count(s set) uint32 { return uint32(bits.OnesCount16(uint16(s))) }
