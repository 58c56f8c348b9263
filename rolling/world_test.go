package rolling_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

const (
	servers   = 3
	instances = 2
	bucket    = "zlink"
	// patience is far above what anything takes: the machine may be busy.
	patience = 2 * time.Minute
)

// world is the deployment of the compose file: a cluster of three servers and two instances.
type world struct {
	t       *testing.T
	cluster *testenv.Nodes
	running []*member
	born    int // instances so far
}

// member is an instance of the service.
type member struct {
	*instance.Instance
	conn *nats.Conn
	stop context.CancelFunc
	done sync.WaitGroup
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, cluster: testenv.Cluster(t, servers, testenv.ServerOptions{})}
	for range instances {
		w.running = append(w.running, w.start())
	}
	return w
}

// close ends the instances. It is to be called before the test returns, when their connections are closed.
func (w *world) close() {
	for _, m := range w.running {
		w.end(m)
	}
}

// start starts an instance; the servers it meets may be on their way up.
func (w *world) start() *member {
	w.t.Helper()
	w.born++
	m := &member{conn: w.cluster.Connect(w.t, nats.ReconnectBufSize(-1))}
	o := instance.Options{
		Conn: m.conn, Bucket: bucket, Replicas: servers, ID: "i" + strconv.Itoa(w.born), Logger: slog.New(slog.DiscardHandler),
	}
	running, stop := context.WithCancel(context.Background())
	m.stop = stop
	var failure error
	testenv.Eventually(w.t, patience, func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), patience/4)
		defer cancel()
		m.Instance, failure = instance.Open(ctx, o)
		return failure == nil || w.t.Context().Err() != nil
	}, "open instance", o.ID, &failure)
	m.done.Go(func() {
		if err := m.Run(running); !errors.Is(err, context.Canceled) {
			w.t.Errorf("instance %s: %v", o.ID, err)
		}
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := m.Serve(ctx); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// end stops an instance as SIGTERM does: what it accepted is answered.
func (w *world) end(m *member) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		w.t.Error(err)
	}
	m.stop()
	m.done.Wait()
	m.conn.Close()
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
		w.cluster.WaitStreamCurrent(w.t, testenv.GlobalAccount, "KV_"+bucket)
		w.cluster.WaitStreamCurrent(w.t, testenv.GlobalAccount, subjects.ChangesStream)
	}
	for i, m := range w.running {
		progress("before instance " + strconv.Itoa(i) + " stops")
		w.end(m)
		progress("without instance " + strconv.Itoa(i))
		w.running[i] = w.start()
	}
	progress("at the end")
}
