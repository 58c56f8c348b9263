package main

import (
	"fmt"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// groupSizes are the numbers of objects that move together.
var groupSizes = []int{1, 100, 1_000, 10_000}

// moveSuite shows how the cost of moving a group grows with the group, and what it does to others.
func moveSuite() suite {
	r3 := beside(peer.NATSOptions{Servers: threeServers})
	const moving = "while 10,000 objects move"
	return suite{
		name:  "move",
		about: "prepare and commit of groups of 1 to 10,000 objects, and object.find while one moves",
		tables: []table{
			sizes("Prepare a group, on three servers", r3, workload.AggregatePrepare),
			sizes("Commit a group, on three servers", r3, workload.AggregateCommit),
			sizes("Commit a group, on one server that syncs always", embedded(syncAlways), workload.AggregateCommit),
			{
				title:      "Find object while a group moves",
				maxCallers: 64,
				subjects: each(
					on(filled(embedded(syncNowThen), storedObjects, workload.StoreObjects), "quiet", workload.ObjectFind(storedObjects)),
					on(filled(embedded(syncNowThen), storedObjects, workload.StoreObjects), moving,
						workload.FindDuringMoves(storedObjects, 10_000)),
				),
				targets: []load.Target{{Subject: moving, Callers: 1, MaxP99: 2}, {Subject: moving, Callers: 64, MaxP99: 2}},
			},
		},
	}
}

// sizes compares groups by their size, with one caller: groups of several would wait for each other's staging.
func sizes(title string, d deployment, move func(objects int) func([]string, int) load.Workload) table {
	var starts []start
	for _, n := range groupSizes {
		starts = append(starts, on(d, fmt.Sprintf("%d objects", n), move(n)))
	}
	return table{title: title, maxCallers: 1, subjects: each(starts...)}
}
