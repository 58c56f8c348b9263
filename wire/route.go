package wire

import "slices"

// RouteKind says what a route leads to.
type RouteKind string

// The values of [RouteKind].
const (
	RouteActorSession RouteKind = "actorSession"   // the session of an actor
	RouteSpotName     RouteKind = "spotName"       // a spot, by a name
	RouteFramework    RouteKind = "frameworkRoute" // something of the framework's own
)

// Values implements [Enum].
func (RouteKind) Values() []string {
	return []string{
		string(RouteActorSession),
		string(RouteSpotName),
		string(RouteFramework),
	}
}

// Valid tells whether k is a value of the protocol.
func (k RouteKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// Route says which node something is reached through. Its node writes it, under its owner's lease.
type Route struct {
	RouteKind    RouteKind  `json:"routeKind"`    // with RouteKey the identity
	RouteKey     string     `json:"routeKey"`     // identifier
	OwnerNodeRID RID        `json:"ownerNodeRid"` // the node
	OwnerToken              // whose row it is
	Value        Bytes      `json:"value"`                     // 0..1,048,576 bytes, fewer by what the rest of the row takes
	Generation   Generation `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt    Instant    `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// RouteUpdateRequest is the request of route.update; the reply is an [UpdateReply].
type RouteUpdateRequest struct {
	Route  Route  `json:"route"`  // what to store
	Intent Intent `json:"intent"` // what the writer takes the row for
}

// RouteRemoveRequest is the request of route.remove; the reply is a [RemoveReply].
type RouteRemoveRequest struct {
	RouteKind RouteKind  `json:"routeKind"` // what it leads to
	RouteKey  string     `json:"routeKey"`  // identifier
	Owner     OwnerToken `json:"owner"`     // the token that the row must have; it need not be live
}

// RouteResolveRequest is the request of route.resolve.
type RouteResolveRequest struct {
	RouteKind RouteKind `json:"routeKind"` // what it leads to
	RouteKey  string    `json:"routeKey"`  // identifier
}

// RouteResolveReply is the reply of route.resolve: [KindFound] or [KindMissing].
type RouteResolveReply struct {
	Kind     Kind       `json:"kind"`              // which form
	Route    *RouteItem `json:"route,omitzero"`    // found: the row, live or not
	StoreNow Instant    `json:"storeNow,omitzero"` // missing
}

// RouteFilter narrows a list of routes. Fields that are given must all match.
type RouteFilter struct {
	RouteKind    RouteKind `json:"routeKind,omitzero"`    // what it leads to
	OwnerNodeRID RID       `json:"ownerNodeRid,omitzero"` // the node
	OwnerID      string    `json:"ownerId,omitzero"`      // identifier of the owner, whatever its generation
}

// RouteListRequest is the request of route.list.
type RouteListRequest struct {
	Filter *RouteFilter `json:"filter"` // absent or without fields is all routes
	PageRequest
}

// RouteItem is a route as it is listed and resolved.
type RouteItem struct {
	Route
	RowState
}

// RouteListReply is the reply of route.list, in ascending byte order of (route kind, route key).
type RouteListReply struct {
	Items []RouteItem `json:"items"` // the routes that match
	Page
}

// RouteEvent is an event of the kind route.
type RouteEvent struct {
	EventHead
	RouteKind RouteKind `json:"routeKind"`      // what it leads to
	RouteKey  string    `json:"routeKey"`       // the route within its kind
	Value     *Route    `json:"value,omitzero"` // upserted: the row
}
