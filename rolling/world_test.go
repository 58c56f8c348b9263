package rolling_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

const (
	servers   = 3
	instances = 2
	// patience is far above what anything takes: the machine may be busy.
	patience = 2 * time.Minute
)

// world is the deployment of the compose file: a cluster of three servers and two instances.
type world struct {
	t       *testing.T
	cluster *testenv.Nodes
	running []*instancetest.Running
	born    int // instances so far
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, cluster: testenv.Cluster(t, servers, testenv.ServerOptions{})}
	for range instances {
		w.running = append(w.running, w.start())
	}
	return w
}

func (w *world) start() *instancetest.Running {
	w.t.Helper()
	w.born++
	return instancetest.Start(w.t, instance.Options{
		Conn: instancetest.Connect(w.t, w.cluster), Replicas: servers, ID: "i" + strconv.Itoa(w.born),
	})
}

// client is a client on a connection of its own, patient enough for a server's restart.
func (w *world) client() *client.Client {
	w.t.Helper()
	nc := w.cluster.Connect(w.t)
	js, err := jetstream.New(nc)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := client.New(nc, client.Options{JetStream: js, Timeout: patience})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// renew replaces every server and every instance, one after the other. Before each step everything is whole, and the callers have
// come on a bit.
func (w *world) renew(progress func(step string)) {
	w.t.Helper()
	for i := range w.cluster.Len() {
		progress("before server " + strconv.Itoa(i) + " stops")
		w.cluster.StopNode(i)
		progress("without server " + strconv.Itoa(i))
		w.cluster.StartNode(i)
		w.cluster.WaitStreamCurrent(w.t, testenv.GlobalAccount, "KV_"+instancetest.Bucket)
		w.cluster.WaitStreamCurrent(w.t, testenv.GlobalAccount, subjects.ChangesStream)
	}
	for i, m := range w.running {
		progress("before instance " + strconv.Itoa(i) + " stops")
		m.Stop()
		progress("without instance " + strconv.Itoa(i))
		w.running[i] = w.start()
	}
	progress("at the end")
}
