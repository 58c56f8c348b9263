package wire

// PlacementSelectRequest is the request of placement.select.
type PlacementSelectRequest struct {
	MeshName   string        `json:"meshName"`         // identifier: a node of this mesh is chosen
	ObjectKind ObjectKind    `json:"objectKind"`       // what sort of object
	StableType string        `json:"stableType"`       // identifier, its type
	Capacity   Capacity      `json:"capacity"`         // what it takes; something of it
	Exclude    []Incarnation `json:"exclude,omitzero"` // nodes that are not to be chosen
}

// PlacementSelectReply is the reply of placement.select: [KindSelected] or [KindNone].
type PlacementSelectReply struct {
	Kind   Kind    `json:"kind"`            // which form
	Target *Target `json:"target,omitzero"` // selected: the node
	Reason Reason  `json:"reason,omitzero"` // none: noNode, noCapability, excluded or capacity
}
