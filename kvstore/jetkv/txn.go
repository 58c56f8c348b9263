package jetkv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
)

// txn is one call of Update on its way through the engine. The engine's
// goroutine owns it; the caller waits on done and may only give up.
type txn struct {
	ctx  context.Context
	opts kvstore.UpdateOptions
	fn   func(*kvstore.Tx) error
	done chan result
	// since is the revision of the state before anybody could carry the request out.
	since kvstore.Revision

	// stage lets the caller give up before the transaction is sent and not
	// after: whoever changes it first wins.
	stage atomic.Int32
	mu    sync.Mutex // held while the closure runs
	left  bool       // guarded by mu; the caller has gone: the closure must not run

	// What the last run of the closure left, owned by the engine.
	id     string
	writes []kvstore.Write
	bytes  int
	err    error
	panic  any
	before *kvstore.State
	after  *kvstore.State
	commit *kvstore.Commit
	losses int
}

const (
	stageWaiting int32 = iota
	stageSent          // its messages are on the way
	stageGivenUp       // the caller has left
)

type result struct {
	revision kvstore.Revision
	err      error
	panic    any
}

func (t *txn) finish(r result) { t.done <- r }

// leave is for a caller whose time is over. It returns whether the transaction is
// known not to be sent. The closure does not run any more from here on.
func (t *txn) leave() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
	return t.stage.CompareAndSwap(stageWaiting, stageGivenUp)
}

// tryRun runs the closure, unless its caller has left.
func (t *txn) tryRun(head *kvstore.State, now kvstore.Instant, limits kvstore.Limits) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left {
		return false
	}
	t.run(head, now, limits)
	return true
}

// run runs the closure on a state that only the engine writes.
func (t *txn) run(head *kvstore.State, now kvstore.Instant, limits kvstore.Limits) {
	t.before, t.after, t.commit, t.writes, t.bytes, t.err, t.panic = head, head, nil, nil, 0, nil, nil
	tx := kvstore.NewTx(head.View(now), limits)
	defer func() { t.panic = recover() }()
	if t.err = t.fn(tx); t.err == nil {
		t.writes, t.err = tx.Writes()
	}
	if t.err != nil {
		t.writes = nil
	}
	for _, w := range t.writes {
		t.bytes += len(w.Key) + len(w.Value) + typicalOverhead
	}
}

// apply makes the state after the transaction.
func (t *txn) apply(id, instance string) {
	t.id = id
	t.after = t.before.Copy()
	entries := kvstore.Apply(t.after, t.writes, true)
	t.commit = &kvstore.Commit{
		Revision: t.after.Revision(), Entries: entries,
		Before: t.before, After: t.after, Writer: instance,
	}
}

// messages encodes the transaction's writes.
func (t *txn) messages(prefix string, to []*nats.Msg) []*nats.Msg {
	for _, w := range t.writes {
		to = append(to, encode(prefix, t.id, t.opts.Request, w))
	}
	return to
}

// Update implements kvstore.Store.
func (s *Store) Update(ctx context.Context, o kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", kvstore.ErrDeadline, err)
	}
	t := &txn{ctx: ctx, opts: o, fn: fn, done: make(chan result, 1), since: o.Since}
	if t.since == 0 {
		t.since = s.committed.Load().Revision()
	}
	select {
	case <-s.closed:
		return 0, kvstore.ErrClosed
	default:
	}
	select {
	case s.queue <- t:
	default:
		s.stats.overloaded.Add(1)
		return 0, kvstore.ErrOverloaded
	}
	select {
	case r := <-t.done:
		return r.unwrap()
	case <-ctx.Done():
	case <-s.closed:
	}
	return s.giveUp(t)
}

// giveUp answers a caller whose time is over.
func (s *Store) giveUp(t *txn) (kvstore.Revision, error) {
	withdrawn := t.leave()
	select {
	case r := <-t.done: // it was settled in the meantime
		return r.unwrap()
	default:
	}
	cause := t.ctx.Err()
	switch {
	case !withdrawn:
		return 0, errors.Join(kvstore.ErrUnknown, cause)
	case cause == nil:
		return 0, kvstore.ErrClosed
	case s.down():
		return 0, fmt.Errorf("%w: %s", kvstore.ErrUnavailable, s.lastError())
	default:
		return 0, fmt.Errorf("%w: %w", kvstore.ErrDeadline, cause)
	}
}

func (r result) unwrap() (kvstore.Revision, error) {
	if r.panic != nil {
		panic(r.panic) // of the caller's own closure
	}
	return r.revision, r.err
}

// txnID names a transaction of this instance and of this life of it: ids do not
// come back, although an instance may restart under its name.
func (s *Store) txnID() string {
	s.txns++
	return s.opts.InstanceID + "." + s.life + "." + strconv.FormatUint(s.txns, 36)
}
