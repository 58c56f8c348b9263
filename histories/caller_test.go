package histories_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// callers is how many call at the same time.
const callers = 10

// caller makes one request after the other.
type caller struct {
	*rand.Rand
	t     *testing.T
	n     int
	conn  *nats.Conn
	rec   *recorder
	board *board
	// instance is whom to ask; empty is whoever is free.
	instance string
	// latest are the requests that can be repeated word for word, by operation.
	latest map[subjects.Operation]any
}

// run makes requests until the context ends. The one under way is not given up.
func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil && !c.t.Failed() {
		op, req := c.draw()
		c.call(op, req)
	}
}

// draw picks a request of the workload, now and then the same as before.
func (c *caller) draw() (subjects.Operation, any) {
	for {
		a := c.action()
		if last := c.latest[a.op]; last != nil && a.repeats && c.once(8) {
			return a.op, last
		}
		if req := a.make(c); req != nil {
			c.latest[a.op] = req
			return a.op, req
		}
	}
}

// waits are how long callers wait for an answer. The shortest is often too short while something is wrong.
var waits = []time.Duration{150 * time.Millisecond, 600 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second}

// call makes a request and records it.
func (c *caller) call(op subjects.Operation, req any) *call {
	wait := waits[c.IntN(len(waits))]
	m := &nats.Msg{Subject: subjects.DefaultPrefix.Operation(op), Header: nats.Header{}}
	if c.instance != "" {
		m.Subject = subjects.DefaultPrefix.Instance(c.instance, op)
	}
	var err error
	if m.Data, err = wire.Marshal(wire.JSON, req); err != nil {
		c.t.Error(err)
	}
	if c.once(2) {
		m.Header[wire.HeaderDeadline] = []string{strconv.FormatInt(time.Now().Add(wait).UnixMilli(), 10)}
	}
	made := &call{caller: c.n, op: op, request: req, group: c.board.group(req), fresh: !reads[op], since: c.board.seen()}
	if reads[op] {
		c.freshen(made, m.Header)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	made.called = c.rec.since()
	reply, err := c.conn.RequestMsgWithContext(ctx, m)
	made.returned = c.rec.since()
	if err := made.settle(reply, err); err != nil {
		c.t.Errorf("caller %d: %v", c.n, err)
		made.outcome = unknown
	}
	c.board.learn(made)
	c.rec.add(made)
	return made
}

// freshen decides how old the answer of a read may be.
func (c *caller) freshen(made *call, h nats.Header) {
	// What the opaque store has is in no event, so that a read of any age could not be judged.
	lax := c.instance == "" && made.op != subjects.StoreRead
	switch n := c.IntN(4); {
	case n == 0 && lax: // any age
	case n == 1 && lax:
		made.min = c.board.seen()
		h[wire.HeaderMinRevision] = []string{strconv.FormatUint(made.min, 10)}
	default:
		made.fresh = true
		h[wire.HeaderConsistency] = []string{wire.ConsistencyLeader}
	}
}

// once tells whether something that happens once in n times happens.
func (c *caller) once(n int) bool { return c.IntN(n) == 0 }

// id is new in the run.
func (c *caller) id() uint64 { return c.rec.ids.Add(1) }

// tag is a payload that no other request has.
func (c *caller) tag() wire.Bytes { return fmt.Appendf(nil, "t%d", c.id()) }

func pick[T any](c *caller, from ...T) T { return from[c.IntN(len(from))] }
