package workload

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// stageCall is how many participants one call of aggregate.stage brings.
const stageCall = 1000

// group is a number of objects that move to and fro between two nodes, all at once.
type group struct {
	*nats.Conn
	keys     []wire.ObjectKey // in key order
	versions []wire.Version
	nodes    [2]wire.Target
	at       int // index of the node that has them
	fence    wire.Fence
	prepared bool
}

func newGroup(ctx context.Context, nc *nats.Conn, name string, n int) (*group, error) {
	g := &group{Conn: nc, fence: wire.Fence{AggregateID: name}}
	for i := range g.nodes {
		node := fmt.Sprintf("%s-node%d", name, i)
		token, err := claim(ctx, nc, node)
		if err != nil {
			return nil, err
		}
		if g.nodes[i], err = publish(ctx, nc, name, node, room, token); err != nil {
			return nil, err
		}
	}
	g.keys, g.versions = make([]wire.ObjectKey, n), make([]wire.Version, n)
	return g, parallel(ctx, n, func(ctx context.Context, i int) error {
		g.keys[i] = userSpot(fmt.Sprintf("%s-%06d", name, i))
		r, err := reserve(ctx, nc, g.keys[i].GlobalID, room, g.nodes[0])
		if err != nil {
			return err
		}
		if err := r.commit(ctx, nc); err != nil {
			return err
		}
		return g.look(ctx, i)
	})
}

// look finds out the version of an object.
func (g *group) look(ctx context.Context, i int) error {
	a, err := ask[wire.Authority](ctx, g.Conn, subjects.AuthorityRead, &wire.AuthorityReadRequest{Key: g.keys[i]})
	if err == nil {
		g.versions[i], err = a.StoreVersion, expect(subjects.AuthorityRead, a.Kind, wire.KindSnapshot)
	}
	return err
}

