package client_test

import (
	"testing"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func BenchmarkCacheHit(b *testing.B) {
	n := testenv.Server(b, testenv.ServerOptions{})
	serve(b, n, "a", 1)
	c := connected(b, n)
	if _, err := c.Routes.Update(b.Context(), routeOf(claimed(b, c, "o"), "lobby", 1)); err != nil {
		b.Fatal(err)
	}
	k, err := client.NewRouteCache(c, client.DefaultCacheOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	key := client.RouteKey{RouteKind: wire.RouteSpotName, RouteKey: "lobby"}
	b.ReportAllocs()
	for b.Loop() {
		if r, err := k.Get(b.Context(), key); err != nil || r.Route == nil {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkChanges(b *testing.B) {
	n := testenv.Server(b, testenv.ServerOptions{})
	serve(b, n, "a", 1)
	c := connected(b, n)
	w := startWorkload(b, c)
	w.await(2000)
	w.stop()
	b.ReportAllocs()
	for b.Loop() {
		x, err := c.Changes(b.Context(), client.ChangesRequest{From: client.FromOldest})
		if err != nil {
			b.Fatal(err)
		}
		for range 2000 {
			if _, err := x.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		x.Close()
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
