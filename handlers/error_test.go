package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// TestEveryErrorHasOneCode lets the store fail in each way that it has, for a write and for a read.
func TestEveryErrorHasOneCode(t *testing.T) {
	t.Parallel()
	var store *stub
	f := start(t, func(o *handlers.Options) {
		store = &stub{Store: o.Store}
		o.Store = store
	})
	seen := make(map[wire.Code]bool)
	for _, c := range []struct {
		why  string
		err  error
		code wire.Code
	}{
		{"unavailable", kvstore.ErrUnavailable, wire.CodeUnavailable},
		{"closed", kvstore.ErrClosed, wire.CodeUnavailable},
		{"no revision left", kvstore.ErrExhausted, wire.CodeUnavailable},
		{"overloaded", kvstore.ErrOverloaded, wire.CodeOverloaded},
		{"deadline", errors.Join(kvstore.ErrDeadline, context.DeadlineExceeded), wire.CodeDeadlineExceeded},
		{"unknown", kvstore.ErrUnknown, wire.CodeOutcomeUnknown},
		{"instance stops", errors.Join(kvstore.ErrDeadline, context.Canceled), wire.CodeUnavailable},
		{"unknown because the instance stops", errors.Join(kvstore.ErrUnknown, context.Canceled), wire.CodeOutcomeUnknown},
		{"unknown because of the deadline", fmt.Errorf("%w: %w", kvstore.ErrUnknown, kvstore.ErrDeadline), wire.CodeOutcomeUnknown},
		{"row too large", kvstore.ErrTooLarge, wire.CodeTooLarge},
		{"too many rows", kvstore.ErrTooManyRows, wire.CodeTooLarge},
		{"scan expired", kvstore.ErrScanExpired, wire.CodeScanExpired},
		{"damaged row", &kvstore.DataLostError{Key: "k", Cause: errors.New("torn")}, wire.CodeDataLost},
		{"anything else", errors.New("a bug\nof two lines"), wire.CodeInternal},
		{"history gone, which no operation asks for", kvstore.ErrResync, wire.CodeInternal},
	} {
		seen[c.code] = true
		t.Run(c.why, func(t *testing.T) {
			failed := fmt.Errorf("commit: %w", c.err)
			store.update = func(context.Context, kvstore.UpdateOptions, func(*kvstore.Tx) error) (kvstore.Revision, error) {
				return 0, failed
			}
			store.view = func(context.Context, kvstore.ReadOptions) (kvstore.View, error) {
				return kvstore.View{}, failed
			}
			f.call(subjects.LeaseClaim, claimA, nil).refused(c.code, "")
			f.call(subjects.LeaseRead, readA, nil).refused(c.code, "")
			f.call(subjects.TopologyList, "{}", nil).refused(c.code, "")
			f.call(subjects.StatusGet, "{}", nil).refused(c.code, "")
		})
	}
	// Invalid arguments, and what is forbidden, have tests of their own.
	for _, c := range []wire.Code{
		wire.CodeDeadlineExceeded, wire.CodeScanExpired, wire.CodeTooLarge, wire.CodeOverloaded, wire.CodeInternal,
		wire.CodeDataLost, wire.CodeUnavailable, wire.CodeOutcomeUnknown,
	} {
		if !seen[c] {
			t.Errorf("no error has code %s", c)
		}
	}
}

func TestRefusalCarriesTheRevision(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.claim("a")
	reply := f.call(subjects.LeaseClaim, "{}", nil)
	reply.refused(wire.CodeInvalidArgument, "ownerId")
	if reply.revision() != "1" {
		t.Errorf("revision %q, want 1", reply.revision())
	}
}

