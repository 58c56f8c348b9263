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
			{title: "Raw KV update", subjects: rawKV},
			{title: "Empty micro service", subjects: echoes},
		},
	}
}

func rawKV(ctx context.Context, g *peer.Group) ([]load.Subject, error) {
	var subjects []load.Subject
	for _, s := range []struct {
		name string
		opts peer.NATSOptions
	}{
		{"1 replica", peer.NATSOptions{Servers: 1}},
		{"1 replica, sync always", peer.NATSOptions{Servers: 1, SyncAlways: true}},
		{"3 replicas", peer.NATSOptions{Servers: 3}},
		{"3 replicas, sync always", peer.NATSOptions{Servers: 3, SyncAlways: true}},
	} {
		subject, err := natsSubject(ctx, g, s.name, s.opts, workload.KVUpdate)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

func echoes(ctx context.Context, g *peer.Group) ([]load.Subject, error) {
	urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1})
	if err != nil {
		return nil, err
	}
	if err := g.Echo(ctx, urls[0]); err != nil {
		return nil, err
	}
	apart := load.Subject{Name: "service in its own process", New: workloadOn(urls, workload.Echo)}
	inside, err := natsSubject(ctx, g, "service in the server's process", peer.NATSOptions{Servers: 1, Echo: true}, workload.Echo)
	return []load.Subject{apart, inside}, err
}
