package client

import (
	"cmp"
	"context"
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Store are the operations of the opaque store. Rules: domain 12.
type Store struct{ c *Client }

// Read looks up a key.
func (g Store) Read(ctx context.Context, request wire.StoreReadRequest) (*wire.StoreReadReply, error) {
	return call[wire.StoreReadReply](ctx, g.c, subjects.StoreRead, &request)
}

// Write makes changes in one commit if all conditions hold. When a reply was lost it is asked again only if a condition on a key
// that it changes keeps it from being carried out twice; else, or when that is refused, the error is [ErrOutcomeUnknown].
func (g Store) Write(ctx context.Context, request wire.StoreWriteRequest) (*wire.StoreWriteReply, error) {
	h := operations[subjects.StoreWrite]
	if selfFenced(&request) {
		h.repeat = fenced
	}
	return callAs[wire.StoreWriteReply](ctx, g.c, subjects.StoreWrite, h, &request)
}

// Scan returns one page; see All. A cursor that leads nowhere any more is the reply expired.
func (g Store) Scan(ctx context.Context, request wire.StoreScanRequest) (*wire.StoreScanReply, error) {
	return call[wire.StoreScanReply](ctx, g.c, subjects.StoreScan, &request)
}

// All lists everything, page by page, as of one instant. The error [ErrScanExpired] ends a list whose instant the service does
// not remember any more. A Limit of 0 takes pages of [pageItems] items.
func (g Store) All(ctx context.Context, request wire.StoreScanRequest) iter.Seq2[wire.StoreItem, error] {
	request.Limit = cmp.Or(request.Limit, pageItems)
	return pages(func(cursor string) ([]wire.StoreItem, string, error) {
		request.Cursor = cursor
		page, err := g.Scan(ctx, request)
		switch {
		case err != nil:
			return nil, "", err
		case page.Kind == wire.KindExpired:
			return nil, "", expired(subjects.StoreScan)
		}
		return page.Items, page.NextCursor, nil
	})
}
