package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// readSuite shows what a read costs on top of the messages that carry it.
func readSuite() suite {
	const read = "store.read"
	targets := []load.Target{{Subject: read, Callers: 64, MinThroughput: 0.6}}
	return suite{
		name:  "read",
		about: "store.read beside an empty micro service, both inside the NATS server's process and apart",
		tables: []table{
			{
				title:    "Store read, inside the NATS server's process",
				subjects: each(echoInside, on(embedded(syncNowThen), read, workload.StoreRead)),
				targets:  targets,
			},
			{
				title:    "Store read, in a process apart from the NATS server",
				subjects: each(echoApart, on(beside(peer.NATSOptions{Servers: 1}), read, workload.StoreRead)),
				targets:  targets,
			},
		},
	}
}
