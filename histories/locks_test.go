package histories_test

import (
	"cmp"
	"iter"
	"slices"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// lockChange is what becomes of the locks of an aggregate at a revision. Preparing and aborting make no events, so that it is
// known from what callers were told, and sometimes in part only.
type lockChange struct {
	revision uint64
	group    *group
	to       lock
}

type lock int

const (
	free    lock = iota
	mayHold      // the aggregate is prepared, or is not
	mayFree      // from here on it may be aborted
	holds        // it is prepared
)

// lockChanges are those that the calls tell of, in the order of their revisions. What a call of unknown outcome does, it does
// after the revisions that were known when it was made.
func lockChanges(calls []*call) (list []lockChange) {
	for _, c := range calls {
		switch {
		case c.group == nil:
		case c.outcome == answered:
			switch c.said() {
			case string(wire.KindPrepared):
				list = append(list, lockChange{c.revision, c.group, holds})
			case string(wire.KindCommitted), string(wire.KindAborted):
				list = append(list, lockChange{c.revision, c.group, free})
			}
		case c.op == subjects.AggregatePrepare && c.outcome == unknown:
			list = append(list, lockChange{c.since, c.group, mayHold})
		case c.op == subjects.AggregateAbort && c.outcome == unknown:
			list = append(list, lockChange{c.since, c.group, mayFree})
		case c.op == subjects.AggregateCommit && len(c.maybe) > 0:
			list = append(list, lockChange{c.maybe[0].revision, c.group, free})
		}
	}
	slices.SortStableFunc(list, func(a, b lockChange) int { return cmp.Compare(a.revision, b.revision) })
	return list
}

// locks are the aggregates that are, or may be, prepared.
type locks struct {
	certain, perhaps map[*group]bool
	ended            map[*group]bool // that were committed or aborted: they are never prepared again
	doubtful         map[*group]bool // that may be aborted without a word
	held             []*group        // what is taken to be prepared, while a call is judged
}

func newLocks() locks {
	return locks{
		certain: make(map[*group]bool), perhaps: make(map[*group]bool), ended: make(map[*group]bool), doubtful: make(map[*group]bool),
	}
}

func (l *locks) apply(c lockChange) {
	g := c.group
	switch c.to {
	case free:
		l.ended[g] = true
		delete(l.certain, g)
		delete(l.perhaps, g)
	case mayHold:
		l.perhaps[g] = !l.ended[g] && !l.certain[g]
	case holds:
		l.certain[g], l.perhaps[g] = !l.doubtful[g] && !g.short, l.doubtful[g] || g.short
	case mayFree:
		l.doubtful[g] = true
		l.perhaps[g] = l.perhaps[g] || l.certain[g]
		l.certain[g] = false
	}
}

// alternatives are the sets of aggregates that can be prepared now.
func (s *chronicle) alternatives() iter.Seq[[]*group] {
	var certain, perhaps []*group
	for g, ok := range s.locks.certain {
		if ok {
			certain = append(certain, g)
		}
	}
	for g, ok := range s.locks.perhaps {
		if ok && s.unchanged(g) {
			perhaps = append(perhaps, g)
		}
	}
	return func(yield func([]*group) bool) { choose(certain, perhaps, yield) }
}

// choose yields sets that hold all of some and any of others, no two of which share an object.
func choose(held, others []*group, yield func([]*group) bool) bool {
	if len(others) == 0 {
		return yield(held)
	}
	g, rest := others[0], others[1:]
	if !choose(held, rest, yield) {
		return false
	}
	for _, h := range held {
		if h.all()&g.all() != 0 {
			return true
		}
	}
	return choose(append(slices.Clone(held), g), rest, yield)
}

// unchanged tells whether all participants are as they were to be when the group is prepared; nobody can change them while it is.
func (s *chronicle) unchanged(g *group) bool {
	for i := range g.participants {
		p := &g.participants[i]
		e := s.objects[p.AuthorityKey.Text()]
		if e == nil || e.Allocation.State != wire.AllocationActive || e.StoreVersion != p.ExpectedStoreVersion {
			return false
		}
	}
	return true
}

// locker is the aggregate that an object is taken to be locked by; nil when it is not.
func (s *chronicle) locker(key string) *group {
	for _, g := range s.locks.held {
		if g.participant(key) != nil {
			return g
		}
	}
	return nil
}

// headroom is what the prepared aggregates have reserved on a node: actors and spots. 8.4
func (s *chronicle) headroom(rid wire.RID) (n [2]uint32) {
	for _, g := range s.locks.held {
		if g.target.NodeRID == rid {
			needs := s.needs(g)
			n[0], n[1] = n[0]+needs[0], n[1]+needs[1]
		}
	}
	return n
}

// needs is the headroom of a group.
func (s *chronicle) needs(g *group) (n [2]uint32) {
	for i := range g.participants {
		p := &g.participants[i]
		e := s.objects[p.AuthorityKey.Text()]
		if p.OwnerTransition == wire.OwnerNew && e != nil && e.Allocation.Descriptor.RID != g.target.NodeRID {
			n[kindOf(p.AuthorityKey.Text())]++
		}
	}
	return n
}

// prepare is 8.3. Whether everything is staged is not known here.
func (s *chronicle) prepare(c *call) []string {
	g := c.group
	switch {
	case slices.Contains(s.locks.held, g):
		return []string{"alreadyPrepared"}
	case s.locks.ended[g]:
		return []string{"stale", "conflict"}
	case s.preparable(g) && g.inline && !s.locks.doubtful[g] && !g.short:
		return []string{"prepared"}
	case s.preparable(g):
		return []string{"prepared", "conflict", "stale"}
	}
	return []string{"conflict", "stale"}
}

func (s *chronicle) preparable(g *group) bool {
	if !s.agrees(g) || !s.unchanged(g) {
		return false
	}
	for i := range g.participants {
		if s.locker(g.participants[i].AuthorityKey.Text()) != nil {
			return false
		}
	}
	p := s.nodes[g.target.NodeRID].PopulationCapacity
	active, reserved := s.usage(g.target.NodeRID, "")
	needs := s.needs(g)
	for kind, limit := range []uint32{p.Actors.Limit, p.Spots.Limit} {
		if needs[kind] > 0 && limit > 0 && active[kind]+reserved[kind]+needs[kind] > limit {
			return false
		}
	}
	return true
}

// agrees tells whether everybody who must be live is.
func (s *chronicle) agrees(g *group) bool {
	for i := range g.participants {
		p := &g.participants[i]
		e := s.objects[p.AuthorityKey.Text()]
		if p.OwnerTransition == wire.OwnerPreserve && (e == nil || !s.live(ownerOf(e.Authority))) {
			return false
		}
	}
	return s.serves(g.target)
}

// commitGroup is 8.6.
func (s *chronicle) commitGroup(c *call) []string {
	if slices.Contains(s.locks.held, c.group) {
		return either(s.agrees(c.group), "committed", "stale")
	}
	return []string{"stale", "alreadyCommitted"}
}

// judgeLock is aggregate.find.
func (s *chronicle) judgeLock(c *call) error {
	reply, g := c.reply.(*wire.AggregateFindReply), s.locker(c.object())
	prepared := reply.Kind == wire.KindFound && reply.Aggregate.State == wire.AggregatePrepared
	return unless(prepared == (g != nil) && (g == nil || reply.Aggregate.Fence == g.fence), "the object is locked by %s", text(g))
}
