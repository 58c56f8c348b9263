package jetkv_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

// threeServers starts a cluster, unless the tests are to be short.
func threeServers(t *testing.T) *testenv.Nodes {
	t.Helper()
	if testing.Short() {
		t.Skip("a cluster takes seconds")
	}
	return testenv.Cluster(t, 3, testenv.ServerOptions{})
}

// A consumer that lives on a replica which is behind tells of less than there
// is.
func TestOpenReadsEverythingWhileAReplicaCatchesUp(t *testing.T) {
	t.Parallel()
	cluster := threeServers(t)
	o := jetkv.Options{Bucket: bucketName(), Replicas: 3}
	a := open(t, cluster.Node(0).Connect(t), o)
	a.put(kvtest.Key("a", "0"), "x")
	cluster.WaitStreamCurrent(t, testenv.GlobalAccount, "KV_"+o.Bucket)
	cluster.StopNode(2)
	var wg sync.WaitGroup
	value := []byte(strings.Repeat("x", 8<<10))
	for c := range 32 {
		wg.Go(func() {
			for i := range 32 {
				_, err := a.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
					_, err := tx.Put(kvtest.Key("a", fmt.Sprint(c, i)), value, 0)
					return err
				})
				if err != nil {
					t.Errorf("Update: %v", err)
				}
			}
		})
	}
	wg.Wait()
	want := kvtest.Dump(a.latest().State())
	cluster.StartNode(2)
	nc := cluster.Node(0).Connect(t)
	for range 8 {
		b := open(t, nc, o)
		if !cmp.Equal(want, kvtest.Dump(b.latest().State())) {
			t.Fatalf("of %d rows %d are there", len(want)-1, b.latest().State().Rows())
		}
		b.stop()
	}
}

func TestStreamLeaderStepsDownUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := threeServers(t)
	underLoad(t, cluster, func(bucket string) {
		cluster.StepDown(t, testenv.GlobalAccount, "KV_"+bucket)
	})
}

func TestStreamLeaderIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := threeServers(t)
	underLoad(t, cluster, func(bucket string) {
		leader := cluster.WaitStreamLeader(t, testenv.GlobalAccount, "KV_"+bucket)
		leader.Kill()
		cluster.WaitStreamLeader(t, testenv.GlobalAccount, "KV_"+bucket)
		for i := range cluster.Len() {
			if !cluster.Node(i).Running() {
				cluster.StartNode(i)
			}
		}
		cluster.WaitStreamCurrent(t, testenv.GlobalAccount, "KV_"+bucket)
	})
}

// underLoad makes calls by two instances while a fault happens a few times.
func underLoad(t *testing.T, cluster *testenv.Nodes, fault func(bucket string)) {
	t.Helper()
	o := jetkv.Options{Bucket: bucketName(), Replicas: 3}
	a, b := open(t, cluster.Connect(t, noBuffer), o), open(t, cluster.Connect(t, noBuffer), o)
	c := newCalls(t)
	stop := c.run(16, a, b)
	for range 3 {
		c.more(100)
		fault(o.Bucket)
	}
	c.more(100)
	stop()
	c.check(agree(t, cluster.Connect(t), o, a, b))
	a.checkSound()
	b.checkSound()
}
