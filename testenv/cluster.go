package testenv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/embedded"
)

// GlobalAccount is the account of the connections to a server that has no
// accounts set up.
const GlobalAccount = "$G"

// Nodes is a cluster of servers in this process; make one with [Cluster]. All
// methods may be called from any goroutine, but stops and starts of one node not
// at the same time.
type Nodes struct {
	t    testing.TB
	list []*Node
}

// electionTime bounds the first election of a JetStream leader. Every server
// asks for votes within 0.8 s of its start and the votes of all are needed; when
// two ask at once, or one too early, the next try is 4 to 9 seconds away, and
// beginning anew is faster than that.
const electionTime = 1500 * time.Millisecond

// Cluster starts n servers that form one cluster, named "n1", "n2" and so on,
// and waits until JetStream has a leader and all members are current.
func Cluster(t testing.TB, n int, o ServerOptions) *Nodes {
	t.Helper()
	for attempt := 1; ; attempt++ {
		c := newCluster(t, n, o)
		err := c.start()
		last := attempt == startAttempts
		switch {
		case err == nil && (poll(electionTime, c.elected) || last):
			Eventually(t, patience, c.formed, "JetStream leader and all members current")
			return c
		case err != nil && (last || !errors.Is(err, embedded.ErrAddressInUse)):
			t.Fatal(err)
		}
		c.stop()
	}
}

// newCluster sets up the servers without starting them.
func newCluster(t testing.TB, n int, o ServerOptions) *Nodes {
	t.Helper()
	addresses := FreeAddresses(t, 2*n)
	clients, routes := addresses[:n], addresses[n:]
	c := &Nodes{t: t}
	for i := range n {
		node := newNode(t, o, fmt.Sprintf("n%d", i+1), clients[i])
		node.opts.Cluster = embedded.Cluster{Name: "test", Listen: routes[i], Routes: routes}
		c.list = append(c.list, node)
	}
	return c
}

// start starts the servers one after the other. Started at once, some of them
// look for members that do not listen yet, and a vote that is lost for that
// reason costs an election timeout of 4 to 9 seconds.
func (c *Nodes) start() error {
	for _, n := range c.list {
		if err := n.start(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Nodes) stop() {
	for _, n := range c.list {
		n.Stop()
	}
}

// elected reports whether JetStream has a leader.
func (c *Nodes) elected() bool {
	return slices.ContainsFunc(c.list, func(n *Node) bool {
		srv := n.current()
		return srv != nil && srv.NATS().JetStreamIsLeader()
	})
}

// formed reports whether JetStream works on every server that is up: a leader
// that hears of them all, and each of them current and connected to all others.
func (c *Nodes) formed() bool {
	up, peers := c.running(), 0
	for _, n := range c.list {
		srv := n.current()
		if srv == nil {
			continue
		}
		if !srv.NATS().JetStreamIsCurrent() || srv.NATS().NumRemotes() != up-1 {
			return false
		}
		if srv.NATS().JetStreamIsLeader() {
			peers = len(srv.NATS().JetStreamClusterPeers())
		}
	}
	return peers == up
}

// Node is the i-th server, from 0.
func (c *Nodes) Node(i int) *Node { return c.list[i] }

// Len is the number of servers, up or down.
func (c *Nodes) Len() int { return len(c.list) }

// URLs are the addresses of all servers, separated by commas as clients want it.
func (c *Nodes) URLs() string {
	urls := make([]string, len(c.list))
	for i, n := range c.list {
		urls[i] = n.URL()
	}
	return strings.Join(urls, ",")
}

// Connect connects to any server of the cluster, as [Node.Connect] does to one.
func (c *Nodes) Connect(t testing.TB, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, c.URLs(), opts...)
}

// StopNode stops the i-th server in good order.
func (c *Nodes) StopNode(i int) {
	c.t.Helper()
	c.list[i].Stop()
}

// StartNode starts the i-th server again. When most servers are then up, it waits
// until JetStream works on all that are up.
func (c *Nodes) StartNode(i int) {
	c.t.Helper()
	c.list[i].Start()
	if 2*c.running() > len(c.list) {
		Eventually(c.t, patience, c.formed, "JetStream leader and running members current after start of", c.list[i].Name())
	}
}

func (c *Nodes) running() int {
	up := 0
	for _, n := range c.list {
		if n.Running() {
			up++
		}
	}
	return up
}

// StreamLeader is the server that leads a stream now, or nil when none does.
func (c *Nodes) StreamLeader(t testing.TB, account, stream string) *Node {
	t.Helper()
	for _, n := range c.list {
		if srv := n.current(); srv != nil && srv.NATS().JetStreamIsStreamLeader(account, stream) {
			return n
		}
	}
	return nil
}

// WaitStreamLeader waits until a stream has a leader.
func (c *Nodes) WaitStreamLeader(t testing.TB, account, stream string) *Node {
	t.Helper()
	var leader *Node
	Eventually(t, patience, func() bool {
		leader = c.StreamLeader(t, account, stream)
		return leader != nil
	}, "leader of stream", stream)
	return leader
}

// WaitStreamCurrent waits until every server that is up has all of a stream that
// is replicated to all servers.
func (c *Nodes) WaitStreamCurrent(t testing.TB, account, stream string) {
	t.Helper()
	c.WaitStreamLeader(t, account, stream)
	Eventually(t, patience, func() bool {
		for _, n := range c.list {
			if srv := n.current(); srv != nil && !srv.NATS().JetStreamIsStreamCurrent(account, stream) {
				return false
			}
		}
		return true
	}, "current replicas of stream", stream)
}

// StepDown makes the leader of a replicated stream hand over, and returns the new
// leader when it is another server.
func (c *Nodes) StepDown(t testing.TB, account, stream string) *Node {
	t.Helper()
	old := c.WaitStreamLeader(t, account, stream)
	step := true
	var leader *Node
	Eventually(t, patience, func() bool {
		leader = c.StreamLeader(t, account, stream)
		if leader == old && step {
			old.must(old.NATS().JetStreamStepdownStream(account, stream))
		}
		// Once the office was empty, the old leader may win it back, and has to
		// hand over again.
		step = leader == nil
		return leader != nil && leader != old
	}, "new leader of stream", stream, "after", old.Name())
	return leader
}
