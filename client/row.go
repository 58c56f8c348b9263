package client

import (
	"context"
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Peers are the operations on the rows of peers: who is to be connected to.
type Peers struct{ c *Client }

// Update stores the row of a peer. Rules: domain 4.
func (g Peers) Update(ctx context.Context, request wire.PeerUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.PeerUpdate, &request)
}

// Remove removes the row of a peer. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g Peers) Remove(ctx context.Context, request wire.PeerRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.PeerRemove, &request)
}

// List returns one page; see All.
func (g Peers) List(ctx context.Context, request wire.PeerListRequest) (*wire.PeerListReply, error) {
	return call[wire.PeerListReply](ctx, g.c, subjects.PeerList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Peers) All(ctx context.Context, request wire.PeerListRequest) iter.Seq2[wire.PeerItem, error] {
	return pages(func(token string) ([]wire.PeerItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// Spots are the operations on the rows of spots: where a spot is.
type Spots struct{ c *Client }

// Update stores the row of a spot. Rules: domain 4.
func (g Spots) Update(ctx context.Context, request wire.SpotUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.SpotUpdate, &request)
}

// Remove removes the row of a spot. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g Spots) Remove(ctx context.Context, request wire.SpotRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.SpotRemove, &request)
}

// Resolve looks up one row, live or not.
func (g Spots) Resolve(ctx context.Context, request wire.SpotResolveRequest) (*wire.SpotResolveReply, error) {
	return call[wire.SpotResolveReply](ctx, g.c, subjects.SpotResolve, &request)
}

// List returns one page; see All.
func (g Spots) List(ctx context.Context, request wire.SpotListRequest) (*wire.SpotListReply, error) {
	return call[wire.SpotListReply](ctx, g.c, subjects.SpotList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Spots) All(ctx context.Context, request wire.SpotListRequest) iter.Seq2[wire.SpotItem, error] {
	return pages(func(token string) ([]wire.SpotItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// Actors are the operations on the rows of actors: where an actor is.
type Actors struct{ c *Client }

// Update stores the row of an actor. Rules: domain 4.
func (g Actors) Update(ctx context.Context, request wire.ActorUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.ActorUpdate, &request)
}

// Remove removes the row of an actor. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g Actors) Remove(ctx context.Context, request wire.ActorRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.ActorRemove, &request)
}

// Resolve looks up one row, live or not.
func (g Actors) Resolve(ctx context.Context, request wire.ActorResolveRequest) (*wire.ActorResolveReply, error) {
	return call[wire.ActorResolveReply](ctx, g.c, subjects.ActorResolve, &request)
}

// List returns one page; see All.
func (g Actors) List(ctx context.Context, request wire.ActorListRequest) (*wire.ActorListReply, error) {
	return call[wire.ActorListReply](ctx, g.c, subjects.ActorList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Actors) All(ctx context.Context, request wire.ActorListRequest) iter.Seq2[wire.ActorItem, error] {
	return pages(func(token string) ([]wire.ActorItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// Routes are the operations on routes: which node a name leads to.
type Routes struct{ c *Client }

// Update stores a route. Rules: domain 4.
func (g Routes) Update(ctx context.Context, request wire.RouteUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.RouteUpdate, &request)
}

// Remove removes a route. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g Routes) Remove(ctx context.Context, request wire.RouteRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.RouteRemove, &request)
}

// Resolve looks up one row, live or not.
func (g Routes) Resolve(ctx context.Context, request wire.RouteResolveRequest) (*wire.RouteResolveReply, error) {
	return call[wire.RouteResolveReply](ctx, g.c, subjects.RouteResolve, &request)
}

// List returns one page; see All.
func (g Routes) List(ctx context.Context, request wire.RouteListRequest) (*wire.RouteListReply, error) {
	return call[wire.RouteListReply](ctx, g.c, subjects.RouteList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Routes) All(ctx context.Context, request wire.RouteListRequest) iter.Seq2[wire.RouteItem, error] {
	return pages(func(token string) ([]wire.RouteItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}
