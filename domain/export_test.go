package domain

import (
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Hooks for the tests of this package, which are outside of it.
var (
	EncodeRecord      = encodeRecord
	DecodeMeshNode    = decodeMeshNode
	SameMeshNode      = sameMeshNode
	RenewableMeshNode = renewableMeshNode

	DecodeClientServer       = clientServers.decode
	SameClientServer         = sameClientServer
	RenewableClientServer    = renewableClientServer
	DecodeFanoutPublisher    = fanoutPublishers.decode
	SameFanoutPublisher      = sameFanoutPublisher
	RenewableFanoutPublisher = renewableFanoutPublisher
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

// OwnedFamilies lists the families of rows that carry an owner's token.
func OwnedFamilies() []string { return slices.Sorted(maps.Keys(ownedFamilies)) }

// HeadOf returns what indexes and stamps are made of; zero values when the row has
// none.
func HeadOf(r *kvstore.Row) (token wire.OwnerToken, entrySpotID string) {
	h, err := headOf(r)
	if err != nil {
		return wire.OwnerToken{}, ""
	}
	return h.token, h.entrySpotID
}
