package domain

import (
	"errors"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// reservation is what a request that ends a reservation says of it.
type reservation struct {
	id       string
	expected wire.Version
	target   wire.Target
}

// is tells whether an authority, nil if there is none, is the reservation as the
// request has it.
func (r reservation) is(a *authority) bool {
	return a != nil && a.reserved() && a.ReservationID == r.id && a.hasVersion(r.expected) && a.target() == r.target
}

// CommitObject makes a reserved spot active.
//
// Reads: the authority, descriptor and lease of the target. Writes: the authority.
// Answers committed, alreadyCommitted, stale or generationExhausted. Errors:
// *kvstore.DataLostError and those of tx.Put.
func CommitObject(tx *kvstore.Tx, req *wire.ObjectCommitRequest) (*wire.ObjectCommitReply, error) {
	a, err := findAuthority(tx.View, AuthorityKey(req.Key))
	if err != nil {
		return nil, err
	}
	if a != nil && a.active() && a.ReservationID == req.ReservationID {
		s, err := a.snapshot(tx.View)
		return &wire.ObjectCommitReply{Kind: wire.KindAlreadyCommitted, Ready: s}, err
	}
	r := reservation{req.ReservationID, req.ExpectedStoreVersion, req.Target}
	if !r.is(a) {
		return &wire.ObjectCommitReply{Kind: wire.KindStale}, nil
	}
	node, err := liveTarget(tx.View, req.Target)
	if err != nil {
		return nil, err
	}
	if node == nil {
		return &wire.ObjectCommitReply{Kind: wire.KindStale}, nil
	}
	ready, err := activated(a.authorityRecord, req.ReadyPayload, nil).put(tx)
	switch {
	case errors.Is(err, kvstore.ErrExhausted):
		return &wire.ObjectCommitReply{Kind: wire.KindGenerationExhausted}, nil
	case err != nil:
		return nil, err
	}
	s, err := ready.snapshot(tx.View)
	return &wire.ObjectCommitReply{Kind: wire.KindCommitted, Ready: s}, err
}

// activated returns a reserved record as it is once the object exists.
func activated(r authorityRecord, payload wire.Bytes, m *wire.Membership) *authorityRecord {
	r.Allocation.State, r.Pending = wire.AllocationActive, nil
	r.Payload, r.Membership = payload, m
	return &r
}