// stage stages the next move.
func (g *group) stage(ctx context.Context) error {
	g.fence.AggregateGeneration++
	for from := 0; from < len(g.keys); from += stageCall {
		request := &wire.AggregateStageRequest{Fence: g.fence, StartIndex: uint32(from)}
		for i := from; i < min(from+stageCall, len(g.keys)); i++ {
			request.Participants = append(request.Participants, wire.AggregateParticipant{
				AuthorityKey: g.keys[i], ExpectedStoreVersion: g.versions[i], OwnerTransition: wire.OwnerNew,
				AuthorityPayload: newValue()[:payloadBytes], MembershipMutation: wire.Bytes{},
			})
		}
		r, err := ask[wire.AggregateStageReply](ctx, g.Conn, subjects.AggregateStage, request)
		if err != nil {
			return err
		}
		if err := expect(subjects.AggregateStage, r.Kind, wire.KindStaged); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) prepare(ctx context.Context) error {
	target, n := g.nodes[1-g.at], uint32(len(g.keys))
	request := &wire.AggregatePrepareRequest{
		Fence: g.fence, ParticipantCount: n, InventoryDigest: newValue()[:32], TargetDescriptor: target.Node(),
		TargetDescriptorLifecycleGeneration: target.NodeLifecycleGeneration, TargetOwner: target.Owner, Capacity: one(room),
	}
	request.Capacity.Spots, request.Capacity.SpotType.Count = n, n
	r, err := ask[wire.AggregatePrepareReply](ctx, g.Conn, subjects.AggregatePrepare, request)
	if err != nil {
		return err
	}
	g.prepared = true
	return expect(subjects.AggregatePrepare, r.Kind, wire.KindPrepared)
}

// commit moves the objects.
func (g *group) commit(ctx context.Context) error {
	r, err := ask[wire.AggregateCommitReply](ctx, g.Conn, subjects.AggregateCommit, &wire.AggregateCommitRequest{Fence: g.fence})
	if err != nil {
		return err
	}
	g.prepared, g.at = false, 1-g.at
	return expect(subjects.AggregateCommit, r.Kind, wire.KindCommitted)
}

// renew finds out the version that all objects have since they moved.
func (g *group) renew(ctx context.Context) error {
	if err := g.look(ctx, 0); err != nil {
		return err
	}
	for i := range g.versions {
		g.versions[i] = g.versions[0]
	}
	return nil
}

// move moves the objects from the first call to the last.
func (g *group) move(ctx context.Context) error {
	for _, step := range []func(context.Context) error{g.stage, g.prepare, g.commit, g.renew} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// AggregatePrepare returns the preparation of a group of so many objects, which were staged, on the service reached at urls.
func AggregatePrepare(objects int) func(urls []string, callers int) load.Workload {
	return moving(objects, func(ctx context.Context, g *group) error {
		if g.prepared {
			if err := g.commit(ctx); err != nil {
				return err
			}
			if err := g.renew(ctx); err != nil {
				return err
			}
		}
		return g.stage(ctx)
	}, func(ctx context.Context, g *group) error { return g.prepare(ctx) })
}

// AggregateCommit returns the commit of a group of so many objects, which was prepared, on the service reached at urls.
func AggregateCommit(objects int) func(urls []string, callers int) load.Workload {
	return moving(objects, func(ctx context.Context, g *group) error {
		if g.fence.AggregateGeneration > 0 {
			if err := g.renew(ctx); err != nil {
				return err
			}
		}
		if err := g.stage(ctx); err != nil {
			return err
		}
		return g.prepare(ctx)
	}, func(ctx context.Context, g *group) error { return g.commit(ctx) })
}

func moving(objects int, before, op func(context.Context, *group) error) func(urls []string, callers int) load.Workload {
	return func(urls []string, callers int) load.Workload {
		create := func(ctx context.Context, c *serviceCaller[*group]) (err error) {
			c.rows, err = newGroup(ctx, c.Conn, c.name, objects)
			return err
		}
		return &replenished[*group]{
			newServiceWorkload(urls, callers, create, func(ctx context.Context, c *serviceCaller[*group]) error { return op(ctx, c.rows) }),
			func(ctx context.Context, c *serviceCaller[*group]) error { return before(ctx, c.rows) },
		}
	}
}

// FindDuringMoves is [ObjectFind] while a group of so many other objects moves again and again.
func FindDuringMoves(objects, moved int) func(urls []string, callers int) load.Workload {
	return func(urls []string, callers int) load.Workload {
		return &besideMoves{Workload: ObjectFind(objects)(urls, callers), urls: urls, moved: moved}
	}
}

// besideMoves is a workload beside which a group moves, as long as operations come.
type besideMoves struct {
	load.Workload
	urls   []string
	moved  int
	conns  natsConns
	last   atomic.Int64 // when an operation began, in nanoseconds
	cancel context.CancelFunc
	wg     sync.WaitGroup
	err    error // guarded by wg
}

// pauseAfter is how long after the last operation the group rests.
const pauseAfter = 100 * time.Millisecond

// Setup implements [load.Workload].
func (w *besideMoves) Setup(ctx context.Context) (err error) {
	if err := w.Workload.Setup(ctx); err != nil {
		return err
	}
	if w.conns, err = dialNATS(w.urls, 1); err != nil {
		return err
	}
	g, err := newGroup(ctx, w.conns[0], fmt.Sprintf("moved-%d", time.Now().UnixNano()), w.moved)
	if err != nil {
		return err
	}
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.wg.Go(func() { w.err = w.moves(ctx, g) })
	return nil
}

func (w *besideMoves) moves(ctx context.Context, g *group) error {
	for ctx.Err() == nil {
		if time.Since(time.Unix(0, w.last.Load())) > pauseAfter {
			select {
			case <-time.After(pauseAfter / 10):
			case <-ctx.Done():
			}
			continue
		}
		if err := g.move(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("move beside the workload: %w", err)
		}
	}
	return nil
}

// Op implements [load.Workload].
func (w *besideMoves) Op(ctx context.Context, caller int) error {
	w.last.Store(time.Now().UnixNano())
	return w.Workload.Op(ctx, caller)
}

// Close implements [load.Workload]. It returns what kept the group from moving.
func (w *besideMoves) Close() error {
	if w.cancel != nil {
		w.cancel()
	}
	w.wg.Wait()
	w.conns.close()
	if err := w.Workload.Close(); err != nil {
		return err
	}
	return w.err
}
