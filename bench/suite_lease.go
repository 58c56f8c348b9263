package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// leaseSuite shows what the service costs on top of the store that it writes to.
func leaseSuite() suite {
	return suite{
		name:  "lease",
		about: "lease.renew beside raw KV updates on the same servers and bucket settings",
		tables: []table{
			renewals("Lease renewal, embedded", embedded(syncNowThen)),
			renewals("Lease renewal, embedded, sync always", embedded(syncAlways)),
			renewals("Lease renewal, 3 replicas", beside(peer.NATSOptions{Servers: threeServers})),
		},
	}
}

func renewals(title string, d deployment) table {
	const renew = "lease.renew"
	return table{
		title: title,
		subjects: func(ctx context.Context, g *peer.Group) ([]load.Subject, error) {
			urls, err := d(ctx, g)
			return []load.Subject{
				{Name: "raw KV update", New: workloadOn(urls, workload.KVUpdate)},
				{Name: renew, New: workloadOn(urls, workload.LeaseRenew)},
			}, err
		},
		targets: []load.Target{{Subject: renew, Callers: 64, MinThroughput: 0.6}},
	}
}
