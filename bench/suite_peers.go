package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// The titles of the transactions that every store can do.
const (
	updateTitle = "Update descriptor: 3 conditions, 1 row written"
	writeTitle  = "Store write: 2 conditions, 4 rows written"
)

// peersSuite compares the other stores with each other.
func peersSuite() suite {
	return suite{
		name:  "peers",
		about: "etcd with three members and with one, and Redis: update descriptor, store write",
		tables: []table{
			{title: updateTitle, subjects: storePeers(workload.EtcdUpdate, workload.RedisUpdate)},
			{title: writeTitle, subjects: storePeers(workload.EtcdWrite, workload.RedisWrite)},
		},
	}
}

func storePeers(etcd func([]string, int) load.Workload, redis func(string, int) load.Workload) func(context.Context, *peer.Group) ([]load.Subject, error) {
	return each(onEtcd(etcd3, threeServers, etcd), onEtcd(etcd1, 1, etcd), onRedis(redis))
}
