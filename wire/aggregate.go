package wire

import "slices"

// Fence names an aggregate. Different generations of one id are different aggregates.
type Fence struct {
	AggregateID         string     `json:"aggregateId"`         // identifier
	AggregateGeneration Generation `json:"aggregateGeneration"` // 1..2^63-1
}

// OwnerTransition says what an aggregate does to the owner of a participant.
type OwnerTransition string

// The values of [OwnerTransition].
const (
	OwnerPreserve OwnerTransition = "preserve" // the object stays where it is and gets a new payload only
	OwnerNew      OwnerTransition = "newOwner" // the object moves to the target node and its owner
)

// Values implements [Enum].
func (OwnerTransition) Values() []string { return []string{string(OwnerPreserve), string(OwnerNew)} }

// Valid tells whether t is a value of the protocol.
func (t OwnerTransition) Valid() bool { return slices.Contains(t.Values(), string(t)) }

// AggregateState says how far an aggregate is.
type AggregateState string

// The values of [AggregateState].
const (
	AggregateCollecting AggregateState = "collecting" // participants are being staged
	AggregatePrepared   AggregateState = "prepared"   // participants are locked, and room is reserved
	AggregateCommitted  AggregateState = "committed"  // participants are changed
	AggregateAborted    AggregateState = "aborted"    // participants are as they were
)

// Values implements [Enum].
func (AggregateState) Values() []string {
	return []string{
		string(AggregateCollecting), string(AggregatePrepared), string(AggregateCommitted), string(AggregateAborted),
	}
}

// Valid tells whether s is a value of the protocol.
func (s AggregateState) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// AggregateParticipant is what an aggregate does to one object.
type AggregateParticipant struct {
	AuthorityKey         ObjectKey       `json:"authorityKey"`         // the object
	ExpectedStoreVersion Version         `json:"expectedStoreVersion"` // 1..64 bytes; the version that its record must have
	OwnerTransition      OwnerTransition `json:"ownerTransition"`      // preserve or newOwner
	AuthorityPayload     Bytes           `json:"authorityPayload"`     // 0..1,048,576 bytes, the payload from the commit on
	MembershipMutation   Bytes           `json:"membershipMutation"`   // 0..1,048,576 bytes, opaque; covered by the digests
	Membership           *Membership     `json:"membership,omitzero"`  // of an actor; absent: it stays
}

// AggregateStageRequest is the request of aggregate.stage.
type AggregateStageRequest struct {
	Fence
	StartIndex   uint32                 `json:"startIndex"`   // index of the first participant; all indexes are below 1,000,000
	Participants []AggregateParticipant `json:"participants"` // 1..1,024, ascending in key order
}

// AggregateStageReply is the reply of aggregate.stage: [KindStaged] or [KindConflict].
type AggregateStageReply struct {
	Kind  Kind   `json:"kind"`           // which form
	Count uint32 `json:"count,omitzero"` // staged: how many participants of the fence are staged now
}

// AggregatePrepareRequest is the request of aggregate.prepare.
type AggregatePrepareRequest struct {
	Fence
	Participants                        []AggregateParticipant `json:"participants,omitzero"`               // 1..1,024, ascending in key order; or
	ParticipantCount                    uint32                 `json:"participantCount,omitzero"`           // how many are staged, 1..1,000,000
	InventoryDigest                     Bytes                  `json:"inventoryDigest"`                     // 32 bytes: the caller's own statement of the participants
	TargetDescriptor                    DescriptorKey          `json:"targetDescriptor"`                    // the node that newOwner participants move to
	TargetDescriptorLifecycleGeneration Generation             `json:"targetDescriptorLifecycleGeneration"` // the node's life
	Capacity                            Capacity               `json:"capacity"`                            // what the newOwner participants take together; may be nothing
	TargetOwner                         OwnerToken             `json:"targetOwner"`                         // the node's owner
	PrepareTTL                          Millis                 `json:"prepareTtlMs,omitzero"`               // 1..3,600,000 ms; absent is 60,000
}

// Target is the node that newOwner participants move to.
func (r *AggregatePrepareRequest) Target() Target {
	return Target{
		MeshName: r.TargetDescriptor.MeshName, NodeRID: r.TargetDescriptor.RID,
		NodeLifecycleGeneration: r.TargetDescriptorLifecycleGeneration, Owner: r.TargetOwner,
	}
}

// AggregatePrepareReply is the reply of aggregate.prepare: [KindPrepared], [KindAlreadyPrepared], [KindConflict], [KindStale] or
// [KindGenerationExhausted].
type AggregatePrepareReply struct {
	Kind  Kind   `json:"kind"`           // which form
	Fence *Fence `json:"fence,omitzero"` // prepared, alreadyPrepared
}

// AggregateCommitRequest is the request of aggregate.commit.
type AggregateCommitRequest struct {
	Fence Fence `json:"fence"` // the aggregate
}

// AggregateCommitReply is the reply of aggregate.commit: [KindCommitted], [KindAlreadyCommitted], [KindStale] or
// [KindGenerationExhausted].
type AggregateCommitReply struct {
	Kind Kind `json:"kind"` // which form
}

// AggregateAbortRequest is the request of aggregate.abort.
type AggregateAbortRequest struct {
	Fence Fence `json:"fence"` // the aggregate
}

// AggregateAbortReply is the reply of aggregate.abort: [KindAborted], [KindAlreadyAborted] or [KindStale].
type AggregateAbortReply struct {
	Kind Kind `json:"kind"` // which form
}

// AggregateFindRequest is the request of aggregate.find.
type AggregateFindRequest struct {
	Key ObjectKey `json:"key"` // the object
}

// AggregateFindReply is the reply of aggregate.find: [KindFound] when the object takes part in an aggregate that is prepared, or
// committed and not settled for the object, else [KindMissing].
type AggregateFindReply struct {
	Kind            Kind             `json:"kind"`                     // which form
	Aggregate       *AggregateStatus `json:"aggregate,omitzero"`       // found
	OwnerTransition OwnerTransition  `json:"ownerTransition,omitzero"` // found: what it does to the owner of this object
	StoreNow        Instant          `json:"storeNow"`                 // the store's time
}

// AggregateStatus says how far an aggregate is. Written by the service.
type AggregateStatus struct {
	Fence            Fence          `json:"fence"`             // which it is
	State            AggregateState `json:"state"`             // prepared: its participants are locked
	Deadline         Instant        `json:"deadline,omitzero"` // prepared: from then on anyone may abort it, and the service does
	ParticipantCount uint32         `json:"participantCount"`  // how many objects take part
	TargetDescriptor DescriptorKey  `json:"targetDescriptor"`  // the node that newOwner participants move to
	TargetOwner      OwnerToken     `json:"targetOwner"`       // the node's owner
	// TargetDescriptorLifecycleGeneration is the life of the node that is meant.
	TargetDescriptorLifecycleGeneration Generation `json:"targetDescriptorLifecycleGeneration"`
}
