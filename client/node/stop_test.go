package node_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestStopRemovesEverythingAndReleasesTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1")
		w.stop(r)
		if w.lease("host") != nil || len(w.nodes()) != 0 || w.liveRows() != 0 || w.authority("r1").Kind != wire.KindMissing {
			t.Errorf("lease %v, nodes %v, %d rows, room %s; want nothing", w.lease("host"), w.nodes(), w.liveRows(), w.authority("r1").Kind)
		}
		equal(t, "requests", w.line.operations(), []subjects.Operation{subjects.OwnerRemoveAll, subjects.OwnerRemoveAll, subjects.LeaseRelease})
		if s := r.Status(); s.State != node.StateStopped || !s.CleanupComplete || r.Usable() {
			t.Errorf("got status %+v, want stopped and complete", s)
		}
		// A further Stop does nothing, and no heartbeat runs on.
		w.stop(r)
		time.Sleep(time.Minute)
		if n := len(w.line.operations()); n != 3 {
			t.Errorf("%d requests, want no more than 3", n)
		}
	})
}

// A row that could not be brought back is of an earlier lease of the owner.
func TestStopRemovesRowsOfEarlierLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{})
		before := *w.lease("host")
		w.released("host")
		w.line.on(refused(wire.CodeInternal, "not now"), subjects.SpotUpdate)
		time.Sleep(6 * time.Second)
		resolve := func() *wire.SpotResolveReply {
			reply, err := w.look.Spots.Resolve(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"})
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
		if reply := resolve(); reply.Spot == nil || reply.Spot.OwnerToken != before || !r.Usable() {
			t.Fatalf("got %+v, want the row of the lease before", reply)
		}
		w.stop(r)
		if reply := resolve(); reply.Kind != wire.KindMissing {
			t.Errorf("got %+v, want it gone", reply)
		}
	})
}

// U-05.
func TestStopDuringARenewalEndsAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.line.on(after(time.Second), subjects.LeaseRenew)
		time.Sleep(5*time.Second + 1)
		before := time.Now()
		done := make(chan error)
		go func() { done <- r.Stop(t.Context()) }()
		synctest.Wait()
		if r.Usable() {
			t.Error("usable while it stops")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if waited := time.Since(before); waited != time.Second-1 {
			t.Errorf("stopped after %v, want right after the renewal", waited)
		}
		if w.lease("host") != nil || r.Usable() {
			t.Error("the lease is still there")
		}
	})
}

// U-06.
func TestStopThatFailsCanBeTriedAgain(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]wire.Code{"for good": wire.CodeInternal, "for now": wire.CodeUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			r := w.started(node.Options{})
			w.line.on(refused(code, "rows unavailable"), subjects.OwnerRemoveAll)
			before := time.Now()
			err := r.Stop(t.Context())
			cleanup, ok := errors.AsType[*node.CleanupError](err)
			if !ok || !strings.Contains(err.Error(), "rows unavailable") || cleanup.Token != *w.lease("host") {
				t.Errorf("%s: got %v, want the failure to clean up", name, err)
			}
			if took := time.Since(before); took > 5*time.Second {
				t.Errorf("%s: took %v, want at most the allowance", name, took)
			}
			if s := r.Status(); s.CleanupComplete || s.State != node.StateStopped || !strings.Contains(s.LastError, "rows unavailable") {
				t.Errorf("%s: got status %+v, want something left", name, s)
			}
			if n := w.count("zlink.location.store.errors")["operation=release"]; n != 1 {
				t.Errorf("%s: got %d errors of release, want 1", name, n)
			}
			w.line.on(nil, subjects.OwnerRemoveAll)
			if err := r.Stop(t.Context()); err != nil || w.lease("host") != nil || !r.Status().CleanupComplete {
				t.Errorf("%s: second stop: %v, lease %v", name, err, w.lease("host"))
			}
		})
	}
}

