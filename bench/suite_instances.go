package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// instancesSuite shows what it costs that two instances write to one store.
func instancesSuite() suite {
	return suite{
		name:  "instances",
		about: "update descriptor by the same callers on two instances and on one",
		tables: []table{
			twoInstances("Two instances, one NATS server: a random half of the requests each", peer.NATSOptions{Servers: 1}),
			twoInstances("Two instances, three NATS servers: half of the callers each", peer.NATSOptions{Servers: threeServers}),
		},
	}
}

func twoInstances(title string, o peer.NATSOptions) table {
	const two = "two instances"
	return table{
		title: title,
		subjects: each(
			on(several(1, o), "one instance", workload.NodeUpdate),
			on(several(2, o), two, workload.NodeUpdate),
		),
		targets: []load.Target{{Subject: two, Callers: 64, MinThroughput: 0.8, MaxP99: 5}},
	}
}
