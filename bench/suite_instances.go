package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// instancesSuite shows what it costs that two instances write to one store.
func instancesSuite() suite {
	target := load.Target{MinThroughput: 0.8, MaxP99: 5}
	return suite{
		name:  "instances",
		about: "update descriptor by the same callers on two instances and on one",
		tables: []table{
			twoInstances("Two instances, one NATS server: a random half of the requests each", peer.NATSOptions{Servers: 1}, workload.NodeUpdate, target),
			twoInstances("Two instances, three NATS servers: half of the callers each", peer.NATSOptions{Servers: threeServers}, workload.NodeUpdate, target),
		},
	}
}

// twoInstances compares two instances with one; t holds for two at 64 callers.
func twoInstances(title string, o peer.NATSOptions, zlink workloadOf, t load.Target) table {
	t.Subject, t.Callers = "two instances", 64
	return table{
		title: title,
		subjects: each(
			on(several(1, o), "one instance", zlink),
			on(several(2, o), t.Subject, zlink),
		),
		targets: []load.Target{t},
	}
}
