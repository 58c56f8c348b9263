package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// startOwner runs a service whose commits hold two rows, with five nodes of an owner, and returns the request that removes them.
func startOwner(t *testing.T) (f *fixture, store *stub, request string) {
	t.Helper()
	f = start(t, func(o *handlers.Options) {
		store = &stub{Store: memkv.New(memkv.Options{
			Schema: domain.Schema(), Clock: o.Store.Clock(), Limits: kvstore.Limits{CommitRows: 2},
		})}
		o.Store = store
	})
	a := f.claim("a")
	for i := range 5 {
		f.publish(a, fmt.Sprintf("n%d", i))
	}
	store.updates = nil
	return f, store, fmt.Sprintf(`{"owner":%s}`, a)
}

func TestRemoveAllTakesAsManyCommitsAsItNeeds(t *testing.T) {
	t.Parallel()
	f, store, request := startOwner(t)
	reply := f.call(subjects.OwnerRemoveAll, request, nil)
	reply.want(map[string]string{"removed": "5"})
	if reply.revision() != "11" {
		t.Errorf("revision %s, want that of the last commit, 11", reply.revision())
	}
	updates := store.updatesSeen()
	if len(updates) != 3 || !updates[0].Yield || updates[1].Yield || updates[2].Yield {
		t.Errorf("updates %+v, want 3 of which the first yields", updates)
	}
	f.call(subjects.OwnerRemoveAll, request, nil).want(map[string]string{"removed": "0"})
}

func TestRemoveAllThatIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		commits int // that succeed before
		err     error
		code    wire.Code // empty: the count so far
	}{
		{"deadline before the first commit", 0, kvstore.ErrDeadline, wire.CodeDeadlineExceeded},
		{"deadline after the first commit", 1, kvstore.ErrDeadline, ""},
		{"instance stops before the first commit", 0, errors.Join(kvstore.ErrDeadline, context.Canceled), wire.CodeUnavailable},
		{"instance stops after the first commit", 1, errors.Join(kvstore.ErrDeadline, context.Canceled), wire.CodeOutcomeUnknown},
		{"unavailable before the first commit", 0, kvstore.ErrUnavailable, wire.CodeUnavailable},
		{"unavailable after something was written", 1, kvstore.ErrUnavailable, wire.CodeOutcomeUnknown},
		{"the second commit's fate is unknown at the deadline", 1, fmt.Errorf("%w: %w", kvstore.ErrUnknown, kvstore.ErrDeadline), wire.CodeOutcomeUnknown},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			f, store, request := startOwner(t)
			n := 0
			store.update = func(ctx context.Context, o kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
				if n++; n > c.commits {
					return 0, c.err
				}
				return store.Store.Update(ctx, o, fn)
			}
			reply := f.call(subjects.OwnerRemoveAll, request, nil)
			if c.code != "" {
				reply.refused(c.code, "")
				return
			}
			reply.want(map[string]string{"removed": "2"})
			if reply.revision() != "8" {
				t.Errorf("revision %s, want that of the commit, 8", reply.revision())
			}
		})
	}
}
