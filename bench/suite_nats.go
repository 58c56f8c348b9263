package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// natsSuite shows what NATS itself does where the service uses it.
func natsSuite() suite {
	return suite{
		name:  "nats",
		about: "bare NATS: conditional KV updates per replica count and sync, an empty micro service",
		tables: []table{
			// The service is idle there: it makes the bucket whose settings the raw one has.
			{title: "Raw KV update", subjects: each(
				on(beside(peer.NATSOptions{Servers: 1}), "1 replica", workload.KVUpdate),
				on(beside(peer.NATSOptions{Servers: 1, SyncAlways: true}), "1 replica, sync always", workload.KVUpdate),
				on(beside(peer.NATSOptions{Servers: threeServers}), "3 replicas", workload.KVUpdate),
				on(beside(peer.NATSOptions{Servers: threeServers, SyncAlways: true}), "3 replicas, sync always", workload.KVUpdate),
			)},
			{title: "Empty micro service", subjects: each(echoApart, echoInside)},
		},
	}
}

// echoInside is the empty micro service in the NATS server's process.
func echoInside(ctx context.Context, g *peer.Group) (load.Subject, error) {
	inside := bare(peer.NATSOptions{Servers: 1, Echo: true})
	return on(inside, "empty service in the server's process", workload.Echo)(ctx, g)
}

// echoApart is the empty micro service in a process of its own.
func echoApart(ctx context.Context, g *peer.Group) (load.Subject, error) {
	apart := func(ctx context.Context, g *peer.Group) ([]string, error) {
		urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1})
		if err != nil {
			return nil, err
		}
		return urls, g.Echo(ctx, urls[0])
	}
	return on(apart, "empty service in its own process", workload.Echo)(ctx, g)
}
