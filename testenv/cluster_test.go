package testenv_test

import (
	"testing"

	"github.com/zlink/zlink-nats/testenv"
)

func TestClusterTakesAReplicatedStreamAtOnce(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, 3, testenv.ServerOptions{})
	makeStream(t, c.Connect(t), 3)
	c.WaitStreamCurrent(t, testenv.GlobalAccount, "S")
	for i := range c.Len() {
		if !c.Node(i).NATS().JetStreamIsStreamAssigned(testenv.GlobalAccount, "S") {
			t.Errorf("server %s has no replica", c.Node(i).Name())
		}
	}
}

func TestStepDownMovesTheLeader(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, 3, testenv.ServerOptions{})
	js := makeStream(t, c.Connect(t), 3)
	old := c.WaitStreamLeader(t, testenv.GlobalAccount, "S")
	for want := uint64(1); want <= 3; want++ {
		leader := c.StepDown(t, testenv.GlobalAccount, "S")
		if leader == old {
			t.Errorf("leader after step-down is still %s", old.Name())
		}
		if got := publish(t, js); got != want {
			t.Errorf("message under the new leader has sequence %d, want %d", got, want)
		}
		old = leader
	}
}

func TestClusterLivesOnWithoutOneServer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testenv.Node){
		"stopped": (*testenv.Node).Stop,
		"killed":  (*testenv.Node).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testenv.Cluster(t, 3, testenv.ServerOptions{})
			nc := c.Connect(t)
			js := makeStream(t, nc, 3)
			l := startLoad(t, js)
			for i := range c.Len() {
				end(c.Node(i))
				c.WaitStreamLeader(t, testenv.GlobalAccount, "S")
				c.StartNode(i)
				c.WaitStreamCurrent(t, testenv.GlobalAccount, "S")
			}
			awaitConnected(t, nc)
			l.check(t, js)
		})
	}
}

func TestClusterComesBackFromAStopOfAllServers(t *testing.T) {
	t.Parallel()
	c := testenv.Cluster(t, 3, testenv.ServerOptions{})
	nc := c.Connect(t)
	publish(t, makeStream(t, nc, 3))
	for i := range c.Len() {
		c.StopNode(i)
	}
	if leader := c.StreamLeader(t, testenv.GlobalAccount, "S"); leader != nil {
		t.Errorf("StreamLeader() = %s of a stopped cluster, want none", leader.Name())
	}
	for i := range c.Len() {
		c.StartNode(i)
	}
	c.WaitStreamLeader(t, testenv.GlobalAccount, "S")
	awaitConnected(t, nc)
	if got := lastSequence(t, nc); got != 1 {
		t.Errorf("last sequence = %d, want 1", got)
	}
}
