package wire

// Capacity is how much of a node an object takes, in numbers of objects.
type Capacity struct {
	Actors   uint32        `json:"actors"`            // 0..2^31-1
	Spots    uint32        `json:"spots"`             // 0..2^31-1
	SpotType *SpotCapacity `json:"spotType,omitzero"` // absent: no type of spot is counted
}

// SpotCapacity is how much of the limit of one type of spot an object takes.
type SpotCapacity struct {
	ObjectKind SpotObjectKind `json:"objectKind"` // with StableType the type
	StableType string         `json:"stableType"` // identifier
	Count      uint32         `json:"count"`      // 1..2^31-1
}

// DescriptorKey names a mesh-node descriptor.
type DescriptorKey struct {
	MeshName string `json:"meshName"` // identifier
	RID      RID    `json:"rid"`      // the node
}

// Target is a node, as its owner knows it, that is to have an object.
type Target struct {
	MeshName                string     `json:"meshName"`                // identifier
	NodeRID                 RID        `json:"nodeRid"`                 // the node
	NodeLifecycleGeneration Generation `json:"nodeLifecycleGeneration"` // the descriptor's, 1..2^63-1
	Owner                   OwnerToken `json:"owner"`                   // the descriptor's
}

// Incarnation is one life of a node.
type Incarnation struct {
	RID                 RID        `json:"rid"`                 // the node
	LifecycleGeneration Generation `json:"lifecycleGeneration"` // 1..2^63-1
}

// Node names the descriptor of the target.
func (t Target) Node() DescriptorKey { return DescriptorKey{MeshName: t.MeshName, RID: t.NodeRID} }
