package wire

import "slices"

// SpotKind says what sort of spot an actor is in, or a row of a spot is about.
type SpotKind string

// The values of [SpotKind].
const (
	SpotKindEntry    SpotKind = "entry"    // where actors are before they join another spot; see [MeshNodeDescriptor]
	SpotKindUser     SpotKind = "user"     // an object of the kind userSpot
	SpotKindInstance SpotKind = "instance" // an object of the kind instanceSpot
)

// Values implements [Enum].
func (SpotKind) Values() []string {
	return []string{
		string(SpotKindEntry),
		string(SpotKindUser),
		string(SpotKindInstance),
	}
}

// Valid tells whether k is a value of the protocol.
func (k SpotKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// Spot says where a spot is. Its node writes it, under its owner's lease.
type Spot struct {
	MeshName            string     `json:"meshName"`            // identifier; with SpotID the identity
	SpotID              string     `json:"spotId"`              // identifier
	SpotGeneration      Generation `json:"spotGeneration"`      // 1..2^63-1, of the spot
	SpotType            string     `json:"spotType"`            // identifier
	OwnerNodeRID        RID        `json:"ownerNodeRid"`        // the node that it is on
	OwnerNodeGeneration Generation `json:"ownerNodeGeneration"` // 1..2^63-1, of the node's process
	SpotKind            SpotKind   `json:"spotKind"`            // what sort of spot
	OwnerToken                     // whose row it is
	Generation          Generation `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt           Instant    `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// SpotUpdateRequest is the request of spot.update; the reply is an [UpdateReply].
type SpotUpdateRequest struct {
	Spot   Spot   `json:"spot"`   // what to store
	Intent Intent `json:"intent"` // what the writer takes the row for
}

// SpotRemoveRequest is the request of spot.remove; the reply is a [RemoveReply].
type SpotRemoveRequest struct {
	MeshName string     `json:"meshName"` // identifier
	SpotID   string     `json:"spotId"`   // identifier
	Owner    OwnerToken `json:"owner"`    // the token that the row must have; it need not be live
}

// SpotResolveRequest is the request of spot.resolve.
type SpotResolveRequest struct {
	MeshName string `json:"meshName"` // identifier
	SpotID   string `json:"spotId"`   // identifier
}

// SpotResolveReply is the reply of spot.resolve: [KindFound] or [KindMissing].
type SpotResolveReply struct {
	Kind     Kind      `json:"kind"`              // which form
	Spot     *SpotItem `json:"spot,omitzero"`     // found: the row, live or not
	StoreNow Instant   `json:"storeNow,omitzero"` // missing
}

// SpotFilter narrows a list of spots. Fields that are given must all match.
type SpotFilter struct {
	MeshName string   `json:"meshName,omitzero"` // identifier
	SpotType string   `json:"spotType,omitzero"` // identifier
	NodeRID  RID      `json:"nodeRid,omitzero"`  // the node that it is on
	SpotKind SpotKind `json:"spotKind,omitzero"` // what sort of spot
}

// SpotListRequest is the request of spot.list.
type SpotListRequest struct {
	Filter *SpotFilter `json:"filter"` // absent or without fields is all spots
	PageRequest
}

// SpotItem is a spot as it is listed and resolved.
type SpotItem struct {
	Spot
	RowState
}

// SpotListReply is the reply of spot.list, in ascending byte order of (mesh name, spot id).
type SpotListReply struct {
	Items []SpotItem `json:"items"` // the spots that match
	Page
}

// SpotEvent is an event of the kind spot.
type SpotEvent struct {
	EventHead
	MeshName string `json:"meshName"`       // the mesh
	SpotID   string `json:"spotId"`         // the spot within it
	Value    *Spot  `json:"value,omitzero"` // upserted: the row
}
