package handlers

import (
	"context"
	"errors"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func authorityEndpoints() []*endpoint {
	return []*endpoint{
		read(subjects.AuthorityRead, domain.ValidateAuthorityRead, domain.ReadAuthority),
		{op: subjects.AuthorityList, schema: schemaOf[wire.AuthorityListRequest](), serve: listAuthorities},
		write(subjects.AuthorityCompareExchange, domain.ValidateAuthorityCompareExchange, domain.CompareExchangeAuthority),
	}
}

// listAuthorities is a list with names of its own, for which a cursor that leads nowhere is a result.
func listAuthorities(ctx context.Context, s *Service, r *request) (result, error) {
	req, err := decode(r, domain.ValidateAuthorityList)
	if err != nil {
		return result{}, err
	}
	w := walk{op: subjects.AuthorityList, token: req.Cursor, list: wire.AuthorityListRequest{Prefix: req.Prefix}}
	err = s.begin(ctx, r, &w)
	switch {
	case errors.Is(err, kvstore.ErrScanExpired):
		return result{
			body:     &wire.AuthorityListReply{Kind: wire.KindScanExpired},
			revision: s.store.Status().Revision,
		}, nil
	case err != nil || w.relayed != nil:
		return result{relayed: w.relayed}, err
	}
	items, next, err := domain.ListAuthorities(w.view, req, w.after, s.pageOf(req.Limit, r))
	if err != nil {
		return result{}, err
	}
	if items == nil {
		items = []wire.AuthorityItem{} // present, unlike with "scanExpired"
	}
	cursor, err := s.next(&w, next)
	return result{revision: w.view.Revision(), body: &wire.AuthorityListReply{
		Kind: wire.KindPage, Items: items, NextCursor: cursor,
	}}, err
}
