package workload

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// fillers is how many requests are under way while rows are stored.
const fillers = 256

// filling is what is needed to store many rows.
type filling struct {
	conns natsConns
	fleet []wire.Target
}

func (f filling) conn(i int) *nats.Conn { return f.conns[i%len(f.conns)] }

// fill stores many rows through the service reached at urls, on nodes of a mesh of its own.
func fill(ctx context.Context, urls []string, mesh string, n int, store func(ctx context.Context, f filling, i int) error) error {
	conns, err := dialNATS(urls, maxConns)
	if err != nil {
		return err
	}
	defer conns.close()
	fleet, err := newFleet(ctx, conns[0], mesh, room)
	if err != nil {
		return fmt.Errorf("publish nodes: %w", err)
	}
	f := filling{conns, fleet}
	return parallel(ctx, n, func(ctx context.Context, i int) error { return store(ctx, f, i) })
}

// parallel calls fn for 0 up to n, and ends early with its first error.
func parallel(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(fillers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return fn(ctx, i) })
	}
	return g.Wait()
}

// StoreBallast stores rows that no workload looks at on the service reached at urls, which has none of them yet: half of
// them objects, half location rows of spots.
func StoreBallast(ctx context.Context, urls []string, rows int) error {
	return fill(ctx, urls, "ballast", rows, func(ctx context.Context, f filling, i int) error {
		return storeRow(ctx, f.conn(i), "ballast", room, i, f.fleet[i%nodes])
	})
}

// storeRow stores row i of a name under the owner of a node: an object, reserved, or the location row of a spot.
func storeRow(ctx context.Context, nc *nats.Conn, name, stableType string, i int, on wire.Target) error {
	id := fmt.Sprintf("%s-%06d", name, i)
	if i%2 == 0 {
		_, err := reserve(ctx, nc, id, stableType, on)
		return err
	}
	request := &wire.SpotUpdateRequest{Intent: wire.IntentNewClaim, Spot: wire.Spot{
		MeshName: on.MeshName, SpotID: id, SpotGeneration: 1, SpotType: stableType, SpotKind: wire.SpotKindUser,
		OwnerNodeRID: on.NodeRID, OwnerNodeGeneration: on.NodeLifecycleGeneration, OwnerToken: on.Owner,
	}}
	r, err := ask[wire.UpdateReply](ctx, nc, subjects.SpotUpdate, request)
	if err != nil {
		return err
	}
	return expect(subjects.SpotUpdate, r.Status, wire.StatusStored)
}
