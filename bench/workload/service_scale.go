package workload

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// scaleRows is how many rows one operation of [OwnerRemoveAll] removes, and one of [ObjectList] lists.
const scaleRows = 1000

// replenished is a workload that uses its rows up.
type replenished[S any] struct {
	*serviceWorkload[S]
	replenish func(context.Context, *serviceCaller[S]) error
}

// Prepare implements [load.Preparer].
func (w *replenished[S]) Prepare(ctx context.Context, caller int) error {
	return w.replenish(ctx, &w.callers[caller])
}

// OwnerRemoveAll returns the removal of 1,000 rows of the caller's own, on the service reached at urls: a node, objects,
// and location rows of spots. They are stored before each operation.
func OwnerRemoveAll(urls []string, callers int) load.Workload {
	return &replenished[wire.OwnerToken]{newServiceWorkload(urls, callers, claimLease, removeAll), storeRows}
}

func storeRows(ctx context.Context, c *serviceCaller[wire.OwnerToken]) error {
	node, err := publish(ctx, c.Conn, c.name, c.name, room, c.rows)
	if err != nil {
		return err
	}
	return parallel(ctx, scaleRows-1, func(ctx context.Context, i int) error {
		return storeRow(ctx, c.Conn, c.name, room, i, node)
	})
}

func removeAll(ctx context.Context, c *serviceCaller[wire.OwnerToken]) error {
	request := &wire.OwnerRemoveAllRequest{Owner: c.rows}
	r, err := ask[wire.OwnerRemoveAllReply](ctx, c.Conn, subjects.OwnerRemoveAll, request)
	if err == nil && r.Removed != scaleRows {
		return fmt.Errorf("%s: got %d rows removed, want %d", subjects.OwnerRemoveAll, r.Removed, scaleRows)
	}
	return err
}

// ObjectList returns the list of the 1,000 objects of a type, in one page, on the service reached at urls.
func ObjectList(urls []string, callers int) load.Workload {
	return newServiceWorkload(urls, callers, shared(newListed), listObjects)
}

// newListed creates the objects that are listed and returns their type.
func newListed(ctx context.Context, nc *nats.Conn, name string) (stableType string, err error) {
	fleet, err := newFleet(ctx, nc, name, name)
	if err != nil {
		return "", err
	}
	return name, parallel(ctx, scaleRows, func(ctx context.Context, i int) error {
		_, err := reserve(ctx, nc, fmt.Sprintf("%s-%06d", name, i), name, fleet[i%nodes])
		return err
	})
}

func listObjects(ctx context.Context, c *serviceCaller[string]) error {
	request := &wire.ObjectListRequest{ObjectKind: wire.ObjectUserSpot, StableType: c.rows}
	request.PageSize = scaleRows
	r, err := ask[wire.ObjectListReply](ctx, c.Conn, subjects.ObjectList, request)
	if err == nil && (len(r.Items) != scaleRows || r.ContinuationToken != "") {
		return fmt.Errorf("%s: got a page of %d and token %q, want all %d", subjects.ObjectList, len(r.Items), r.ContinuationToken, scaleRows)
	}
	return err
}
