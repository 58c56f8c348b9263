package client_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/subjects"
)

// patience bounds every wait; it is far above what is normal.
const patience = time.Minute

// connector is a server, a cluster or a way to one.
type connector interface {
	Connect(t testing.TB, opts ...nats.Option) *nats.Conn
}

// serve starts an instance, as often as it takes while the servers are not ready.
func serve(t testing.TB, at connector, id string, replicas int) *instancetest.Running {
	t.Helper()
	return instancetest.Start(t, instance.Options{
		Conn: instancetest.Connect(t, at), Replicas: replicas, ID: id, RequestTimeout: 5 * time.Second, ForwardTimeout: 400 * time.Millisecond,
	})
}

// connected is a client on a connection of its own.
func connected(t testing.TB, at connector) *client.Client {
	t.Helper()
	conn := at.Connect(t)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(conn, client.Options{
		JetStream: js, Timeout: 20 * time.Second,
		Interrupted: func(err error) { t.Log("interrupted:", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// changesOf is the stream of changes.
func changesOf(t testing.TB, at connector) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(at.Connect(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), subjects.ChangesStream)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
