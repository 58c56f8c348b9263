package client

import (
	"cmp"
	"context"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Leases are the operations on owner leases: who may act for an owner, and until when.
type Leases struct{ c *Client }

// Claim asks for the lease of an owner. Without a ClaimID the request gets a random one, so that a claim whose reply was lost
// is found again. Rules: domain 2.
func (g Leases) Claim(ctx context.Context, request wire.LeaseClaimRequest) (*wire.LeaseClaimReply, error) {
	request.ClaimID = cmp.Or(request.ClaimID, randomID())
	return call[wire.LeaseClaimReply](ctx, g.c, subjects.LeaseClaim, &request)
}

// Read looks up the lease of an owner.
func (g Leases) Read(ctx context.Context, request wire.LeaseReadRequest) (*wire.LeaseReadReply, error) {
	return call[wire.LeaseReadReply](ctx, g.c, subjects.LeaseRead, &request)
}

// Renew lets a lease live on from now. A reply of the kind stale says that the token is not live any more.
func (g Leases) Renew(ctx context.Context, request wire.LeaseRenewRequest) (*wire.LeaseRenewReply, error) {
	return call[wire.LeaseRenewReply](ctx, g.c, subjects.LeaseRenew, &request)
}

// Release ends a lease. When a reply was lost on the way, the answer can be stale although it was this call that released it.
func (g Leases) Release(ctx context.Context, request wire.LeaseReleaseRequest) (*wire.LeaseReleaseReply, error) {
	return call[wire.LeaseReleaseReply](ctx, g.c, subjects.LeaseRelease, &request)
}
