package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// DecodeAuthority decodes an authority row and returns the body of its record.
func DecodeAuthority(r *kvstore.Row) (any, error) {
	a, err := decodeAuthority(r)
	if err != nil {
		return nil, err
	}
	return a.authorityRecord, nil
}

// Hooks for the tests of authorities.
type (
	// AuthorityRecord is what DecodeAuthority returns.
	AuthorityRecord = authorityRecord
	// PendingCreation is part of a reserved AuthorityRecord.
	PendingCreation = pendingCreation
)

// AuthorityHeadOf returns what the indexes and sums of an authority are made of.
func AuthorityHeadOf(r *kvstore.Row) (wire.OwnerToken, wire.Allocation, wire.Membership, error) {
	h, err := authorityHeadOf(r)
	return h.token, h.allocation, h.membership, err
}
