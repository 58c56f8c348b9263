package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// RemoveOwnerBatch removes rows of an owner whose token is live: those of the
// token's generation and of earlier ones. One commit holds at most limit of them,
// which is kvstore.Limits.CommitRows of the store; more says that there are
// further ones, for the next call. Each call looks at the lease anew, so that
// nothing is removed once it is no longer live.
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
	for r := range tx.IndexPrefix(indexOwner, ownerPrefix(req.Owner.OwnerID)) {
		k, _ := splitOwned(r.Key) // only owned rows are in the index
		t, err := k.token(r)
		if err != nil {
			return 0, false, err
		}
		if t.LeaseGeneration > req.Owner.LeaseGeneration {
			break // the index is in the order of generations
		}
		if removed == limit {
			return removed, true, nil
		}
		if _, err := tx.Delete(r.Key); err != nil {
			return 0, false, err
		}
		removed++
	}
	return removed, false, nil
}
