package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// Names of subjects that stand in several tables.
const (
	etcd3      = "etcd, 3 members"
	etcd1      = "etcd, 1 member"
	zlink3     = "zlink, 3 replicas"
	zlink3Sync = "zlink, 3 replicas, sync always"
	zlink1     = "zlink, embedded"
	zlink1Sync = "zlink, embedded, sync always"
)

// r3Suite compares the service on three NATS servers with three members of etcd.
func r3Suite() suite {
	return suite{
		name:  "r3",
		about: "update descriptor on three servers: the service, etcd, and one Redis",
		tables: []table{{
			title:    updateTitle + ", on three servers",
			subjects: onThree(workload.EtcdUpdate, workload.NodeUpdate, workload.RedisUpdate),
			targets: []load.Target{
				{Subject: zlink3, Callers: 64, MinThroughput: 3},
				{Subject: zlink3, Callers: 1, MaxP50: 0.5},
				{Subject: zlink3Sync, Callers: 64, MinThroughput: 3},
				{Subject: zlink3Sync, Callers: 1, MaxP50: 0.5},
			},
		}},
	}
}

// onThree is a transaction on stores of three servers each, with Redis beside them.
func onThree(etcd, zlink func([]string, int) load.Workload, redis func(string, int) load.Workload) func(context.Context, *peer.Group) ([]load.Subject, error) {
	return each(
		onEtcd(etcd3, threeServers, etcd),
		on(beside(peer.NATSOptions{Servers: threeServers}), zlink3, zlink),
		on(beside(peer.NATSOptions{Servers: threeServers, SyncAlways: true}), zlink3Sync, zlink),
		onRedis(redis),
	)
}
