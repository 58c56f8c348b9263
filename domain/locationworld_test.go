package domain_test

import (
	"fmt"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// tryValid is try for a request that is valid.
func tryValid[Q, R any](w *world, validate func(*Q) error, rule func(*kvstore.Tx, *Q) (*R, error), req *Q) (*R, error) {
	w.t.Helper()
	if err := validate(req); err != nil {
		w.t.Fatal(err)
	}
	return try(w, rule, req)
}

// listAs makes rows of the items of a list.
func listAs[Q, I any](
	list func(kvstore.View, *Q, kvstore.Key, domain.Page) ([]I, kvstore.Key, error), request func(liveOnly bool) *Q, row func(I) locationRow,
) func(kvstore.View, bool) ([]locationRow, error) {
	return func(v kvstore.View, liveOnly bool) (rows []locationRow, err error) {
		items, _, err := list(v, request(liveOnly), "", domain.Page{Items: 1000})
		for _, item := range items {
			rows = append(rows, row(item))
		}
		return rows, err
	}
}

// resolvedAs makes a row of what a reply of resolve has.
func resolvedAs[I any](kind wire.Kind, item *I, row func(I) locationRow, storeNow wire.Instant) (*locationRow, error) {
	switch {
	case kind == wire.KindFound && item != nil && storeNow == 0:
		r := row(*item)
		return &r, nil
	case kind == wire.KindMissing && item == nil && storeNow != 0:
		return nil, nil
	default:
		return nil, fmt.Errorf("%s with the row %v and store time %d", kind, item, storeNow)
	}
}

// locationWorld is a world with one family of location rows.
type locationWorld struct {
	*world
	f locations
}

func (w *locationWorld) put(intent wire.Intent, token wire.OwnerToken, content uint64) *wire.UpdateReply {
	w.t.Helper()
	r, err := w.f.update(w.world, intent, token, content)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// stored puts the row and returns its generation.
func (w *locationWorld) stored(intent wire.Intent, token wire.OwnerToken, content uint64) wire.Generation {
	w.t.Helper()
	before := w.revision()
	r := w.put(intent, token, content)
	if r.Status != wire.StatusStored || r.UpdatedAt != wire.Instant(w.clock.Now()) || w.revision() != before+1 {
		w.t.Fatalf("%s by %v: %+v, want stored", intent, token, r)
	}
	return r.Generation
}

// refused puts the row and requires that it is refused without a trace.
func (w *locationWorld) refused(status wire.UpdateStatus, intent wire.Intent, token wire.OwnerToken, content uint64) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.put(intent, token, content), &wire.UpdateReply{Status: status, UpdatedAt: wire.Instant(w.clock.Now())})
	})
}

func (w *locationWorld) remove(owner wire.OwnerToken) wire.UpdateStatus {
	w.t.Helper()
	r, err := w.f.remove(w.world, owner)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Status
}

// row returns the row, or nil; every way to read it must show the same.
func (w *locationWorld) row() *locationRow {
	w.t.Helper()
	rows, err := w.f.rows(w.view(), false)
	if err != nil || len(rows) > 1 {
		w.t.Fatalf("rows %v, error %v", rows, err)
	}
	var listed *locationRow
	if len(rows) == 1 {
		listed = &rows[0]
	}
	if w.f.resolve != nil {
		resolved, err := w.f.resolve(w.view())
		if err != nil {
			w.t.Fatal(err)
		}
		if (listed == nil) != (resolved == nil) || listed != nil && *listed != *resolved {
			w.t.Fatalf("listed %+v, resolved %+v", listed, resolved)
		}
	}
	return listed
}
