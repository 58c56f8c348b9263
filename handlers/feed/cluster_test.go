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
	for i := range c.Len() {
		var end kvstore.Revision
		var wg sync.WaitGroup
		wg.Go(func() { end = commitAtRandom(w, 100, "a", "b") })
		c.StepDown(t, testenv.GlobalAccount, subjects.ChangesStream)
		c.StopNode(i)
		c.WaitStreamLeader(t, testenv.GlobalAccount, subjects.ChangesStream)
		c.StartNode(i)
		c.WaitStreamCurrent(t, testenv.GlobalAccount, subjects.ChangesStream)
		wg.Wait()
		for _, f := range feeds {
			f.out(end)
		}
	}
	w.checkContents(t, c.Connect(t))
}
