package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// createTitle is the transaction of the suites about placement.
const createTitle = "Create object: 6 conditions, 4 rows written"

// placeR3Suite compares the creation of objects on three NATS servers with three members of etcd.
func placeR3Suite() suite {
	return suite{
		name:  "place-r3",
		about: "reserve and commit objects on three servers: the service, etcd, and one Redis",
		tables: []table{{
			title:    createTitle + ", on three servers",
			subjects: onThree(workload.EtcdCreate, workload.ObjectCreate, workload.RedisCreate),
			targets: []load.Target{
				{Subject: zlink3, Callers: 64, MinThroughput: 3},
				{Subject: zlink3, Callers: 1, MaxP50: 0.5},
				{Subject: zlink3Sync, Callers: 64, MinThroughput: 3},
				{Subject: zlink3Sync, Callers: 1, MaxP50: 0.5},
			},
		}},
	}
}

// placeR1Suite compares the creation of objects in one process with one member of etcd.
func placeR1Suite() suite {
	return suite{
		name:  "place-r1",
		about: "reserve and commit objects on one server: the service in one process, choosing the node or not, etcd, and Redis",
		tables: []table{{
			title: createTitle + ", on one server",
			subjects: each(
				onEtcd(etcd1, 1, workload.EtcdCreate),
				on(embedded(syncAlways), zlink1Sync, workload.ObjectCreate),
				on(embedded(syncAlways), zlink1Sync+", object.place", workload.ObjectPlace),
				onRedis(workload.RedisCreate),
			),
			targets: []load.Target{
				{Subject: zlink1Sync, Callers: 64, MinThroughput: 1},
				{Subject: zlink1Sync, Callers: 256, MinThroughput: 1.5},
			},
		}},
	}
}

// placeInstancesSuite shows what it costs that two instances create objects in one store.
func placeInstancesSuite() suite {
	target := load.Target{MinThroughput: 0.8}
	return suite{
		name:  "place-instances",
		about: "reserve and commit objects by the same callers on two instances and on one",
		tables: []table{
			twoInstances("Create object on two instances, one NATS server", peer.NATSOptions{Servers: 1}, workload.ObjectCreate, target),
			twoInstances("Create object on two instances, three NATS servers", peer.NATSOptions{Servers: threeServers}, workload.ObjectCreate, target),
		},
	}
}
