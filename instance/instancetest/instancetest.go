// Package instancetest runs instances of the service for tests.
package instancetest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/testenv"
)

// Bucket is the bucket of an instance whose options name none.
const Bucket = "zlink"

const (
	// patience is far above what anything takes: the machine may be busy.
	patience = 2 * time.Minute
	// opening bounds one attempt to start, which may meet a stream without a leader.
	opening = 10 * time.Second
)

// Running is an instance that runs. Its methods are called from one goroutine.
type Running struct {
	*instance.Instance

	t     testing.TB
	o     instance.Options
	stop  context.CancelFunc
	parts sync.WaitGroup
	ended bool
}

// Start starts an instance, as often as it takes while the servers are not ready. Options need a Conn and an ID; the instance has
// the connection for itself and closes it. It ends with the test, if it has not before.
func Start(t testing.TB, o instance.Options) *Running {
	t.Helper()
	o.Bucket = cmp.Or(o.Bucket, Bucket)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Running{t: t, o: o}
	var err error
	testenv.Eventually(t, patience, func() bool { err = r.start(); return err == nil || t.Failed() }, "start of instance", o.ID)
	if err != nil {
		t.Fatalf("start instance %s: %v", o.ID, err)
	}
	t.Cleanup(r.Stop) // before the connection is closed
	return r
}

// Connect connects an instance as the program does: what cannot be sent now is not sent later.
func Connect(t testing.TB, at interface {
	Connect(t testing.TB, opts ...nats.Option) *nats.Conn
}, opts ...nats.Option,
) *nats.Conn {
	t.Helper()
	return at.Connect(t, append(opts, nats.ReconnectBufSize(-1))...)
}

func (r *Running) start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), opening)
	defer cancel()
	if r.Instance, err = instance.Open(ctx, r.o); err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.parts.Go(func() {
		if err := r.Run(running); !errors.Is(err, context.Canceled) {
			r.t.Errorf("instance %s: %v", r.o.ID, err)
		}
	})
	if err = r.Serve(ctx); err != nil {
		stop()
		r.parts.Wait()
	}
	return err
}

// Kill ends the instance as a crash does: from one moment on nothing of it reaches the servers, whatever it was at.
func (r *Running) Kill() {
	r.ended = true
	r.o.Conn.Close()
	r.stop()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Instance.Stop(now) // only frees what the process would have taken with it; the connection is gone
	r.parts.Wait()
}

// Stop ends the instance as SIGTERM does: what it has accepted is answered. It does nothing when the instance has ended.
func (r *Running) Stop() {
	if r.ended {
		return
	}
	r.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.Instance.Stop(ctx); err != nil {
		r.t.Errorf("stop instance %s: %v", r.o.ID, err)
	}
	r.stop()
	r.parts.Wait()
	r.o.Conn.Close()
}
