package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// storedObjects is how many objects there are to find.
const storedObjects = 100_000

// objectFindSuite shows what it costs to look an object up among many.
func objectFindSuite() suite {
	const find = "object.find"
	among := func(title string, echo start, d deployment) table {
		return table{
			title:      title,
			maxCallers: 64,
			subjects:   each(echo, on(filled(d, storedObjects, workload.StoreObjects), find, workload.ObjectFind(storedObjects))),
			targets:    []load.Target{{Subject: find, Callers: 64, MinThroughput: 0.6}},
		}
	}
	return suite{
		name:  "find",
		about: "object.find among 100,000 objects beside an empty micro service, both inside the NATS server's process and apart",
		tables: []table{
			among("Find object, inside the NATS server's process", echoInside, embedded(syncNowThen)),
			among("Find object, in a process apart from the NATS server", echoApart, beside(peer.NATSOptions{Servers: 1})),
		},
	}
}
