package domain

import (
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// leaseRecord is the body of a lease row. The expiry of the lease is that of the
// row.
type leaseRecord struct {
	wire.OwnerToken
	ClaimID string `json:"claimId,omitzero"`
}

// lease is a decoded lease row.
type lease struct {
	leaseRecord
	row *kvstore.Row
}

func (l *lease) expiresAt() wire.Instant { return wire.Instant(l.row.Expiry) }

// claimedBy tells whether the row is the one that the claim of the lease wrote,
// not a renewal.
func (l *lease) claimedBy(rev kvstore.Revision) bool {
	return kvstore.Revision(l.LeaseGeneration) == rev
}

// decodeLease understands a lease row or returns a *kvstore.DataLostError.
func decodeLease(r *kvstore.Row) (*lease, error) {
	l := &lease{row: r}
	if err := decodeRecord(r, &l.leaseRecord); err != nil {
		return nil, err
	}
	switch {
	case LeaseKey(l.OwnerID) != r.Key:
		return nil, lost(r, fmt.Errorf("record names owner %q", l.OwnerID))
	case !generationOf(l.LeaseGeneration, r):
		return nil, lost(r, fmt.Errorf("lease generation %d in a row of revision %d", l.LeaseGeneration, r.Revision))
	case r.Expiry == 0:
		return nil, lost(r, errors.New("lease without expiry"))
	}
	return l, nil
}

// generationOf tells whether a generation can be that of a row: the revision of
// the row when the generation began.
func generationOf(g wire.Generation, r *kvstore.Row) bool {
	return g >= 1 && kvstore.Revision(g) <= r.Revision
}

// findLease returns the live lease of an owner; nil when there is none.
func findLease(v kvstore.View, ownerID string) (*lease, error) {
	r := v.Row(LeaseKey(ownerID))
	if r == nil {
		return nil, nil
	}
	return kvstore.Decoded(r, decodeLease)
}

// findToken returns the lease of a token; nil when the token is not live.
func findToken(v kvstore.View, t wire.OwnerToken) (*lease, error) {
	l, err := findLease(v, t.OwnerID)
	if err != nil || l == nil || l.LeaseGeneration != t.LeaseGeneration {
		return nil, err
	}
	return l, nil
}

// isLive tells whether a token is live in the view.
func isLive(v kvstore.View, t wire.OwnerToken) (bool, error) {
	l, err := findToken(v, t)
	return l != nil, err
}

// ClaimLease gives an owner its lease, unless a live one exists. A claim that
// repeats the claimId of the live lease is answered with that lease.
//
// Reads and writes: the lease row of the owner. Answers claimed, conflict or
// generationExhausted. Errors: *kvstore.DataLostError and those of tx.Put.
func ClaimLease(tx *kvstore.Tx, req *wire.LeaseClaimRequest) (*wire.LeaseClaimReply, error) {
	now := wire.Instant(tx.Now())
	held, err := findLease(tx.View, req.OwnerID)
	switch {
	case err != nil:
		return nil, err
	case held != nil && req.ClaimID != "" && held.ClaimID == req.ClaimID:
		return claimed(held.OwnerToken, held.expiresAt(), now), nil
	case held != nil:
		return &wire.LeaseClaimReply{Kind: wire.KindConflict, StoreNow: now}, nil
	}
	next, err := tx.Next()
	if errors.Is(err, kvstore.ErrExhausted) {
		return &wire.LeaseClaimReply{Kind: wire.KindGenerationExhausted}, nil
	}
	if err != nil {
		return nil, err
	}
	token := wire.OwnerToken{OwnerID: req.OwnerID, LeaseGeneration: wire.Generation(next)}
	expires := now + wire.Instant(req.TTL)
	err = putRecord(tx, LeaseKey(req.OwnerID), leaseRecord{token, req.ClaimID}, kvstore.Instant(expires))
	if err != nil {
		return nil, err
	}
	return claimed(token, expires, now), nil
}

func claimed(t wire.OwnerToken, expires, now wire.Instant) *wire.LeaseClaimReply {
	return &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &t, LeaseExpiresAt: expires, StoreNow: now}
}

// ReadLease answers found while the owner's lease is live, else missing.
//
// Reads: the lease row. Errors: *kvstore.DataLostError.
func ReadLease(v kvstore.View, req *wire.LeaseReadRequest) (*wire.LeaseReadReply, error) {
	now := wire.Instant(v.Now())
	l, err := findLease(v, req.OwnerID)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return &wire.LeaseReadReply{Kind: wire.KindMissing, StoreNow: now}, nil
	}
	return &wire.LeaseReadReply{
		Kind: wire.KindFound, Token: &l.OwnerToken, LeaseExpiresAt: l.expiresAt(), StoreNow: now,
	}, nil
}

// RenewLease moves the expiry of a live token's lease, which may become earlier,
// and keeps its generation.
//
// Reads and writes: the lease row. Answers renewed or stale. Errors:
// *kvstore.DataLostError and those of tx.Put.
func RenewLease(tx *kvstore.Tx, req *wire.LeaseRenewRequest) (*wire.LeaseRenewReply, error) {
	l, err := findToken(tx.View, req.Token)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return &wire.LeaseRenewReply{Kind: wire.KindStale}, nil
	}
	now := wire.Instant(tx.Now())
	expires := now + wire.Instant(req.TTL)
	// The record does not change with the expiry, so its bytes are stored again.
	if _, err := tx.Put(l.row.Key, l.row.Value, kvstore.Instant(expires)); err != nil {
		return nil, err
	}
	return &wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: expires, StoreNow: now}, nil
}

// ReleaseLease removes a live token's lease. The rows of the owner stay and are
// no longer live.
//
// Reads and writes: the lease row. Answers released or stale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func ReleaseLease(tx *kvstore.Tx, req *wire.LeaseReleaseRequest) (*wire.LeaseReleaseReply, error) {
	l, err := findToken(tx.View, req.Token)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return &wire.LeaseReleaseReply{Kind: wire.KindStale}, nil
	}
	if _, err := tx.Delete(l.row.Key); err != nil {
		return nil, err
	}
	return &wire.LeaseReleaseReply{Kind: wire.KindReleased}, nil
}
