package domain

import "github.com/zlink/zlink-nats/kvstore"

// Schema returns what a store has to know about the rows of this package: rows by
// the token they carry, mesh nodes by their entry spot id, actors by the spot they
// belong to, objects by kind, type and mesh, aggregates by what is to be done and by who
// takes part, the usage of nodes, change stamps, and what a commit of an aggregate makes of
// authorities.
// Rows of which that cannot be told are listed as well, under a value of their own.
func Schema() *kvstore.Schema {
	return &kvstore.Schema{Derive: factsOf, Overlay: overlayOf, Stamp: stampsOf}
}

// factsOf is the Derive function of the schema.
func factsOf(r *kvstore.Row) kvstore.Facts {
	switch {
	case isAuthority(r.Key):
		return authorityFacts(r)
	case r.Key.HasPrefix(aggregatePrefix):
		return kvstore.Facts{Index: aggregateIndexes(r), Amounts: aggregateAmounts(r)}
	case r.Key.HasPrefix(inventoryPrefix):
		return kvstore.Facts{Index: pageIndexes(r)}
	case r.Key.HasPrefix(participantPrefix):
		return kvstore.Facts{Index: stagedIndexes(r), Amounts: stagedAmounts(r)}
	}
	return kvstore.Facts{Index: ownedIndexes(r)}
}

// ownedIndexes are the index entries of a row that carries an owner's token.
func ownedIndexes(r *kvstore.Row) []kvstore.IndexEntry {
	k, ok := splitOwned(r.Key)
	if !ok {
		return nil
	}
	owner, spot := unreadableValue, unreadableValue
	h, err := headOf(r)
	if err == nil {
		owner, spot = ownerValue(h.token), h.entrySpotID
	}
	entries := []kvstore.IndexEntry{{Index: indexOwner, Value: owner}}
	if k.entrySpots && (err != nil || spot != "") { // a legible row may have none
		entries = append(entries, kvstore.IndexEntry{Index: indexEntrySpot, Value: spot})
	}
	return entries
}

// checkReadable returns the *kvstore.DataLostError of a row that could not be
// placed in an index. Such a row could be under any value, so whoever concludes
// something from what is not under a value has to ask.
func checkReadable(v kvstore.View, index string) error {
	for r := range v.Index(index, unreadableValue) {
		_, err := headOf(r)
		return err
	}
	return nil
}
