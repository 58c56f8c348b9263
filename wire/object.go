package wire

import "slices"

// Reason says why a request to create or place an object was refused.
type Reason string

// The values of [Reason].
const (
	ReasonTargetUnavailable Reason = "targetUnavailable" // conflict: the target is not a serving node with a live owner
	ReasonEntrySpot         Reason = "entrySpot"         // conflict: the id is the entry spot of a node
	ReasonReserved          Reason = "reserved"          // conflict: somebody else is creating the object

	ReasonInAggregate     Reason = "inAggregate"     // unavailable: the object is being moved
	ReasonNotSteady       Reason = "notSteady"       // unavailable: the object is closing or recovering
	ReasonMemberLive      Reason = "memberLive"      // unavailable: a member of the spot has a live owner
	ReasonMemberNotSteady Reason = "memberNotSteady" // unavailable: a member of the spot is being moved, closing or recovering
	ReasonTooManyRows     Reason = "tooManyRows"     // unavailable: the spot has more members than one commit can remove

	ReasonNoNode       Reason = "noNode"       // none: no serving node with a live owner and a weight
	ReasonNoCapability Reason = "noCapability" // none: no such node can host the type
	ReasonExcluded     Reason = "excluded"     // none: the caller excluded all such nodes
	ReasonCapacity     Reason = "capacity"     // none: no such node has room
)

// Values implements [Enum].
func (Reason) Values() []string {
	return []string{
		string(ReasonTargetUnavailable), string(ReasonEntrySpot), string(ReasonReserved),
		string(ReasonInAggregate), string(ReasonNotSteady), string(ReasonMemberLive), string(ReasonMemberNotSteady),
		string(ReasonTooManyRows),
		string(ReasonNoNode), string(ReasonNoCapability), string(ReasonExcluded), string(ReasonCapacity),
	}
}

// Valid tells whether r is a value of the protocol.
func (r Reason) Valid() bool { return slices.Contains(r.Values(), string(r)) }

// EndedOwner says what to do about an object that exists but whose owner has ended.
type EndedOwner string

// The values of [EndedOwner].
const (
	EndedOwnerKeep    EndedOwner = "keep"    // leave it alone
	EndedOwnerRelease EndedOwner = "release" // replace it, if nothing stands against that
)

// Values implements [Enum].
func (EndedOwner) Values() []string {
	return []string{string(EndedOwnerKeep), string(EndedOwnerRelease)}
}

// Valid tells whether o is a value of the protocol.
func (o EndedOwner) Valid() bool { return slices.Contains(o.Values(), string(o)) }

// CreationIntent says what object is to be created, and from what.
type CreationIntent struct {
	StableType              string `json:"stableType"`              // identifier, the type of the object
	RequestContentReference string `json:"requestContentReference"` // 1..1,048,576 bytes without NUL: where the request is
	RequestSHA256           Bytes  `json:"requestSha256"`           // 32 bytes: what it is
	RequestEncodedSize      uint32 `json:"requestEncodedSize"`      // 0..1,048,576 bytes
}

// ObjectReserveRequest is the request of object.reserve.
type ObjectReserveRequest struct {
	Key             ObjectKey      `json:"key"`                    // the object; its kind counts
	Intent          CreationIntent `json:"intent"`                 // what it becomes
	Target          Target         `json:"target"`                 // where
	CreatingPayload Bytes          `json:"creatingPayload"`        // 0..1,048,576 bytes, the payload while it is reserved
	Capacity        Capacity       `json:"capacity"`               // what it takes; something of it
	ReservationID   string         `json:"reservationId,omitzero"` // a UUID in lower case that makes the request repeatable; absent: a new one
	EndedOwner      EndedOwner     `json:"endedOwner,omitzero"`    // absent is keep
}

// ObjectPlaceRequest is the request of object.place.
type ObjectPlaceRequest struct {
	Key             ObjectKey      `json:"key"`                    // as in [ObjectReserveRequest]
	Intent          CreationIntent `json:"intent"`                 // as there
	MeshName        string         `json:"meshName"`               // identifier: a node of this mesh is chosen
	CreatingPayload Bytes          `json:"creatingPayload"`        // as there
	Capacity        Capacity       `json:"capacity"`               // as there
	Exclude         []Incarnation  `json:"exclude,omitzero"`       // nodes that are not to be chosen
	ReservationID   string         `json:"reservationId,omitzero"` // as there
	EndedOwner      EndedOwner     `json:"endedOwner,omitzero"`    // as there
}

// ObjectReserveReply is the reply of object.reserve and object.place: [KindReserved], [KindAlreadyExists], [KindTypeMismatch],
// [KindConflict], [KindUnavailable], [KindPlacementCapacityExhausted], [KindGenerationExhausted] or, of object.place,
// [KindNoTarget].
type ObjectReserveReply struct {
	Kind          Kind       `json:"kind"`                   // which form
	ReservationID string     `json:"reservationId,omitzero"` // reserved
	Creating      *Authority `json:"creating,omitzero"`      // reserved: the record
	Target        *Target    `json:"target,omitzero"`        // reserved by object.place: the node
	Current       *Authority `json:"current,omitzero"`       // alreadyExists, typeMismatch, conflict, unavailable: the record as it is
	Reason        Reason     `json:"reason,omitzero"`        // conflict, unavailable
}

