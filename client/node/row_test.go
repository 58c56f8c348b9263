package node_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func router(rid wire.RID) wire.Peer {
	return wire.Peer{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: rid, Role: wire.PeerRouter, Endpoint: "tcp://" + string(rid) + ":7000"}
}

func keyOf(p wire.Peer) node.Key {
	return node.PeerKey(wire.PeerKey{AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID, Endpoint: p.Endpoint})
}

// everyRow stores a row of each family and returns their keys.
func (w *world) everyRow(r *node.Runtime) []node.Key {
	w.t.Helper()
	ctx := context.Background()
	p, err1 := r.PutPeer(ctx, router("n1"), node.AutoIntent)
	s, err2 := r.PutSpot(ctx, spotRow("s1"), node.AutoIntent)
	a, err3 := r.PutActor(ctx, actorRow("a1"), node.AutoIntent)
	o, err4 := r.PutRoute(ctx, wire.Route{RouteKind: wire.RouteSpotName, RouteKey: "lobby", OwnerNodeRID: "n1", Value: wire.Bytes("s1")}, node.AutoIntent)
	for i, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			w.t.Fatalf("row %d: %v", i, err)
		}
	}
	for i, reply := range []*wire.UpdateReply{p, s, a, o} {
		if reply.Status != wire.StatusStored {
			w.t.Fatalf("row %d: %s", i, reply.Status)
		}
	}
	return []node.Key{keyOf(router("n1")), node.SpotKey("play", "s1"), node.ActorKey("play", "a1"), node.RouteKey(wire.RouteSpotName, "lobby")}
}

// liveRows is how many location rows are live.
func (w *world) liveRows() int {
	w.t.Helper()
	ctx, live := context.Background(), wire.PageRequest{LiveOnly: true}
	p, err1 := w.look.Peers.List(ctx, wire.PeerListRequest{PageRequest: live})
	s, err2 := w.look.Spots.List(ctx, wire.SpotListRequest{PageRequest: live})
	a, err3 := w.look.Actors.List(ctx, wire.ActorListRequest{PageRequest: live})
	o, err4 := w.look.Routes.List(ctx, wire.RouteListRequest{PageRequest: live})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return len(p.Items) + len(s.Items) + len(a.Items) + len(o.Items)
}

func TestRowsRaiseEventsOnlyAfterTheyAreStoredInTheOrderOfTheWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		keys := w.everyRow(r)
		w.line.on(refused(wire.CodeInternal, "no"), subjects.SpotUpdate)
		if _, err := r.PutSpot(t.Context(), spotRow("s2"), node.AutoIntent); err == nil {
			t.Error("stored, want an error")
		}
		for _, k := range keys {
			if reply, err := r.Remove(t.Context(), k); err != nil || reply.Status != wire.StatusStored {
				t.Errorf("remove %v: %+v, %v", k, reply, err)
			}
		}
		if reply, err := r.Remove(t.Context(), keys[0]); err != nil || reply.Status != wire.StatusIgnoredStale {
			t.Errorf("remove again: %+v, %v, want ignoredStale", reply, err)
		}
		equal(t, "events", w.told(), []string{
			"peerRowUpdated " + keys[0].String(), "spotRowUpdated " + keys[1].String(), "actorRowUpdated " + keys[2].String(), "routeRowUpdated " + keys[3].String(),
			"peerRowRemoved " + keys[0].String(), "spotRowRemoved " + keys[1].String(), "actorRowRemoved " + keys[2].String(), "routeRowRemoved " + keys[3].String(),
		})
		if n := w.liveRows(); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// U-10.
func TestRowThatAnotherHasTakenOverIsLostOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.everyRow(r)
		other := w.claimed("other")
		a := actorRow("a1")
		a.OwnerToken = other
		if reply, err := w.look.Actors.Update(t.Context(), wire.ActorUpdateRequest{Actor: a, Intent: wire.IntentTakeover}); err != nil || reply.Status != wire.StatusStored {
			t.Fatalf("%+v, %v", reply, err)
		}
		w.told()
		if reply, err := r.PutActor(t.Context(), actorRow("a1"), node.AutoIntent); err != nil || reply.Status != wire.StatusIgnoredStale {
			t.Errorf("renew: got %+v, %v, want ignoredStale", reply, err)
		}
		equal(t, "events", w.told(), []string{"ownershipLost " + node.ActorKey("play", "a1").String()})
		// A new claim is refused as well, which is no loss.
		if reply, err := r.PutActor(t.Context(), actorRow("a1"), node.AutoIntent); err != nil || reply.Status != wire.StatusRejectedConflict {
			t.Errorf("new claim: got %+v, %v, want rejectedConflict", reply, err)
		}
		equal(t, "events", w.told(), nil)
		if n := w.count("zlink.location.store.errors")["operation=compare_exchange"]; n != 2 {
			t.Errorf("got %d errors of compare_exchange, want 2", n)
		}
		// It is not fought for after a fresh claim.
		w.released("host")
		time.Sleep(10 * time.Second)
		if reply, err := w.look.Actors.Resolve(t.Context(), wire.ActorResolveRequest{MeshName: "play", ActorID: "a1"}); err != nil || reply.Actor.OwnerToken != other {
			t.Errorf("got %+v, %v, want the other's row", reply, err)
		}
	})
}

