package domain

import "github.com/zlink/zlink-nats/kvstore"

// Schema returns what a store has to know about the rows of this package: rows by
// the token they carry, mesh nodes by their entry spot id, and change stamps.
func Schema() *kvstore.Schema { return &kvstore.Schema{Index: indexesOf, Stamp: stampsOf} }

// indexesOf is the Index function of the schema.
func indexesOf(r *kvstore.Row) []kvstore.IndexEntry {
	if _, ok := splitOwned(r.Key); !ok {
		return nil
	}
	h, ok := headOf(r)
	if !ok {
		return nil
	}
	entries := []kvstore.IndexEntry{{Index: indexOwner, Value: ownerValue(h.token)}}
	if h.entrySpotID != "" {
		entries = append(entries, kvstore.IndexEntry{Index: indexEntrySpot, Value: h.entrySpotID})
	}
	return entries
}
