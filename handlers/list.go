package handlers

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// list is an endpoint whose rule returns the rows after a key and the key to go on after. It does not run where requests arrive:
// a page can take milliseconds.
func list[Req, Item any](op subjects.Operation, validate func(*Req) error, page func(*Req) *wire.PageRequest,
	rule func(kvstore.View, *Req, kvstore.Key, domain.Page) ([]Item, kvstore.Key, error),
	reply func([]Item, wire.Page) any,
) *endpoint {
	serve := func(ctx context.Context, s *Service, r *request) (result, error) {
		req, err := decode(r, validate)
		if err != nil {
			return result{}, err
		}
		p := page(req)
		at := s.pageOf(p.PageSize, r)
		w := walk{op: op, token: p.ContinuationToken, list: req}
		p.PageSize, p.ContinuationToken = 0, "" // what is left is what all pages of the list share
		items, token, err := turn(ctx, s, r, &w, func() ([]Item, kvstore.Key, error) { return rule(w.view, req, w.after, at) })
		if err != nil || w.relayed != nil {
			return result{relayed: w.relayed}, err
		}
		return result{revision: w.view.Revision(), body: reply(items, wire.Page{
			ContinuationToken: token, Revision: wire.Revision(w.view.Revision()), StoreNow: wire.Instant(w.view.Now()),
		})}, nil
	}
	return &endpoint{op: op, schema: schemaOf[Req](), serve: serve}
}

// turn makes one page of a walk and the token of the next one, unless another instance made it.
func turn[Item any](ctx context.Context, s *Service, r *request, w *walk, rule func() ([]Item, kvstore.Key, error)) (
	items []Item, token string, err error,
) {
	if err := s.begin(ctx, r, w); err != nil || w.relayed != nil {
		return nil, "", err
	}
	items, next, err := rule()
	if err != nil {
		return nil, "", err
	}
	if items == nil {
		items = []Item{} // a page has a list, unlike what is answered instead of one
	}
	token, err = s.next(w, next)
	return items, token, err
}

// cursored is a list with names of its own, for which a cursor that leads nowhere is a result.
func cursored[Req, Item any](op subjects.Operation, validate func(*Req) error, begin func(*Req) cursor,
	rule func(kvstore.View, *Req, kvstore.Key, domain.Page) ([]Item, kvstore.Key, error),
	reply func(v kvstore.View, items []Item, next string) any, gone any,
) *endpoint {
	serve := func(ctx context.Context, s *Service, r *request) (result, error) {
		req, err := decode(r, validate)
		if err != nil {
			return result{}, err
		}
		c := begin(req)
		at := s.pageOf(c.limit, r)
		w := walk{op: op, token: c.token, list: c.list}
		items, next, err := turn(ctx, s, r, &w, func() ([]Item, kvstore.Key, error) { return rule(w.view, req, w.after, at) })
		switch {
		case errors.Is(err, kvstore.ErrScanExpired):
			return result{body: gone, revision: s.store.Status().Revision}, nil
		case err != nil || w.relayed != nil:
			return result{relayed: w.relayed}, err
		}
		return result{revision: w.view.Revision(), body: reply(w.view, items, next)}, nil
	}
	return &endpoint{op: op, schema: schemaOf[Req](), serve: serve}
}

// cursor is what a request of a list with names of its own says about its page.
type cursor struct {
	token string // empty on the first page
	limit uint32
	list  any // the request without what differs from page to page
}

// filterOf is the filter of a list: one without fields when none was sent, since that is the same list.
func filterOf[F any](sent *F) *F {
	if sent == nil {
		return new(F)
	}
	return sent
}

// replyHeadBytes is kept free of max_payload for the headers of a reply.
const replyHeadBytes = 1024

// pageOf is a page of so many items that its reply fits into a message.
func (s *Service) pageOf(items uint32, r *request) domain.Page {
	return domain.Page{Items: items, Bytes: int(s.out.MaxPayload()) - replyHeadBytes, Encoding: r.encoding}
}

// walk is one page's part of a list.
type walk struct {
	op    subjects.Operation
	token string // of the request; empty on the first page
	list  any    // the request without what differs from page to page

	view     kvstore.View
	snapshot string      // id under which the view is kept; empty while it is not
	after    kvstore.Key // where the page begins
	relayed  *nats.Msg   // the page, if another instance had to make it
}

// begin finds the view and the place of a page: of the state at hand when there is no token, else of the snapshot that the
// token names, which may be another instance's. It returns kvstore.ErrScanExpired for a token that leads nowhere.
func (s *Service) begin(ctx context.Context, r *request, w *walk) (err error) {
	if w.token == "" {
		w.view, err = s.store.View(ctx, r.readOptions())
		return err
	}
	t, err := decodeToken(w.token)
	if err != nil {
		return err
	}
	if t.instance != s.instanceID {
		return s.beginElsewhere(ctx, r, w, t.instance)
	}
	sum, err := listSum(w.op, w.list)
	if err != nil {
		return err
	}
	if t.list != sum {
		return kvstore.ErrScanExpired
	}
	w.snapshot, w.after = t.snapshot, t.after
	w.view, err = s.snapshots.Find(t.snapshot)
	return err
}

func (s *Service) beginElsewhere(ctx context.Context, r *request, w *walk, instance string) (err error) {
	if r.direct {
		return kvstore.ErrScanExpired
	}
	w.relayed, err = s.forward(ctx, instance, w.op, r)
	if errors.Is(err, nats.ErrNoResponders) {
		return kvstore.ErrScanExpired
	}
	return err
}

// next returns the token of the page that begins after a key; empty when there is none. The view is kept from the first page
// that has a successor on.
func (s *Service) next(w *walk, after kvstore.Key) (string, error) {
	if after == "" {
		return "", nil
	}
	sum, err := listSum(w.op, w.list)
	if err != nil {
		return "", err
	}
	if w.snapshot == "" {
		if w.snapshot, err = s.snapshots.Keep(w.view); err != nil {
			return "", err
		}
	}
	return token{list: sum, instance: s.instanceID, snapshot: w.snapshot, after: after}.encode(), nil
}
