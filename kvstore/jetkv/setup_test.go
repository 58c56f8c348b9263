package jetkv_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
)

// patience bounds what takes milliseconds when nothing is wrong and the machine
// has nothing else to do.
const patience = time.Minute

// within is a context for what must not take longer than patience.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// instance is a store that runs.
type instance struct {
	*jetkv.Store
	t    testing.TB
	logs *logs
	stop func() // ends Run and waits for it; may be called several times
}

// open opens an instance and runs it until the test ends.
func open(t testing.TB, nc *nats.Conn, o jetkv.Options) *instance {
	t.Helper()
	i, err := tryOpen(t, nc, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return i
}

func tryOpen(t testing.TB, nc *nats.Conn, o jetkv.Options) (*instance, error) {
	t.Helper()
	l := &logs{}
	o.Conn, o.Logger = nc, slog.New(l)
	if o.Schema == nil {
		o.Schema = kvtest.Schema()
	}
	s, err := jetkv.Open(within(t), o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	i := &instance{Store: s, t: t, logs: l, stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
	t.Cleanup(i.stop)
	return i, nil
}

// update commits a closure that must succeed, from any goroutine.
func (i *instance) update(fn func(*kvstore.Tx) error) kvstore.Revision {
	i.t.Helper()
	rev, err := i.Update(within(i.t), kvstore.UpdateOptions{}, fn)
	if err != nil {
		i.t.Errorf("Update: %v", err)
	}
	return rev
}

// put stores a row, from any goroutine.
func (i *instance) put(k kvstore.Key, value string) kvstore.Revision {
	i.t.Helper()
	return i.update(func(tx *kvstore.Tx) error {
		_, err := tx.Put(k, []byte(value), 0)
		return err
	})
}

// latest is the state at the last revision of the stream leader.
func (i *instance) latest() kvstore.View {
	i.t.Helper()
	v, err := i.View(within(i.t), kvstore.ReadOptions{Leader: true})
	if err != nil {
		i.t.Fatalf("View: %v", err)
	}
	return v
}

// reaches is the view once it has reached a revision.
func (i *instance) reaches(rev kvstore.Revision) kvstore.View {
	i.t.Helper()
	v, err := i.View(within(i.t), kvstore.ReadOptions{MinRevision: rev})
	if err != nil {
		i.t.Fatalf("View: %v", err)
	}
	return v
}

// bucketName returns a new name.
func bucketName() string { return "b" + nuid.Next() }

// backend runs the suite on buckets of one server or cluster; connect makes a
// connection of its own for every instance.
func backend(connect func(testing.TB) *nats.Conn, replicas int) kvtest.Backend {
	return kvtest.Backend{
		Shared: true,
		Create: func(t testing.TB, c kvtest.Config) func() kvstore.Store {
			o := jetkv.Options{Bucket: bucketName(), Replicas: replicas, Schema: c.Schema, Clock: c.Clock}
			if c.Start > 0 {
				o.FirstRevision = c.Start + 1
			}
			return func() kvstore.Store { return open(t, connect(t), o).Store }
		},
	}
}

// text is a row's value; "" when there is no row.
func text(r *kvstore.Row) string {
	if r == nil {
		return ""
	}
	return string(r.Value)
}

// logs keeps what a store logs.
type logs struct {
	mu      sync.Mutex
	records []slog.Record // guarded by mu
}

// Enabled implements slog.Handler.
func (l *logs) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *logs) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *logs) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *logs) WithGroup(string) slog.Handler { return l }

// at lists the messages of a level.
func (l *logs) at(level slog.Level) (messages []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if r.Level == level {
			messages = append(messages, r.Message)
		}
	}
	return messages
}
