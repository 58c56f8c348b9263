package histories_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	service "github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// bucket is the bucket of every run: each has servers of its own.
	bucket = "zlink"
	// requestTimeout is short for a service, so that a fault does not outlive the run.
	requestTimeout = 3 * time.Second
	forwardTimeout = 400 * time.Millisecond
	// openTimeout bounds one attempt to start, which may meet a stream without a leader.
	openTimeout = 5 * time.Second
)

// instance is one whole service: store, sweep, feed and handlers on a connection of its own.
type instance struct {
	t    *testing.T
	id   string
	way  *way
	conn *nats.Conn

	*service.Instance

	cancel context.CancelFunc
	parts  sync.WaitGroup
	ended  bool
}

// startInstance starts an instance, as often as it takes while the servers are not ready.
func startInstance(w *world, id string, server int) *instance {
	w.t.Helper()
	i := &instance{t: w.t, id: id, way: newWay(w.t, w.nodes)}
	// What cannot be sent now is not sent later, as in the program.
	i.conn = i.way.connect(w.t, server, nats.ReconnectBufSize(-1), nats.Name(id))
	var err error
	testenv.Eventually(w.t, patience, func() bool { err = i.start(w); return err == nil || w.t.Failed() }, "start of", id)
	if err != nil {
		w.t.Fatalf("start %s: %v", id, err)
	}
	w.t.Cleanup(i.stop) // before the connection is closed
	return i
}

func (i *instance) start(w *world) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), openTimeout)
	defer cancel()
	var err error
	i.Instance, err = service.Open(ctx, service.Options{
		Conn: i.conn, Bucket: bucket, Replicas: w.replicas, ID: i.id, Encoding: wire.JSON, Logger: w.log.named(i.id),
		RequestTimeout: requestTimeout, ForwardTimeout: forwardTimeout,
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	i.cancel = stop
	i.parts.Go(func() {
		if err := i.Run(running); !errors.Is(err, context.Canceled) {
			i.t.Errorf("%s: %v", i.id, err)
		}
	})
	if err = i.Serve(ctx); err != nil {
		stop()
		i.parts.Wait()
	}
	return err
}

// kill ends the instance as a crash does: from one moment on nothing of it reaches the servers, whatever it was at.
func (i *instance) kill() {
	i.ended = true
	i.way.cut()
	i.conn.Close()
	i.cancel()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = i.Stop(now) // only frees what the process would have taken with it; the connection is gone
	i.parts.Wait()
}

// stop ends the instance in good order; it does nothing when the instance has ended.
func (i *instance) stop() {
	if i.ended {
		return
	}
	i.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := i.Stop(ctx); err != nil {
		i.t.Error(fmt.Errorf("instance %s: %w", i.id, err))
	}
	i.cancel()
	i.parts.Wait()
	i.conn.Close()
}
