package workload

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// StoreObjects creates objects for [ObjectFind] on the service reached at urls, which has none yet.
func StoreObjects(ctx context.Context, urls []string, objects int) error {
	return fill(ctx, urls, "stored", objects, func(ctx context.Context, f filling, i int) error {
		r, err := reserve(ctx, f.conn(i), storedID(i), room, f.fleet[i%nodes])
		if err != nil {
			return err
		}
		return r.commit(ctx, f.conn(i))
	})
}

func storedID(i int) string { return fmt.Sprintf("stored-%06d", i) }

// ObjectFind returns the look-up of one of the objects that [StoreObjects] created, at random, on the service reached at
// urls.
func ObjectFind(objects int) func(urls []string, callers int) load.Workload {
	nothing := func(context.Context, *serviceCaller[struct{}]) error { return nil }
	find := func(ctx context.Context, c *serviceCaller[struct{}]) error {
		id := storedID(rand.IntN(objects))
		request := &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: id}
		r, err := ask[wire.ObjectFindReply](ctx, c.Conn, subjects.ObjectFind, request)
		if err != nil {
			return err
		}
		if err := expect(subjects.ObjectFind, r.Kind, wire.KindFound); err != nil {
			return err
		}
		if r.Entry.GlobalID != id || r.Entry.State != wire.EntryReady {
			return fmt.Errorf("%s: got %+v, want %s ready", subjects.ObjectFind, *r.Entry, id)
		}
		return nil
	}
	return func(urls []string, callers int) load.Workload {
		return newServiceWorkload(urls, callers, nothing, find)
	}
}
