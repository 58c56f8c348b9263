package wire

import "slices"

// AllocationState says how far an object is.
type AllocationState string

// The values of [AllocationState].
const (
	AllocationReserved AllocationState = "reserved" // it is being created
	AllocationActive   AllocationState = "active"   // it exists
)

// Values implements [Enum].
func (AllocationState) Values() []string {
	return []string{string(AllocationReserved), string(AllocationActive)}
}

// Valid tells whether s is a value of the protocol.
func (s AllocationState) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// Phase is what an active object's owner says of it.
type Phase string

// The values of [Phase].
const (
	PhaseSteady     Phase = "steady"     // nothing special
	PhaseClosing    Phase = "closing"    // the owner is shutting the object down
	PhaseRecovering Phase = "recovering" // the object is not fully back yet
)

// Values implements [Enum].
func (Phase) Values() []string {
	return []string{string(PhaseSteady), string(PhaseClosing), string(PhaseRecovering)}
}

// Valid tells whether p is a value of the protocol.
func (p Phase) Valid() bool { return slices.Contains(p.Values(), string(p)) }

// MembershipKind is a sort of spot that an actor can belong to.
type MembershipKind string

// The values of [MembershipKind].
const (
	MembershipEntry MembershipKind = "entry" // the entry spot of a node
	MembershipUser  MembershipKind = "user"  // a user spot, which has to accept the actor
)

// Values implements [Enum].
func (MembershipKind) Values() []string {
	return []string{string(MembershipEntry), string(MembershipUser)}
}

