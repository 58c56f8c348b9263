package wire

// MeshNodeDescriptor describes a node of a mesh. The node writes it, under its owner's lease.
type MeshNodeDescriptor struct {
	MeshName              string                `json:"meshName"`                 // identifier; with RID the identity
	RID                   RID                   `json:"rid"`                      // the node's routing id within the mesh
	LifecycleGeneration   Generation            `json:"lifecycleGeneration"`      // 1..2^63-1, of the node's process
	DescriptorRevision    Revision              `json:"descriptorRevision"`       // 1..2^63-1, rises with every change
	Endpoint              string                `json:"endpoint"`                 // 1..1024 bytes
	ObjectRole            ObjectRole            `json:"objectRole"`               // what it is for objects
	EntrySpotID           string                `json:"entrySpotId,omitzero"`     // identifier, unique in the store; servers only
	PlacementWeight       uint32                `json:"placementWeight"`          // 0..10,000; 0 gets no new objects
	PopulationCapacity    PopulationCapacity    `json:"populationCapacity"`       // how many objects it takes
	ActivationConcurrency ActivationConcurrency `json:"activationConcurrency"`    // how many it creates at a time
	ChannelWeights        map[string]uint32     `json:"channelWeights"`           // channel name to weight, 0..10,000
	ApplicationVersion    U64                   `json:"applicationVersion"`       // 0..2^63-1
	SpotTypes             []string              `json:"spotTypes"`                // identifiers, a set
	ObjectCapabilities    []ObjectCapability    `json:"objectCapabilities"`       // at most 1,024; servers only
	MaintenanceWave       string                `json:"maintenanceWave,omitzero"` // identifier
	State                 NodeState             `json:"state"`                    // where it stands
	SecurityIdentity      string                `json:"securityIdentity"`         // 1..1024 bytes
	OwnerToken                                  // whose descriptor it is
	Generation            Generation            `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt             Instant               `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// PopulationCapacity says how many objects a node takes and has.
type PopulationCapacity struct {
	Actors    Usage           `json:"actors"`    // actors of all types together
	Spots     Usage           `json:"spots"`     // user and instance spots of all types together
	SpotTypes []SpotTypeUsage `json:"spotTypes"` // at most 1,024, one each; a type that is not listed has no room
}

// Usage is a limit and what counts against it.
type Usage struct {
	Limit    uint32 `json:"limit"`                   // 0..2^31-1; 0 is unlimited
	Active   uint32 `json:"active" wire:"stamped"`   // objects that are active
	Reserved uint32 `json:"reserved" wire:"stamped"` // objects that are being created or are on their way
}

// SpotTypeUsage is the usage of one type of spot.
type SpotTypeUsage struct {
	ObjectKind SpotObjectKind `json:"objectKind"` // with StableType the identity
	StableType string         `json:"stableType"` // identifier
	Usage
}

// ActivationConcurrency says how many objects a node creates at a time.
type ActivationConcurrency struct {
	Active uint32 `json:"active"` // 0..limit
	Limit  uint32 `json:"limit"`  // 1..2^31-1
}

// ObjectCapability says that a node can host a type of object.
type ObjectCapability struct {
	ObjectKind         ObjectKind       `json:"objectKind"`         // with StableType the identity
	StableType         string           `json:"stableType"`         // identifier
	Policy             RelocationPolicy `json:"policy"`             // how such objects move
	HasSnapshotAdapter bool             `json:"hasSnapshotAdapter"` // true exactly when the policy is snapshot
	Limit              uint32           `json:"limit"`              // 0..2^31-1; 0 for actors
}

// MeshNodeUpdateRequest is the request of mesh-node.update; the reply is an [UpdateReply].
type MeshNodeUpdateRequest struct {
	Descriptor MeshNodeDescriptor `json:"descriptor"` // what to store
	Intent     Intent             `json:"intent"`     // what the writer takes the row for
}

// MeshNodeRemoveRequest is the request of mesh-node.remove; the reply is a [RemoveReply].
type MeshNodeRemoveRequest struct {
	MeshName string     `json:"meshName"` // identifier
	RID      RID        `json:"rid"`      // the node
	Owner    OwnerToken `json:"owner"`    // the token that the descriptor must have; it need not be live
}

// MeshNodeListRequest is the request of mesh-node.list.
type MeshNodeListRequest struct {
	MeshName string `json:"meshName"` // identifier
	PageRequest
}

// MeshNodeItem is a descriptor as it is listed.
type MeshNodeItem struct {
	MeshNodeDescriptor
	RowState
}

// MeshNodeListReply is the reply of mesh-node.list, in ascending byte order of the RIDs.
type MeshNodeListReply struct {
	Items []MeshNodeItem `json:"items"` // descriptors of the mesh
	Page
}
