package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// entrySpotFree tells whether an entry spot id can be claimed by the descriptor of
// a key: there is no spot of this id, reserved or active, and no other descriptor has
// it whose owner is live. An empty id is free.
//
// An id is one identity in the whole store. It is held by being in a descriptor
// and by nothing else, so there is no row of its own that could disagree. A row of
// which nobody can tell whether it holds the id is a *kvstore.DataLostError.
func entrySpotFree(v kvstore.View, id string, claimant kvstore.Key) (bool, error) {
	if id == "" {
		return true, nil
	}
	if err := checkReadable(v, indexEntrySpot); err != nil {
		return false, err
	}
	spot, err := findAuthority(v, AuthorityKey(wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}))
	if err != nil || spot != nil {
		return false, err
	}
	for r := range v.Index(indexEntrySpot, id) {
		if r.Key == claimant {
			continue
		}
		d, err := decodeMeshNode(r)
		if err != nil {
			return false, err
		}
		live, err := isLive(v, d.OwnerToken)
		if err != nil || live {
			return false, err
		}
	}
	return true, nil
}
