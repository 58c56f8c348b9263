package domain

import (
	"github.com/fxamacker/cbor/v2"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Schema returns what a store has to know about the rows of this package: rows by
// the token they carry, mesh nodes by their entry spot id, and change stamps.
func Schema() *kvstore.Schema { return &kvstore.Schema{Index: indexesOf, Stamp: stampsOf} }

// recordHead is the part of a record that indexes and stamps are made of. It is
// read from every row that is stored or loaded, so it is read alone: the rest of
// the record is passed over, and whether it can be understood is for the rules to
// find out.
type recordHead struct {
	OwnerID         string `cbor:"ownerId"`
	LeaseGeneration uint64 `cbor:"leaseGeneration"`
	EntrySpotID     string `cbor:"entrySpotId"`
}

func (h *recordHead) token() wire.OwnerToken {
	return wire.OwnerToken{OwnerID: h.OwnerID, LeaseGeneration: wire.Generation(h.LeaseGeneration)}
}

// headOf reads the head of a record; false when it has none.
func headOf(r *kvstore.Row) (h recordHead, ok bool) {
	body, err := recordBody(r.Value)
	if err == nil {
		err = cbor.Unmarshal(body, &h)
	}
	return h, err == nil && h.OwnerID != "" && h.LeaseGeneration != 0
}

// indexesOf is the Index function of the schema.
func indexesOf(r *kvstore.Row) []kvstore.IndexEntry {
	if _, ok := splitOwned(r.Key); !ok {
		return nil
	}
	h, ok := headOf(r)
	if !ok {
		return nil
	}
	entries := []kvstore.IndexEntry{{Index: indexOwner, Value: ownerValue(h.token())}}
	if h.EntrySpotID != "" {
		entries = append(entries, kvstore.IndexEntry{Index: indexEntrySpot, Value: h.EntrySpotID})
	}
	return entries
}
