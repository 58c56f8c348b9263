package domain

import (
	"errors"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// CompareExchangeAuthority changes the record of an object that exists and has the
// expected version.
//
// Reads: the authority and its aggregate; for put, reincarnate and delete the owner's lease; for a put
// that changes the membership to a user spot that spot's authority and its owner's
// lease; for rebindOwnerLease the node's descriptor and the target's lease. Writes:
// the authority. Answers stored, deleted, conflict or generationExhausted. Errors:
// *kvstore.DataLostError and those of tx.Put.
func CompareExchangeAuthority(tx *kvstore.Tx, req *wire.AuthorityCompareExchangeRequest) (*wire.AuthorityCompareExchangeReply, error) {
	a, err := findAuthority(tx.View, AuthorityKey(req.Key))
	if err != nil {
		return nil, err
	}
	ok, err := mayMutate(tx.View, a, req)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		now, err := current(tx.View, a)
		return &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{Kind: wire.KindConflict}, Current: now}, err
	}
	next, err := tx.Next()
	switch {
	case errors.Is(err, kvstore.ErrExhausted):
		return &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{Kind: wire.KindGenerationExhausted}}, nil
	case err != nil:
		return nil, err
	case req.Mutation.Kind == wire.AuthorityDelete:
		return deleteAuthority(tx, a)
	}
	changed, err := mutated(a.authorityRecord, &req.Mutation, wire.Generation(next)).put(tx)
	if err != nil {
		return nil, err
	}
	s, err := changed.snapshot(tx.View)
	if err != nil {
		return nil, err
	}
	s.Kind = wire.KindStored
	return &wire.AuthorityCompareExchangeReply{Authority: *s}, nil
}

func deleteAuthority(tx *kvstore.Tx, a *authority) (*wire.AuthorityCompareExchangeReply, error) {
	if _, err := tx.Delete(a.row.Key); err != nil {
		return nil, err
	}
	return &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{
		Kind: wire.KindDeleted, StoreVersion: a.version(), StoreNow: wire.Instant(tx.Now()),
	}}, nil
}

// mayMutate decides between conflict and the mutation. The authority is nil when
// there is none.
func mayMutate(v kvstore.View, a *authority, req *wire.AuthorityCompareExchangeRequest) (bool, error) {
	if a == nil || !a.active() || !a.hasVersion(req.ExpectedStoreVersion) {
		return false, nil
	}
	if locked, err := isLocked(v, a.row.Key); err != nil || locked {
		return false, err
	}
	m := &req.Mutation
	switch m.Kind {
	case wire.AuthorityRestore:
		return *m.ExpectedOwner == a.token(), nil
	case wire.AuthorityRebind:
		if *m.ExpectedOwner != a.token() {
			return false, nil
		}
		target := a.target()
		target.Owner = *m.TargetOwner
		d, err := liveTarget(v, target)
		return d != nil, err
	}
	live, err := isLive(v, a.token())
	if err != nil || !live || m.Kind != wire.AuthorityPut {
		return live, err
	}
	return joins(v, a.Membership, m.Membership)
}

// mutated returns a record after a mutation other than delete. A generation that
// begins is the one given.
func mutated(r authorityRecord, m *wire.AuthorityMutation, g wire.Generation) *authorityRecord {
	r.Payload = m.Payload
	if m.Phase != "" {
		r.Phase = m.Phase
	}
	if m.Membership != nil {
		r.Membership = m.Membership
	}
	switch m.Kind {
	case wire.AuthorityRebind:
		r.OwnerLeaseGeneration = m.TargetOwner.LeaseGeneration
	case wire.AuthorityReincarnate:
		r.ObjectGeneration, r.AuthorityOwnerGeneration, r.ReservationID = g, g, ""
	}
	return &r
}
