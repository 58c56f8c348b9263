package client_test

import (
	"context"
	"errors"
	"log/slog"
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

// patience bounds every wait; it is far above what is normal.
const patience = time.Minute

// connector is a server, a cluster or a way to one.
type connector interface {
	Connect(t testing.TB, opts ...nats.Option) *nats.Conn
}

// service is one running instance.
type service struct {
	*instance.Instance
	t      testing.TB
	conn   *nats.Conn
	cancel context.CancelFunc
	parts  sync.WaitGroup
	over   bool
}

// serve starts an instance, as often as it takes while the servers are not ready.
func serve(t testing.TB, at connector, id string, replicas int) *service {
	t.Helper()
	s := &service{t: t, conn: at.Connect(t, nats.ReconnectBufSize(-1))}
	var err error
	testenv.Eventually(t, patience, func() bool { err = s.start(id, replicas); return err == nil }, "start of", id)
	t.Cleanup(s.stop)
	return s
}

func (s *service) start(id string, replicas int) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.Instance, err = instance.Open(ctx, instance.Options{
		Conn: s.conn, Bucket: "zlink", Replicas: replicas, ID: id, Logger: slog.New(slog.DiscardHandler),
		RequestTimeout: 5 * time.Second, ForwardTimeout: 400 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	s.cancel = stop
	s.parts.Go(func() {
		if err := s.Run(running); !errors.Is(err, context.Canceled) {
			s.t.Errorf("%s: %v", id, err)
		}
	})
	if err = s.Serve(ctx); err != nil {
		stop()
		s.parts.Wait()
	}
	return err
}

// kill ends the instance as a crash does.
func (s *service) kill() {
	s.over = true
	s.conn.Close()
	s.cancel()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Stop(now) // the connection is gone; this frees what the process would have taken with it
	s.parts.Wait()
}

func (s *service) stop() {
	if s.over {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = s.Stop(ctx)
	s.cancel()
	s.parts.Wait()
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