// What a failed clean-up has left behind is cleaned up by a further Stop, also after a Start that came to nothing: the lease that
// is left is what it is refused for.
func TestStartThatComesToNothingLeavesTheCleanUpDue(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]fault{"refused": nil, "cancelled": after(time.Hour)} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			r := w.withRooms(node.Options{}, "r1")
			w.line.on(refused(wire.CodeUnavailable, "rows unavailable"), subjects.OwnerRemoveAll)
			if err := r.Stop(t.Context()); err == nil {
				t.Errorf("%s: stopped, want a failure to clean up", name)
			}
			w.line.on(claim, subjects.LeaseClaim)
			ctx, cancel := contextWithTimeout(t, time.Second)
			defer cancel()
			if err := r.Start(ctx); err == nil || r.Status().CleanupComplete {
				t.Errorf("%s: start: %v, clean-up complete %v; want an error, and it due", name, err, r.Status().CleanupComplete)
			}
			w.line.on(nil, subjects.OwnerRemoveAll)
			if err := r.Stop(t.Context()); err != nil || w.lease("host") != nil || w.authority("r1").Kind != wire.KindMissing {
				t.Errorf("%s: second stop: %v, lease %v, room %s; want nothing left", name, err, w.lease("host"), w.authority("r1").Kind)
			}
			time.Sleep(2 * time.Hour) // for what was slept through
		})
	}
}

// A Start that meets the further Stop of a clean-up ends, as one that meets the first does: else its life would go on after the Stop,
// renew the lease and admit, and no Stop would end it.
func TestStartDuringAFurtherStopEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.line.on(refused(wire.CodeInternal, "rows unavailable"), subjects.OwnerRemoveAll)
		if err := r.Stop(t.Context()); err == nil {
			t.Fatal("the clean-up did not fail")
		}
		time.Sleep(time.Minute) // the lease lapses, so that another one can be claimed
		w.line.on(after(time.Second), subjects.OwnerRemoveAll)
		stopped := make(chan error)
		go func() { stopped <- r.Stop(t.Context()) }()
		synctest.Wait()
		if err := r.Start(t.Context()); !errors.Is(err, node.ErrStopped) {
			t.Errorf("start: got %v, want %v", err, node.ErrStopped)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if s := r.Status(); s.State != node.StateStopped || !s.CleanupComplete || r.Usable() || w.lease("host") != nil {
			t.Errorf("got status %+v, lease %v; want stopped without a lease", s, w.lease("host"))
		}
		if err := r.Start(t.Context()); err != nil || !r.Usable() {
			t.Errorf("start after that: %v, usable %v", err, r.Usable())
		}
		w.stop(r)
	})
}

// Without a lease the one before it is cleaned up; another process's lease of the same owner is never touched.
func TestStopLeavesAnotherIncarnationAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1")
		w.released("host")
		other := w.claimed("host")
		if _, err := w.look.Spots.Update(t.Context(), wire.SpotUpdateRequest{Intent: wire.IntentTakeover, Spot: func() wire.Spot {
			s := spotRow("s1")
			s.OwnerToken = other
			return s
		}()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		w.stop(r)
		if l := w.lease("host"); l == nil || *l != other || w.liveRows() != 1 {
			t.Errorf("lease %v, %d live rows; want the other's %v and its row", l, w.liveRows(), other)
		}
	})
}

func TestStopWithoutALeaseHasNothingToCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.runtime(node.Options{})
		if !r.Status().CleanupComplete {
			t.Error("something is to be cleaned up before the first start")
		}
		w.line.on(refused(wire.CodeUnavailable, "no"), subjects.LeaseClaim)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.Status().CleanupComplete {
			t.Error("nothing is to be cleaned up while it runs")
		}
		w.line.forget()
		w.stop(r)
		equal(t, "requests", w.line.operations(), nil)
	})
}

// The claim in flight when Stop comes is waited for, and its token released.
func TestStopDuringStartReleasesTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.line.on(after(time.Second), subjects.LeaseClaim)
		r := w.runtime(node.Options{})
		var start error
		var wg sync.WaitGroup
		wg.Go(func() { start = r.Start(t.Context()) })
		synctest.Wait()
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if !errors.Is(start, node.ErrStopped) || w.lease("host") != nil || r.Usable() {
			t.Errorf("start: %v, lease %v, usable %v; want it stopped without a lease", start, w.lease("host"), r.Usable())
		}
	})
}

// A claim that was given up, and is answered after Stop, is released.
func TestTokenThatComesAfterStopIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.line.on(func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
			time.Sleep(time.Minute) // on its way, whatever the sender thinks of it
			delete(m.Header, wire.HeaderDeadline)
			return next(context.WithoutCancel(ctx), m)
		}, subjects.LeaseClaim)
		r := w.runtime(node.Options{})
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
		w.line.forget()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if ops := w.line.operations(); len(ops) == 0 || w.lease("host") != nil || r.Usable() {
			t.Errorf("requests %v, lease %v; want the late token released", ops, w.lease("host"))
		}
	})
}

