package jetkv

import (
	"fmt"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// errDoneElsewhere answers a request that another instance has carried out
// already: its result is not known here.
var errDoneElsewhere = fmt.Errorf("%w: %w", kvstore.ErrUnknown, kvstore.ErrCarriedOut)

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
	e.flight.silent = true
	e.askLog(e.traceLost)
}

// askLog settles the flight from the log. When the message that would decide has
// been rewritten, otherwise decides.
func (e *engine) askLog(otherwise func()) {
	f := e.flight
	if f.settling {
		return
	}
	f.settling = true
	e.stats.unknown.Add(1)
	base, first := f.base, f.first
	e.verify.wg.Go(func() { e.settle(f, base, first, otherwise) })
}

// settleRetry is the wait between two questions to a log that does not answer.
const settleRetry = 100 * time.Millisecond

// catchUpTime is how long the log of a replicated stream may stand still below what
// is known of it before its end counts as lost: the leader may have been elected a
// moment ago, and be busy.
const catchUpTime = 5 * time.Second

// settle finds out what became of a flight and tells the engine.
func (e *engine) settle(f *flight, base kvstore.Revision, first string, otherwise func()) {
	for {
		decide, err := e.lookUp(f, base, first, otherwise)
		if err == nil {
			e.post(func() {
				if e.flight != f {
					return // it was settled by its own echo
				}
				f.settling = false
				if f.base != base { // a part of it was
					e.unknown()
					return
				}
				decide()
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

func (e *engine) lookUp(f *flight, base kvstore.Revision, first string, otherwise func()) (decide func(), err error) {
	for range 2 { // the second look is for a commit between the two questions
		m, err := e.stored(e.ctx, base+1)
		if err != nil {
			return nil, err
		}
		if m != nil && m.txn == first {
			return func() { e.settled(f) }, nil
		}
		if m != nil {
			return func() { e.lost(base + 1) }, nil
		}
		in, err := e.info(e.ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case in.State.Last == base:
			return e.launch, nil
		case in.State.Last < base:
			return e.verifyContinuity, nil
		}
	}
	return otherwise, nil
}

// settled: the flight's first message is stored. That proves a batch; of a chain
// the rest has to be looked up.
func (e *engine) settled(f *flight) {
	e.commit(f.stored(f.base + 1))
	if e.flight == f {
		e.unknown()
	}
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
