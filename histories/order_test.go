package histories_test

import (
	"cmp"
	"fmt"
	"slices"
)

// inOrder checks the events by themselves: ascending, none twice, and every generation greater than those before it.
func inOrder(events []*event) (faults []error) {
	last := make(map[row]uint64)
	for i, e := range events {
		if i > 0 && cmp.Or(cmp.Compare(events[i-1].revision, e.revision), cmp.Compare(events[i-1].index, e.index)) >= 0 {
			faults = append(faults, fmt.Errorf("change %v after %v", e, events[i-1]))
		}
		if g := e.generation(); g > 0 {
			k := row{e.kind, e.key}
			if g < last[k] {
				faults = append(faults, fmt.Errorf("generation %d after %d: %v", g, last[k], e))
			}
			last[k] = max(last[k], g)
		}
	}
	return faults
}

// generation is the generation that must grow from one incarnation of a row to the next; 0 when the event has none.
func (e *event) generation() uint64 {
	switch {
	case e.object != nil:
		return uint64(e.object.ObjectGeneration)
	case e.node != nil:
		return uint64(e.node.Generation)
	case e.lease != nil:
		return uint64(e.lease.LeaseGeneration)
	case e.spot != nil:
		return uint64(e.spot.Generation)
	}
	return 0
}

// inTime checks the revisions by the clock: who asks after somebody was told of a revision is not told of an older state, unless
// it is a read that may be of any age; that one is as new as it asked for.
func inTime(calls []*call) (faults []error) {
	var told []*call
	for _, c := range calls {
		if c.outcome == answered {
			told = append(told, c)
		}
	}
	byReturn := slices.Clone(told)
	slices.SortFunc(told, func(a, b *call) int { return cmp.Compare(a.called, b.called) })
	slices.SortFunc(byReturn, func(a, b *call) int { return cmp.Compare(a.returned, b.returned) })
	var newest *call
	next := 0
	for _, c := range told {
		for ; byReturn[next].returned < c.called; next++ {
			if newest == nil || byReturn[next].revision > newest.revision {
				newest = byReturn[next]
			}
		}
		switch {
		case c.fresh && newest != nil && c.revision < newest.revision:
			faults = append(faults, fmt.Errorf("older than what was told before it was asked for: %v, before: %v", c, newest))
		case c.revision < c.min:
			faults = append(faults, fmt.Errorf("older than revision %d, which was asked for: %v", c.min, c))
		}
	}
	return faults
}
