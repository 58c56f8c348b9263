package histories_test

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// node is how full one node is in the model. Whether its owner is live and whether it serves is judged by [chronicle].
type node struct {
	known  bool      // there is a descriptor
	limits [2]uint32 // of actors and of spots; 0 is none
	holds  set       // the objects that are allocated to it
	coming coming
}

// set are some of the objects of the workload.
type set uint16

// actors are the objects that are actors; all others are spots.
var actors = func() (s set) {
	for i, k := range objects {
		if !k.IsSpot() {
			s |= 1 << i
		}
	}
	return s
}()

// indexOf is the place of an object, by the text form of its key, in the workload.
func indexOf(key string) int {
	return slices.IndexFunc(objects, func(k wire.ObjectKey) bool { return k.Text() == key })
}

// kindOf is the place of the limit that counts for an object.
func kindOf(key string) int {
	if actors&(1<<indexOf(key)) != 0 {
		return 0
	}
	return 1
}

// used is what counts against the limits.
func (n node) used() [2]uint32 {
	coming := n.coming.objects()
	return [2]uint32{count(n.holds&actors) + count(coming&actors), count(n.holds&^actors) + count(coming&^actors)}
}

// without is the node without an object.
func (n node) without(key string) node {
	n.holds &^= 1 << indexOf(key)
	return n
}

// full tells whether there is no room for an object, if its own place is free.
func (n node) full(key string) bool {
	kind := kindOf(key)
	limit := n.limits[kind]
	return limit > 0 && n.without(key).used()[kind] >= limit
}

func nodeModel(rid wire.RID) porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Init:              func() []any { return []any{node{}} },
		Step:              func(state, input, _ any) []any { return anys(state.(node).step(rid, input.(*call))) },
		DescribeOperation: func(input, _ any) string { return input.(*call).String() },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}).ToModel()
}

// step are the states in which a node can be after a call that was answered as it was; there is none if it cannot be. It is given
// the calls that [touches] names.
func (n node) step(rid wire.RID, c *call) []node {
	states := n.decide(rid, c)
	for _, s := range n.withoutShort() {
		states = append(states, s.decide(rid, c)...)
	}
	return states
}

func (n node) decide(rid wire.RID, c *call) []node {
	switch {
	case c.outcome == unknown && c.group != nil:
		return append(n.mayHaveInGroup(rid, c), n)
	case c.group != nil:
		return n.inGroup(rid, c)
	case c.outcome == unknown:
		return append(n.mayHave(rid, c), n)
	}
	switch r := c.request.(type) {
	case *wire.MeshNodeUpdateRequest:
		return []node{n.described(&r.Descriptor)}
	case *wire.MeshNodeRemoveRequest:
		return n.removed().only(n.known)
	case *wire.OwnerRemoveAllRequest:
		for _, e := range c.removed {
			n = n.changed(rid, e)[0]
		}
		return []node{n}
	case *wire.MeshNodeListRequest:
		return n.only(n.listed(rid, c.reply.(*wire.MeshNodeListReply)))
	}
	if c.removes() {
		return []node{n.without(c.object())}
	}
	if c.reply.(*wire.ObjectReserveReply).Kind == wire.KindPlacementCapacityExhausted {
		return n.only(n.known && n.full(c.object()))
	}
	return n.allocated(rid, c.object(), c.snapshot())
}

// mayHave are the states after a call of unknown outcome that did something: one change, or, since owner.remove-all may make
// several at once, some whose revisions follow one another.
func (n node) mayHave(rid wire.RID, c *call) (states []node) {
	for i := range c.maybe {
		now := []node{n}
		for j := i; j < len(c.maybe) && len(now) > 0; j++ {
			if j > i && (c.op != subjects.OwnerRemoveAll || c.maybe[j].revision != c.maybe[j-1].revision+1) {
				break
			}
			now = now[0].changed(rid, c.maybe[j])
			states = append(states, now...)
		}
	}
	return states
}

