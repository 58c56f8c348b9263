package domain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// projection is what the commit of an aggregate makes of a participant's authority. The
// state of the store shows it in place of the stored row (kvstore.Row.Over), so that
// every reader, index and sum has it at once.
type projection struct {
	// base is the row before: as it is stored, or as an earlier aggregate makes it read.
	base *kvstore.Row
	// staged is what the aggregate does to the participant, move what it does to all.
	staged *staged
	move   *move
	// lost says why nobody can tell what the row reads as; else nil.
	lost error
}

// move is what is common to the participants of an aggregate that is committed.
type move struct {
	fence  wire.Fence
	target wire.Target
	commit kvstore.Revision
}

// aggregate returns the aggregate that made the projection; nil when it is gone.
func (p *projection) aggregate(v kvstore.View) (*aggregate, error) {
	if p.lost != nil {
		return nil, p.lost
	}
	return findAggregate(v, p.move.fence)
}

// record is the base's record as the aggregate makes it read.
func (p *projection) record(r *authorityRecord) {
	r.VisibleRevision = 0 // that of the row counts
	r.Payload = p.staged.AuthorityPayload
	if m := p.staged.Membership; m != nil {
		r.Membership = m
	}
	if !p.staged.moves() {
		return
	}
	t := &p.move.target
	r.AuthorityOwnerGeneration = wire.Generation(p.move.commit)
	r.OwnerID, r.OwnerLeaseGeneration = t.Owner.OwnerID, t.Owner.LeaseGeneration
	r.Allocation.Descriptor, r.Allocation.DescriptorLifecycleGeneration = t.Node(), t.NodeLifecycleGeneration
}

// head is the base's head as the aggregate makes it read.
func (s *staged) head(h authorityHead, target *wire.Target) authorityHead {
	if s.Membership != nil {
		h.membership = *s.Membership
	}
	if s.moves() {
		h.token, h.allocation.Descriptor = target.Owner, target.Node()
	}
	return h
}

// projected returns what a row reads as that an aggregate has changed.
func projected(r *kvstore.Row, p *projection) (*authority, error) {
	if p.lost != nil {
		return nil, p.lost
	}
	base, err := decodeAuthority(p.base)
	if err != nil {
		return nil, err
	}
	a := &authority{authorityRecord: base.authorityRecord, row: r}
	p.record(&a.authorityRecord)
	return a, nil
}

// overlayOf is the Overlay function of the schema.
func overlayOf(s *kvstore.State, e kvstore.Entry) *kvstore.Overlay {
	ofPage := e.Key.HasPrefix(inventoryPrefix)
	if !ofPage && !e.Key.HasPrefix(aggregatePrefix) {
		return nil
	}
	f, err := fenceOf(e.Key)
	if err != nil {
		return nil // not a key that a rule wrote, and no participant names it
	}
	if ofPage {
		return pageOverlay(s, f, e)
	}
	if e.Row == nil {
		if !mayHaveChanged(e.Prior) {
			return nil
		}
		return blind(s, f, &kvstore.DataLostError{Key: e.Key, Cause: errors.New("aggregate was removed before it was settled")})
	}
	a, err := kvstore.Decoded(e.Row, decodeAggregate)
	switch {
	case err != nil:
		return blind(s, f, err)
	case a.unsettled():
		return commitOverlay(s, a, e.Prior)
	}
	if e.Prior != nil {
		if _, err := kvstore.Decoded(e.Prior, decodeAggregate); err == nil {
			return nil
		}
	}
	return restored(s, f)
}

// mayHaveChanged tells whether the participants of an aggregate whose row was removed
// may have been changed by it, or be locked.
func mayHaveChanged(prior *kvstore.Row) bool {
	if prior == nil {
		return true
	}
	a, err := kvstore.Decoded(prior, decodeAggregate)
	return err != nil || a.is(wire.AggregatePrepared) || a.unsettled()
}

// commitOverlay changes the participants of an aggregate that is committed, all but
// those that were written since. The plan is the one of the row before, where that is
// known and fits.
func commitOverlay(s *kvstore.State, a *aggregate, prior *kvstore.Row) *kvstore.Overlay {
	p := a.plan.Load()
	if before := priorAggregate(prior); p == nil && before != nil {
		p = before.plan.Load()
	}
	var others []*kvstore.Row
	if p == nil || !a.checked && !p.fits(s) {
		p, others = planAgain(s, a)
	}
	m := &move{a.Fence, a.Request.Target, kvstore.Revision(a.Commit)}
	rows, projections := make([]kvstore.Row, len(p.participants)), make([]projection, len(p.participants))
	o := &kvstore.Overlay{Rows: make([]*kvstore.Row, len(p.participants)), Derived: p.derived}
	for i := range p.participants {
		part := &p.participants[i]
		projections[i] = projection{base: part.row, staged: part.staged, move: m, lost: part.lost}
		r := &rows[i]
		r.Key, r.Value, r.Revision, r.Over = part.row.Key, part.row.Value, m.commit, &projections[i]
		o.Rows[i] = r
	}
	if len(others) > 0 {
		o.Rows = append(o.Rows, others...)
		slices.SortFunc(o.Rows, func(a, b *kvstore.Row) int { return cmp.Compare(a.Key, b.Key) })
	}
	return o
}

