package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// descriptorFamily is what the rules of descriptors need to know about one family
// of them. D is its wire type.
type descriptorFamily[D any] struct {
	ownedRecords[D]
	// same compares the contents of two descriptors with the same facts.
	same func(a, b *D) bool
	// renewable compares the fields that a renewal must not change, the token
	// and the lifecycle among them.
	renewable func(stored, sent *D) bool
	// claimable tells whether nothing but its own row stands against a claim; nil
	// when that is always so.
	claimable func(kvstore.View, *D) (bool, error)
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
		return f.facts(stored).reply(), nil
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
	if f.claimable != nil {
		ok, err := f.claimable(tx.View, sent)
		if err != nil {
			return nil, err
		}
		if !ok {
			return refused(tx, wire.StatusRejectedConflict), nil
		}
	}
	return f.begin(tx, sent)
}
