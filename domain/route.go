package domain

import (
	"bytes"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// routes are the rules of routes.
var routes = locationFamily[wire.Route]{
	ownedRecords: ownedRecords[wire.Route]{
		key: func(r *wire.Route) kvstore.Key { return RouteKey(r.RouteKind, r.RouteKey) },
		facts: func(r *wire.Route) facts {
			return facts{token: r.OwnerToken, generation: r.Generation, updatedAt: r.UpdatedAt}
		},
		stamped: stampedRoute,
	},
	same: sameRoute,
}

// stampedRoute is what the service stores of a route that was sent.
func stampedRoute(sent *wire.Route, g wire.Generation, updatedAt wire.Instant) *wire.Route {
	r := *sent
	r.Generation, r.UpdatedAt = g, updatedAt
	return &r
}

func sameRoute(a, b *wire.Route) bool {
	return a.OwnerToken == b.OwnerToken &&
		a.RouteKind == b.RouteKind && a.RouteKey == b.RouteKey &&
		a.OwnerNodeRID == b.OwnerNodeRID &&
		bytes.Equal(a.Value, b.Value)
}

// UpdateRoute stores a route, as its intent and the row allow.
//
// Reads: the writer's lease, the row, and the lease of the row's owner. Writes: the
// row. Errors: *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted
// among them.
func UpdateRoute(tx *kvstore.Tx, req *wire.RouteUpdateRequest) (*wire.UpdateReply, error) {
	return routes.update(tx, &req.Route, req.Intent)
}

// RemoveRoute removes a route if it carries the token of the request, which need
// not be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemoveRoute(tx *kvstore.Tx, req *wire.RouteRemoveRequest) (*wire.RemoveReply, error) {
	return routes.remove(tx, RouteKey(req.RouteKind, req.RouteKey), req.Owner)
}

// ResolveRoute answers found with the row of a route, live or not, else missing.
//
// Reads: the row and the lease of its owner. Errors: *kvstore.DataLostError.
func ResolveRoute(v kvstore.View, req *wire.RouteResolveRequest) (*wire.RouteResolveReply, error) {
	r, state, err := routes.resolve(v, RouteKey(req.RouteKind, req.RouteKey))
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return &wire.RouteResolveReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	default:
		return &wire.RouteResolveReply{Kind: wire.KindFound, Route: routeItem(r, state)}, nil
	}
}

// ListRoutes lists the routes that match a filter and come after a row, in byte
// order of kind and route key. It returns the key to go on after, empty at the end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListRoutes(v kvstore.View, req *wire.RouteListRequest, after kvstore.Key, p Page) ([]wire.RouteItem, kvstore.Key, error) {
	filter := filterOf(req.Filter)
	return listOwned(v, &routes.ownedRecords, ownedList[wire.Route, wire.RouteItem]{
		rows: scanOf(v, after, FamilyRoute, string(filter.RouteKind)), liveOnly: req.LiveOnly,
		match: func(r *wire.Route) bool {
			return asked(filter.OwnerNodeRID, r.OwnerNodeRID) && asked(filter.OwnerID, r.OwnerID)
		},
		item: routeItem,
	}, p)
}

func routeItem(r *wire.Route, state wire.RowState) *wire.RouteItem {
	return &wire.RouteItem{Route: *r, RowState: state}
}

func routeEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	route, err := routes.decodeAny(r)
	return &wire.RouteEvent{EventHead: head, RouteKind: wire.RouteKind(k.scope), RouteKey: k.id, Value: route}, err
}
