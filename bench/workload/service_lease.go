package workload

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// leaseTTL is longer than any run.
const leaseTTL = wire.Millis(24 * time.Hour / time.Millisecond)

// LeaseRenew returns the renewal of the caller's owner lease, on the service reached at urls.
func LeaseRenew(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, claimLease, renewLease)
}

func claimLease(ctx context.Context, c *serviceCaller[wire.OwnerToken]) (err error) {
	c.rows, err = claim(ctx, c.Conn, c.name)
	return err
}

func renewLease(ctx context.Context, c *serviceCaller[wire.OwnerToken]) error {
	request := &wire.LeaseRenewRequest{Token: c.rows, TTL: leaseTTL}
	r, err := ask[wire.LeaseRenewReply](ctx, c.Conn, subjects.LeaseRenew, request)
	if err != nil {
		return err
	}
	return expect(subjects.LeaseRenew, r.Kind, wire.KindRenewed)
}

// claim makes owner the holder of a lease.
func claim(ctx context.Context, nc *nats.Conn, owner string) (wire.OwnerToken, error) {
	r, err := ask[wire.LeaseClaimReply](ctx, nc, subjects.LeaseClaim, &wire.LeaseClaimRequest{OwnerID: owner, TTL: leaseTTL})
	if err == nil {
		err = expect(subjects.LeaseClaim, r.Kind, wire.KindClaimed)
	}
	if err != nil {
		return wire.OwnerToken{}, err
	}
	return *r.Token, nil
}
