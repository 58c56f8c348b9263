package wire

// OwnerToken proves the ownership of a lease: it is live while the owner's lease has this generation and has not lapsed.
type OwnerToken struct {
	OwnerID         string     `json:"ownerId"`         // identifier, 1..255 bytes
	LeaseGeneration Generation `json:"leaseGeneration"` // 1..2^63-1, given by lease.claim
}

// OwnerLease is the value of an owner lease in change events. Written by the service.
type OwnerLease struct {
	OwnerToken
	LeaseExpiresAt Instant `json:"leaseExpiresAt"` // from this instant on the token is not live
}

// LeaseClaimRequest is the request of lease.claim.
type LeaseClaimRequest struct {
	OwnerID string `json:"ownerId"`          // identifier, 1..255 bytes
	TTL     Millis `json:"leaseTtlMs"`       // how long the lease lives unless it is renewed, 1 or more
	ClaimID string `json:"claimId,omitzero"` // 1..64 bytes; repeating it repeats the answer while the lease lives
}

// LeaseClaimReply is the reply of lease.claim: [KindClaimed], [KindConflict] or [KindGenerationExhausted].
type LeaseClaimReply struct {
	Kind           Kind        `json:"kind"`                    // which form
	Token          *OwnerToken `json:"token,omitzero"`          // claimed
	LeaseExpiresAt Instant     `json:"leaseExpiresAt,omitzero"` // claimed
	StoreNow       Instant     `json:"storeNow,omitzero"`       // claimed, conflict
}

// LeaseReadRequest is the request of lease.read.
type LeaseReadRequest struct {
	OwnerID string `json:"ownerId"` // identifier, 1..255 bytes
}

// LeaseReadReply is the reply of lease.read: [KindFound] or [KindMissing].
type LeaseReadReply struct {
	Kind           Kind        `json:"kind"`                    // which form
	Token          *OwnerToken `json:"token,omitzero"`          // found
	LeaseExpiresAt Instant     `json:"leaseExpiresAt,omitzero"` // found
	StoreNow       Instant     `json:"storeNow"`
}

// LeaseRenewRequest is the request of lease.renew.
type LeaseRenewRequest struct {
	Token OwnerToken `json:"token"`      // the lease to renew
	TTL   Millis     `json:"leaseTtlMs"` // how long it lives from now on, 1 or more
}

// LeaseRenewReply is the reply of lease.renew: [KindRenewed] or [KindStale].
type LeaseRenewReply struct {
	Kind           Kind    `json:"kind"`                    // which form
	LeaseExpiresAt Instant `json:"leaseExpiresAt,omitzero"` // renewed
	StoreNow       Instant `json:"storeNow,omitzero"`       // renewed
}

// LeaseReleaseRequest is the request of lease.release.
type LeaseReleaseRequest struct {
	Token OwnerToken `json:"token"` // the lease to release
}

// LeaseReleaseReply is the reply of lease.release: [KindReleased] or [KindStale].
type LeaseReleaseReply struct {
	Kind Kind `json:"kind"` // which form
}
