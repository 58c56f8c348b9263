package wire

import "slices"

// EventKind says what sort of row an event is about.
type EventKind string

// The values of [EventKind].
const (
	EventMeshNode        EventKind = "mesh-node"        // see [MeshNodeEvent]
	EventClientServer    EventKind = "client-server"    // see [ClientServerEvent]
	EventFanoutPublisher EventKind = "fanout-publisher" // see [FanoutPublisherEvent]
	EventPeer            EventKind = "peer"             // see [PeerEvent]
	EventSpot            EventKind = "spot"             // see [SpotEvent]
	EventActor           EventKind = "actor"            // see [ActorEvent]
	EventRoute           EventKind = "route"            // see [RouteEvent]
	EventAuthority       EventKind = "authority"        // see [AuthorityEvent]
	EventOwnerLease      EventKind = "owner-lease"      // see [OwnerLeaseEvent]
)

// Values implements [Enum].
func (EventKind) Values() []string {
	return []string{
		string(EventMeshNode),
		string(EventClientServer),
		string(EventFanoutPublisher),
		string(EventPeer),
		string(EventSpot),
		string(EventActor),
		string(EventRoute),
		string(EventAuthority),
		string(EventOwnerLease),
	}
}

// Valid tells whether k is a value of the protocol.
func (k EventKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// ChangeType says what happened to a row.
type ChangeType string

// The values of [ChangeType].
const (
	ChangeUpserted ChangeType = "upserted" // it was created or replaced
	ChangeRemoved  ChangeType = "removed"  // it is gone
	ChangeExpired  ChangeType = "expired"  // its owner's lease lapsed or was released: the row is stored, but not live; an owner lease itself is gone
)

// Values implements [Enum].
func (ChangeType) Values() []string {
	return []string{
		string(ChangeUpserted),
		string(ChangeRemoved),
		string(ChangeExpired),
	}
}

// Valid tells whether t is a value of the protocol.
func (t ChangeType) Valid() bool { return slices.Contains(t.Values(), string(t)) }

// EventHead is what every event holds. Events are written by the service, for committed changes only.
type EventHead struct {
	Revision  Revision   `json:"revision"`  // of the row, or of the commit that the change follows from
	Kind      EventKind  `json:"kind"`      // what sort of row
	Change    ChangeType `json:"change"`    // what happened
	StoreTime Instant    `json:"storeTime"` // the store's time of the change
}

// MeshNodeEvent is an event of the kind mesh-node.
type MeshNodeEvent struct {
	EventHead
	MeshName string              `json:"meshName"`       // the mesh
	RID      RID                 `json:"rid"`            // the node within it
	Value    *MeshNodeDescriptor `json:"value,omitzero"` // upserted: the row
}

// OwnerLeaseEvent is an event of the kind owner-lease.
type OwnerLeaseEvent struct {
	EventHead
	OwnerID string      `json:"ownerId"`        // the owner
	Value   *OwnerLease `json:"value,omitzero"` // upserted: the lease as claimed
}
