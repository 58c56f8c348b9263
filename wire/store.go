package wire

import "slices"

// ConditionKind is the form of a [StoreCondition].
type ConditionKind string

// The values of [ConditionKind].
const (
	ConditionMissing ConditionKind = "missing" // the key is absent or expired
	ConditionVersion ConditionKind = "version" // the key is there, with the expected version
)

// Values implements [Enum].
func (ConditionKind) Values() []string {
	return []string{
		string(ConditionMissing),
		string(ConditionVersion),
	}
}

// Valid tells whether k is a value of the protocol.
func (k ConditionKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// MutationKind is the form of a [StoreMutation].
type MutationKind string

// The values of [MutationKind].
const (
	MutationPut    MutationKind = "put"    // store the bytes
	MutationDelete MutationKind = "delete" // remove the key, if it is there
)

// Values implements [Enum].
func (MutationKind) Values() []string {
	return []string{
		string(MutationPut),
		string(MutationDelete),
	}
}

// Valid tells whether k is a value of the protocol.
func (k MutationKind) Valid() bool { return slices.Contains(k.Values(), string(k)) }

// StoreReadRequest is the request of store.read.
type StoreReadRequest struct {
	Key Bytes `json:"key"` // 1..1,024 bytes
}

// StoreReadReply is the reply of store.read: [KindFound] or [KindMissing].
type StoreReadReply struct {
	Kind      Kind    `json:"kind"`               // which form
	Bytes     Bytes   `json:"bytes,omitzero"`     // found: the value; empty is not nil
	Version   Version `json:"version,omitzero"`   // found
	ExpiresAt Instant `json:"expiresAt,omitzero"` // found, if the key expires
	StoreNow  Instant `json:"storeNow"`           // the store's time
}

// StoreWriteRequest is the request of store.write: all mutations in one commit if all conditions hold. Either list may be absent,
// not both.
type StoreWriteRequest struct {
	Conditions []StoreCondition `json:"conditions,omitzero"` // each key once
	Mutations  []StoreMutation  `json:"mutations,omitzero"`  // each key once
}

// StoreCondition is what must hold for a write.
type StoreCondition struct {
	Kind     ConditionKind `json:"kind"`              // which form
	Key      Bytes         `json:"key"`               // 1..1,024 bytes
	Expected Version       `json:"expected,omitzero"` // version: the version that the key must have
}

// StoreMutation is one change of a write.
type StoreMutation struct {
	Kind      MutationKind `json:"kind"`                 // which form
	Key       Bytes        `json:"key"`                  // 1..1,024 bytes
	Bytes     Bytes        `json:"bytes,omitzero"`       // put: the value, 0..1,048,576 bytes; empty is not nil
	Retention Millis       `json:"retentionMs,omitzero"` // put: how long the key lives, 1 or more; absent is for ever
}

// StoreWriteReply is the reply of store.write: [KindApplied] or [KindConflict].
type StoreWriteReply struct {
	Kind        Kind         `json:"kind"`                 // which form
	PutVersions []PutVersion `json:"putVersions,omitzero"` // applied: one for each put, in their order; may be empty, not nil
	StoreNow    Instant      `json:"storeNow"`             // the store's time
}

// PutVersion is the version that a put gave to a key. Written by the service.
type PutVersion struct {
	Key     Bytes   `json:"key"`     // the key
	Version Version `json:"version"` // its new version
}

// StoreScanRequest is the request of store.scan.
type StoreScanRequest struct {
	Prefix Bytes  `json:"prefix"`          // 0..1,024 bytes that the keys begin with
	Cursor string `json:"cursor,omitzero"` // of the page before, 1..4096 bytes; absent is the first page
	Limit  uint32 `json:"limit"`           // greatest number of items, 1..1000
}

// StoreScanReply is the reply of store.scan: [KindPage] or [KindExpired].
type StoreScanReply struct {
	Kind       Kind        `json:"kind"`                // which form
	Items      []StoreItem `json:"items,omitzero"`      // page: in byte order of the keys; may be empty, not nil
	NextCursor string      `json:"nextCursor,omitzero"` // page: asks for the next one; absent on the last one
	StoreNow   Instant     `json:"storeNow,omitzero"`   // page: the instant that all pages show
}

// StoreItem is a key and its value as store.scan lists it. Written by the service.
type StoreItem struct {
	Key       Bytes   `json:"key"`                // the key
	Bytes     Bytes   `json:"bytes"`              // its value
	Version   Version `json:"version"`            // of the value
	ExpiresAt Instant `json:"expiresAt,omitzero"` // if the key expires
}
