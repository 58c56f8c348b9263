package client

import (
	"context"
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// MeshNodes are the operations on the descriptors of mesh nodes.
type MeshNodes struct{ c *Client }

// Update stores the descriptor of a node. Rules: domain 3.2.
func (g MeshNodes) Update(ctx context.Context, request wire.MeshNodeUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.MeshNodeUpdate, &request)
}

// Remove removes the descriptor of a node. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g MeshNodes) Remove(ctx context.Context, request wire.MeshNodeRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.MeshNodeRemove, &request)
}

// List returns one page; see All.
func (g MeshNodes) List(ctx context.Context, request wire.MeshNodeListRequest) (*wire.MeshNodeListReply, error) {
	return call[wire.MeshNodeListReply](ctx, g.c, subjects.MeshNodeList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g MeshNodes) All(ctx context.Context, request wire.MeshNodeListRequest) iter.Seq2[wire.MeshNodeItem, error] {
	return pages(func(token string) ([]wire.MeshNodeItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// ClientServers are the operations on the descriptors of client-server servers.
type ClientServers struct{ c *Client }

// Update stores the descriptor of a server. Rules: domain 3.2.
func (g ClientServers) Update(ctx context.Context, request wire.ClientServerUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.ClientServerUpdate, &request)
}

// Remove removes the descriptor of a server. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g ClientServers) Remove(ctx context.Context, request wire.ClientServerRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.ClientServerRemove, &request)
}

// List returns one page; see All.
func (g ClientServers) List(ctx context.Context, request wire.ClientServerListRequest) (*wire.ClientServerListReply, error) {
	return call[wire.ClientServerListReply](ctx, g.c, subjects.ClientServerList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g ClientServers) All(ctx context.Context, request wire.ClientServerListRequest) iter.Seq2[wire.ClientServerItem, error] {
	return pages(func(token string) ([]wire.ClientServerItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// FanoutPublishers are the operations on the descriptors of fanout publishers.
type FanoutPublishers struct{ c *Client }

// Update stores the descriptor of a publisher. Rules: domain 3.2.
func (g FanoutPublishers) Update(ctx context.Context, request wire.FanoutPublisherUpdateRequest) (*wire.UpdateReply, error) {
	return call[wire.UpdateReply](ctx, g.c, subjects.FanoutPublisherUpdate, &request)
}

// Remove removes the descriptor of a publisher. When a reply was lost on the way, the answer can be ignoredStale although it was this call that
// removed it.
func (g FanoutPublishers) Remove(ctx context.Context, request wire.FanoutPublisherRemoveRequest) (*wire.RemoveReply, error) {
	return call[wire.RemoveReply](ctx, g.c, subjects.FanoutPublisherRemove, &request)
}

// List returns one page; see All.
func (g FanoutPublishers) List(ctx context.Context, request wire.FanoutPublisherListRequest) (*wire.FanoutPublisherListReply, error) {
	return call[wire.FanoutPublisherListReply](ctx, g.c, subjects.FanoutPublisherList, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g FanoutPublishers) All(ctx context.Context, request wire.FanoutPublisherListRequest) iter.Seq2[wire.FanoutPublisherItem, error] {
	return pages(func(token string) ([]wire.FanoutPublisherItem, string, error) {
		request.ContinuationToken = token
		page, err := g.List(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}
