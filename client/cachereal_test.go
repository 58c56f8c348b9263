package client_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func routeOf(token wire.OwnerToken, key string, n int) wire.RouteUpdateRequest {
	return wire.RouteUpdateRequest{Intent: wire.IntentTakeover, Route: wire.Route{
		RouteKind: wire.RouteSpotName, RouteKey: key, OwnerNodeRID: "n1", OwnerToken: token, Value: wire.Bytes(strconv.Itoa(n)),
	}}
}

// TestCacheNeverGoesBack has readers of a cache that keeps answers for an hour, while a route is changed over two instances and
// the connection of the cache is cut. What the cache shows only ever gets newer, and it shows the end.
func TestCacheNeverGoesBack(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	serve(t, n, "b", 1)
	relay := testenv.Proxy(t, n.URL())
	k, err := client.NewRouteCache(connected(t, relay), client.CacheOptions{RouteCacheMaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	key := client.RouteKey{RouteKind: wire.RouteSpotName, RouteKey: "lobby"}
	shown := func() int {
		r, err := k.Get(t.Context(), key)
		if err != nil || r.Route == nil {
			return 0 // while the connection is cut
		}
		value, err := strconv.Atoi(string(r.Route.Value))
		if err != nil {
			t.Error(err)
		}
		return value
	}
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for last := 0; ; {
				select {
				case <-over:
					return
				default:
				}
				value := shown()
				if value != 0 && value < last {
					t.Errorf("shows %d after %d", value, last)
				}
				last = max(last, value)
			}
		})
	}
	c := connected(t, n)
	token := claimed(t, c, "o")
	const changes = 300
	for i := range changes {
		if r, err := c.Routes.Update(t.Context(), routeOf(token, key.RouteKey, i+1)); err != nil || r.Status != wire.StatusStored {
			t.Fatalf("update: %+v, %v", r, err)
		}
		switch i {
		case changes / 3:
			relay.Cut()
		case changes / 2:
			relay.Heal()
		}
	}
	testenv.Eventually(t, patience, func() bool { return shown() == changes }, "the last change")
	close(over)
	readers.Wait()
}

func TestCachedObjectGoesWithItsLease(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c := connected(t, n)
	k, err := client.NewObjectCache(connected(t, n), client.CacheOptions{RouteCacheMaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	token := claimed(t, c, "o")
	w := &world{Client: c}
	room(t, c, w.node(t, token), "r1")
	key := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}
	live := func() bool {
		a, err := k.Get(t.Context(), key)
		if err != nil || a.Live == nil {
			t.Fatalf("get: %+v, %v", a, err)
		}
		return *a.Live
	}
	if !live() {
		t.Error("not live before the lease ends")
	}
	if r, err := c.Leases.Release(t.Context(), wire.LeaseReleaseRequest{Token: token}); err != nil || r.Kind != wire.KindReleased {
		t.Fatalf("release: %+v, %v", r, err)
	}
	testenv.Eventually(t, patience, func() bool { return !live() }, "end of the lease")
}

// room creates a spot that is ready.
func room(t testing.TB, c *client.Client, target wire.Target, id string) {
	t.Helper()
	request := reservation(target)
	request.Key.GlobalID = id
	r, err := c.Objects.Reserve(t.Context(), request)
	if err != nil || r.Kind != wire.KindReserved {
		t.Fatalf("reserve %s: %+v, %v", id, r, err)
	}
	ready, err := c.Objects.Commit(t.Context(), wire.ObjectCommitRequest{
		Key: request.Key, ReservationID: r.ReservationID, ExpectedStoreVersion: r.Creating.StoreVersion, Target: target, ReadyPayload: wire.Bytes{},
	})
	if err != nil || ready.Kind != wire.KindCommitted {
		t.Fatalf("commit %s: %+v, %v", id, ready, err)
	}
}
