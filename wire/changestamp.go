package wire

import "slices"

// StampKind is a sort of row that has change stamps.
type StampKind string

// The values of [StampKind].
const (
	StampMeshNode        StampKind = "meshNode"        // by mesh
	StampClientServer    StampKind = "clientServer"    // by channel
	StampFanoutPublisher StampKind = "fanoutPublisher" // by channel
	StampPeer            StampKind = "peer"            // by mesh
	StampSpot            StampKind = "spot"            // by mesh
	StampActor           StampKind = "actor"           // by mesh
	StampRoute           StampKind = "route"
	StampAuthority       StampKind = "authority"
	StampOwnerLease      StampKind = "ownerLease"
)

// Values implements [Enum].
func (StampKind) Values() []string {
	return []string{
		string(StampMeshNode),
		string(StampClientServer),
		string(StampFanoutPublisher),
		string(StampPeer),
		string(StampSpot),
		string(StampActor),
		string(StampRoute),
		string(StampAuthority),
		string(StampOwnerLease),
	}
}

// Valid tells whether k is a value of the protocol.
func (k StampKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// ChangeStampGetRequest is the request of change-stamp.get. Without a name the scope is the whole kind.
type ChangeStampGetRequest struct {
	Kind        StampKind `json:"kind"`                 // what sort of row
	MeshName    string    `json:"meshName,omitzero"`    // identifier; only for kinds by mesh
	ChannelName string    `json:"channelName,omitzero"` // identifier; only for kinds by channel
}

// ChangeStampGetReply is the reply of change-stamp.get.
type ChangeStampGetReply struct {
	Stamp Revision `json:"stamp"` // of the last change in the scope; 0 when there never was one
}
