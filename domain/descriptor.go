package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// descriptorFamily is what the rules of descriptors need to know about one family
// of them. D is its wire type; rules never change the one that was sent.
type descriptorFamily[D any] struct {
	key    func(*D) kvstore.Key
	decode func(*kvstore.Row) (*D, error)
	// facts says what the rules look at.
	facts func(*D) facts
	// same compares the contents of two descriptors with the same facts.
	same func(a, b *D) bool
	// renewable compares the fields that a renewal must not change, the token
	// and the lifecycle among them.
	renewable func(stored, sent *D) bool
	// claimable tells whether nothing but its own row stands against a claim.
	claimable func(kvstore.View, *D) (bool, error)
	// stamped returns what to store.
	stamped func(sent *D, g wire.Generation, updatedAt wire.Instant) *D
}

// facts are the fields of a descriptor that its rules look at.
type facts struct {
	token     wire.OwnerToken
	lifecycle wire.Generation
	revision  wire.Revision
	// of the row, not of the content
	generation wire.Generation
	updatedAt  wire.Instant
}

// repeats tells whether two descriptors agree in everything but the rest of
// their contents.
func (f facts) repeats(o facts) bool {
	return f.token == o.token && f.lifecycle == o.lifecycle && f.revision == o.revision
}

// find returns the stored descriptor of a key; nil when there is none.
func (f *descriptorFamily[D]) find(v kvstore.View, k kvstore.Key) (*D, error) {
	r := v.Row(k)
	if r == nil {
		return nil, nil
	}
	return f.decode(r)
}

// update is the rule of every *.update of descriptors.
//
// Reads: the writer's lease, the row, the lease of the row's owner, and what
// claimable reads. Writes: the row.
func (f *descriptorFamily[D]) update(tx *kvstore.Tx, sent *D, intent wire.Intent) (*wire.UpdateReply, error) {
	s := f.facts(sent)
	live, err := isLive(tx.View, s.token)
	if err != nil {
		return nil, err
	}
	if !live {
		return refused(tx, wire.StatusRejectedConflict), nil
	}
	stored, err := f.find(tx.View, f.key(sent))
	if err != nil {
		return nil, err
	}
	switch {
	case stored != nil && f.facts(stored).repeats(s) && f.same(stored, sent):
		row := f.facts(stored)
		return &wire.UpdateReply{Status: wire.StatusStored, Generation: row.generation, UpdatedAt: row.updatedAt}, nil
	case intent == wire.IntentRenew:
		return f.renew(tx, stored, sent)
	default:
		return f.claim(tx, stored, sent, intent)
	}
}

func (f *descriptorFamily[D]) renew(tx *kvstore.Tx, stored, sent *D) (*wire.UpdateReply, error) {
	if stored == nil {
		return refused(tx, wire.StatusRejectedConflict), nil
	}
	row := f.facts(stored)
	if f.facts(sent).revision <= row.revision || !f.renewable(stored, sent) {
		return refused(tx, wire.StatusIgnoredStale), nil
	}
	return f.store(tx, sent, row.generation)
}

// claim is a newClaim or a takeover.
func (f *descriptorFamily[D]) claim(tx *kvstore.Tx, stored, sent *D, intent wire.Intent) (*wire.UpdateReply, error) {
	if stored != nil && intent == wire.IntentNewClaim {
		live, err := isLive(tx.View, f.facts(stored).token)
		if err != nil {
			return nil, err
		}
		if live {
			return refused(tx, wire.StatusIgnoredStale), nil
		}
	}
	ok, err := f.claimable(tx.View, sent)
	if err != nil {
		return nil, err
	}
	if !ok {
		return refused(tx, wire.StatusRejectedConflict), nil
	}
	next, err := tx.Next()
	if err != nil {
		return nil, err
	}
	return f.store(tx, sent, wire.Generation(next))
}

func (f *descriptorFamily[D]) store(tx *kvstore.Tx, sent *D, g wire.Generation) (*wire.UpdateReply, error) {
	now := wire.Instant(tx.Now())
	if err := putRecord(tx, f.key(sent), f.stamped(sent, g, now), 0); err != nil {
		return nil, err
	}
	return &wire.UpdateReply{Status: wire.StatusStored, Generation: g, UpdatedAt: now}, nil
}

func refused(tx *kvstore.Tx, status wire.UpdateStatus) *wire.UpdateReply {
	return &wire.UpdateReply{Status: status, UpdatedAt: wire.Instant(tx.Now())}
}

// remove is the rule of every *.remove of descriptors. The owner need not be live.
//
// Reads and writes: the row.
func (f *descriptorFamily[D]) remove(tx *kvstore.Tx, k kvstore.Key, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	stored, err := f.find(tx.View, k)
	if err != nil {
		return nil, err
	}
	if stored == nil || f.facts(stored).token != owner {
		return &wire.RemoveReply{Status: wire.StatusIgnoredStale}, nil
	}
	if _, err := tx.Delete(k); err != nil {
		return nil, err
	}
	return &wire.RemoveReply{Status: wire.StatusStored}, nil
}

// rowState says what a listed row has besides its own fields, and whether it is
// to be listed at all.
func rowState(v kvstore.View, r *kvstore.Row, t wire.OwnerToken, liveOnly bool) (s wire.RowState, ok bool, err error) {
	live, err := isLive(v, t)
	if err != nil {
		return s, false, err
	}
	return wire.RowState{Live: live, Version: version(r)}, live || !liveOnly, nil
}
