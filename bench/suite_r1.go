package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/workload"
)

// r1Suite compares the service in one process with one member of etcd.
func r1Suite() suite {
	return suite{
		name:  "r1",
		about: "update descriptor on one server: the service in one process, etcd, and Redis; sync always and not",
		tables: []table{
			{
				title: updateTitle + ", on one server",
				subjects: each(
					onEtcd(etcd1, 1, workload.EtcdUpdate),
					on(embedded(syncAlways), zlink1Sync, workload.NodeUpdate),
					onRedis(workload.RedisUpdate),
				),
				targets: []load.Target{
					{Subject: zlink1Sync, Callers: 1, MaxP50: 1},
					{Subject: zlink1Sync, Callers: 64, MinThroughput: 0.8},
					{Subject: zlink1Sync, Callers: 256, MinThroughput: 1.2},
				},
			},
			{
				title: updateTitle + ", what the sync costs",
				subjects: each(
					on(embedded(syncAlways), zlink1Sync, workload.NodeUpdate),
					on(embedded(syncNowThen), zlink1, workload.NodeUpdate),
				),
				targets: []load.Target{{Subject: zlink1, Callers: 64, MinThroughput: 2}},
			},
		},
	}
}