func TestRowThatSomebodyHasRemovedIsClaimedAnewTheNextTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.everyRow(r)
		if _, err := w.look.Spots.Remove(t.Context(), wire.SpotRemoveRequest{MeshName: "play", SpotID: "s1", Owner: *w.lease("host")}); err != nil {
			t.Fatal(err)
		}
		w.told()
		for _, want := range []wire.UpdateStatus{wire.StatusRejectedConflict, wire.StatusStored} {
			if reply, err := r.PutSpot(t.Context(), spotRow("s1"), node.AutoIntent); err != nil || reply.Status != want {
				t.Errorf("got %+v, %v, want %s", reply, err, want)
			}
		}
		equal(t, "events", w.told(), []string{"spotRowUpdated " + node.SpotKey("play", "s1").String()})
	})
}

func TestOwnPeerThatAListingDoesNotShowIsPublishedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		p := router("n1")
		p.Metadata = map[string]string{"zone": "a"}
		if _, err := r.PutPeer(t.Context(), p, node.AutoIntent); err != nil {
			t.Fatal(err)
		}
		own := r.Peers()
		if len(own) != 1 || own[0].NodeRID != "n1" {
			t.Fatalf("got own peers %+v, want n1", own)
		}
		own[0].Metadata["zone"] = "b" // it is the caller's
		if _, err := w.look.Peers.Remove(t.Context(), wire.PeerRemoveRequest{Owner: *w.lease("host"), Key: wire.PeerKey{
			AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID,
		}}); err != nil {
			t.Fatal(err)
		}
		if err := r.RepublishPeer(t.Context(), keyOf(p)); err != nil {
			t.Fatal(err)
		}
		reply, err := w.look.Peers.List(t.Context(), wire.PeerListRequest{})
		if err != nil || len(reply.Items) != 1 || reply.Items[0].Metadata["zone"] != "a" {
			t.Errorf("got %+v, %v, want the peer as it was", reply, err)
		}
	})
}

func TestResolvingWithoutALiveRowIsAMiss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		keys := w.everyRow(r)
		resolve := func() {
			t.Helper()
			_, err1 := r.ResolveSpot(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"})
			_, err2 := r.ResolveActor(t.Context(), wire.ActorResolveRequest{MeshName: "play", ActorID: "a1"})
			_, err3 := r.ResolveRoute(t.Context(), wire.RouteResolveRequest{RouteKind: wire.RouteSpotName, RouteKey: "lobby"})
			for _, err := range []error{err1, err2, err3} {
				if err != nil {
					t.Error(err)
				}
			}
		}
		misses := []string{"spotResolveMiss " + keys[1].String(), "actorResolveMiss " + keys[2].String(), "routeResolveMiss " + keys[3].String()}
		w.told()
		resolve()
		equal(t, "events while the rows are live", w.told(), nil)
		w.released("host")
		resolve()
		equal(t, "events while they are not", w.told(), misses)
		w.line.on(refused(wire.CodeInternal, "no"), subjects.SpotResolve)
		if _, err := r.ResolveSpot(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"}); err == nil || r.Status().StoreHealthy {
			t.Error("want an error, and an unhealthy store")
		}
		equal(t, "events of an error", w.told(), nil)
		if n := w.count("zlink.location.store.errors")["operation=read"]; n != 1 {
			t.Errorf("got %d errors of read, want 1", n)
		}
	})
}

// A write without an answer may have been carried out or not; the next one finds out, with whatever content.
func TestRowIsWrittenAfterAWriteWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{"lost request": lostRequest, "lost reply": lostReply} {
		for _, known := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				r := w.started(node.Options{})
				if known {
					w.everyRow(r)
				}
				s := spotRow("s1")
				s.SpotGeneration = 2
				w.line.on(f, subjects.SpotUpdate)
				ctx, cancel := contextWithTimeout(t, time.Second)
				defer cancel()
				if _, err := r.PutSpot(ctx, s, node.AutoIntent); err == nil {
					t.Error("stored, want no answer")
				}
				w.line.on(nil, subjects.SpotUpdate)
				s.SpotGeneration = 3
				if reply, err := r.PutSpot(t.Context(), s, node.AutoIntent); err != nil || reply.Status != wire.StatusStored {
					t.Errorf("%s, known %v: got %+v, %v, want stored", name, known, reply, err)
				}
			})
		}
	}
}

// The host's own row that is lost is written again by the runtime when the set of peers misses it, with its endpoint in one form.
func TestSetOfPeersHasTheOwnRowWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		p := router("n1")
		p.Endpoint = " TCP://N1:07000/ "
		if _, err := r.PutPeer(t.Context(), p, node.AutoIntent); err != nil {
			t.Fatal(err)
		}
		set, err := peers.New(peers.Options{
			Client: w.look, Own: peers.Own{AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, RID: p.NodeRID, Endpoint: p.Endpoint},
			Dial:      func(ctx context.Context, _ peers.Target) (peers.Connection, error) { return nil, ctx.Err() },
			Republish: func(ctx context.Context) error { return r.RepublishPeer(ctx, keyOf(p)) },
			OnChange:  r.DesiredSetChanged,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = set.Run(ctx) }) // it ends with ctx
		defer wg.Wait()
		defer cancel()
		time.Sleep(2 * time.Second)
		if _, err := w.look.Peers.Remove(t.Context(), wire.PeerRemoveRequest{Owner: *w.lease("host"), Key: wire.PeerKey{
			AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID,
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		reply, err := w.look.Peers.List(t.Context(), wire.PeerListRequest{})
		if err != nil || len(reply.Items) != 1 || reply.Items[0].Endpoint != "tcp://n1:7000" {
			t.Errorf("got %+v, %v, want the row with its endpoint in one form", reply, err)
		}
	})
}
