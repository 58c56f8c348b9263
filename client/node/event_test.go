package node_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

func TestSlowHandlerOfEventsIsToldHowManyItHasMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		begin := make(chan struct{})
		r := w.started(node.Options{OnEvent: func(e node.Event) {
			<-begin
			w.record(e)
		}})
		set := func() {
			r.DesiredSetChanged(peers.DesiredSetChanged{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", ConnectedEndpoints: []string{"e"}})
		}
		const told = node.MaxEvents + 1 // one is in the handler's hands
		for range told + 7 {
			set()
			synctest.Wait()
		}
		close(begin)
		list := w.told()
		if len(list) != told+1 || list[told] != string(node.EventsDropped) {
			t.Fatalf("got %d events, want %d and the mark", len(list), told)
		}
		set()
		equal(t, "events", w.told(), []string{string(node.EventDesiredSetChanged)})
	})
}

func TestDesiredSetWithoutAChangeIsNoEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.started(node.Options{}).DesiredSetChanged(peers.DesiredSetChanged{MeshName: "play"})
		equal(t, "events", w.told(), nil)
	})
}

func TestRequestsOfTheHostCountToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{Peers: func() peers.Status {
			return peers.Status{WatchEnabled: true, PollingInterval: time.Second, LastRefreshAt: 7}
		}})
		for _, op := range []node.Operation{node.OpRelocationPut, node.OpRelocationGet, node.OpRelocationDelete} {
			r.Observe(op, errors.New("store unreachable"))
			if n := w.count("zlink.location.store.errors")["operation="+string(op)]; n != 1 {
				t.Errorf("got %d errors of %s, want 1", n, op)
			}
		}
		if s := r.Status(); s.StoreHealthy || s.LastError != "store unreachable" || !s.WatchEnabled || s.PollingIntervalMs != 1000 || s.LastRefreshAt != 7 {
			t.Errorf("got status %+v, want the failure, and what is known of peers", s)
		}
		r.Observe(node.OpRelocationGet, nil)
		if s := r.Status(); !s.StoreHealthy || s.LastError == "" {
			t.Errorf("got status %+v, want a healthy store, and the failure until the next renewal", s)
		}
	})
}
