package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// releasable tells whether an active object whose owner has ended can be replaced,
// and which members have to go with it; else the reason why it cannot.
//
// Reads: the members of a user spot, their aggregates and the leases of their owners.
func releasable(tx *kvstore.Tx, a *authority) (members []*authority, reason wire.Reason, err error) {
	locked, err := isLocked(tx.View, a.row.Key)
	switch {
	case err != nil:
		return nil, "", err
	case locked:
		return nil, wire.ReasonInAggregate, nil
	case a.Phase != wire.PhaseSteady:
		return nil, wire.ReasonNotSteady, nil
	}
	if a.Allocation.ObjectKind != wire.ObjectUserSpot {
		return nil, "", nil
	}
	// An actor that cannot be placed might be a member.
	if err := checkAuthorities(tx.View, actorPrefix); err != nil {
		return nil, "", err
	}
	steady := true
	for r := range tx.Index(indexMember, memberValue(a.GlobalID, a.ObjectGeneration)) {
		m, err := decodeAuthority(r)
		if err != nil {
			return nil, "", err
		}
		live, err := isLive(tx.View, m.token())
		if err != nil {
			return nil, "", err
		}
		if live {
			return nil, wire.ReasonMemberLive, nil
		}
		locked, err := isLocked(tx.View, r.Key)
		if err != nil {
			return nil, "", err
		}
		steady = steady && !locked && m.Phase == wire.PhaseSteady
		members = append(members, m)
	}
	switch {
	case !steady:
		return nil, wire.ReasonMemberNotSteady, nil
	case 1+len(members) > tx.Limits().CommitRows:
		return nil, wire.ReasonTooManyRows, nil
	}
	return members, "", nil
}

// ReleaseEnded removes a reservation that has ended. Anyone may ask for it.
//
// Reads: the authority, the lease of its token, the descriptor of its node. Writes:
// the authority. Answers released or stale. Errors: *kvstore.DataLostError and those
// of tx.Delete.
func ReleaseEnded(tx *kvstore.Tx, req *wire.ObjectReleaseEndedRequest) (*wire.ObjectReleaseEndedReply, error) {
	stale := &wire.ObjectReleaseEndedReply{Kind: wire.KindStale}
	a, err := findAuthority(tx.View, AuthorityKey(req.Key))
	if err != nil {
		return nil, err
	}
	if a == nil || !a.hasVersion(req.ExpectedStoreVersion) || !a.reserved() {
		return stale, nil
	}
	over, err := ended(tx.View, a)
	if err != nil {
		return nil, err
	}
	if !over {
		return stale, nil
	}
	if _, err := tx.Delete(a.row.Key); err != nil {
		return nil, err
	}
	return &wire.ObjectReleaseEndedReply{Kind: wire.KindReleased}, nil
}