// ObjectCommitRequest is the request of object.commit, for spots.
type ObjectCommitRequest struct {
	Key                  ObjectKey `json:"key"`                  // a spot
	ReservationID        string    `json:"reservationId"`        // of the reservation
	ExpectedStoreVersion Version   `json:"expectedStoreVersion"` // of the reserved record, 1..64 bytes
	Target               Target    `json:"target"`               // of the reservation
	ReadyPayload         Bytes     `json:"readyPayload"`         // 0..1,048,576 bytes, the payload from now on
}

// ObjectCommitReply is the reply of object.commit: [KindCommitted], [KindAlreadyCommitted], [KindStale] or
// [KindGenerationExhausted].
type ObjectCommitReply struct {
	Kind  Kind       `json:"kind"`           // which form
	Ready *Authority `json:"ready,omitzero"` // committed, alreadyCommitted: the record as it is now
}

// ObjectAbortRequest is the request of object.abort.
type ObjectAbortRequest struct {
	Key                  ObjectKey `json:"key"`                  // the object
	ReservationID        string    `json:"reservationId"`        // of the reservation
	ExpectedStoreVersion Version   `json:"expectedStoreVersion"` // of the reserved record, 1..64 bytes
	Target               Target    `json:"target"`               // of the reservation
}

// ObjectAbortReply is the reply of object.abort: [KindAborted], [KindAlreadyAborted] or [KindStale].
type ObjectAbortReply struct {
	Kind Kind `json:"kind"` // which form
}

// ObjectReleaseEndedRequest is the request of object.release-ended.
type ObjectReleaseEndedRequest struct {
	Key                  ObjectKey `json:"key"`                  // the object
	ExpectedStoreVersion Version   `json:"expectedStoreVersion"` // of the reserved record, 1..64 bytes
}

// ObjectReleaseEndedReply is the reply of object.release-ended: [KindReleased] or [KindStale].
type ObjectReleaseEndedReply struct {
	Kind Kind `json:"kind"` // which form
}

// LookupKind is a sort of object that has an identity of its own.
type LookupKind string

// The values of [LookupKind].
const (
	LookupActor LookupKind = "actor"
	LookupSpot  LookupKind = "spot" // of any kind
)

// Values implements [Enum].
func (LookupKind) Values() []string { return []string{string(LookupActor), string(LookupSpot)} }

// Valid tells whether k is a value of the protocol.
func (k LookupKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// EntryState says whether an object can be used.
type EntryState string

// The values of [EntryState].
const (
	EntryCreating    EntryState = "creating"    // it is reserved
	EntryReady       EntryState = "ready"       // it is active and its owner is live
	EntryUnavailable EntryState = "unavailable" // it is active and its owner is not live
)

// Values implements [Enum].
func (EntryState) Values() []string {
	return []string{string(EntryCreating), string(EntryReady), string(EntryUnavailable)}
}

// Valid tells whether s is a value of the protocol.
func (s EntryState) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// ObjectEntry says where an object is. Written by the service.
type ObjectEntry struct {
	GlobalID         string     `json:"globalId"`         // the object, within its kind
	ObjectGeneration Generation `json:"objectGeneration"` // of the object
	MeshName         string     `json:"meshName"`         // of the node
	NodeRID          RID        `json:"nodeRid"`          // the node
	State            EntryState `json:"state"`            // whether it can be used
	StableType       string     `json:"stableType"`       // type of the object
}

// ObjectFindRequest is the request of object.find.
type ObjectFindRequest struct {
	Kind     LookupKind `json:"kind"`     // actor or spot
	GlobalID string     `json:"globalId"` // identifier
}

// ObjectFindReply is the reply of object.find: [KindFound] or [KindMissing].
type ObjectFindReply struct {
	Kind     Kind         `json:"kind"`              // which form
	Entry    *ObjectEntry `json:"entry,omitzero"`    // found
	StoreNow Instant      `json:"storeNow,omitzero"` // missing
}

// ObjectListRequest is the request of object.list.
type ObjectListRequest struct {
	ObjectKind ObjectKind `json:"objectKind"`          // exactly this kind
	StableType string     `json:"stableType,omitzero"` // identifier; absent: all types
	MeshName   string     `json:"meshName,omitzero"`   // identifier; absent: all meshes
	PageRequest
}

// ObjectListReply is the reply of object.list, in the order of the objects' keys.
type ObjectListReply struct {
	Items []ObjectEntry `json:"items"` // objects of the kind
	Page
}

// AwaitCondition says what object.await waits for.
type AwaitCondition string

// The values of [AwaitCondition].
const (
	AwaitSettled AwaitCondition = "settled" // the record is active or missing
	AwaitChanged AwaitCondition = "changed" // the record has another version, or is there at all
)

// Values implements [Enum].
func (AwaitCondition) Values() []string { return []string{string(AwaitSettled), string(AwaitChanged)} }

// Valid tells whether c is a value of the protocol.
func (c AwaitCondition) Valid() bool { return slices.Contains(c.Values(), string(c)) }

// ObjectAwaitRequest is the request of object.await; the reply is an [Authority].
type ObjectAwaitRequest struct {
	Key          ObjectKey      `json:"key"`                   // the object
	Until        AwaitCondition `json:"until"`                 // what to wait for
	SinceVersion Version        `json:"sinceVersion,omitzero"` // changed: another version than this, 1..64 bytes; absent: any
}