func priorAggregate(r *kvstore.Row) *aggregate {
	if r == nil {
		return nil
	}
	return kvstore.Kept[aggregate](r)
}

// pageOverlay lets nobody read the participants on a page whose aggregate is not there:
// a row that was removed without a trace may have been one that was committed. When a log
// is read that does not hold the aggregate's first versions any more, that lasts until
// the latest one. Who removes the page as well says that nothing was committed.
func pageOverlay(s *kvstore.State, f wire.Fence, e kvstore.Entry) *kvstore.Overlay {
	if s.Get(AggregateKey(f)) != nil {
		return nil
	}
	if e.Row != nil {
		return replaced(s, onPage(e.Row), blinded(f, &kvstore.DataLostError{
			Key: AggregateKey(f), Cause: errors.New("aggregate is not there, but what was staged for it"),
		}))
	}
	if e.Prior != nil {
		return replaced(s, onPage(e.Prior), legibleAgain(f))
	}
	return nil
}

// onPage lists the participants on a page, none if nobody can read it.
func onPage(r *kvstore.Row) map[kvstore.Key]bool {
	keys := make(map[kvstore.Key]bool)
	if p, err := kvstore.Decoded(r, decodePage); err == nil {
		for i := range p.entries {
			keys[p.entries[i].authority()] = true
		}
	}
	return keys
}

// participantKeys lists the authorities that are known to take part in an aggregate,
// whatever of its staged data is lost.
func participantKeys(s *kvstore.State, f wire.Fence) map[kvstore.Key]bool {
	keys := make(map[kvstore.Key]bool)
	v := s.View(0)
	for r := range v.Scan(indexPrefix(FamilyInventory, f), "") {
		maps.Copy(keys, onPage(r))
	}
	for r := range v.Scan(indexPrefix(FamilyParticipant, f), "") {
		if st, err := kvstore.Decoded(r, decodeStaged); err == nil {
			keys[st.authority()] = true
		}
	}
	return keys
}

// blind lets nobody read the participants of an aggregate of which nobody can tell
// whether it is committed.
func blind(s *kvstore.State, f wire.Fence, cause error) *kvstore.Overlay {
	return replaced(s, participantKeys(s, f), blinded(f, cause))
}

// blinded makes rows that nobody can read because of an aggregate.
func blinded(f wire.Fence, cause error) func(*kvstore.Row) *kvstore.Row {
	return func(r *kvstore.Row) *kvstore.Row {
		return &kvstore.Row{
			Key: r.Key, Value: r.Value, Revision: r.Revision,
			Over: &projection{base: r, move: &move{fence: f}, lost: cause},
		}
	}
}

// legible is the row without what was blinded of it because of an aggregate.
func legible(r *kvstore.Row, f wire.Fence) *kvstore.Row {
	if r == nil {
		return nil
	}
	p, ok := r.Over.(*projection)
	if !ok {
		return r
	}
	base := legible(p.base, f)
	switch {
	case p.lost != nil && p.move.fence == f:
		return base
	case base == p.base:
		return r
	}
	over := *p
	over.base = base
	return &kvstore.Row{Key: r.Key, Value: r.Value, Revision: r.Revision, Over: &over}
}

// legibleAgain makes rows legible that were blinded because of an aggregate.
func legibleAgain(f wire.Fence) func(*kvstore.Row) *kvstore.Row {
	return func(r *kvstore.Row) *kvstore.Row {
		if next := legible(r, f); next != r {
			return next
		}
		return nil
	}
}

// restored undoes what blind did, once the aggregate can be read again.
func restored(s *kvstore.State, f wire.Fence) *kvstore.Overlay {
	return replaced(s, participantKeys(s, f), legibleAgain(f))
}

// replaced puts rows in the place of those of some authorities; nil leaves the one that
// is there.
func replaced(s *kvstore.State, keys map[kvstore.Key]bool, by func(*kvstore.Row) *kvstore.Row) *kvstore.Overlay {
	o := new(kvstore.Overlay)
	for _, k := range sortedKeys(keys) {
		if r := s.Get(k); r != nil {
			if next := by(r); next != nil {
				o.Rows = append(o.Rows, next)
			}
		}
	}
	return o
}

// errChanged is about a participant that was changed while it was locked.
func errChanged(k kvstore.Key, f wire.Fence) error {
	return &kvstore.DataLostError{Key: k, Cause: fmt.Errorf(
		"participant of the aggregate %q, %d was changed while it was locked", f.AggregateID, f.AggregateGeneration)}
}
