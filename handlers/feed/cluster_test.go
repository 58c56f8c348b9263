package feed_test

import (
	"sync"
	"testing"

	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

func TestClusterThatLosesServersLeavesEachEventOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	c := testenv.Cluster(t, 3, testenv.ServerOptions{})
	w := &world{}
	replicated := func(o *feed.Options) { o.Replicas = 3 }
	var feeds []*instance
	for _, id := range []string{"a", "b"} {
		feeds = append(feeds, start(t, newFeed(t, c.Connect(t), id, replicated), w.join(0)))
	}
	var end kvstore.Revision
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				end = commitAtRandom(w, 10, "a", "b")
			}
		}
	})
	for i := range 3 {
		c.StepDown(t, testenv.GlobalAccount, subjects.ChangesStream)
		c.StopNode(i)
		c.WaitStreamLeader(t, testenv.GlobalAccount, subjects.ChangesStream)
		c.StartNode(i)
		c.WaitStreamCurrent(t, testenv.GlobalAccount, subjects.ChangesStream)
	}
	close(stop)
	wg.Wait()
	for _, f := range feeds {
		f.out(end)
	}
	w.checkContents(t, c.Connect(t))
}
