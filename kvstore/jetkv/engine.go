package jetkv

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/kvstore"
)

// engine is the one goroutine that decides what the log gets next. It owns the
// head: the committed state plus what is already on its way.
//
//	queue -> run on head -> pending -> flight (one at a time) -> committed
//
// Whatever another instance commits in between throws pending and flight back to
// the start of that line.
type engine struct {
	*Store
	ctx context.Context

	head                      *kvstore.State // committed, flight and pending
	tail                      *kvstore.State // committed; what Store.committed shows unless torn
	again                     []*txn         // to be run, before the queue
	blocked                   []*txn         // wait for Release
	pending                   []*txn         // run, not sent
	pendingRows, pendingBytes int
	flight                    *flight
	gap                       kvstore.Revision    // before this one, messages were rewritten unseen
	limbo                     []*flight           // overtaken, and only an acknowledgement can tell their fate
	ahead                     map[kvstore.Key]int // writes of flight and pending by key

	follower *follower
	batch    []record          // open batch that the follower is delivering
	held     []*kvstore.Commit // commits that are not shown while the state is torn
	// tornUntil: the records up to here are needed before the state is one that
	// ever was; 0 when it is.
	tornUntil kvstore.Revision
	// behind: the log has reached this revision, and nothing runs before the
	// state has; 0 when it has.
	behind     kvstore.Revision
	lag        kvstore.Revision // the last revision that the server told of
	progressAt time.Time        // when the state last moved, or was seen to be the latest
	refollowed int              // how often the follower was replaced since the state moved

	unfed     map[kvstore.Key]int    // committed writes by key that are not released
	unfedBy   map[kvstore.Key]string // who wrote the latest of them
	unfedLog  []unfedWrite
	requests  requestLog
	anchors   anchors
	cost      fenced.Costs
	conflicts int       // in a row
	faster    string    // the instance whose commit was seen last
	notBefore time.Time // of the next flight, after conflicts
	expected  int       // rows that the next group may wait for, until gatherBy
	gatherBy  time.Time
	contactAt time.Time // when the server was last asked
	flights   uint64

	replies chan *nats.Msg // room for the answers to every message of a flight
	events  chan func()    // what helper goroutines found out
	inbox   string
	verify  verification
}

type unfedWrite struct {
	revision kvstore.Revision
	key      kvstore.Key
}

// Run makes the store take writes until the context ends; it returns the
// context's error, or what made going on impossible.
func (s *Store) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	e := &engine{
		Store: s, ctx: ctx, head: s.loaded.state, tail: s.loaded.state, follower: s.loaded.follower,
		progressAt: time.Now(), contactAt: time.Now(),
		ahead: make(map[kvstore.Key]int), unfed: make(map[kvstore.Key]int), unfedBy: make(map[kvstore.Key]string),
		replies: make(chan *nats.Msg, 4*maxGroup), events: make(chan func(), 64), cost: fenced.NewCosts(s.replicas),
	}
	e.anchors.add(s.loaded.last)
	s.loaded = nil
	e.seed()
	defer e.close(cancel)
	if err := e.subscribe(); err != nil {
		return err
	}
	return e.loop()
}

// seed counts what the log holds that was not released.
func (e *engine) seed() {
	if !e.opts.Hold {
		return
	}
	w, err := e.history.Watch(kvstore.Revision(e.released.Load()))
	if err != nil {
		return
	}
	for _, c := range w.Ready() {
		e.countUnfed(c)
	}
}

func (e *engine) close(cancel context.CancelFunc) {
	cancel()
	e.verify.wg.Wait()
	e.follower.stop()
	close(e.closed)
	for _, f := range append(e.limbo, e.flight) {
		if f != nil && f.sent {
			f.finishWriters(kvstore.ErrUnknown)
		}
	}
	for _, t := range e.takeAll() {
		t.finish(result{err: kvstore.ErrClosed})
	}
	for {
		select {
		case t := <-e.queue:
			t.finish(result{err: kvstore.ErrClosed})
		default:
			return
		}
	}
}

// takeAll empties the line and returns who stood in it, in order.
func (e *engine) takeAll() []*txn {
	var all []*txn
	if e.flight != nil {
		all = append(all, e.flight.txns...)
	}
	all = append(append(append(all, e.pending...), e.blocked...), e.again...)
	e.flight, e.again, e.blocked = nil, nil, nil
	e.setPending(nil)
	clear(e.ahead)
	e.head = e.tail
	return all
}