// Valid tells whether k is a value of the protocol.
func (k MembershipKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// Membership says to which spot an actor belongs.
type Membership struct {
	SpotID         string         `json:"spotId"`         // identifier
	SpotGeneration Generation     `json:"spotGeneration"` // objectGeneration of the spot, 1..2^63-1
	SpotKind       MembershipKind `json:"spotKind"`       // entry or user
}

// Allocation says where an object is and what it takes there.
type Allocation struct {
	State                         AllocationState `json:"state"`                         // reserved or active
	ObjectKind                    ObjectKind      `json:"objectKind"`                    // what sort of object
	StableType                    string          `json:"stableType"`                    // its type
	Descriptor                    DescriptorKey   `json:"descriptor"`                    // the node
	DescriptorLifecycleGeneration Generation      `json:"descriptorLifecycleGeneration"` // the node's life for which it was placed
	Capacity                      Capacity        `json:"capacity"`                      // what it takes
}

// PendingCreation says what a reserved object is created from.
type PendingCreation struct {
	ReservationID           string `json:"reservationId"`           // a UUID in lower case
	RequestContentReference string `json:"requestContentReference"` // as the intent had it
	RequestSHA256           Bytes  `json:"requestSha256"`           // 32 bytes
	RequestEncodedSize      uint32 `json:"requestEncodedSize"`      // bytes
}

// Authority is the record of an object as replies and events show it. Written by the service.
type Authority struct {
	// Kind is [KindSnapshot] or [KindMissing], or what the reply says that the record is a part of; absent where there is always a
	// snapshot.
	Kind                     Kind             `json:"kind,omitzero"`
	Key                      string           `json:"key,omitzero"`                      // snapshot: text form of the object's key
	StoreVersion             Version          `json:"storeVersion,omitzero"`             // snapshot: of the record
	Payload                  Bytes            `json:"payload,omitzero"`                  // snapshot: the caller's; empty is not nil
	ObjectGeneration         Generation       `json:"objectGeneration,omitzero"`         // snapshot: of the object
	AuthorityOwnerGeneration Generation       `json:"authorityOwnerGeneration,omitzero"` // snapshot: of the object with its owner
	OwnerID                  string           `json:"ownerId,omitzero"`                  // snapshot: who may act
	OwnerLeaseGeneration     Generation       `json:"ownerLeaseGeneration,omitzero"`     // snapshot: under this lease
	Allocation               *Allocation      `json:"allocation,omitzero"`               // snapshot: where it is
	PendingCreation          *PendingCreation `json:"pendingCreation,omitzero"`          // snapshot of a reserved object
	Phase                    Phase            `json:"phase,omitzero"`                    // snapshot
	Membership               *Membership      `json:"membership,omitzero"`               // snapshot of an actor that has joined a spot
	Live                     *bool            `json:"live,omitzero"`                     // snapshot: whether the owner's token is live; not in events
	StoreNow                 Instant          `json:"storeNow,omitzero"`                 // the store's time; not in events
}

// AuthorityReadRequest is the request of authority.read; the reply is an [Authority].
type AuthorityReadRequest struct {
	Key ObjectKey `json:"key"` // the object
}

// AuthorityListRequest is the request of authority.list.
type AuthorityListRequest struct {
	Prefix string `json:"prefix"`          // 0..776 bytes that the text form of the keys begins with
	Cursor string `json:"cursor,omitzero"` // of the page before, 1..4096 bytes; absent is the first page
	Limit  uint32 `json:"limit"`           // greatest number of items, 1..1000
}

// AuthorityListReply is the reply of authority.list: [KindPage] or [KindScanExpired]. All pages show one instant.
type AuthorityListReply struct {
	Kind       Kind            `json:"kind"`                // which form
	Items      []AuthorityItem `json:"items,omitzero"`      // page: in byte order of the keys; may be empty, not nil
	NextCursor string          `json:"nextCursor,omitzero"` // page: asks for the next one; absent on the last one
}

// AuthorityItem is a record as authority.list shows it.
type AuthorityItem struct {
	Key      string    `json:"key"`      // text form
	Snapshot Authority `json:"snapshot"` // the record
}

// AuthorityMutationKind is the form of an [AuthorityMutation].
type AuthorityMutationKind string

// The values of [AuthorityMutationKind].
const (
	AuthorityPut         AuthorityMutationKind = "put"              // the owner replaces the payload, and may change phase and membership
	AuthorityRebind      AuthorityMutationKind = "rebindOwnerLease" // the same owner goes on under its next lease
	AuthorityRestore     AuthorityMutationKind = "restore"          // the payload is replaced, whether or not the owner is live
	AuthorityReincarnate AuthorityMutationKind = "reincarnate"      // the owner begins the object anew
	AuthorityDelete      AuthorityMutationKind = "delete"           // the owner removes the object
)

// Values implements [Enum].
func (AuthorityMutationKind) Values() []string {
	return []string{
		string(AuthorityPut),
		string(AuthorityRebind),
		string(AuthorityRestore),
		string(AuthorityReincarnate),
		string(AuthorityDelete),
	}
}

// Valid tells whether k is a value of the protocol.
func (k AuthorityMutationKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// GenerationTransition says what a put does to the generations.
type GenerationTransition string

// GenerationPreserve keeps both generations.
const GenerationPreserve GenerationTransition = "preserve"

// Values implements [Enum].
func (GenerationTransition) Values() []string { return []string{string(GenerationPreserve)} }

// Valid tells whether t is a value of the protocol.
func (t GenerationTransition) Valid() bool { return slices.Contains(t.Values(), string(t)) }

// AuthorityMutation is one change of a record.
type AuthorityMutation struct {
	Kind                 AuthorityMutationKind `json:"kind"`                          // which form
	Payload              Bytes                 `json:"payload,omitzero"`              // all but delete: 0..1,048,576 bytes; empty is not nil
	GenerationTransition GenerationTransition  `json:"generationTransition,omitzero"` // put: preserve
	Phase                Phase                 `json:"phase,omitzero"`                // put, restore; absent: it stays
	Membership           *Membership           `json:"membership,omitzero"`           // put of an actor; absent: it stays
	ExpectedOwner        *OwnerToken           `json:"expectedOwner,omitzero"`        // rebindOwnerLease, restore: whose it must be
	TargetOwner          *OwnerToken           `json:"targetOwner,omitzero"`          // rebindOwnerLease: the same owner's next token
}

// AuthorityCompareExchangeRequest is the request of authority.compare-exchange.
type AuthorityCompareExchangeRequest struct {
	Key                  ObjectKey         `json:"key"`                  // the object
	ExpectedStoreVersion Version           `json:"expectedStoreVersion"` // 1..64 bytes; the version that the record must have
	Mutation             AuthorityMutation `json:"mutation"`             // what to do
}

// AuthorityCompareExchangeReply is the reply of authority.compare-exchange: [KindStored] with the fields of the new snapshot,
// [KindDeleted] with the version that the record had, [KindConflict] or [KindGenerationExhausted].
type AuthorityCompareExchangeReply struct {
	Authority
	Current *Authority `json:"current,omitzero"` // conflict: the record as it is
}

// AuthorityEvent is an event of the kind authority.
type AuthorityEvent struct {
	EventHead
	Key   string     `json:"key"`            // text form of the object's key
	Value *Authority `json:"value,omitzero"` // upserted: the record, without live and storeNow
}
