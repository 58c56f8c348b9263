package histories_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/wire"
)

// chronicle is the state of the directory at a revision, as the stream of changes tells it. It judges the answers that depend on
// several rows, which the models of single things leave open.
type chronicle struct {
	objects map[string]*entry          // by text form
	leases  map[string]wire.OwnerToken // by owner
	nodes   map[wire.RID]*wire.MeshNodeDescriptor
	spots   map[string]*wire.Spot
	locks   locks
}

// entry is an object, with the reservation that it came from, which its record does not show once it is active.
type entry struct {
	*wire.Authority
	reservation string
}

func newChronicle() *chronicle {
	return &chronicle{
		objects: make(map[string]*entry), leases: make(map[string]wire.OwnerToken), nodes: make(map[wire.RID]*wire.MeshNodeDescriptor),
		locks: newLocks(), spots: make(map[string]*wire.Spot),
	}
}

// retrace goes through the changes and judges every answered call in the state in which it was decided.
func retrace(calls []*call, events []*event) (faults []error) {
	locks := lockChanges(calls)
	calls = slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return c.outcome != answered })
	slices.SortStableFunc(calls, func(a, b *call) int { return cmp.Compare(a.decidedAt(), b.decidedAt()) })
	s := newChronicle()
	next := 0
	for _, c := range calls {
		for ; next < len(events) && events[next].revision <= c.decidedAt(); next++ {
			s.apply(events[next])
		}
		for len(locks) > 0 && locks[0].revision <= c.decidedAt() {
			s.locks.apply(locks[0])
			locks = locks[1:]
		}
		if err := s.judge(c); err != nil {
			faults = append(faults, fmt.Errorf("at revision %d: %w: %v", c.decidedAt(), err, c))
		}
	}
	return faults
}

// decidedAt is the revision of the state that the answer is about: that before its own write, if it made one.
func (c *call) decidedAt() uint64 {
	switch {
	case c.made != nil:
		return c.made.revision - 1
	case len(c.removed) > 0:
		return c.revision - uint64(len(c.removed))
	case writesSilently[c.said()]:
		return c.revision - 1
	}
	return c.revision
}

// writesSilently are answers that tell of a write without an event of its own.
var writesSilently = map[string]bool{
	string(wire.KindRenewed): true, string(wire.KindPrepared): true,
	string(wire.KindCommitted): true, // of an aggregate: the events are its participants'
	string(wire.KindAborted):   true,
}

func (s *chronicle) apply(e *event) {
	switch {
	case e.object != nil:
		s.objects[e.key] = &entry{e.object, s.reservationOf(e)}
	case e.node != nil:
		s.nodes[e.node.RID] = e.node
	case e.spot != nil:
		s.spots[e.key] = e.spot
	case e.lease != nil:
		s.leases[e.key] = e.lease.OwnerToken
	case e.change != wire.ChangeRemoved: // a row whose owner ended stays
	case e.kind == wire.EventAuthority:
		delete(s.objects, e.key)
	case e.kind == wire.EventSpot:
		delete(s.spots, e.key)
	case e.kind == wire.EventMeshNode:
		delete(s.nodes, wire.RID(e.key))
	case e.kind == wire.EventOwnerLease:
		delete(s.leases, e.key)
	}
}

func (s *chronicle) reservationOf(e *event) string {
	if e.object.PendingCreation != nil {
		return e.object.PendingCreation.ReservationID
	}
	if before := s.objects[e.key]; before != nil && before.ObjectGeneration == e.object.ObjectGeneration {
		return before.reservation
	}
	return "" // made anew by its owner
}

func (s *chronicle) live(t wire.OwnerToken) bool { return s.leases[t.OwnerID] == t }

// serves is "live target" of 1.11.
func (s *chronicle) serves(t wire.Target) bool {
	d := s.nodes[t.NodeRID]
	return d != nil && d.LifecycleGeneration == t.NodeLifecycleGeneration && d.OwnerToken == t.Owner &&
		d.State == wire.StateServing && s.live(t.Owner)
}

// ended is 1.11.
func (s *chronicle) ended(e *entry) bool {
	if e.Allocation.State == wire.AllocationActive {
		return !s.live(ownerOf(e.Authority))
	}
	d := s.nodes[e.Allocation.Descriptor.RID]
	return !s.live(ownerOf(e.Authority)) || d == nil || d.LifecycleGeneration != e.Allocation.DescriptorLifecycleGeneration
}

// usage is what of a node is in use, without one object: actors and spots. 1.10
func (s *chronicle) usage(rid wire.RID, without string) (active, reserved [2]uint32) {
	for key, e := range s.objects {
		if e.Allocation.Descriptor.RID != rid || key == without {
			continue
		}
		if e.Allocation.State == wire.AllocationActive {
			active[kindOf(key)]++
		} else {
			reserved[kindOf(key)]++
		}
	}
	headroom := s.headroom(rid)
	reserved[0], reserved[1] = reserved[0]+headroom[0], reserved[1]+headroom[1]
	return active, reserved
}

// room tells whether a node can take an object, which frees its own place.
func (s *chronicle) room(rid wire.RID, key string) bool {
	kind := kindOf(key)
	active, reserved := s.usage(rid, key)
	p := s.nodes[rid].PopulationCapacity
	limit := []uint32{p.Actors.Limit, p.Spots.Limit}[kind]
	return limit == 0 || active[kind]+reserved[kind] < limit
}

// shows tells whether an answer shows an object as it is, which may be that there is none.
func (s *chronicle) shows(c *call) bool {
	e, a := s.objects[c.object()], c.snapshot()
	if e == nil {
		return c.missing()
	}
	return a != nil && sameRecord(e.Authority, a) && a.Live != nil && *a.Live == s.live(ownerOf(a))
}
