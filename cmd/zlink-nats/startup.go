package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/kvstore"
)

const (
	// firstOpening is the wait after the first attempt that came too early; it doubles up to
	// lastOpening, which bounds how late a service notices that its cluster is ready.
	firstOpening, lastOpening = 100 * time.Millisecond, 2 * time.Second
)

// opening spaces out attempts to open what a cluster that starts, or restarts server by
// server, cannot give yet.
type opening struct {
	until time.Time // when it is given up
	link  *link
	log   *slog.Logger
	why   *atomic.Pointer[error] // the last failure, for others; nil after a success
}

// try attempts something until it succeeds, fails for a reason that waiting does not mend,
// or has been tried for as long as a start may take. It returns the last failure.
func (o *opening) try(ctx context.Context, attempt func(context.Context) error) error {
	for wait := firstOpening; ; wait = min(2*wait, lastOpening) {
		err := attempt(ctx)
		if err == nil {
			o.why.Store(nil)
			return nil
		}
		o.why.Store(&err)
		if ctx.Err() != nil || !o.mends(err) || time.Now().After(o.until) {
			return err
		}
		o.log.Warn("the NATS server is not ready", "op", "open", "err", err, "retryIn", wait, "giveUpIn", time.Until(o.until).Round(time.Second))
		if !kvstore.Pause(ctx, wait+rand.N(wait/2)) { // those that start together drift apart
			return ctx.Err()
		}
	}
}

// mends tells whether waiting may mend a failure. What a server objects to on the
// connection it objects to again.
func (o *opening) mends(err error) bool {
	if o.link.violation() != nil {
		return false
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, fenced.ErrNoResponder) {
		return o.link.ConnectedClusterName() != "" // a single server answers at once, unless JetStream is off
	}
	return isTemporary(err)
}

// isTemporary tells whether a failure is that of a server or cluster that gets ready, or
// of a connection that comes back.
func isTemporary(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return slices.Contains(temporary, api.ErrorCode)
	}
	return slices.ContainsFunc(outOfReach, func(reason error) bool { return errors.Is(err, reason) })
}

// outOfReach are failures to hear anything from JetStream.
var outOfReach = []error{
	context.DeadlineExceeded, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded,
	kvstore.ErrUnavailable, kvstore.ErrDeadline, kvstore.ErrUnknown,
}

// temporary are the refusals of a cluster that has no leader, or too few servers, yet.
var temporary = []jetstream.ErrorCode{
	fenced.CodeNoCluster,
	fenced.CodeNotLeader,
	10004, // incomplete results: some of the servers did not answer
	10005, // no suitable peers for placement, such as "peer offline"
	10118, // the stream is offline: most of its servers are
}
