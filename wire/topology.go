package wire

import "slices"

// TopologyState tells whether a node is there.
type TopologyState string

// The values of [TopologyState].
const (
	TopologyReady TopologyState = "ready" // its owner token is live
	TopologyLost  TopologyState = "lost"  // it is not
)

// Values implements [Enum].
func (TopologyState) Values() []string {
	return []string{
		string(TopologyReady),
		string(TopologyLost),
	}
}

// Valid tells whether s is a value of the protocol.
func (s TopologyState) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// TopologyListRequest is the request of topology.list. Fields that are given must all match.
type TopologyListRequest struct {
	MeshName string        `json:"meshName,omitzero"` // identifier
	NodeRID  RID           `json:"nodeRid,omitzero"`  // a node
	State    TopologyState `json:"state,omitzero"`    // whether it is there
	PageRequest
}

// TopologyNode is a node as topology.list shows it. Written by the service.
type TopologyNode struct {
	MeshName  string        `json:"meshName"`  // the mesh
	NodeRID   RID           `json:"nodeRid"`   // the node within it
	Endpoint  string        `json:"endpoint"`  // of its descriptor
	Draining  bool          `json:"draining"`  // its descriptor is draining, relocating or relocated
	State     TopologyState `json:"state"`     // whether it is there
	UpdatedAt Instant       `json:"updatedAt"` // of its descriptor
}

// TopologyListReply is the reply of topology.list, in ascending byte order of (mesh name, RID).
type TopologyListReply struct {
	Items []TopologyNode `json:"items"` // one for each descriptor that matches
	Page
}

// TopologySummaryRequest is the request of topology.summary.
type TopologySummaryRequest struct {
	MeshName string `json:"meshName,omitzero"` // identifier; absent is all meshes
	PageRequest
}

// TopologyMesh sums up a mesh. Written by the service.
type TopologyMesh struct {
	MeshName      string  `json:"meshName"`      // the mesh
	TotalCount    uint32  `json:"totalCount"`    // descriptors
	ReadyCount    uint32  `json:"readyCount"`    // live ones that are not in state error
	ErrorCount    uint32  `json:"errorCount"`    // live ones in state error
	StoppedCount  uint32  `json:"stoppedCount"`  // those that are not live
	LastUpdatedAt Instant `json:"lastUpdatedAt"` // the latest of the descriptors
}

// TopologySummaryReply is the reply of topology.summary, in ascending byte order of the mesh names.
type TopologySummaryReply struct {
	Items []TopologyMesh `json:"items"` // one for each mesh that has a descriptor
	Page
}
