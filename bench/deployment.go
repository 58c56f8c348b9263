package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/peer"
)

// How the embedded NATS server syncs.
const (
	syncAlways   = "always"
	syncNowThen  = "2m" // as a NATS server does unless it is told otherwise
	threeServers = 3
)

// deployment starts servers and returns the URLs that callers connect to.
type deployment func(ctx context.Context, g *peer.Group) ([]string, error)

// bare is NATS without the service.
func bare(o peer.NATSOptions) deployment {
	return func(ctx context.Context, g *peer.Group) ([]string, error) { return g.NATS(ctx, o) }
}

// embedded is the service with the NATS server inside its process.
func embedded(sync string) deployment {
	return func(ctx context.Context, g *peer.Group) ([]string, error) {
		url, err := g.Service(ctx, peer.ServiceOptions{Sync: sync})
		return []string{url}, err
	}
}

// beside is one instance of the service beside NATS servers, with a replica of each row on every one.
func beside(o peer.NATSOptions) deployment {
	return func(ctx context.Context, g *peer.Group) ([]string, error) {
		urls, err := g.NATS(ctx, o)
		if err != nil {
			return nil, err
		}
		_, err = g.Service(ctx, peer.ServiceOptions{Servers: urls, Replicas: len(urls)})
		return urls, err
	}
}

// several is a number of instances beside NATS servers, each connected to the next server in turn. Callers connect to the
// servers that have an instance, and a server gives a request to an instance of its own: so every instance gets the same
// share where there are as many servers, and a random one where there is a single server.
func several(instances int, o peer.NATSOptions) deployment {
	return func(ctx context.Context, g *peer.Group) ([]string, error) {
		urls, err := g.NATS(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range instances {
			at := urls[i%len(urls)]
			if _, err := g.Service(ctx, peer.ServiceOptions{Servers: []string{at}, Replicas: len(urls)}); err != nil {
				return nil, err
			}
		}
		return urls[:min(instances, len(urls))], nil
	}
}

// filled is a deployment with so many rows in its store, which are there before anything is measured.
func filled(d deployment, rows int, fill func(ctx context.Context, urls []string, rows int) error) deployment {
	return func(ctx context.Context, g *peer.Group) ([]string, error) {
		urls, err := d(ctx, g)
		if err != nil {
			return nil, err
		}
		return urls, fill(ctx, urls, rows)
	}
}
