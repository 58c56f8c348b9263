package peers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// tick is the polling interval, and a little for what follows from the listing.
const tick = time.Second

func host() peers.Options { return peers.Options{Own: routerHost(hostRID, hostEndpoint)} }

func peer() wire.Peer { return router(peerRID, peerEndpoint, wire.OwnerToken{}) }

func TestDrainingPeerIsNotDialled(t *testing.T) {
	inWorld(t, func(w *world) {
		p := peer()
		p.Draining = true
		p = w.add(p)
		w.start(host())
		w.pass(3 * tick)
		w.happened()

		p.Draining = false
		w.put(p, wire.IntentRenew)
		w.pass(tick)
		w.happened("dial " + peerEndpoint)
	})
}

func TestConnectionToADrainingPeerStays(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		p.Draining = true
		w.put(p, wire.IntentRenew)
		w.pass(3 * tick)
		w.connected(peerEndpoint)
		w.happened("dial " + peerEndpoint)

		w.net.drop(peerEndpoint)
		w.pass(3 * tick)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint) // and no new one
	})
}

// A refused dial leaves no connection that could stay.
func TestRefusedPeerThatDrainsIsGivenUp(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.net.setRefuse(peerEndpoint, true)
		w.start(host())
		p.Draining = true
		w.put(p, wire.IntentRenew)
		w.pass(2 * tick)
		w.net.happened()
		w.net.setRefuse(peerEndpoint, false)
		w.pass(3 * tick)
		w.happened()
	})
}

func TestChangedEndpointIsDialledWhenTheOldConnectionIsGone(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.net.hinder(peerEndpoint, 0, 5*time.Second)
		w.start(host())
		w.happened("dial " + peerEndpoint)

		p.Endpoint = "tcp://n:2"
		w.put(p, wire.IntentRenew) // keeps the generation
		w.pass(4 * tick)
		w.happened("close " + peerEndpoint)
		w.pass(3 * tick)
		w.happened("gone "+peerEndpoint, "dial tcp://n:2")
		w.connected("tcp://n:2")
	})
}

func TestEndpointInAnotherFormIsNoChange(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		p.Endpoint = "TCP://N:01/"
		w.put(p, wire.IntentRenew)
		w.pass(3 * tick)
		w.happened("dial " + peerEndpoint)
	})
}

func TestChangedOwnerIsDialledAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		p.OwnerToken = w.claim("another", forever)
		w.put(p, wire.IntentTakeover)
		w.pass(2 * tick)
		w.happened("dial "+peerEndpoint, "close "+peerEndpoint, "gone "+peerEndpoint, "dial "+peerEndpoint)
	})
}

// The service changes the generation whenever it changes the owner, but the rule does not depend on it.
func TestChangedOwnerUnderTheSameKeyIsAnotherTarget(t *testing.T) {
	t.Parallel()
	a := peers.Target{Key: peers.Key{RID: peerRID, Generation: 7}, Endpoint: peerEndpoint}
	b := a
	if !peers.Same(a, b) {
		t.Error("a target is not the same as itself")
	}
	b.Row.OwnerToken = wire.OwnerToken{OwnerID: "another"}
	if peers.Same(a, b) {
		t.Error("a target of another owner is the same")
	}
}

func TestNewGenerationIsDialledAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		w.put(p, wire.IntentTakeover) // same content: nothing is written
		w.pass(2 * tick)
		w.happened("dial " + peerEndpoint)

		p.Weight = 7
		w.put(p, wire.IntentTakeover)
		w.pass(2 * tick)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint, "dial "+peerEndpoint)
	})
}

// What does not name the connection does not disturb it.
func TestOtherContentIsNoChange(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		p.Weight = 7
		w.put(p, wire.IntentRenew)
		w.pass(3 * tick)
		w.happened("dial " + peerEndpoint)
	})
}

func TestDialOnItsWayIsGivenUpWhenThePeerLeaves(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.net.hinder(peerEndpoint, time.Hour, 0)
		w.start(host())
		w.remove(p)
		w.pass(2 * tick)
		w.put(p, wire.IntentNewClaim)
		w.pass(2 * tick)
		w.happened("dial "+peerEndpoint, "dial "+peerEndpoint) // so the first has ended
	})
}

func TestDroppedConnectionWaitsForTheNextListing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		s := w.start(host())
		w.pass(tick / 2)
		w.net.happened()
		w.conn.count("peer.list")
		w.net.drop(peerEndpoint)
		w.pass(tick/2 - time.Millisecond)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint)
		w.pass(time.Millisecond)
		w.happened("dial " + peerEndpoint)
		if n := w.conn.count("peer.list"); n != 1 {
			t.Errorf("%d listings before the dial, want 1: the stamps do not tell of connections", n)
		}

		s.Watching(true) // no polling, and yet there is a listing after a drop
		w.pass(5 * tick)
		w.net.drop(peerEndpoint)
		w.pass(tick)
		w.happened("close "+peerEndpoint, "gone "+peerEndpoint, "dial "+peerEndpoint)
	})
}

func TestRefusedDialIsTriedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		w.net.setRefuse(peerEndpoint, true)
		w.start(host()).Watching(true) // there need not be a listing
		w.happened("dial " + peerEndpoint)
		w.pass(tick - time.Millisecond)
		w.happened()
		w.pass(time.Millisecond)
		w.happened("dial " + peerEndpoint)
		w.net.setRefuse(peerEndpoint, false)
		w.pass(tick)
		w.happened("dial " + peerEndpoint)
		w.pass(5 * tick)
		w.happened()
		w.connected(peerEndpoint)
	})
}

func TestOwnRowThatIsMissingIsPublishedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		own := router(hostRID, hostEndpoint, w.claim("host", forever))
		var calls atomic.Int32
		var works atomic.Bool
		o := host()
		o.Republish = func(ctx context.Context) error {
			if calls.Add(1); !works.Load() {
				return errors.New("no lease")
			}
			_, err := w.c.Peers.Update(ctx, wire.PeerUpdateRequest{Peer: own, Intent: wire.IntentNewClaim})
			return err
		}
		s := w.start(o)
		if n := calls.Load(); n != 1 || s.Status().LastError != "no lease" {
			t.Errorf("%d calls, status %+v, want 1 and the error", n, s.Status())
		}
		works.Store(true)
		w.pass(tick)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls after the next listing, want 2", n)
		}
		w.pass(10 * tick)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls although the row is there, want 2", n)
		}
		w.remove(own)
		w.pass(tick)
		if n := calls.Load(); n != 3 {
			t.Errorf("%d calls after the row was removed, want 3", n)
		}
	})
}

func TestSuccessfulEmptyListingDisconnects(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.add(peer())
		w.start(host())
		w.connected(peerEndpoint)
		w.remove(p)
		w.pass(tick)
		w.connected()
	})
}

func TestListingReadsAllPages(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(router("x", "tcp://x:1", wire.OwnerToken{}))
		w.add(router("y", "tcp://y:1", wire.OwnerToken{}))
		w.add(router("z", "tcp://z:1", wire.OwnerToken{}))
		o := host()
		o.PageSize = 1
		w.start(o)
		w.connected("tcp://x:1", "tcp://y:1", "tcp://z:1")
	})
}

func TestDesiredSetChanged(t *testing.T) {
	inWorld(t, func(w *world) {
		x, y := w.add(router("x", "tcp://x:1", wire.OwnerToken{})), w.add(router("y", "tcp://y:1", wire.OwnerToken{}))
		var got []peers.DesiredSetChanged
		o := host()
		o.OnChange = func(c peers.DesiredSetChanged) { got = append(got, c) }
		w.start(o)
		w.pass(2 * tick)
		w.remove(x)
		y.Endpoint = "tcp://y:2"
		w.put(y, wire.IntentRenew)
		w.pass(3 * tick)
		want := []peers.DesiredSetChanged{
			{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", ConnectedEndpoints: []string{"tcp://x:1", "tcp://y:1"},
			},
			{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", ConnectedEndpoints: []string{"tcp://y:2"},
				DisconnectedEndpoints: []string{"tcp://x:1", "tcp://y:1"},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	})
}

func TestStatus(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		w.add(router("z", "tcp://z:1", wire.OwnerToken{}))
		w.net.setRefuse("tcp://z:1", true)
		began := wire.Instant(time.Now().UnixMilli())
		s := w.start(host())
		want := peers.Status{StoreHealthy: true, PollingInterval: tick, LastRefreshAt: began, Wanted: 2, Connected: 1}
		if diff := cmp.Diff(want, s.Status()); diff != "" {
			t.Errorf("after a listing (-want +got):\n%s", diff)
		}
		w.conn.fail("")
		s.Watching(true)
		synctest.Wait()
		w.pass(2 * tick)
		want.StoreHealthy, want.WatchEnabled = false, true
		got := s.Status()
		if got.LastError == "" {
			t.Error("no error is shown")
		}
		got.LastError = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after a failure (-want +got):\n%s", diff)
		}
		w.conn.mend()
		w.pass(2 * tick)
		if got := s.Status(); !got.StoreHealthy || got.LastError != "" {
			t.Errorf("after the next success: %+v", got)
		}
	})
}

func TestRunClosesConnectionsAtItsEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add(peer())
		w.add(router("z", "tcp://z:1", wire.OwnerToken{}))
		w.net.hinder("tcp://z:1", time.Hour, 0)
		w.net.hinder(peerEndpoint, 0, time.Second)
		w.start(host())
		w.connected(peerEndpoint)
		w.stop()
		w.connected()
	})
}

func TestNewRefusesBadOptions(t *testing.T) {
	t.Parallel()
	c, err := client.New(nil, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	valid := peers.Options{Client: c, Own: routerHost("m", ""), Dial: newNetwork().dial}
	if _, err := peers.New(valid); err != nil {
		t.Fatalf("valid options: %v", err)
	}
	for name, spoil := range map[string]func(*peers.Options){
		"no client":        func(o *peers.Options) { o.Client = nil },
		"no dial":          func(o *peers.Options) { o.Dial = nil },
		"no type":          func(o *peers.Options) { o.Own.AutoConnectType = "" },
		"no mesh":          func(o *peers.Options) { o.Own.MeshName = "" },
		"no role":          func(o *peers.Options) { o.Own.Role = "" },
		"unknown role":     func(o *peers.Options) { o.Own.ObjectRole = "x" },
		"negative pause":   func(o *peers.Options) { o.PollingInterval = -1 },
		"negative TTL":     func(o *peers.Options) { o.LeaseTTL = -1 },
		"negative timeout": func(o *peers.Options) { o.RequestTimeout = -1 },
		"large page":       func(o *peers.Options) { o.PageSize = 1001 },
	} {
		o := valid
		spoil(&o)
		if _, err := peers.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
