package domain

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// plan is all that a commit of an aggregate needs to know of its participants. It is
// made when the aggregate is prepared, so that the commit costs little; it holds as
// long as the rows that it was made from are the ones in the state.
type plan struct {
	// inventory is nil in a plan of what can be told of a damaged one.
	inventory    *inventory
	participants []participant // in key order
	// owners are the tokens of preserve participants, each once.
	owners []wire.OwnerToken
	// joins are the user spots that members change to, each once.
	joins []wire.Membership
	// derived is what the commit changes in indexes and sums; nil is for the store to
	// find out.
	derived *kvstore.Derived
}

// participant is an authority and what the aggregate does to it.
type participant struct {
	row    *kvstore.Row
	staged *staged
	lost   error // why nobody can tell what the aggregate does; else nil
}

// fits tells whether the participants are in the state as the plan has them.
func (p *plan) fits(s *kvstore.State) bool {
	get := s.Getter()
	for i := range p.participants {
		if get(p.participants[i].row.Key) != p.participants[i].row {
			return false
		}
	}
	return true
}

// holds tells whether the plan can be relied on: everything it was made from is still
// there, the same rows.
func (p *plan) holds(v kvstore.View, f wire.Fence) bool {
	return sameRows(v, indexPrefix(FamilyInventory, f), p.inventory.pages) &&
		sameRows(v, indexPrefix(FamilyParticipant, f), p.inventory.rows) && p.fits(v.State())
}

// planner makes the plan of an aggregate from its inventory, as far as what it finds
// does not stand against that.
type planner struct {
	view   kvstore.View
	fence  wire.Fence
	target wire.Target
	plan   *plan

	owners   map[wire.OwnerToken]bool
	joins    map[wire.Membership]bool
	sum      vector // of all newOwner participants
	types    map[counted]bool
	headroom vector // of those that are elsewhere
	sums     map[string]int64
	derived  *kvstore.Derived

	entriesSHA256 []byte
}

func newPlanner(v kvstore.View, f wire.Fence, target wire.Target, inv *inventory) *planner {
	return &planner{
		view: v, fence: f, target: target,
		plan:   &plan{inventory: inv, participants: make([]participant, 0, len(inv.entries))},
		owners: make(map[wire.OwnerToken]bool), joins: make(map[wire.Membership]bool),
		sum: make(vector), types: make(map[counted]bool), headroom: make(vector),
		sums: make(map[string]int64), derived: new(kvstore.Derived),
	}
}

// holds tells whether the plan is as it would be made in a view: the same rows, and none
// of them locked meanwhile.
func (p *planner) holds(v kvstore.View) bool {
	return p.plan.holds(v, p.fence) && (v.Stamp(lockScope) == p.view.Stamp(lockScope) || p.free(v))
}

// free tells whether no other aggregate locks a participant.
func (p *planner) free(v kvstore.View) bool {
	for i := range p.plan.participants {
		other, err := lockOf(v, p.plan.participants[i].row.Key)
		if err != nil || other != nil && other.Fence != p.fence {
			return false
		}
	}
	return true
}

// run takes in every participant; ok is false as soon as one cannot take part.
func (p *planner) run() (ok bool, err error) {
	get := p.view.State().Getter()
	for _, s := range p.plan.inventory.staged {
		if ok, err := p.add(get(s.authority()), s); err != nil || !ok {
			return false, err
		}
	}
	p.finish()
	return true, nil
}

// add takes in one participant.
func (p *planner) add(r *kvstore.Row, s *staged) (ok bool, err error) {
	if r == nil {
		return false, nil
	}
	at, err := placeOf(r) // whether all of the record can be read
	if err != nil {
		return false, err
	}
	h, err := authorityHeadOf(r)
	if err != nil {
		return false, err
	}
	if at.reserved || wire.Version(h.visible(r).String()) != s.ExpectedStoreVersion {
		return false, nil
	}
	if other, err := lockOf(p.view, r.Key); err != nil || other != nil && other.Fence != p.fence {
		return false, err
	}
	p.plan.participants = append(p.plan.participants, participant{row: r, staged: s})
	p.count(&h, s)
	p.derive(r.Key, &h, s)
	return true, nil
}

// count notes whom and what the participant's change depends on.
func (p *planner) count(h *authorityHead, s *staged) {
	if m := s.Membership; m != nil && m.SpotKind == wire.MembershipUser && *m != h.membership {
		p.joins[*m] = true
	}
	if !s.moves() {
		p.owners[h.token] = true
		return
	}
	c := h.allocation.Capacity
	p.sum.add(c)
	if t := c.SpotType; t != nil && t.Count > 0 {
		p.types[countType(t.ObjectKind, t.StableType)] = true
	}
	if h.allocation.Descriptor != p.target.Node() {
		p.headroom.add(c)
	}
}

