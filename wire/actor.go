package wire

// ActorRef names one incarnation of an actor, and where it is.
type ActorRef struct {
	ActorID          string     `json:"actorId"`          // identifier
	ObjectGeneration Generation `json:"objectGeneration"` // 1..2^63-1, of the object
	MeshName         string     `json:"meshName"`         // identifier
	NodeRID          RID        `json:"nodeRid"`          // the node that it is on
}

// Actor says where an actor is, and in which spot. Its node writes it, under its owner's lease.
type Actor struct {
	MeshName            string     `json:"meshName"`            // identifier; with ActorID the identity
	ActorID             string     `json:"actorId"`             // identifier
	ActorType           string     `json:"actorType"`           // identifier
	ActorRef            ActorRef   `json:"actorRef"`            // of the same mesh and actor
	OwnerNodeRID        RID        `json:"ownerNodeRid"`        // the node that it is on
	OwnerNodeGeneration Generation `json:"ownerNodeGeneration"` // 1..2^63-1, of the node's process
	SpotKind            SpotKind   `json:"spotKind"`            // what sort of spot it is in
	SpotID              string     `json:"spotId"`              // identifier of that spot
	SpotGeneration      Generation `json:"spotGeneration"`      // 1..2^63-1, of that spot
	MembershipEpoch     U64        `json:"membershipEpoch"`     // 0..2^63-1, counted by the caller
	OwnerToken                     // whose row it is
	Generation          Generation `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt           Instant    `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// ActorUpdateRequest is the request of actor.update; the reply is an [UpdateReply].
type ActorUpdateRequest struct {
	Actor  Actor  `json:"actor"`  // what to store
	Intent Intent `json:"intent"` // what the writer takes the row for
}

// ActorRemoveRequest is the request of actor.remove; the reply is a [RemoveReply].
type ActorRemoveRequest struct {
	MeshName string     `json:"meshName"` // identifier
	ActorID  string     `json:"actorId"`  // identifier
	Owner    OwnerToken `json:"owner"`    // the token that the row must have; it need not be live
}

// ActorResolveRequest is the request of actor.resolve.
type ActorResolveRequest struct {
	MeshName string `json:"meshName"` // identifier
	ActorID  string `json:"actorId"`  // identifier
}

// ActorResolveReply is the reply of actor.resolve: [KindFound] or [KindMissing].
type ActorResolveReply struct {
	Kind     Kind       `json:"kind"`              // which form
	Actor    *ActorItem `json:"actor,omitzero"`    // found: the row, live or not
	StoreNow Instant    `json:"storeNow,omitzero"` // missing
}

// ActorFilter narrows a list of actors. Fields that are given must all match.
type ActorFilter struct {
	MeshName  string   `json:"meshName,omitzero"`  // identifier
	ActorType string   `json:"actorType,omitzero"` // identifier
	NodeRID   RID      `json:"nodeRid,omitzero"`   // the node that it is on
	SpotID    string   `json:"spotId,omitzero"`    // identifier of the spot that it is in
	SpotKind  SpotKind `json:"spotKind,omitzero"`  // what sort of spot that is
}

// ActorListRequest is the request of actor.list.
type ActorListRequest struct {
	Filter *ActorFilter `json:"filter"` // absent or without fields is all actors
	PageRequest
}

// ActorItem is an actor as it is listed and resolved.
type ActorItem struct {
	Actor
	RowState
}

// ActorListReply is the reply of actor.list, in ascending byte order of (mesh name, actor id).
type ActorListReply struct {
	Items []ActorItem `json:"items"` // the actors that match
	Page
}

// ActorEvent is an event of the kind actor.
type ActorEvent struct {
	EventHead
	MeshName string `json:"meshName"`       // the mesh
	ActorID  string `json:"actorId"`        // the actor within it
	Value    *Actor `json:"value,omitzero"` // upserted: the row
}
