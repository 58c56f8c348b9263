package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// spots are the rules of spot rows.
var spots = locationFamily[wire.Spot]{
	ownedRecords: ownedRecords[wire.Spot]{
		key: func(s *wire.Spot) kvstore.Key { return SpotKey(s.MeshName, s.SpotID) },
		facts: func(s *wire.Spot) facts {
			return facts{token: s.OwnerToken, generation: s.Generation, updatedAt: s.UpdatedAt}
		},
		stamped: stampedSpot,
	},
	same: func(a, b *wire.Spot) bool { return *stampedSpot(a, b.Generation, b.UpdatedAt) == *b },
}

// stampedSpot is what the service stores of a spot that was sent.
func stampedSpot(sent *wire.Spot, g wire.Generation, updatedAt wire.Instant) *wire.Spot {
	s := *sent
	s.Generation, s.UpdatedAt = g, updatedAt
	return &s
}

// UpdateSpot stores a spot row, as its intent and the row allow.
//
// Reads: the writer's lease, the row, and the lease of the row's owner. Writes: the
// row. Errors: *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted
// among them.
func UpdateSpot(tx *kvstore.Tx, req *wire.SpotUpdateRequest) (*wire.UpdateReply, error) {
	return spots.update(tx, &req.Spot, req.Intent)
}

// RemoveSpot removes a spot row if it carries the token of the request, which need
// not be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemoveSpot(tx *kvstore.Tx, req *wire.SpotRemoveRequest) (*wire.RemoveReply, error) {
	return spots.remove(tx, SpotKey(req.MeshName, req.SpotID), req.Owner)
}

// ResolveSpot answers found with the row of a spot, live or not, else missing.
//
// Reads: the row and the lease of its owner. Errors: *kvstore.DataLostError.
func ResolveSpot(v kvstore.View, req *wire.SpotResolveRequest) (*wire.SpotResolveReply, error) {
	s, state, err := spots.resolve(v, SpotKey(req.MeshName, req.SpotID))
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return &wire.SpotResolveReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	default:
		return &wire.SpotResolveReply{Kind: wire.KindFound, Spot: spotItem(s, state)}, nil
	}
}

// ListSpots lists the spot rows that match a filter and come after a row, in byte
// order of mesh and spot id. It returns the key to go on after, empty at the end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListSpots(v kvstore.View, req *wire.SpotListRequest, after kvstore.Key, p Page) ([]wire.SpotItem, kvstore.Key, error) {
	filter := filterOf(req.Filter)
	return listOwned(v, &spots.ownedRecords, ownedList[wire.Spot, wire.SpotItem]{
		rows: scanOf(v, after, FamilySpot, filter.MeshName), liveOnly: req.LiveOnly,
		match: func(s *wire.Spot) bool {
			return asked(filter.SpotType, s.SpotType) &&
				asked(filter.NodeRID, s.OwnerNodeRID) &&
				asked(filter.SpotKind, s.SpotKind)
		},
		item: spotItem,
	}, p)
}

func spotItem(s *wire.Spot, state wire.RowState) *wire.SpotItem {
	return &wire.SpotItem{Spot: *s, RowState: state}
}

func spotEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	s, err := spots.decodeAny(r)
	return &wire.SpotEvent{EventHead: head, MeshName: k.scope, SpotID: k.id, Value: s}, err
}
