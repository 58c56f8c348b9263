package wire

import "slices"

// ActorTransferState says how far a transfer has come.
type ActorTransferState string

// The values of [ActorTransferState]. A transfer is active in the first two and finished in the others.
const (
	TransferPrepared  ActorTransferState = "prepared"  // it may be committed or aborted
	TransferCommitted ActorTransferState = "committed" // it may be activated
	TransferActivated ActorTransferState = "activated" // the actor was handed over
	TransferAborted   ActorTransferState = "aborted"   // the actor stayed where it was
)

// Values implements [Enum].
func (ActorTransferState) Values() []string {
	return []string{
		string(TransferPrepared),
		string(TransferCommitted),
		string(TransferActivated),
		string(TransferAborted),
	}
}

// Valid tells whether s is a value of the protocol.
func (s ActorTransferState) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// ActorTransferStatus says what became of a request to change a transfer.
type ActorTransferStatus string

// The values of [ActorTransferStatus].
const (
	TransferStatusStored           ActorTransferStatus = "stored"           // it was carried out, or had been before
	TransferStatusNotFound         ActorTransferStatus = "notFound"         // there is no such transfer to change
	TransferStatusRejectedConflict ActorTransferStatus = "rejectedConflict" // the transfer is another one, or somebody else's
	TransferStatusInvalidState     ActorTransferStatus = "invalidState"     // the transfer has come too far, or not far enough
)

// Values implements [Enum].
func (ActorTransferStatus) Values() []string {
	return []string{
		string(TransferStatusStored),
		string(TransferStatusNotFound),
		string(TransferStatusRejectedConflict),
		string(TransferStatusInvalidState),
	}
}

// Valid tells whether s is a value of the protocol.
func (s ActorTransferStatus) Valid() bool { return slices.Contains(s.Values(), string(s)) }

// ActorTransfer says what hand-over of an actor a record is about. The caller sends it, and the service compares it with no other
// row.
type ActorTransfer struct {
	MeshName                string     `json:"meshName"`                // identifier; with ActorID the identity of the record
	ActorID                 string     `json:"actorId"`                 // identifier
	TransferID              string     `json:"transferId"`              // a UUID in lower case
	Source                  ActorRef   `json:"source"`                  // of the actor where it is
	Target                  ActorRef   `json:"target"`                  // of the actor where it goes
	ExpectedActorGeneration Generation `json:"expectedActorGeneration"` // 1..2^63-1
	ExpectedMembershipEpoch U64        `json:"expectedMembershipEpoch"` // 1..2^63-1
	Participants            []RID      `json:"participants"`            // the nodes that take part: a set, not empty
	RecoveryOwnerID         string     `json:"recoveryOwnerId"`         // identifier: who carries the transfer on
}

// ActorTransferPrepareRequest is the request of actor-transfer.prepare; the reply is an [ActorTransferReply].
type ActorTransferPrepareRequest struct {
	ActorTransfer
	RecoveryLeaseTTL Millis `json:"recoveryLeaseTtlMs"` // how long nobody may take over, >= 1
}

// ActorTransferAdvanceRequest is the request of actor-transfer.commit, actor-transfer.activate and actor-transfer.abort; the reply
// is an [ActorTransferReply].
type ActorTransferAdvanceRequest struct {
	MeshName        string `json:"meshName"`        // identifier
	ActorID         string `json:"actorId"`         // identifier
	TransferID      string `json:"transferId"`      // of the active transfer
	RecoveryOwnerID string `json:"recoveryOwnerId"` // of the record
}

// ActorTransferTakeOverRequest is the request of actor-transfer.take-over; the reply is an [ActorTransferReply].
type ActorTransferTakeOverRequest struct {
	MeshName         string `json:"meshName"`           // identifier
	ActorID          string `json:"actorId"`            // identifier
	TransferID       string `json:"transferId"`         // of the latest transfer
	SuccessorOwnerID string `json:"successorOwnerId"`   // identifier: who carries the transfer on from now on
	RecoveryLeaseTTL Millis `json:"recoveryLeaseTtlMs"` // how long nobody else may take over, >= 1
}

// ActorTransferRecord is the latest transfer of an actor as it is stored. What the request did not say is written by the service.
type ActorTransferRecord struct {
	ActorTransfer
	State                  ActorTransferState `json:"state"`                  // how far it has come
	RecoveryLeaseExpiresAt Instant            `json:"recoveryLeaseExpiresAt"` // from this instant on somebody else may take over
	UpdatedAt              Instant            `json:"updatedAt"`              // the store's time when it was last changed
}

// ActorTransferReply is the reply of every operation that changes a transfer.
type ActorTransferReply struct {
	Status ActorTransferStatus  `json:"status"`          // what became of it
	Record *ActorTransferRecord `json:"record,omitzero"` // all but notFound: the record as it is now
}

// ActorTransferResolveRequest is the request of actor-transfer.resolve.
type ActorTransferResolveRequest struct {
	MeshName string `json:"meshName"` // identifier
	ActorID  string `json:"actorId"`  // identifier
}

// ActorTransferResolveReply is the reply of actor-transfer.resolve: [KindFound] or [KindMissing].
type ActorTransferResolveReply struct {
	Kind   Kind                 `json:"kind"`            // which form
	Record *ActorTransferRecord `json:"record,omitzero"` // found: the active transfer
}
