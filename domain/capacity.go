package domain

import (
	"math"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// The usage of a node is not stored: it is a set of sums that the store keeps over
// the authorities allocated to the node. Each sum is about what is counted (actors,
// spots, or the spots of a type), a state, and a node.

// counted says what a sum counts. The zero values are not used.
type counted struct {
	kind       string // countActors, countSpots or a wire.SpotObjectKind
	stableType string // of a wire.SpotObjectKind
}

var (
	countActors = counted{kind: "actors"}
	countSpots  = counted{kind: "spots"}
)

func countType(kind wire.SpotObjectKind, stableType string) counted {
	return counted{string(kind), stableType}
}

// sumName names a sum. The routing id comes last, because it may hold any byte.
func (c counted) sumName(state wire.AllocationState, node wire.DescriptorKey) string {
	const sep = kvstore.Separator
	return c.kind + sep + c.stableType + sep + string(state) + sep + node.MeshName + sep + string(node.RID)
}

// vector is a capacity vector taken apart.
type vector map[counted]int64

// add adds a capacity vector.
func (v vector) add(c wire.Capacity) {
	for what, n := range counts(c) {
		v[what] += n
	}
}

// counts lists the positive counts of a capacity vector.
func counts(c wire.Capacity) func(yield func(counted, int64) bool) {
	return func(yield func(counted, int64) bool) {
		if c.Actors > 0 && !yield(countActors, int64(c.Actors)) {
			return
		}
		if c.Spots > 0 && !yield(countSpots, int64(c.Spots)) {
			return
		}
		if t := c.SpotType; t != nil && t.Count > 0 {
			yield(countType(t.ObjectKind, t.StableType), int64(t.Count))
		}
	}
}

// amounts are what an authority adds to sums. Names of sums are shared by many rows, so
// each is kept once.
func (h *authorityHead) amounts() (amounts []kvstore.Amount) {
	for what, n := range counts(h.allocation.Capacity) {
		name := what.sumName(h.allocation.State, h.allocation.Descriptor)
		amounts = append(amounts, kvstore.Amount{Sum: shared(name), N: n})
	}
	return amounts
}

// used is what of a kind of count is in use at a node.
func used(v kvstore.View, node wire.DescriptorKey, what counted) (active, reserved int64) {
	return v.Sum(what.sumName(wire.AllocationActive, node)), v.Sum(what.sumName(wire.AllocationReserved, node))
}

// limitOf is the limit of a descriptor for a count; false when there is no room
// whatever the numbers.
func limitOf(d *wire.MeshNodeDescriptor, what counted) (limit uint32, ok bool) {
	p := &d.PopulationCapacity
	switch what {
	case countActors:
		return p.Actors.Limit, true
	case countSpots:
		return p.Spots.Limit, true
	}
	for i := range p.SpotTypes {
		if t := &p.SpotTypes[i]; countType(t.ObjectKind, t.StableType) == what {
			return t.Limit, true
		}
	}
	return 0, false
}

// hasRoom tells whether a node has room for a capacity vector, when as much as
// returned is given back to it. It fails when there is an authority of which nobody
// can tell where it counts, and that matters.
func hasRoom(v kvstore.View, d *wire.MeshNodeDescriptor, wanted wire.Capacity, returned vector) (bool, error) {
	node := wire.DescriptorKey{MeshName: d.MeshName, RID: d.RID}
	for what, n := range counts(wanted) {
		limit, ok := limitOf(d, what)
		if !ok {
			return false, nil
		}
		if limit == 0 {
			continue
		}
		if err := checkAuthorities(v, ""); err != nil {
			return false, err
		}
		active, reserved := used(v, node, what)
		if active+reserved-returned[what]+n > int64(limit) {
			return false, nil
		}
	}
	return true, nil
}

// withUse is the capacity of a descriptor with the node's usage filled in.
// Authorities of which nobody can tell where they count are left out.
func withUse(v kvstore.View, d *wire.MeshNodeDescriptor) wire.PopulationCapacity {
	node := wire.DescriptorKey{MeshName: d.MeshName, RID: d.RID}
	count := func(u *wire.Usage, what counted) {
		active, reserved := used(v, node, what)
		u.Active, u.Reserved = shown(active), shown(reserved)
	}
	p := d.PopulationCapacity
	count(&p.Actors, countActors)
	count(&p.Spots, countSpots)
	p.SpotTypes = append(make([]wire.SpotTypeUsage, 0, len(p.SpotTypes)), p.SpotTypes...)
	for i := range p.SpotTypes {
		t := &p.SpotTypes[i]
		count(&t.Usage, countType(t.ObjectKind, t.StableType))
	}
	return p
}

// shown is a sum as a reply has it: counts end at 2^32-1.
func shown(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
