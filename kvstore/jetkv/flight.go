package jetkv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/kvstore"
)

// flight is the one group that is on its way: a commit of all its transactions,
// or, when none of them writes, a question to the leader whether the state that
// they saw is the latest.
type flight struct {
	id   uint64
	txns []*txn
	base kvstore.Revision // the revision that the group expects to follow
	// first is the id of the transaction whose message is to stand at base+1.
	first string
	msgs  []*nats.Msg // empty for a question
	// chain: every message is stored on its own, and only right after the one
	// before it; else all are stored at once.
	chain bool
	sent  bool // it may be stored; false again once it is known not to be
	// silent: a copy of it was sent that nothing was heard of, so that a refusal may
	// be about its own copy.
	silent   bool
	refused  bool // every copy of it was refused as late
	echoes   int  // messages known to be stored from their echo, not acknowledged
	echoedAt time.Time
	landed   int // messages that are known to be stored, and not in msgs any more
	sentAt   time.Time
	settling bool // a helper goroutine is finding out what became of it
}

// flightTimeout is how long an acknowledgement may take before the log is asked.
const flightTimeout = 2 * time.Second

// echoPatience is how long an acknowledgement may come after the echo.
const echoPatience = 200 * time.Millisecond

// retryAfter is the wait before a flight that reached nobody is sent again.
const retryAfter = 100 * time.Millisecond

func flightOf(subject string) uint64 {
	id, _ := strconv.ParseUint(subject[strings.LastIndexByte(subject, '.')+1:], 36, 64)
	return id
}

// stored is how many of the flight's messages are stored when the one at a
// position is one of them; 0 when it cannot be.
func (f *flight) stored(at kvstore.Revision) int {
	n := len(f.msgs)
	if at <= f.base || at > f.base+kvstore.Revision(n) {
		return 0
	}
	if f.chain {
		return int(at - f.base)
	}
	return n
}

// has tells whether a transaction is one of the flight's.
func (f *flight) has(id string) bool {
	return id != "" && slices.ContainsFunc(f.txns, func(t *txn) bool { return t.id == id && len(t.writes) > 0 })
}

// take removes the transactions that the first n messages carry out, with those
// around them that write nothing.
func (f *flight) take(n int) []*txn {
	f.base += kvstore.Revision(n)
	f.msgs = f.msgs[n:]
	i := 0
	for i < len(f.txns) && len(f.txns[i].writes) <= n {
		n -= len(f.txns[i].writes)
		i++
	}
	done := f.txns[:i]
	f.txns = f.txns[i:]
	f.name()
	return done
}

// name finds out whose message comes first.
func (f *flight) name() {
	f.first = ""
	for _, t := range f.txns {
		if len(t.writes) > 0 {
			f.first = t.id
			return
		}
	}
}

// after is the state that the flight leads to.
func (f *flight) after() *kvstore.State { return f.txns[len(f.txns)-1].after }

// finishWriters answers the transactions that write and keeps the others.
func (f *flight) finishWriters(err error) {
	rest := f.txns[:0:0]
	for _, t := range f.txns {
		if len(t.writes) == 0 {
			rest = append(rest, t)
			continue
		}
		t.finish(result{err: err})
	}
	f.txns = rest
}

// send starts the next flight with what is pending.
func (e *engine) send() {
	if !e.mayRun() || time.Now().Before(e.notBefore) {
		return
	}
	if !e.nc.IsConnected() {
		e.failed(errDisconnected)
		return
	}
	n, chain := e.cut()
	if !e.board(e.pending[:n]) {
		return
	}
	f := &flight{txns: e.pending[:n:n], base: e.tail.Revision(), chain: chain}
	e.setPending(append([]*txn(nil), e.pending[n:]...))
	for _, t := range f.txns {
		f.msgs = t.messages(e.prefix, f.msgs)
	}
	if !e.fits(f) {
		return
	}
	f.name()
	e.flight = f
	e.launch()
}

// fits makes sure that the server, which may be another one since the store was
// opened, takes every message. It is told before any is sent.
func (e *engine) fits(f *flight) bool {
	i := 0
	for _, t := range f.txns {
		for range t.writes {
			if size := f.msgs[i].Size(); int64(size) > e.nc.MaxPayload() {
				t.err = fmt.Errorf("%w: message of %d bytes, the server takes %d: raise max_payload to 8MB",
					kvstore.ErrTooLarge, size, e.nc.MaxPayload())
				e.flight = &flight{txns: f.txns}
				e.rollBack(false)
				e.dismiss(t)
				return false
			}
			i++
		}
	}
	return true
}

// dismiss answers a transaction that was rolled back with its error.
func (e *engine) dismiss(t *txn) {
	e.again = slices.DeleteFunc(e.again, func(other *txn) bool { return other == t })
	t.finish(result{err: t.err})
}

// board makes sure that no caller of a transaction that writes has given up. One
// that has is dropped, and what was run after it is run again.
func (e *engine) board(txns []*txn) bool {
	gone := false
	for _, t := range txns {
		if len(t.writes) > 0 && !t.stage.CompareAndSwap(stageWaiting, stageSent) {
			gone = true
		}
	}
	if gone {
		e.rollBack(false)
	}
	return !gone
}

