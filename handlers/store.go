package handlers

import (
	"context"
	"errors"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func storeEndpoints(limits kvstore.Limits) []*endpoint {
	validateWrite := func(req *wire.StoreWriteRequest) error {
		return domain.ValidateStoreWrite(req, limits.CommitRows)
	}
	return []*endpoint{
		read(subjects.StoreRead, domain.ValidateStoreRead, domain.ReadOpaque),
		write(subjects.StoreWrite, validateWrite, domain.WriteOpaque),
		{op: subjects.StoreScan, schema: schemaOf[wire.StoreScanRequest](), serve: scan},
	}
}

// scan is a list with names of its own, for which a cursor that leads nowhere is a result.
func scan(ctx context.Context, s *Service, r *request) (result, error) {
	req, err := decode(r, domain.ValidateStoreScan)
	if err != nil {
		return result{}, err
	}
	w := walk{op: subjects.StoreScan, token: req.Cursor, list: wire.StoreScanRequest{Prefix: req.Prefix}}
	err = s.begin(ctx, r, &w)
	switch {
	case errors.Is(err, kvstore.ErrScanExpired):
		return result{
			body:     &wire.StoreScanReply{Kind: wire.KindExpired},
			revision: s.store.Status().Revision,
		}, nil
	case err != nil || w.relayed != nil:
		return result{relayed: w.relayed}, err
	}
	items, next, err := domain.ScanOpaque(w.view, req, w.after, s.pageOf(req.Limit, r))
	if err != nil {
		return result{}, err
	}
	if items == nil {
		items = []wire.StoreItem{} // present, unlike with "expired"
	}
	cursor, err := s.next(&w, next)
	return result{revision: w.view.Revision(), body: &wire.StoreScanReply{
		Kind: wire.KindPage, Items: items, NextCursor: cursor, StoreNow: wire.Instant(w.view.Now()),
	}}, err
}
