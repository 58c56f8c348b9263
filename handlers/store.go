package handlers

import (
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
		cursored(subjects.StoreScan, domain.ValidateStoreScan,
			func(req *wire.StoreScanRequest) cursor {
				return cursor{req.Cursor, req.Limit, wire.StoreScanRequest{Prefix: req.Prefix}}
			},
			domain.ScanOpaque,
			func(v kvstore.View, items []wire.StoreItem, next string) any {
				return &wire.StoreScanReply{Kind: wire.KindPage, Items: items, NextCursor: next, StoreNow: wire.Instant(v.Now())}
			},
			&wire.StoreScanReply{Kind: wire.KindExpired}),
	}
}
