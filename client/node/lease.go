package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// ErrNotLeased is why something is refused here, without a request: there is no lease that may be relied on.
var ErrNotLeased = errors.New("no usable owner lease")

// hold is the lease as its holder sees it. It does not change; a renewal makes another one.
type hold struct {
	token     wire.OwnerToken
	deadline  time.Duration // on the clock of the runtime; from then on the lease is not relied on
	renewedAt wire.Instant
}

// Admit returns the token under which the host may act now, or [ErrNotLeased]. It is for the moment of the question: ask again
// before each object message, timer, reservation, commit and move. It costs one look at the clock.
//
// The answer is about the lease. While the host had none, the directory may have given an object of it to somebody else. So the host
// may act for an object only while the token is the one that the object was created under, that an [EventObjectBound] has told since,
// or that its authority shows.
func (r *Runtime) Admit() (wire.OwnerToken, error) {
	if h := r.held.Load(); h != nil && r.o.Clock() < h.deadline {
		return h.token, nil
	}
	return wire.OwnerToken{}, ErrNotLeased
}

// Usable tells whether [Runtime.Admit] would say yes.
func (r *Runtime) Usable() bool {
	_, err := r.Admit()
	return err == nil
}

// deadlineOf is the local instant from which a lease must not be relied on, of a request that was made between two local instants
// and answered with two instants of the store. The answer may have been given right after started.
func deadlineOf(started, completed time.Duration, expires, now wire.Instant, margin time.Duration) time.Duration {
	remaining := time.Duration(max(0, expires-now)) * time.Millisecond
	return completed + max(0, remaining-(completed-started)-margin)
}

// holding makes a hold of what a claim or a renewal was answered.
func (r *Runtime) holding(token wire.OwnerToken, started time.Duration, expires, now wire.Instant) *hold {
	return &hold{token: token, deadline: deadlineOf(started, r.o.Clock(), expires, now, r.o.FencingMargin), renewedAt: now}
}

// ClaimError is why there is no lease although the service has answered.
type ClaimError struct {
	OwnerID string
	// Result is [wire.KindConflict] when somebody else has the lease, which may be an earlier process until its lease lapses, or
	// [wire.KindGenerationExhausted].
	Result wire.Kind
}

// Error names the result.
func (e *ClaimError) Error() string { return fmt.Sprintf("claim lease of %q: %s", e.OwnerID, e.Result) }

// claim asks for the lease under a claim id; late hears of a token for which it was too late.
func (r *Runtime) claim(ctx context.Context, claimID string, late func(wire.OwnerToken)) (*hold, error) {
	request := wire.LeaseClaimRequest{OwnerID: r.o.OwnerID, TTL: wire.Millis(r.o.LeaseTTL.Milliseconds()), ClaimID: claimID}
	started := r.o.Clock()
	reply, err := within(ctx, "lease.claim", r.o.RenewTimeout, func(ctx context.Context) (*wire.LeaseClaimReply, error) {
		return r.o.Client.Leases.Claim(ctx, request)
	}, func(reply *wire.LeaseClaimReply) {
		if reply.Kind == wire.KindClaimed {
			late(*reply.Token)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case reply.Kind != wire.KindClaimed:
		return nil, &ClaimError{OwnerID: r.o.OwnerID, Result: reply.Kind}
	}
	return r.holding(*reply.Token, started, reply.LeaseExpiresAt, reply.StoreNow), nil
}

// errStale is why a renewal is refused: the lease has lapsed, or somebody has released it.
var errStale = errors.New("stale")

// renew asks that the lease live on. The error wraps [errStale] when it is over.
func (r *Runtime) renew(ctx context.Context, token wire.OwnerToken) (*hold, error) {
	request := wire.LeaseRenewRequest{Token: token, TTL: wire.Millis(r.o.LeaseTTL.Milliseconds())}
	started := r.o.Clock()
	reply, err := within(ctx, "lease.renew", r.o.RenewTimeout, func(ctx context.Context) (*wire.LeaseRenewReply, error) {
		return r.o.Client.Leases.Renew(ctx, request)
	}, nil)
	switch {
	case err != nil:
		return nil, err
	case reply.Kind != wire.KindRenewed:
		return nil, fmt.Errorf("renew lease %d of %q: %w", token.LeaseGeneration, token.OwnerID, errStale)
	}
	return r.holding(token, started, reply.LeaseExpiresAt, reply.StoreNow), nil
}

// release ends a lease that shall not be used. It lapses anyway if that fails.
func (r *Runtime) release(token wire.OwnerToken) {
	_, err := within(context.Background(), "lease.release", r.o.CleanupTimeout, func(ctx context.Context) (*wire.LeaseReleaseReply, error) {
		return r.o.Client.Leases.Release(ctx, wire.LeaseReleaseRequest{Token: token})
	}, nil)
	r.asked(OpRelease, err)
}