// Nothing is written any more once Stop has begun to clean up.
func TestWritersEndWithTheRuntime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.line.on(lostRequest, subjects.SpotUpdate)
		done := make(chan error)
		go func() {
			_, err := r.PutSpot(context.Background(), spotRow("s1"), node.AutoIntent)
			done <- err
		}()
		synctest.Wait()
		before := time.Now()
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil || time.Since(before) > time.Second {
			t.Errorf("writer: %v after %v, want an error at once", err, time.Since(before))
		}
	})
}

func TestRuntimeCanBeStartedAgainInTheSameLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{})
		life := r.Lifecycle()
		w.stop(r)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.PublishMeshNode(t.Context(), meshNode("n1")); err != nil {
			t.Fatal(err)
		}
		if r.Lifecycle() != life || len(w.nodes()) != 1 || w.liveRows() != 0 {
			t.Errorf("life %d, nodes %v, %d rows; want life %d, the node and no row", r.Lifecycle(), w.nodes(), w.liveRows(), life)
		}
		equal(t, "published", w.published(), []string{"newClaim 2 serving"})
		w.stop(r)
	})
}

func TestDrainPublishesDrainingEverywhereAndWaitsForTheObjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1")
		server := wire.ClientServerDescriptor{ChannelName: "chat", ServerRID: "s1", Endpoint: "tcp://s1:1", State: wire.StateServing, SecurityIdentity: "s"}
		if err := r.PublishClientServer(t.Context(), server); err != nil {
			t.Fatal(err)
		}
		w.line.on(once(refused(wire.CodeInternal, "not this one")), subjects.ClientServerUpdate)
		w.line.on(once(refused(wire.CodeInternal, "not this one")), subjects.PeerUpdate)
		drained := make(chan error)
		go func() { drained <- r.Drain(t.Context()) }()
		time.Sleep(7 * time.Second) // a heartbeat publishes what has failed
		servers, err := w.look.ClientServers.List(t.Context(), wire.ClientServerListRequest{ChannelName: "chat"})
		if err != nil || servers.Items[0].State != wire.StateDraining || w.nodes()[0].State != wire.StateDraining || w.nodes()[0].DescriptorRevision != 2 {
			t.Errorf("got servers %+v, nodes %+v, %v; want both draining", servers, w.nodes(), err)
		}
		peers, err := w.look.Peers.List(t.Context(), wire.PeerListRequest{})
		if err != nil || len(peers.Items) != 1 || !peers.Items[0].Draining {
			t.Errorf("got peers %+v, %v; want it draining", peers, err)
		}
		if place, err := w.look.Directory.SelectNode(t.Context(), wire.PlacementSelectRequest{
			MeshName: "play", ObjectKind: wire.ObjectUserSpot, StableType: "room", Capacity: wire.Capacity{Spots: 1},
		}); err != nil || place.Kind != wire.KindNone {
			t.Errorf("got %+v, %v; want no node to place on", place, err)
		}
		select {
		case err := <-drained:
			t.Fatalf("drained with %v while there is a room", err)
		default:
		}
		a := w.authority("r1")
		reply, err := r.CompareExchange(t.Context(), wire.AuthorityCompareExchangeRequest{
			Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}, ExpectedStoreVersion: a.StoreVersion,
			Mutation: wire.AuthorityMutation{Kind: wire.AuthorityDelete},
		})
		if err != nil || reply.Kind != wire.KindDeleted {
			t.Fatalf("delete: %+v, %v", reply, err)
		}
		if err := <-drained; err == nil || errors.Is(err, node.ErrNotDrained) || strings.Count(err.Error(), "not this one") != 2 {
			t.Errorf("got %v, want the two failures and nothing else", err)
		}
	})
}

func TestDrainGivesUpWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1", "r2")
		ctx, cancel := contextWithTimeout(t, 3*time.Second)
		defer cancel()
		if err := r.Drain(ctx); !errors.Is(err, node.ErrNotDrained) || !strings.Contains(err.Error(), "2 objects") {
			t.Errorf("got %v, want 2 objects left", err)
		}
	})
}