func TestDamagedRowIsLoggedWithItsKey(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	put(t, f.store, domain.LeaseKey("a"), "not a record")
	unchanged := f.unchanged()
	f.call(subjects.LeaseRead, readA, nil).refused(wire.CodeDataLost, "")
	f.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeDataLost, "")
	unchanged()
	logged := f.log.errors()
	if len(logged) != 2 || logged[0]["key"] != string(domain.LeaseKey("a")) || logged[0]["op"] != "lease.read" {
		t.Errorf("logged %q", logged)
	}
}

// put stores a row in its own commit, without expiry.
func put(t *testing.T, s kvstore.Store, key kvstore.Key, value string) {
	t.Helper()
	_, err := s.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(key, []byte(value), 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPanicIsAnInternalErrorAndLoggedWithItsStack(t *testing.T) {
	t.Parallel()
	var store *stub
	f := start(t, func(o *handlers.Options) {
		store = &stub{Store: o.Store}
		o.Store = store
	})
	store.view = func(context.Context, kvstore.ReadOptions) (kvstore.View, error) { panic("in a view") }
	store.update = func(_ context.Context, _ kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
		return 0, fn(nil) // the rule panics, and the store goes on
	}
	f.call(subjects.LeaseRead, readA, nil).refused(wire.CodeInternal, "")
	f.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeInternal, "")
	logged := f.log.errors()
	if len(logged) != 2 || !strings.Contains(logged[0]["stack"], "error_test.go") || !strings.Contains(logged[1]["stack"], "ClaimLease") {
		t.Errorf("logged %q", logged)
	}
	store.view, store.update = nil, nil
	f.claim("a")
}

func TestReplyAboveMaxPayloadIsTooLarge(t *testing.T) {
	t.Parallel()
	f := startOn(t, testenv.Server(t, testenv.ServerOptions{MaxPayload: 64 << 10}), nil)
	put(t, f.store, domain.OpaqueKey([]byte("a")), strings.Repeat("v", 60<<10))
	reply := f.call(subjects.StoreRead, `{"key":"YQ=="}`, nil)
	reply.refused(wire.CodeTooLarge, "")
	if text := reply.Header.Get(wire.HeaderError); !strings.Contains(text, "max_payload is 65536") {
		t.Errorf("text %q", text)
	}
}

func TestPagesFitIntoMaxPayload(t *testing.T) {
	t.Parallel()
	f := startOn(t, testenv.Server(t, testenv.ServerOptions{MaxPayload: 64 << 10}), nil)
	for _, key := range []string{"a", "b"} {
		put(t, f.store, domain.OpaqueKey([]byte(key)), strings.Repeat("v", 40<<10))
	}
	first := f.call(subjects.StoreScan, `{"prefix":"","limit":10}`, nil)
	first.want(map[string]string{"kind": "page"})
	var page wire.StoreScanReply
	if err := wire.Unmarshal(wire.JSON, first.Data, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != 1 || page.NextCursor == "" {
		t.Errorf("%d items, cursor %q; want one item and a cursor: two do not fit", len(page.Items), page.NextCursor)
	}
}

// TestWriteWhoseReplyDoesNotFitIsUnknown: versions of 19 digits make a reply larger than its request.
func TestWriteWhoseReplyDoesNotFitIsUnknown(t *testing.T) {
	t.Parallel()
	f := startOn(t, testenv.Server(t, testenv.ServerOptions{MaxPayload: 64 << 10}), func(o *handlers.Options) {
		o.Store = memkv.New(memkv.Options{Schema: domain.Schema(), Start: 1 << 60})
	})
	var mutations []string
	for i := range 1500 {
		mutations = append(mutations, fmt.Sprintf(`{"kind":"put","key":"%04d","bytes":""}`, i))
	}
	reply := f.call(subjects.StoreWrite, `{"mutations":[`+strings.Join(mutations, ",")+"]}", nil)
	reply.refused(wire.CodeOutcomeUnknown, "")
	if want := fmt.Sprint(1<<60 + 1500); reply.revision() != want {
		t.Errorf("revision %s, want that of the commit, %s", reply.revision(), want)
	}
}
