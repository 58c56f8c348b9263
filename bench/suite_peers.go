package main

import (
	"context"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
	"github.com/zlink/zlink-nats/bench/workload"
)

// peersSuite compares the other stores with each other.
func peersSuite() suite {
	return suite{
		name:  "peers",
		about: "etcd with three members and with one, and Redis: update descriptor, store write",
		tables: []table{
			{title: "Update descriptor: 3 conditions, 1 row written", subjects: storePeers(workload.EtcdUpdate, workload.RedisUpdate)},
			{title: "Store write: 2 conditions, 4 rows written", subjects: storePeers(workload.EtcdWrite, workload.RedisWrite)},
		},
	}
}

func storePeers(onEtcd func([]string, int) load.Workload, onRedis func(string, int) load.Workload) func(context.Context, *peer.Group) ([]load.Subject, error) {
	return func(ctx context.Context, g *peer.Group) ([]load.Subject, error) {
		three, err := etcdSubject(ctx, g, "etcd, 3 members", 3, onEtcd)
		if err != nil {
			return nil, err
		}
		one, err := etcdSubject(ctx, g, "etcd, 1 member", 1, onEtcd)
		if err != nil {
			return nil, err
		}
		redis, err := redisSubject(ctx, g, onRedis)
		return []load.Subject{three, one, redis}, err
	}
}
