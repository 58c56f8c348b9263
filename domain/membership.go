package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// joins tells whether an actor may have a membership, when it had another or none
// before: one that changes to a user spot needs the spot to accept it. A nil
// membership asks for nothing.
//
// Reads, when it changes to a user spot: the spot's authority, its aggregate and its
// owner's lease.
func joins(v kvstore.View, had, wanted *wire.Membership) (bool, error) {
	if wanted == nil || wanted.SpotKind != wire.MembershipUser || (had != nil && *had == *wanted) {
		return true, nil
	}
	return accepts(v, wanted)
}

// accepts tells whether a user spot accepts a new member.
func accepts(v kvstore.View, m *wire.Membership) (bool, error) {
	spot, err := findAuthority(v, AuthorityKey(wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: m.SpotID}))
	if err != nil || spot == nil {
		return false, err
	}
	if !spot.open(m) {
		return false, nil
	}
	if locked, err := isLocked(v, spot.row.Key); err != nil || locked {
		return false, err
	}
	return isLive(v, spot.token())
}

// open tells whether a spot is the one that a membership names, and steady.
func (a *authority) open(m *wire.Membership) bool {
	return a.Allocation.ObjectKind == wire.ObjectUserSpot && a.active() && a.ObjectGeneration == m.SpotGeneration &&
		a.Phase == wire.PhaseSteady
}

// checkMembership checks a membership that an actor is to have.
func checkMembership(m *wire.Membership) error {
	var c checks
	c.identifier("spotId", m.SpotID)
	c.generation("spotGeneration", uint64(m.SpotGeneration))
	c.that(m.SpotKind.Valid(), "spotKind", string(m.SpotKind), "entry or user")
	return c.err
}
