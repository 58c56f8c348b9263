package client

import (
	"context"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Aggregates are the operations that move groups of objects at one instant. Rules: domain 8.
type Aggregates struct{ c *Client }

// Stage names up to 1,024 participants of a group.
func (g Aggregates) Stage(ctx context.Context, request wire.AggregateStageRequest) (*wire.AggregateStageReply, error) {
	return call[wire.AggregateStageReply](ctx, g.c, subjects.AggregateStage, &request)
}

// Prepare locks the participants and keeps room for them.
func (g Aggregates) Prepare(ctx context.Context, request wire.AggregatePrepareRequest) (*wire.AggregatePrepareReply, error) {
	return call[wire.AggregatePrepareReply](ctx, g.c, subjects.AggregatePrepare, &request)
}

// Commit moves all participants.
func (g Aggregates) Commit(ctx context.Context, request wire.AggregateCommitRequest) (*wire.AggregateCommitReply, error) {
	return call[wire.AggregateCommitReply](ctx, g.c, subjects.AggregateCommit, &request)
}

// Abort gives the group up.
func (g Aggregates) Abort(ctx context.Context, request wire.AggregateAbortRequest) (*wire.AggregateAbortReply, error) {
	return call[wire.AggregateAbortReply](ctx, g.c, subjects.AggregateAbort, &request)
}

// Find tells in which aggregate an object takes part.
func (g Aggregates) Find(ctx context.Context, request wire.AggregateFindRequest) (*wire.AggregateFindReply, error) {
	return call[wire.AggregateFindReply](ctx, g.c, subjects.AggregateFind, &request)
}
