package histories_test

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// requestTimeout is short for a service, so that a fault does not outlive the run.
	requestTimeout = 3 * time.Second
	forwardTimeout = 400 * time.Millisecond
)

// member is an instance on a way of its own to the servers.
type member struct {
	*instancetest.Running
	id  string
	way *way
}

// startInstance starts an instance, as often as it takes while the servers are not ready.
func startInstance(w *world, id string, server int) *member {
	w.t.Helper()
	m := &member{id: id, way: newWay(w.t, w.nodes)}
	m.Running = instancetest.Start(w.t, instance.Options{
		Conn: m.way.connect(w.t, server, nats.ReconnectBufSize(-1), nats.Name(id)), Replicas: w.replicas, ID: id, Encoding: wire.JSON,
		Logger: w.log.named(id), RequestTimeout: requestTimeout, ForwardTimeout: forwardTimeout,
	})
	return m
}

// kill ends the instance as a crash does: from one moment on nothing of it reaches the servers, whatever it was at.
func (m *member) kill() {
	m.way.cut()
	m.Kill()
}
