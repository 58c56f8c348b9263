package wire

import "slices"

// OperationID is a number of 128 bits, not 0.
type OperationID struct {
	High U64 `json:"high"` // upper half
	Low  U64 `json:"low"`  // lower half
}

// OperationKey names one operation of one life of a node. It names the terminal record of a creation.
type OperationKey struct {
	SourceNodeRID        RID         `json:"sourceNodeRid"`        // the node that asked
	SourceNodeGeneration Generation  `json:"sourceNodeGeneration"` // its life, 1..2^63-1
	OperationID          OperationID `json:"operationId"`          // the operation
}

// Terminal is the outcome of a creation, kept for whoever asks again.
type Terminal struct {
	Operation              OperationKey `json:"operation"`              // whose outcome it is
	TerminalEnvelope       Bytes        `json:"terminalEnvelope"`       // 0..1,048,576 bytes, opaque
	TerminalEnvelopeSHA256 Bytes        `json:"terminalEnvelopeSha256"` // the envelope's, 32 bytes
	OperationDeadline      Instant      `json:"operationDeadline"`      // the record is kept for 300,000 ms after it
}

// CompletionKind is how a creation ended.
type CompletionKind string

// The values of [CompletionKind].
const (
	CompletionCreated  CompletionKind = "created"
	CompletionRejected CompletionKind = "rejected"
	CompletionFailed   CompletionKind = "failed"
)

// Values implements [Enum].
func (CompletionKind) Values() []string {
	return []string{string(CompletionCreated), string(CompletionRejected), string(CompletionFailed)}
}

// Valid tells whether k is a value of the protocol.
func (k CompletionKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// Completion is the end of a creation.
type Completion struct {
	Kind         CompletionKind `json:"kind"`                  // how it ended
	ReadyPayload Bytes          `json:"readyPayload,omitzero"` // created: 0..1,048,576 bytes; empty is not nil
	Membership   *Membership    `json:"membership,omitzero"`   // created: the spot that the actor joins, if any
	Terminal     Terminal       `json:"terminal"`              // what to keep
}

// ObjectCompleteCreationRequest is the request of object.complete-creation, for actors.
type ObjectCompleteCreationRequest struct {
	Key                  ObjectKey  `json:"key"`                  // an actor
	ReservationID        string     `json:"reservationId"`        // of the reservation
	ExpectedStoreVersion Version    `json:"expectedStoreVersion"` // of the reserved record, 1..64 bytes
	Target               Target     `json:"target"`               // of the reservation
	Completion           Completion `json:"completion"`           // the end
}

// ObjectCompleteCreationReply is the reply of object.complete-creation: [KindCreated], [KindRejected], [KindFailed],
// [KindAlreadyCompleted], [KindStale] or [KindGenerationExhausted].
type ObjectCompleteCreationReply struct {
	Kind     Kind            `json:"kind"`              // which form
	Ready    *Authority      `json:"ready,omitzero"`    // created: the record of the object
	Terminal *TerminalRecord `json:"terminal,omitzero"` // created, rejected, failed, alreadyCompleted: the terminal record
}

// TerminalRecord is the stored outcome of a creation. Written by the service.
type TerminalRecord struct {
	State                  CompletionKind `json:"state"`                  // how the creation ended
	Operation              OperationKey   `json:"operation"`              // whose outcome it is
	ReservationID          string         `json:"reservationId"`          // of the reservation that ended
	ObjectKind             ObjectKind     `json:"objectKind"`             // what sort of object
	TerminalEnvelope       Bytes          `json:"terminalEnvelope"`       // as it was sent
	TerminalEnvelopeSHA256 Bytes          `json:"terminalEnvelopeSha256"` // as it was sent
	ExpiresAt              Instant        `json:"expiresAt"`              // the record is missing from this instant on
	StoreNow               Instant        `json:"storeNow"`               // of the reply
}

// ObjectReadTerminalRequest is the request of object.read-terminal.
type ObjectReadTerminalRequest struct {
	Operation OperationKey `json:"operation"` // whose outcome
}

// ObjectReadTerminalReply is the reply of object.read-terminal: [KindFound] or [KindMissing].
type ObjectReadTerminalReply struct {
	Kind     Kind            `json:"kind"`              // which form
	Record   *TerminalRecord `json:"record,omitzero"`   // found
	StoreNow Instant         `json:"storeNow,omitzero"` // missing
}