func (e *engine) subscribe() error {
	e.inbox = e.nc.NewInbox()
	sub, err := e.nc.ChanSubscribe(e.inbox+".*", e.replies)
	if err != nil {
		return err
	}
	status := e.nc.StatusChanged(nats.CONNECTED)
	e.verify.wg.Go(func() {
		<-e.ctx.Done()
		_ = sub.Unsubscribe() // the connection may be gone already
		e.nc.RemoveStatusListener(status)
	})
	e.verify.wg.Go(func() {
		for {
			select {
			case _, ok := <-status:
				if !ok {
					return
				}
				e.post(e.verifyContinuity)
			case <-e.ctx.Done():
				return
			}
		}
	})
	return nil
}

// post hands the engine something to do in its own goroutine.
func (e *engine) post(f func()) {
	select {
	case e.events <- f:
	case <-e.ctx.Done():
	}
}

// tick is how often the engine looks after time-outs, and contact how often it
// asks the server for its time and the bucket's settings.
const (
	tick    = 50 * time.Millisecond
	contact = 2 * time.Second
)

func (e *engine) loop() error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		e.readAhead()
		e.runAgain()
		queue := e.queue
		if !e.mayRun() || e.full() {
			queue = nil
		}
		if e.flight == nil && len(e.pending) > 0 && len(queue) == 0 && !e.gathering() {
			e.send()
		}
		records := e.follower.records
		if e.verify.running {
			records = nil // they may be of another log
		}
		select {
		case t := <-queue:
			e.accept(t)
		case r := <-records:
			e.receive(r)
		case r := <-e.replies:
			e.answered(r)
		case f := <-e.events:
			f()
		case <-e.wake:
			e.unblock()
		case <-ticker.C:
			e.tick()
		case <-e.ctx.Done():
			return e.ctx.Err()
		}
	}
}

// mayRun: closures run only on a state that is as new as we know.
func (e *engine) mayRun() bool {
	return e.tornUntil == 0 && e.behind == 0 && !e.verify.running
}

// maxGroup bounds what is run ahead of the flight, in messages and bytes.
const (
	maxGroup      = 1000
	maxGroupBytes = 8 << 20
)

func (e *engine) full() bool {
	return e.pendingRows >= maxGroup || e.pendingBytes >= maxGroupBytes
}

// setPending replaces what is pending.
func (e *engine) setPending(txns []*txn) {
	e.pending, e.pendingRows, e.pendingBytes = nil, 0, 0
	for _, t := range txns {
		e.addPending(t)
	}
}

func (e *engine) addPending(t *txn) {
	e.pending = append(e.pending, t)
	e.pendingRows += max(1, len(t.writes))
	e.pendingBytes += t.bytes
}

// readAhead takes in what the follower has: closures that run before it would
// only run again.
func (e *engine) readAhead() {
	for n := len(e.follower.records); n > 0 && !e.verify.running; n-- {
		e.receive(<-e.follower.records)
	}
}

func (e *engine) runAgain() {
	if time.Now().Before(e.notBefore) {
		return
	}
	for len(e.again) > 0 && e.mayRun() && !e.full() {
		t := e.again[0]
		e.again = e.again[1:]
		e.accept(t)
	}
}

// accept runs a transaction on the head and puts it into the next group.
func (e *engine) accept(t *txn) {
	switch {
	case t.ctx.Err() != nil:
		return // its caller gives up, or has
	case t.opts.Request != "" && e.mayBeDone(t):
		t.finish(result{err: errDoneElsewhere})
		return
	}
	if !t.tryRun(e.head, e.clock.Now(), e.limits) {
		return
	}
	if len(t.writes) > 0 {
		if e.mustWait(t.writes) {
			e.stats.blocked.Add(1)
			e.block(t)
			return
		}
		t.apply(e.txnID(), e.opts.InstanceID)
		e.countAhead([]*txn{t}, 1)
		e.head = t.after
	}
	e.addPending(t)
}

// mayBeDone tells whether a request may have been carried out already: the log
// names it, or had messages that could have and were rewritten before they were
// seen.
func (e *engine) mayBeDone(t *txn) bool {
	return e.requests.done(t.opts.Request) || t.since < e.gap || e.underWay(t.opts.Request)
}

// underWay tells whether this instance is carrying the request out already.
func (e *engine) underWay(request string) bool {
	same := func(t *txn) bool { return t.opts.Request == request }
	for _, f := range append(e.limbo, e.flight) {
		if f != nil && slices.ContainsFunc(f.txns, same) {
			return true
		}
	}
	return slices.ContainsFunc(e.pending, same)
}

