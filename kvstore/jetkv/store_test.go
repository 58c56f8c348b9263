package jetkv_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

func TestStoreOnOneServer(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	kvtest.Run(t, backend(func(t testing.TB) *nats.Conn { return node.Connect(t) }, 1))
}

func TestStoreOnOneServerThatSyncs(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{SyncAlways: true})
	kvtest.Run(t, backend(func(t testing.TB) *nats.Conn { return node.ConnectInProcess(t) }, 1))
}

func TestStoreOnThreeServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster takes seconds")
	}
	cluster := testenv.Cluster(t, 3, testenv.ServerOptions{})
	kvtest.Run(t, backend(func(t testing.TB) *nats.Conn { return cluster.Connect(t) }, 3))
}