// derive notes what the participant's change does to indexes and sums.
func (p *planner) derive(k kvstore.Key, h *authorityHead, s *staged) {
	after := s.head(*h, &p.target)
	old, now := h.indexes(), after.indexes()
	for _, e := range old {
		if !slices.Contains(now, e) {
			p.derived.Removed = append(p.derived.Removed, kvstore.IndexedKey{IndexEntry: e, Key: k})
		}
	}
	for _, e := range now {
		if !slices.Contains(old, e) {
			p.derived.Added = append(p.derived.Added, kvstore.IndexedKey{IndexEntry: e, Key: k})
		}
	}
	if after.allocation.Descriptor == h.allocation.Descriptor {
		return
	}
	for _, a := range h.amounts() {
		p.sums[a.Sum] -= a.N
	}
	for _, a := range after.amounts() {
		p.sums[a.Sum] += a.N
	}
}

func (p *planner) finish() {
	p.plan.owners = slices.Collect(maps.Keys(p.owners))
	p.plan.joins = slices.Collect(maps.Keys(p.joins))
	for _, name := range slices.Sorted(maps.Keys(p.sums)) {
		p.derived.Sums = append(p.derived.Sums, kvstore.Amount{Sum: name, N: p.sums[name]})
	}
	p.plan.derived = p.derived
	p.entriesSHA256 = p.plan.inventory.entriesSHA256()
}

// planAgain makes the plan of an aggregate that is committed from what there is: all
// participants that were not written since. What is lost makes the participants lost
// that it is about. others are rows that nobody could read, as they were before, of
// participants that need no plan.
func planAgain(s *kvstore.State, a *aggregate) (p *plan, others []*kvstore.Row) {
	known := make(map[kvstore.Key]participant)
	v := s.View(0)
	for k := range participantKeys(s, a.Fence) {
		is := s.Get(k)
		r := legible(is, a.Fence)
		switch {
		case r == nil:
		case r.Revision >= kvstore.Revision(a.Commit):
			if r != is {
				others = append(others, r)
			}
		default:
			known[k] = participant{row: r, lost: &kvstore.DataLostError{
				Key: k, Cause: errors.New("participant of a committed aggregate whose staged data is lost"),
			}}
		}
	}
	for r := range v.Scan(indexPrefix(FamilyInventory, a.Fence), "") {
		page, err := kvstore.Decoded(r, decodePage)
		if err != nil {
			continue
		}
		for i := range page.entries {
			e := &page.entries[i]
			st, err := e.find(s.Get(indexKey(FamilyParticipant, a.Fence, e.Index)), a.Fence)
			part, ok := known[e.authority()]
			switch {
			case !ok:
				continue
			case err != nil:
				part.lost = err
			default:
				part.staged, part.lost = st, nil
			}
			known[part.row.Key] = part
		}
	}
	p = new(plan)
	for _, k := range sortedKeys(known) {
		p.participants = append(p.participants, known[k])
	}
	return p, others
}

func sortedKeys[V any](m map[kvstore.Key]V) []kvstore.Key { return slices.Sorted(maps.Keys(m)) }

// liveOwners tells whether the tokens of all preserve participants are live.
func (p *plan) liveOwners(v kvstore.View) (bool, error) {
	for _, t := range p.owners {
		if live, err := isLive(v, t); err != nil || !live {
			return false, err
		}
	}
	return true, nil
}

// accepted tells whether the user spots accept the members that change to them. One
// that takes part itself counts as not locked, and as the target owner's if it moves.
func (p *plan) accepted(v kvstore.View) (bool, error) {
	for i := range p.joins {
		ok, err := p.accepts(v, &p.joins[i])
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (p *plan) accepts(v kvstore.View, m *wire.Membership) (bool, error) {
	k := AuthorityKey(wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: m.SpotID})
	i, ok := slices.BinarySearchFunc(p.participants, k, func(part participant, k kvstore.Key) int {
		return cmp.Compare(part.row.Key, k)
	})
	if !ok {
		return accepts(v, m)
	}
	spot, err := decodeAuthority(p.participants[i].row)
	if err != nil || !spot.open(m) {
		return false, err
	}
	return true, nil // the target's owner and those of preserve participants are live
}