// cut says how many pending transactions go out together, and whether as a chain
// of messages or as one batch.
func (e *engine) cut() (n int, chain bool) {
	rows := 0
	for i, t := range e.pending {
		if len(t.writes) > 1 {
			if rows > 0 && e.cost.Chain(rows) {
				return i, true // and a batch for this one afterwards
			}
			return e.cutBatch(), false
		}
		rows += len(t.writes)
	}
	if e.cost.Chain(rows) {
		return len(e.pending), true
	}
	return e.cutBatch(), false
}

func (e *engine) cutBatch() int {
	rows := 0
	for i, t := range e.pending {
		if rows += len(t.writes); rows > e.limits.CommitRows && i > 0 {
			return i
		}
	}
	return len(e.pending)
}

// launch sends the flight, for the first time or again.
func (e *engine) launch() {
	f := e.flight
	e.flights++
	f.id, f.sent, f.sentAt, f.settling, f.refused = e.flights, true, time.Now(), false, false
	reply := e.inbox + "." + strconv.FormatUint(f.id, 36)
	if len(f.msgs) == 0 {
		if err := e.nc.PublishRequest(e.api+"STREAM.INFO."+e.stream, reply, nil); err != nil {
			e.missed(err)
		}
		return
	}
	if f.chain {
		for _, m := range f.msgs {
			m.Header[fenced.HeaderID] = m.Header[headerTxn]
			m.Reply = reply
		}
		fenced.Chain(f.msgs, uint64(f.base))
	} else {
		fenced.Batch(f.msgs, uint64(f.base))
		f.msgs[len(f.msgs)-1].Reply = reply
	}
	for i, m := range f.msgs {
		if err := e.nc.PublishMsg(m); err != nil {
			e.notPublished(i, err)
			return
		}
	}
}

// notPublished: the message at an index could not be handed to the connection.
func (e *engine) notPublished(i int, err error) {
	f := e.flight
	if !e.nc.IsConnected() {
		err = errDisconnected
	}
	last := i == len(f.msgs)-1
	first := i == 0
	if !f.silent && (f.chain && first || !f.chain && !last) {
		e.refused(err) // a batch without its last message is no batch
		return
	}
	e.unknown()
}

// missed: the flight is known to have reached nobody. It is sent again.
func (e *engine) missed(err error) {
	e.failed(err)
	f := e.flight
	f.sent, f.sentAt = false, time.Now()
	for _, t := range f.txns {
		t.stage.CompareAndSwap(stageSent, stageWaiting)
	}
}

// refused: the flight was not stored and never will be.
func (e *engine) refused(err error) {
	e.failed(err)
	e.flight.finishWriters(fmt.Errorf("%w: %w", kvstore.ErrUnavailable, err))
	e.rollBack(false)
}

// answered takes the answer to the flight.
func (e *engine) answered(m *nats.Msg) {
	f, id := e.flight, flightOf(m.Subject)
	if i := slices.IndexFunc(e.limbo, func(f *flight) bool { return f.id == id }); i >= 0 {
		lim := e.limbo[i]
		if a, err := fenced.ReadAck(m); err == nil {
			e.limbo = slices.Delete(e.limbo, i, i+1)
			e.answeredInLimbo(lim, a)
		}
		return
	}
	if f == nil || id != f.id {
		return // of a flight that was settled otherwise
	}
	if len(f.msgs) == 0 {
		e.answeredQuestion(m)
		return
	}
	a, err := fenced.ReadAck(m)
	switch {
	case err != nil && !errors.Is(err, fenced.ErrNoResponder):
		e.unknown()
	case a.Error == nil && err == nil && f.stored(kvstore.Revision(a.Sequence)) > 0:
		e.commit(f.stored(kvstore.Revision(a.Sequence)))
	case a.Error == nil && err == nil && f.chain && a.Sequence <= uint64(f.base):
		return // an echo was faster
	case a.Error == nil && err == nil:
		e.log.Error("commit was stored at another place than it asked for", "op", "commit",
			"expected", f.base+kvstore.Revision(len(f.msgs)), "stored", a.Sequence)
		e.unknown()
	case f.silent:
		e.unknown() // an earlier copy may be stored, or still be on its way
	case err != nil:
		e.missed(err)
	case a.Error.ErrorCode == fenced.CodeWrongLast, a.Error.ErrorCode == fenced.CodeUndecided, a.Error.ErrorCode == fenced.CodeWrongLastID:
		e.refusedAsLate()
	case transient(a.Error):
		e.missed(a.Error)
	default:
		e.refused(a.Error)
	}
}

// refusedAsLate: the server says that something was stored since the base. While a
// replicated stream changes its leader, two servers may take the same message, and
// one refuses what the other stores: there the log has the last word, as long as
// it remembers.
func (e *engine) refusedAsLate() {
	late := e.flight.base + 1
	e.flight.refused = true
	if e.replicas > 1 {
		e.askLog(func() { e.lost(late) })
		return
	}
	e.lost(late)
}