// changed is the node after a change.
func (n node) changed(rid wire.RID, e *event) []node {
	switch {
	case e.kind == wire.EventMeshNode && e.key != string(rid), e.kind == wire.EventSpot:
		return []node{n}
	case e.node != nil:
		return []node{n.described(e.node)}
	case e.kind == wire.EventMeshNode:
		return []node{n.removed()}
	case e.object != nil:
		return n.allocated(rid, e.key, e.object)
	}
	return []node{n.without(e.key)}
}

// allocated is the node after an object was reserved here, for which there must be room, or elsewhere.
func (n node) allocated(rid wire.RID, key string, a *wire.Authority) []node {
	next := n.without(key)
	if a.Allocation.Descriptor.RID != rid {
		return []node{next}
	}
	next.holds |= 1 << indexOf(key)
	return next.only(n.known && !n.full(key))
}

func (n node) described(d *wire.MeshNodeDescriptor) node {
	n.known, n.limits = true, [2]uint32{d.PopulationCapacity.Actors.Limit, d.PopulationCapacity.Spots.Limit}
	return n
}

func (n node) removed() node { return node{holds: n.holds, coming: n.coming} }

// listed tells whether a list shows the node as it is.
func (n node) listed(rid wire.RID, r *wire.MeshNodeListReply) bool {
	i := slices.IndexFunc(r.Items, func(i wire.MeshNodeItem) bool { return i.RID == rid })
	if i < 0 {
		return !n.known
	}
	p := r.Items[i].PopulationCapacity
	return n.known && n.limits == [2]uint32{p.Actors.Limit, p.Spots.Limit} &&
		n.used() == [2]uint32{p.Actors.Active + p.Actors.Reserved, p.Spots.Active + p.Spots.Reserved}
}

func (n node) only(holds bool) []node {
	if holds {
		return []node{n}
	}
	return nil
}

// touches tells whether a call changed what [node] is about, or may have, or showed it.
func touches(rid wire.RID, c *call) bool {
	if c.group != nil {
		return touchesInGroup(rid, c)
	}
	if c.outcome == unknown {
		return slices.ContainsFunc(c.maybe, func(e *event) bool {
			return e.kind == wire.EventMeshNode && e.key == string(rid) || e.kind == wire.EventAuthority && (e.object == nil || creates(c))
		})
	}
	switch r := c.request.(type) {
	case *wire.MeshNodeUpdateRequest:
		return r.Descriptor.RID == rid && c.reply.(*wire.UpdateReply).Status == wire.StatusStored
	case *wire.MeshNodeRemoveRequest:
		return r.RID == rid && c.reply.(*wire.RemoveReply).Status == wire.StatusStored
	case *wire.MeshNodeListRequest:
		return c.fresh
	case *wire.OwnerRemoveAllRequest:
		return len(c.removed) > 0
	case *wire.ObjectReserveRequest, *wire.ObjectPlaceRequest:
		return createdOn(rid, r, c)
	}
	return c.removes()
}

// touchesInGroup leaves out the calls on aggregates that changed nothing.
func touchesInGroup(rid wire.RID, c *call) bool {
	switch c.op {
	case subjects.AggregatePrepare:
		return c.group.target.NodeRID == rid && (c.outcome == unknown || c.outcome == answered && c.said() == string(wire.KindPrepared))
	case subjects.AggregateCommit:
		return c.outcome == unknown && len(c.maybe) > 0 || c.outcome == answered && c.said() == string(wire.KindCommitted)
	case subjects.AggregateAbort:
		return c.group.target.NodeRID == rid && (c.outcome == unknown || c.outcome == answered && c.said() == string(wire.KindAborted))
	}
	return false
}

// creates tells whether a request is one to reserve an object.
func creates(c *call) bool {
	return c.op == subjects.ObjectReserve || c.op == subjects.ObjectPlace
}

// createdOn leaves out the refusals, save that of a node named by the caller which is full, and the repetitions.
func createdOn(rid wire.RID, req any, c *call) bool {
	reply := c.reply.(*wire.ObjectReserveReply)
	if reply.Kind == wire.KindReserved {
		return c.revision == versionOf(reply.Creating.StoreVersion)
	}
	r, ok := req.(*wire.ObjectReserveRequest)
	return ok && reply.Kind == wire.KindPlacementCapacityExhausted && r.Target.NodeRID == rid
}