// block lets a transaction wait for Release. Where it waits for the commits of
// another instance, it may as well be handed to that one, whose feed is at work
// on them.
func (e *engine) block(t *txn) {
	if t.opts.Yield {
		for _, w := range t.writes {
			if other := e.unfedBy[w.Key]; other != "" && other != e.opts.InstanceID {
				t.finish(result{err: &kvstore.ContendedError{Writer: other}})
				return
			}
		}
	}
	e.blocked = append(e.blocked, t)
}

// mustWait: with Hold, the log keeps for every key the version that everybody
// has seen and all later ones. A write that would push one of these out waits.
func (e *engine) mustWait(writes []kvstore.Write) bool {
	if !e.opts.Hold {
		return false
	}
	for _, w := range writes {
		n := e.unfed[w.Key] + e.ahead[w.Key]
		if n >= historyDepth-1 || (n > 0 && w.Kind == kvstore.WriteForget) {
			return true
		}
		if w.Kind == kvstore.WriteForget && uint64(w.Forgotten) > e.released.Load() {
			return true
		}
	}
	return false
}

// unblock runs again what waited for a release.
func (e *engine) unblock() {
	released := kvstore.Revision(e.released.Load())
	n := 0
	for n < len(e.unfedLog) && e.unfedLog[n].revision <= released {
		k := e.unfedLog[n].key
		if e.unfed[k]--; e.unfed[k] <= 0 {
			delete(e.unfed, k)
			delete(e.unfedBy, k)
		}
		n++
	}
	e.unfedLog = e.unfedLog[n:]
	e.again = append(e.blocked, e.again...)
	e.blocked = nil
}

func (e *engine) countUnfed(c *kvstore.Commit) {
	if !e.opts.Hold || uint64(c.Revision) <= e.released.Load() {
		return
	}
	for _, en := range c.Entries {
		e.unfed[en.Key]++
		e.unfedBy[en.Key] = c.Writer
		e.unfedLog = append(e.unfedLog, unfedWrite{en.Revision, en.Key})
	}
}

// rollBack throws everything that is not committed back to the start of the
// line, because another instance was faster.
func (e *engine) rollBack(lost bool) {
	flying := 0
	if e.flight != nil {
		flying = len(e.flight.txns)
	}
	for i, t := range e.takeAll() {
		t.stage.CompareAndSwap(stageSent, stageWaiting)
		if i < flying && lost && len(t.writes) > 0 {
			t.losses++
			if w := e.yieldsTo(t); w != "" {
				t.finish(result{err: &kvstore.ContendedError{Writer: w}})
				continue
			}
		}
		e.again = append(e.again, t)
	}
}

// yieldAfter is how many races a transaction loses before it may be handed to
// the instance that wins them, and yieldToAny before that may be any instance that
// is faster: one with a bad connection would lose for ever to those behind it.
const (
	yieldAfter = 2
	yieldToAny = 8
)

// yieldsTo names the instance that a transaction which has lost is handed to;
// empty if it stays.
func (e *engine) yieldsTo(t *txn) string {
	switch {
	case !t.opts.Yield || t.losses < yieldAfter:
		return ""
	case t.losses >= yieldToAny:
		return e.faster
	default:
		return e.Writer()
	}
}

// tick looks after everything that has a time limit.
func (e *engine) tick() {
	e.expireFlight()
	e.expireLimbo()
	e.catchUp()
	e.failWhenDown()
	e.keepContact()
}

// failWhenDown tells everybody whose commit is not on its way that the store
// cannot be reached.
func (e *engine) failWhenDown() {
	if !e.down() {
		return
	}
	flying := e.flight
	if flying != nil && flying.sent {
		e.flight = nil // its fate is not known: it stays
	} else {
		flying = nil
	}
	err := fmt.Errorf("%w: %s", kvstore.ErrUnavailable, e.lastError())
	for _, t := range e.takeAll() {
		t.finish(result{err: err})
	}
	for n := len(e.queue); n > 0; n-- {
		(<-e.queue).finish(result{err: err})
	}
	if flying != nil {
		e.flight, e.head = flying, flying.after()
		e.countAhead(flying.txns, 1)
	}
}

// countAhead adds or takes away the writes of transactions that are not
// committed.
func (e *engine) countAhead(txns []*txn, n int) {
	for _, t := range txns {
		for _, w := range t.writes {
			if e.ahead[w.Key] += n; e.ahead[w.Key] <= 0 {
				delete(e.ahead, w.Key)
			}
		}
	}
}
