package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func authorityEndpoints() []*endpoint {
	return []*endpoint{
		read(subjects.AuthorityRead, domain.ValidateAuthorityRead, domain.ReadAuthority),
		cursored(subjects.AuthorityList, domain.ValidateAuthorityList,
			func(req *wire.AuthorityListRequest) cursor {
				return cursor{req.Cursor, req.Limit, wire.AuthorityListRequest{Prefix: req.Prefix}}
			},
			domain.ListAuthorities,
			func(_ kvstore.View, items []wire.AuthorityItem, next string) any {
				return &wire.AuthorityListReply{Kind: wire.KindPage, Items: items, NextCursor: next}
			},
			&wire.AuthorityListReply{Kind: wire.KindScanExpired}),
		write(subjects.AuthorityCompareExchange, domain.ValidateAuthorityCompareExchange, domain.CompareExchangeAuthority),
	}
}
