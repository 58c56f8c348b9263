package main

import (
	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/workload"
)

// storeSuite compares writes of several rows.
func storeSuite() suite {
	return suite{
		name:  "store",
		about: "store.write on three servers: the service, etcd, and one Redis",
		tables: []table{{
			title:    writeTitle + ", on three servers",
			subjects: onThree(workload.EtcdWrite, workload.StoreWrite, workload.RedisWrite),
			targets:  []load.Target{{Subject: zlink3, Callers: 64, MinThroughput: 1.5}},
		}},
	}
}
