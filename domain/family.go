package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// ownedFamily is a family of rows that carry the token of an owner: they end with
// its lease, are removed with all of its rows, and their changes are pushed.
// Their keys are the family, a scope and an id.
type ownedFamily struct {
	event wire.EventKind
	stamp wire.StampKind
	// token decodes a row and returns the token that it carries.
	token func(*kvstore.Row) (wire.OwnerToken, error)
	// value makes the pushed value of an event. It holds the row unless that is nil.
	value func(head wire.EventHead, scope, id string, r *kvstore.Row) (any, error)
}

// ownedFamilies lists all of them by the first segment of their keys.
var ownedFamilies = map[string]*ownedFamily{
	FamilyMeshNode: {
		event: wire.EventMeshNode, stamp: wire.StampMeshNode,
		token: meshNodeToken, value: meshNodeEvent,
	},
}

// ownedKey is the key of a row of an owned family, taken apart.
type ownedKey struct {
	*ownedFamily
	scope, id string
}

// splitOwned takes a key apart; false when it is not of an owned family.
func splitOwned(k kvstore.Key) (ownedKey, bool) {
	const segments = 3
	s := k.Split(segments)
	f := ownedFamilies[s[0]]
	if f == nil || len(s) != segments {
		return ownedKey{}, false
	}
	return ownedKey{f, s[1], s[2]}, true
}
