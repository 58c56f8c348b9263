package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// ownedFamily is a family of rows that carry the token of an owner: they end with
// its lease, are removed with all of its rows, and their changes are pushed.
type ownedFamily struct {
	event wire.EventKind
	stamp wire.StampKind
	// token decodes a row and returns the token that it carries.
	token func(*kvstore.Row) (wire.OwnerToken, error)
	// value makes the pushed value of an event. It holds the row unless that is nil.
	value func(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error)
	// split takes a key of the family apart; false when it is none. It is nil when
	// keys are the family, the scope and the id.
	split func(kvstore.Key) (scope, id string, ok bool)
	// entrySpots says that rows may hold an entry spot id.
	entrySpots bool
}

// ownedFamilies lists all of them by the first segment of their keys.
var ownedFamilies = map[string]*ownedFamily{
	FamilyMeshNode: {
		event: wire.EventMeshNode, stamp: wire.StampMeshNode,
		token: meshNodeRecords.token, value: meshNodeEvent, entrySpots: true,
	},
	FamilyPeer: {
		event: wire.EventPeer, stamp: wire.StampPeer,
		token: peers.token, value: peerEvent, split: splitPeer,
	},
	FamilySpot: {
		event: wire.EventSpot, stamp: wire.StampSpot,
		token: spots.token, value: spotEvent,
	},
	FamilyActor: {
		event: wire.EventActor, stamp: wire.StampActor,
		token: actors.token, value: actorEvent,
	},
	FamilyRoute: {
		event: wire.EventRoute, stamp: wire.StampRoute,
		token: routes.token, value: routeEvent,
	},
	FamilyClientServer: {
		event: wire.EventClientServer, stamp: wire.StampClientServer,
		token: clientServers.token, value: clientServerEvent,
	},
	FamilyFanoutPublisher: {
		event: wire.EventFanoutPublisher, stamp: wire.StampFanoutPublisher,
		token: fanoutPublishers.token, value: fanoutPublisherEvent,
	},
}

// ownedKey is the key of a row of an owned family, with the scope and the id by
// which its changes are told.
type ownedKey struct {
	*ownedFamily
	key       kvstore.Key
	scope, id string
}

// splitOwned takes a key apart; false when it is not of an owned family.
func splitOwned(k kvstore.Key) (ownedKey, bool) {
	const segments = 3
	s := k.Split(segments)
	f := ownedFamilies[s[0]]
	switch {
	case f == nil:
		return ownedKey{}, false
	case f.split != nil:
		scope, id, ok := f.split(k)
		return ownedKey{f, k, scope, id}, ok
	case len(s) != segments:
		return ownedKey{}, false
	}
	return ownedKey{f, k, s[1], s[2]}, true
}
