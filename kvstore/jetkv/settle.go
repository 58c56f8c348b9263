package jetkv

import (
	"fmt"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// errDoneElsewhere answers a request that another instance has carried out
// already: its result is not known here.
var errDoneElsewhere = fmt.Errorf("%w: another instance carried the request out", kvstore.ErrUnknown)

// errTraceLost answers a commit whose place in the log was rewritten before it
// could be looked up, errRebuilt one that was under way when the log turned out
// not to go on from the state.
var (
	errTraceLost = fmt.Errorf("%w: its place in the log was rewritten", kvstore.ErrUnknown)
	errRebuilt   = fmt.Errorf("%w: the log was restored from an older copy", kvstore.ErrUnknown)
)

// unknown: the flight may or may not be stored. The log decides: it is stored if
// and only if the message right after the flight's base is its first. While
// there is no message at that place, the flight is sent again; at most one of
// its copies can be stored.
func (e *engine) unknown() {
	f := e.flight
	if f.settling {
		return
	}
	f.settling = true
	e.stats.unknown.Add(1)
	e.verify.wg.Go(func() { e.settle(f) })
}

// settleRetry is the wait between two questions to a log that does not answer.
const settleRetry = 100 * time.Millisecond

// settle finds out what became of a flight and tells the engine.
func (e *engine) settle(f *flight) {
	for {
		decide, err := e.lookUp(f)
		if err == nil {
			e.post(func() {
				if e.flight == f { // else it was settled by its own echo
					decide()
				}
			})
			return
		}
		e.failed(err)
		select {
		case <-time.After(settleRetry):
		case <-e.ctx.Done():
			return
		}
	}
}

func (e *engine) lookUp(f *flight) (decide func(), err error) {
	for range 2 { // the second look is for a commit between the two questions
		m, err := e.stored(e.ctx, f.base+1)
		if err != nil {
			return nil, err
		}
		if m != nil && m.txn == f.first {
			return e.commit, nil
		}
		if m != nil {
			return func() { e.lost(f.base + 1) }, nil
		}
		in, err := e.info(e.ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case in.State.Last == f.base:
			return e.launch, nil
		case in.State.Last < f.base:
			return func() { f.settling = false; e.verifyContinuity() }, nil
		}
	}
	return e.traceLost, nil
}

// traceLost: other commits took the place of the message that would decide.
func (e *engine) traceLost() {
	to := e.flight.base + 1
	e.flight.finishWriters(errTraceLost)
	e.rollBack(false)
	e.await(to)
}

// anchor is a message that the state was built from.
type anchor struct {
	revision kvstore.Revision
	txn      string
	time     kvstore.Instant // for messages of other tools, which have no txn
}

// anchors are the latest of them.
type anchors struct {
	ring [64]anchor
	n    int
}

func (a *anchors) add(x anchor) {
	if x.revision == 0 {
		return // of an empty bucket
	}
	a.ring[a.n%len(a.ring)] = x
	a.n++
}

// latest lists them, newest first.
func (a *anchors) latest() []anchor {
	var all []anchor
	for i := a.n - 1; i >= 0 && i >= a.n-len(a.ring); i-- {
		all = append(all, a.ring[i%len(a.ring)])
	}
	return all
}

// requestLog remembers the requests that were carried out lately.
type requestLog struct {
	known map[string]struct{}
	order []string
}

// keepRequests bounds the memory; a request is only tried twice within seconds.
const keepRequests = 65536

func (l *requestLog) done(id string) bool {
	_, ok := l.known[id]
	return ok
}

func (l *requestLog) add(id string) {
	if id == "" || l.done(id) {
		return
	}
	if l.known == nil {
		l.known = make(map[string]struct{})
	}
	l.known[id] = struct{}{}
	if l.order = append(l.order, id); len(l.order) > keepRequests {
		delete(l.known, l.order[0])
		l.order = l.order[1:]
	}
}

// costs estimates what a single message and what a batch costs, to choose
// between sending transactions one after the other and all at once. On one
// replica the server stages every batch in a file of its own; on several,
// batches are cheap.
type costs struct {
	one, batch time.Duration
}

func newCosts(replicas int) costs {
	if replicas > 1 {
		return costs{one: 150 * time.Microsecond, batch: 200 * time.Microsecond}
	}
	return costs{one: 100 * time.Microsecond, batch: 2200 * time.Microsecond}
}

// single tells whether n transactions are better sent one after the other.
func (c *costs) single(n int) bool {
	if n < 2 {
		return true
	}
	if time.Duration(n)*c.one < c.batch {
		c.batch -= c.batch / 4096 // an estimate that is never tried must not last
		return true
	}
	return false
}

// observe takes in how long n messages took. One slow answer moves the estimate
// only a little.
func (c *costs) observe(n int, d time.Duration) {
	of := &c.one
	if n > 1 {
		of = &c.batch
	}
	*of += (min(d, 4**of) - *of) / 16
}
