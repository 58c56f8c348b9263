package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Hooks for the tests of this package, which are outside of it.
var (
	EncodeRecord      = encodeRecord
	DecodeMeshNode    = decodeMeshNode
	SameMeshNode      = sameMeshNode
	RenewableMeshNode = renewableMeshNode
)

// RoomBytes is what the items of a page may take.
const RoomBytes = MaxPageBytes - pageHeadBytes

// DecodeLease decodes a lease row and returns the body of its record.
func DecodeLease(r *kvstore.Row) (any, error) {
	l, err := decodeLease(r)
	if err != nil {
		return nil, err
	}
	return l.leaseRecord, nil
}

// LeaseRecord is what DecodeLease returns.
type LeaseRecord = leaseRecord

// HeadOf returns what indexes and stamps are made of; zero values when the row has
// none.
func HeadOf(r *kvstore.Row) (token wire.OwnerToken, entrySpotID string) {
	h, err := headOf(r)
	if err != nil {
		return wire.OwnerToken{}, ""
	}
	return h.token, h.entrySpotID
}
