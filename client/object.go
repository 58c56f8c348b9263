package client

import (
	"cmp"
	"context"
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Authorities are the operations on the records of actors and spots: who owns an object, under which generations, and where.
type Authorities struct{ c *Client }

// Read returns the record of an object, of the kind snapshot or missing.
func (g Authorities) Read(ctx context.Context, request wire.AuthorityReadRequest) (*wire.Authority, error) {
	return call[wire.Authority](ctx, g.c, subjects.AuthorityRead, &request)
}

// List returns one page; see All. A cursor that leads nowhere any more is the reply scanExpired.
func (g Authorities) List(ctx context.Context, request wire.AuthorityListRequest) (*wire.AuthorityListReply, error) {
	return call[wire.AuthorityListReply](ctx, g.c, subjects.AuthorityList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more. A Limit of 0 takes pages of [pageItems] items.
func (g Authorities) All(ctx context.Context, request wire.AuthorityListRequest) iter.Seq2[wire.AuthorityItem, error] {
	request.Limit = cmp.Or(request.Limit, pageItems)
	return pages(func(cursor string) ([]wire.AuthorityItem, string, error) {
		request.Cursor = cursor
		page, err := g.List(ctx, request)
		switch {
		case err != nil:
			return nil, "", err
		case page.Kind == wire.KindScanExpired:
			return nil, "", expired(subjects.AuthorityList)
		}
		return page.Items, page.NextCursor, nil
	})
}

// CompareExchange changes a record that still has the expected version. When a reply was lost it is asked again: if that is
// refused, nobody knows whether the first one is the reason, and the error is [ErrOutcomeUnknown]. Rules: domain 5.
func (g Authorities) CompareExchange(ctx context.Context, request wire.AuthorityCompareExchangeRequest) (*wire.AuthorityCompareExchangeReply, error) {
	return call[wire.AuthorityCompareExchangeReply](ctx, g.c, subjects.AuthorityCompareExchange, &request)
}

// Objects are the operations that create objects, find them and wait for them.
type Objects struct{ c *Client }

// Reserve takes an id and room for an object on a node. Without a ReservationID the request gets a random one, so that a
// reservation whose reply was lost is found again. Rules: domain 6.
func (g Objects) Reserve(ctx context.Context, request wire.ObjectReserveRequest) (*wire.ObjectReserveReply, error) {
	request.ReservationID = cmp.Or(request.ReservationID, randomUUID())
	return call[wire.ObjectReserveReply](ctx, g.c, subjects.ObjectReserve, &request)
}

// Place is Reserve on a node that the service chooses by weight and room. Rules: domain 7.
func (g Objects) Place(ctx context.Context, request wire.ObjectPlaceRequest) (*wire.ObjectReserveReply, error) {
	request.ReservationID = cmp.Or(request.ReservationID, randomUUID())
	return call[wire.ObjectReserveReply](ctx, g.c, subjects.ObjectPlace, &request)
}

// Commit makes a reserved spot ready.
func (g Objects) Commit(ctx context.Context, request wire.ObjectCommitRequest) (*wire.ObjectCommitReply, error) {
	return call[wire.ObjectCommitReply](ctx, g.c, subjects.ObjectCommit, &request)
}

// Abort gives a reservation up.
func (g Objects) Abort(ctx context.Context, request wire.ObjectAbortRequest) (*wire.ObjectAbortReply, error) {
	return call[wire.ObjectAbortReply](ctx, g.c, subjects.ObjectAbort, &request)
}

// CompleteCreation ends the creation of an actor, well or badly, and keeps the outcome for whoever asks with ReadTerminal.
func (g Objects) CompleteCreation(ctx context.Context, request wire.ObjectCompleteCreationRequest) (*wire.ObjectCompleteCreationReply, error) {
	return call[wire.ObjectCompleteCreationReply](ctx, g.c, subjects.ObjectCompleteCreation, &request)
}

// ReleaseEnded removes a reservation whose owner has ended. As to lost replies see [Authorities.CompareExchange].
func (g Objects) ReleaseEnded(ctx context.Context, request wire.ObjectReleaseEndedRequest) (*wire.ObjectReleaseEndedReply, error) {
	return call[wire.ObjectReleaseEndedReply](ctx, g.c, subjects.ObjectReleaseEnded, &request)
}

// ReadTerminal returns the outcome of a creation.
func (g Objects) ReadTerminal(ctx context.Context, request wire.ObjectReadTerminalRequest) (*wire.ObjectReadTerminalReply, error) {
	return call[wire.ObjectReadTerminalReply](ctx, g.c, subjects.ObjectReadTerminal, &request)
}

// Find tells on which node an object is and whether it can be used.
func (g Objects) Find(ctx context.Context, request wire.ObjectFindRequest) (*wire.ObjectFindReply, error) {
	return call[wire.ObjectFindReply](ctx, g.c, subjects.ObjectFind, &request)
}

// List returns one page; see All.
func (g Objects) List(ctx context.Context, request wire.ObjectListRequest) (*wire.ObjectListReply, error) {
	return call[wire.ObjectListReply](ctx, g.c, subjects.ObjectList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Objects) All(ctx context.Context, request wire.ObjectListRequest) iter.Seq2[wire.ObjectEntry, error] {
	return pages(func(token string) ([]wire.ObjectEntry, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// Await returns the record of an object once it is as the request wants it. It waits until the context ends, by default three
// times [Options.Timeout]; then the error is [ErrDeadlineExceeded]. Nothing polls: each try waits in the service.
func (g Objects) Await(ctx context.Context, request wire.ObjectAwaitRequest) (*wire.Authority, error) {
	return call[wire.Authority](ctx, g.c, subjects.ObjectAwait, &request)
}
