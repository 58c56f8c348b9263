package domain

import (
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// RemoveOwnerBatch removes rows of an owner whose token is live: the authorities of
// exactly this token that are not locked, and the descriptors and location rows of its generation and of
// earlier ones. One commit holds at most limit of them, which is
// kvstore.Limits.CommitRows of the store; more says that there are further ones, for
// the next call. Each call looks at the lease anew, so that nothing is removed once it
// is no longer live.
//
// Reads: the lease and the rows removed. Writes: these rows. Cost: proportional to
// them. Errors: those of tx.Delete, and *kvstore.DataLostError, also for a row that
// might be the owner's because nobody can tell whose it is.
func RemoveOwnerBatch(tx *kvstore.Tx, req *wire.OwnerRemoveAllRequest, limit int) (removed int, more bool, err error) {
	live, err := isLive(tx.View, req.Owner)
	if err != nil || !live {
		return 0, false, err
	}
	if err := checkReadable(tx.View, indexOwner); err != nil {
		return 0, false, err
	}
	if err := checkAuthorities(tx.View, kvstore.Prefix(FamilyAuthority)); err != nil {
		return 0, false, err
	}
	for r, err := range rowsOf(tx.View, req.Owner) {
		switch {
		case err != nil:
			return 0, false, err
		case removed == limit:
			return removed, true, nil
		}
		if _, err := tx.Delete(r.Key); err != nil {
			return 0, false, err
		}
		removed++
	}
	return removed, false, nil
}

// rowsOf lists the rows that go with an owner's token.
func rowsOf(v kvstore.View, owner wire.OwnerToken) iter.Seq2[*kvstore.Row, error] {
	return func(yield func(*kvstore.Row, error) bool) {
		for r := range v.Index(indexHolder, ownerValue(owner)) {
			_, err := decodeAuthority(r)
			if err == nil {
				var locked bool
				if locked, err = isLocked(v, r.Key); locked {
					continue
				}
			}
			if !yield(r, err) {
				return
			}
		}
		for r := range v.IndexPrefix(indexOwner, ownerPrefix(owner.OwnerID)) {
			k, _ := splitOwned(r.Key) // only owned rows are in the index
			t, err := k.token(r)
			if err == nil && t.LeaseGeneration > owner.LeaseGeneration {
				return // the index is in the order of generations
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
