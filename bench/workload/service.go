package workload

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// serviceWorkload is an operation of the service, on rows of each caller's own, as any NATS client asks for it: in CBOR.
type serviceWorkload[S any] struct {
	urls    []string
	conns   natsConns
	callers []serviceCaller[S]
	prepare func(context.Context, *serviceCaller[S]) error
	op      func(context.Context, *serviceCaller[S]) error
}

// serviceCaller is one caller, and what it keeps of its rows.
type serviceCaller[S any] struct {
	*nats.Conn
	name string // unlike that of any caller of an earlier workload, whose rows are still there
	rows S
}

func newServiceWorkload[S any](urls []string, callers int, prepare, op func(context.Context, *serviceCaller[S]) error) *serviceWorkload[S] {
	return &serviceWorkload[S]{urls: urls, callers: make([]serviceCaller[S], callers), prepare: prepare, op: op}
}

func (w *serviceWorkload[S]) Setup(ctx context.Context) (err error) {
	if w.conns, err = dialNATS(w.urls, len(w.callers)); err != nil {
		return err
	}
	run := rand.Text()[:8]
	for i := range w.callers {
		c := &w.callers[i]
		c.Conn, c.name = w.conns[i%len(w.conns)], fmt.Sprintf("bench-%s-%06d", run, i)
		if err := w.prepare(ctx, c); err != nil {
			return fmt.Errorf("store rows of caller %d: %w", i, err)
		}
	}
	return nil
}

func (w *serviceWorkload[S]) Op(ctx context.Context, caller int) error {
	return w.op(ctx, &w.callers[caller])
}

func (w *serviceWorkload[S]) Close() error {
	w.conns.close()
	return nil
}

// shared prepares callers that share their rows: they are made for the first one, and under its name.
func shared[S any](rows func(ctx context.Context, nc *nats.Conn, name string) (S, error)) func(context.Context, *serviceCaller[S]) error {
	var made *S
	return func(ctx context.Context, c *serviceCaller[S]) error {
		if made == nil {
			s, err := rows(ctx, c.Conn, c.name)
			if err != nil {
				return err
			}
			made = &s
		}
		c.rows = *made
		return nil
	}
}

// ask sends one request to the service. An error reply is returned as an error.
func ask[Reply any](ctx context.Context, nc *nats.Conn, op subjects.Operation, request any) (*Reply, error) {
	body, err := wire.Marshal(wire.CBOR, request)
	if err != nil {
		return nil, err
	}
	m, err := nc.RequestWithContext(ctx, subjects.DefaultPrefix.Operation(op), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if text := m.Header.Get(wire.HeaderError); text != "" {
		return nil, fmt.Errorf("%s: %s %s", op, m.Header.Get(wire.HeaderErrorCode), text)
	}
	reply := new(Reply)
	if err := wire.Unmarshal(wire.CBOR, m.Data, reply); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return reply, nil
}

// expect makes an error of every outcome of op but one.
func expect[T ~string](op subjects.Operation, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %q, want %q", op, got, want)
	}
	return nil
}