// transient errors say that the stream has no leader at the moment.
func transient(err *jetstream.APIError) bool {
	return err.ErrorCode == fenced.CodeNoCluster || err.ErrorCode == fenced.CodeNotLeader || err.Code == 503 && err.ErrorCode == 0
}

// answeredQuestion: the state is the latest if the leader has nothing later.
func (e *engine) answeredQuestion(m *nats.Msg) {
	f := e.flight
	if len(m.Data) == 0 {
		e.missed(fenced.ErrNoResponder)
		return
	}
	in, err := e.readInfo(m.Data, time.Since(f.sentAt))
	if err != nil {
		e.missed(err)
		return
	}
	if in.State.Last > f.base {
		e.rollBack(false)
		e.await(in.State.Last)
		return
	}
	e.commit(0)
}

// conflictWait is half the longest wait after a first conflict; it doubles with
// each further one in a row. A winner's commits come in bursts, and running
// closures between them is wasted.
const conflictWait = 100 * time.Microsecond

// lost: another instance was faster; its commit is at least at this revision.
func (e *engine) lost(to kvstore.Revision) {
	e.stats.conflicts.Add(1)
	e.conflicts++
	longest := conflictWait << min(e.conflicts, 8)
	e.notBefore = time.Now().Add(rand.N(longest))
	time.AfterFunc(time.Until(e.notBefore), func() { e.post(func() {}) })
	e.rollBack(true)
	e.await(to)
}

// await keeps everything from running until the state has reached a revision.
func (e *engine) await(to kvstore.Revision) {
	if to > e.tail.Revision() {
		e.behind = max(e.behind, to)
		e.stats.leader.Store(max(e.stats.leader.Load(), uint64(to)))
		e.progressAt = time.Now()
	}
}

// commit makes what the flight's first n messages carry out part of the committed
// state and answers the callers. The flight has landed when nothing is left.
func (e *engine) commit(n int) {
	f := e.flight
	e.healthy()
	e.conflicts, e.progressAt = 0, time.Now()
	f.landed += n
	f.echoes = max(0, f.echoes-n)
	done := f.take(n)
	if len(f.msgs) == 0 {
		e.flight = nil
		if f.landed > 0 {
			e.stats.groups.Add(1)
			e.cost.Observe(f.chain, f.landed, time.Since(f.sentAt))
			e.gather(f)
		}
	}
	if n > 0 {
		e.stats.messages.Add(uint64(n))
		e.publish(done)
	}
	for _, t := range done {
		if len(t.writes) > 0 {
			e.stats.commits.Add(1)
		} else {
			e.stats.refusals.Add(1)
		}
		t.finish(result{revision: t.after.Revision(), err: t.err, panic: t.panic})
	}
}

// crowd is the size of a group from which on the next one is waited for.
const crowd = 8

// gather lets the next group wait a little for the callers who are answered now:
// they tend to come back at once, and where a batch has a high price of its own,
// half as many of twice the size are cheaper. A caller who is alone never waits.
func (e *engine) gather(f *flight) {
	e.expected = 0
	if f.chain || f.landed < crowd {
		return
	}
	patience := e.cost.Patience(f.landed + e.pendingRows)
	if patience == 0 {
		return
	}
	e.expected, e.gatherBy = f.landed+e.pendingRows, time.Now().Add(patience)
	time.AfterFunc(patience, func() { e.post(func() {}) })
}

// gathering tells whether the next group is still waiting.
func (e *engine) gathering() bool {
	return e.pendingRows < e.expected && time.Now().Before(e.gatherBy)
}

// publish shows commits to readers and watchers.
func (e *engine) publish(done []*txn) {
	now := e.clock.Now()
	commits := make([]*kvstore.Commit, 0, len(done))
	for _, t := range done {
		if len(t.writes) == 0 {
			continue
		}
		t.commit.Time = now
		commits = append(commits, t.commit)
		e.countUnfed(t.commit)
		e.requests.add(t.opts.Request)
		e.anchors.add(anchor{revision: t.commit.Revision, txn: t.id})
	}
	e.countAhead(done, -1)
	e.tail = done[len(done)-1].after
	e.committed.Store(e.tail)
	e.history.Append(commits...)
}

// expireFlight asks the log about a flight whose answer does not come, and sends
// one again that reached nobody.
func (e *engine) expireFlight() {
	f := e.flight
	switch {
	case f == nil:
	case f.echoes > 0 && time.Since(f.echoedAt) > echoPatience:
		e.commit(f.echoes) // the acknowledgement is lost
	case f.settling:
	case !f.sent && time.Since(f.sentAt) > retryAfter && e.nc.IsConnected() && e.mayRun():
		if e.board(f.txns) {
			e.launch()
		}
	case f.sent && time.Since(f.sentAt) > flightTimeout:
		if len(f.msgs) == 0 {
			e.missed(errors.New("the stream leader does not answer"))
			return
		}
		e.failed(errors.New("no acknowledgement of a commit"))
		e.unknown()
	}
}
