package client

import (
	"context"
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Owners are the operations on all that an owner has.
type Owners struct{ c *Client }

// RemoveAll removes the rows of an owner and tells how many. It takes several commits, and may answer before everything is
// removed: call it until it answers 0. What a try removed whose reply was lost is not counted. Rules: domain 10.
func (g Owners) RemoveAll(ctx context.Context, request wire.OwnerRemoveAllRequest) (*wire.OwnerRemoveAllReply, error) {
	return call[wire.OwnerRemoveAllReply](ctx, g.c, subjects.OwnerRemoveAll, &request)
}

// Directory are the questions about the directory as a whole.
type Directory struct{ c *Client }

// Nodes returns one page of the nodes of the meshes; see AllNodes.
func (g Directory) Nodes(ctx context.Context, request wire.TopologyListRequest) (*wire.TopologyListReply, error) {
	return call[wire.TopologyListReply](ctx, g.c, subjects.TopologyList, &request)
}

// AllNodes lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Directory) AllNodes(ctx context.Context, request wire.TopologyListRequest) iter.Seq2[wire.TopologyNode, error] {
	return pages(func(token string) ([]wire.TopologyNode, string, error) {
		request.ContinuationToken = token
		page, err := g.Nodes(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// Meshes returns one page of the meshes, with the numbers of their nodes; see AllMeshes.
func (g Directory) Meshes(ctx context.Context, request wire.TopologySummaryRequest) (*wire.TopologySummaryReply, error) {
	return call[wire.TopologySummaryReply](ctx, g.c, subjects.TopologySummary, &request)
}

// AllMeshes lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more; the request's PageSize is that of the pages.
func (g Directory) AllMeshes(ctx context.Context, request wire.TopologySummaryRequest) iter.Seq2[wire.TopologyMesh, error] {
	return pages(func(token string) ([]wire.TopologyMesh, string, error) {
		request.ContinuationToken = token
		page, err := g.Meshes(ctx, request)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.ContinuationToken, nil
	})
}

// SelectNode chooses a node for an object without taking room there. Rules: domain 7.
func (g Directory) SelectNode(ctx context.Context, request wire.PlacementSelectRequest) (*wire.PlacementSelectReply, error) {
	return call[wire.PlacementSelectReply](ctx, g.c, subjects.PlacementSelect, &request)
}

// ChangeStamp returns the revision of the last change in a scope. Rules: domain 11.
func (g Directory) ChangeStamp(ctx context.Context, request wire.ChangeStampGetRequest) (*wire.ChangeStampGetReply, error) {
	return call[wire.ChangeStampGetReply](ctx, g.c, subjects.ChangeStampGet, &request)
}

// Status asks one of the instances how it is.
func (g Directory) Status(ctx context.Context) (*wire.StatusGetReply, error) {
	return call[wire.StatusGetReply](ctx, g.c, subjects.StatusGet, &wire.StatusGetRequest{})
}
