package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// actors are the rules of actor rows.
var actors = locationFamily[wire.Actor]{
	ownedRecords: ownedRecords[wire.Actor]{
		key: func(a *wire.Actor) kvstore.Key { return ActorKey(a.MeshName, a.ActorID) },
		facts: func(a *wire.Actor) facts {
			return facts{token: a.OwnerToken, generation: a.Generation, updatedAt: a.UpdatedAt}
		},
		stamped: stampedActor,
	},
	same: func(a, b *wire.Actor) bool { return *stampedActor(a, b.Generation, b.UpdatedAt) == *b },
}

// stampedActor is what the service stores of an actor that was sent.
func stampedActor(sent *wire.Actor, g wire.Generation, updatedAt wire.Instant) *wire.Actor {
	a := *sent
	a.Generation, a.UpdatedAt = g, updatedAt
	return &a
}

// UpdateActor stores an actor row, as its intent and the row allow.
//
// Reads: the writer's lease, the row, and the lease of the row's owner. Writes: the
// row. Errors: *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted
// among them.
func UpdateActor(tx *kvstore.Tx, req *wire.ActorUpdateRequest) (*wire.UpdateReply, error) {
	return actors.update(tx, &req.Actor, req.Intent)
}

// RemoveActor removes an actor row if it carries the token of the request, which
// need not be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemoveActor(tx *kvstore.Tx, req *wire.ActorRemoveRequest) (*wire.RemoveReply, error) {
	return actors.remove(tx, ActorKey(req.MeshName, req.ActorID), req.Owner)
}

// ResolveActor answers found with the row of an actor, live or not, else missing.
//
// Reads: the row and the lease of its owner. Errors: *kvstore.DataLostError.
func ResolveActor(v kvstore.View, req *wire.ActorResolveRequest) (*wire.ActorResolveReply, error) {
	a, state, err := actors.resolve(v, ActorKey(req.MeshName, req.ActorID))
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return &wire.ActorResolveReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	default:
		return &wire.ActorResolveReply{Kind: wire.KindFound, Actor: actorItem(a, state)}, nil
	}
}

// ListActors lists the actor rows that match a filter and come after a row, in byte
// order of mesh and actor id. It returns the key to go on after, empty at the end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListActors(v kvstore.View, req *wire.ActorListRequest, after kvstore.Key, p Page) ([]wire.ActorItem, kvstore.Key, error) {
	filter := filterOf(req.Filter)
	return listOwned(v, &actors.ownedRecords, ownedList[wire.Actor, wire.ActorItem]{
		rows: scanOf(v, after, FamilyActor, filter.MeshName), liveOnly: req.LiveOnly,
		match: func(a *wire.Actor) bool {
			return asked(filter.ActorType, a.ActorType) &&
				asked(filter.NodeRID, a.OwnerNodeRID) &&
				asked(filter.SpotID, a.SpotID) &&
				asked(filter.SpotKind, a.SpotKind)
		},
		item: actorItem,
	}, p)
}

func actorItem(a *wire.Actor, state wire.RowState) *wire.ActorItem {
	return &wire.ActorItem{Actor: *a, RowState: state}
}

func actorEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	a, err := actors.decodeAny(r)
	return &wire.ActorEvent{EventHead: head, MeshName: k.scope, ActorID: k.id, Value: a}, err
}
