package client

import (
	"context"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// ActorTransfers are the operations on the hand-over records of actors. Rules: domain 9. As to lost replies of all but Prepare and
// Resolve see [Authorities.CompareExchange].
type ActorTransfers struct{ c *Client }

// Prepare begins a transfer.
func (g ActorTransfers) Prepare(ctx context.Context, request wire.ActorTransferPrepareRequest) (*wire.ActorTransferReply, error) {
	return call[wire.ActorTransferReply](ctx, g.c, subjects.ActorTransferPrepare, &request)
}

// Commit makes a prepared transfer final.
func (g ActorTransfers) Commit(ctx context.Context, request wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error) {
	return call[wire.ActorTransferReply](ctx, g.c, subjects.ActorTransferCommit, &request)
}

// Activate ends a committed transfer.
func (g ActorTransfers) Activate(ctx context.Context, request wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error) {
	return call[wire.ActorTransferReply](ctx, g.c, subjects.ActorTransferActivate, &request)
}

// Abort gives a prepared transfer up.
func (g ActorTransfers) Abort(ctx context.Context, request wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error) {
	return call[wire.ActorTransferReply](ctx, g.c, subjects.ActorTransferAbort, &request)
}

// TakeOver makes somebody else responsible for a transfer whose recovery lease has lapsed.
func (g ActorTransfers) TakeOver(ctx context.Context, request wire.ActorTransferTakeOverRequest) (*wire.ActorTransferReply, error) {
	return call[wire.ActorTransferReply](ctx, g.c, subjects.ActorTransferTakeOver, &request)
}

// Resolve returns the active transfer of an actor.
func (g ActorTransfers) Resolve(ctx context.Context, request wire.ActorTransferResolveRequest) (*wire.ActorTransferResolveReply, error) {
	return call[wire.ActorTransferResolveReply](ctx, g.c, subjects.ActorTransferResolve, &request)
}
