package wire

import "slices"

// AutoConnectType says in which way peers connect to each other.
type AutoConnectType string

// The values of [AutoConnectType].
const (
	ConnectRouteMesh AutoConnectType = "routeMesh" // routers, each with each
	ConnectFanout    AutoConnectType = "fanout"    // subscribers with publishers
)

// Values implements [Enum].
func (AutoConnectType) Values() []string {
	return []string{
		string(ConnectRouteMesh),
		string(ConnectFanout),
	}
}

// Valid tells whether t is a value of the protocol.
func (t AutoConnectType) Valid() bool { return slices.Contains(t.Values(), string(t)) }

// PeerRole says what part a peer plays for those that connect to it.
type PeerRole string

// The values of [PeerRole].
const (
	PeerSpot   PeerRole = "spot"
	PeerRouter PeerRole = "router"
	PeerDealer PeerRole = "dealer"
	PeerPub    PeerRole = "pub"
	PeerSub    PeerRole = "sub"
)

// Values implements [Enum].
func (PeerRole) Values() []string {
	return []string{
		string(PeerSpot),
		string(PeerRouter),
		string(PeerDealer),
		string(PeerPub),
		string(PeerSub),
	}
}

// Valid tells whether r is a value of the protocol.
func (r PeerRole) Valid() bool { return slices.Contains(r.Values(), string(r)) }

// Peer says where a peer can be reached. Its host writes it, under its owner's lease.
type Peer struct {
	AutoConnectType AutoConnectType   `json:"autoConnectType"`       // with MeshName, Role and NodeRID the identity
	MeshName        string            `json:"meshName"`              // identifier
	NodeRID         RID               `json:"nodeRid,omitzero"`      // the peer's routing id; without one Endpoint is part of the identity
	Role            PeerRole          `json:"role"`                  // what it is for those that connect
	Endpoint        string            `json:"endpoint"`              // 1..1024 bytes, compared as given
	Weight          uint32            `json:"weight"`                // 0..10,000
	Draining        bool              `json:"draining"`              // nobody is to connect to it any more
	Value           U64               `json:"value"`                 // the caller's own
	Metadata        map[string]string `json:"metadata,omitzero"`     // identifier to text; none is as good as absent
	Capabilities    []string          `json:"capabilities,omitzero"` // identifiers, in an order that matters; none is as good as absent
	OwnerToken                        // whose row it is
	Generation      Generation        `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt       Instant           `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// PeerKey names a peer: by its routing id if there is one, otherwise by its endpoint.
type PeerKey struct {
	AutoConnectType AutoConnectType `json:"autoConnectType"`   // how it connects
	MeshName        string          `json:"meshName"`          // identifier
	Role            PeerRole        `json:"role"`              // what it is for those that connect
	NodeRID         RID             `json:"nodeRid,omitzero"`  // the peer
	Endpoint        string          `json:"endpoint,omitzero"` // the peer, if NodeRID is absent, else ignored; the service then leaves it out
}

// PeerUpdateRequest is the request of peer.update; the reply is an [UpdateReply].
type PeerUpdateRequest struct {
	Peer   Peer   `json:"peer"`   // what to store
	Intent Intent `json:"intent"` // what the writer takes the row for
}

// PeerRemoveRequest is the request of peer.remove; the reply is a [RemoveReply].
type PeerRemoveRequest struct {
	Key   PeerKey    `json:"key"`   // the peer
	Owner OwnerToken `json:"owner"` // the token that the row must have; it need not be live
}

// PeerFilter narrows a list of peers. Fields that are given must all match.
type PeerFilter struct {
	AutoConnectType AutoConnectType `json:"autoConnectType,omitzero"` // how it connects
	MeshName        string          `json:"meshName,omitzero"`        // identifier
	Role            PeerRole        `json:"role,omitzero"`            // what it is for those that connect
	NodeRID         RID             `json:"nodeRid,omitzero"`         // its routing id; no peer without one matches
	Endpoint        string          `json:"endpoint,omitzero"`        // 1..1024 bytes
}

// PeerListRequest is the request of peer.list.
type PeerListRequest struct {
	Filter *PeerFilter `json:"filter"` // absent or without fields is all peers
	PageRequest
}

// PeerItem is a peer as it is listed.
type PeerItem struct {
	Peer
	RowState
}

// PeerListReply is the reply of peer.list, in ascending byte order of (auto-connect type, mesh name, role, RID or endpoint).
type PeerListReply struct {
	Items []PeerItem `json:"items"` // the peers that match
	Page
}

// PeerEvent is an event of the kind peer.
type PeerEvent struct {
	EventHead
	PeerKey
	Value *Peer `json:"value,omitzero"` // upserted: the row
}
