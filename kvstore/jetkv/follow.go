package jetkv

import (
	"context"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/kvstore"
)

// follow takes in one message of the bucket.
func (e *engine) receive(r record) {
	if r.revision <= e.tail.Revision() {
		return // an echo of what is committed here
	}
	if f := e.flight; f != nil && f.has(r.txn) && f.stored(r.revision) > 0 {
		e.echoed(f.stored(r.revision))
		return
	}
	if f := e.flight; f != nil && f.echoes > 0 {
		e.commit(f.echoes) // the log has gone on from it
	}
	last := e.tail.Revision()
	if n := len(e.batch); n > 0 {
		last = e.batch[n-1].revision
		if r.revision <= last {
			return
		}
		if r.batch != e.batch[0].batch {
			e.takeIn()
		}
	}
	if r.revision > last+1 {
		e.gap = r.revision
		e.tear()
	}
	e.batch = append(e.batch, r)
	if r.batch == "" || r.commit {
		e.takeIn()
	}
}

// echoed: the first n messages of the flight are stored, as their echo tells before
// the acknowledgement. A replica can be ahead of its leader for a moment; callers
// are told only when the leader has the commit too, since it is the leader whom
// other instances ask whether they are behind.
func (e *engine) echoed(n int) {
	if e.replicas == 1 {
		e.commit(n)
		return
	}
	if e.flight.echoes == 0 {
		e.flight.echoedAt = time.Now()
	}
	e.flight.echoes = n
}

// takeIn applies what another instance, or another tool, committed at once.
func (e *engine) takeIn() {
	records := e.batch
	e.batch = nil
	e.noteWriter(records[0])
	e.overtaken(records[0].revision)
	if e.flight != nil || len(e.pending) > 0 {
		e.rollBack(true)
	}
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].txn != "" && records[n].txn == records[0].txn {
			n++
		}
		c := commitOf(e.tail, records[:n])
		e.tail = c.After
		e.held = append(e.held, c)
		e.countUnfed(c)
		last := records[n-1]
		e.requests.add(records[0].request)
		e.anchors.add(anchor{last.revision, last.txn, last.time})
		records = records[n:]
	}
	e.show()
}

// overtaken deals with a flight that another commit was faster than. If that
// commit stands in the flight's place, the flight is lost. If it stands further
// on, the messages that would tell are rewritten, and only the acknowledgement
// can: the flight's writers wait for it in limbo.
func (e *engine) overtaken(by kvstore.Revision) {
	f := e.flight
	if f == nil || !f.sent || len(f.msgs) == 0 || by == f.base+1 || f.refused && !f.silent {
		return
	}
	limbo := *f
	limbo.txns = nil
	rest := f.txns[:0:0]
	for _, t := range f.txns {
		if len(t.writes) > 0 {
			limbo.txns = append(limbo.txns, t)
		} else {
			rest = append(rest, t)
		}
	}
	f.txns = rest
	e.limbo = append(e.limbo, &limbo)
}

// answeredInLimbo takes the answer to a flight that waits in limbo.
func (e *engine) answeredInLimbo(f *flight, a fenced.Ack) {
	switch {
	case a.Error == nil:
		for _, t := range f.take(f.stored(kvstore.Revision(a.Sequence))) {
			t.finish(result{revision: t.after.Revision()})
		}
		if len(f.txns) > 0 {
			e.limbo = append(e.limbo, f)
		}
	case f.silent:
		f.finishWriters(errTraceLost)
	default:
		for _, t := range f.txns {
			t.stage.CompareAndSwap(stageSent, stageWaiting)
			t.losses++
		}
		e.again = append(f.txns, e.again...)
	}
}

// expireLimbo gives up on acknowledgements that do not come.
func (e *engine) expireLimbo() {
	for len(e.limbo) > 0 && time.Since(e.limbo[0].sentAt) > flightTimeout {
		e.limbo[0].finishWriters(errTraceLost)
		e.limbo = e.limbo[1:]
	}
}

// show lets readers and watchers see the state, if it is one that ever was.
func (e *engine) show() {
	e.head, e.progressAt = e.tail, time.Now()
	if e.tail.Revision() >= e.behind {
		e.behind = 0
	}
	if e.tail.Revision() < e.tornUntil {
		return
	}
	e.tornUntil = 0
	e.refollowed = 0
	e.committed.Store(e.tail)
	e.history.Append(e.held...)
	e.held = nil
}

// noteWriter remembers who wins the race, as long as this instance takes part in
// it or has just lost it. Of instances that race, the one whose id comes first
// counts as the winner: were each to take another for it, requests would be handed
// around in a circle, and everybody who carries them out would race on.
func (e *engine) noteWriter(r record) {
	w := writer(r.txn)
	if w == "" || w == e.opts.InstanceID {
		return
	}
	e.faster = w
	if current := e.Writer(); w > e.opts.InstanceID || current != "" && current < w {
		return
	}
	if e.flight != nil || e.conflicts > 0 || e.Writer() == w {
		e.winner.Store(&rival{w, time.Now()})
	}
}

// tear: messages between the state and this one have been rewritten by later
// ones. The state is not shown before those are here too.
func (e *engine) tear() {
	if e.tornUntil == 0 {
		e.tornUntil = kvstore.MaxRevision
	}
	e.verify.wg.Go(func() {
		in, err := e.info(e.ctx)
		if err != nil {
			return // the next look at the server is made by the ticker
		}
		e.post(func() { e.mended(in.State.Last) })
	})
}

// mended: what was stored when the gap was seen ends here.
func (e *engine) mended(last kvstore.Revision) {
	if e.tornUntil == kvstore.MaxRevision {
		e.tornUntil = max(last, 1)
		if len(e.batch) == 0 {
			e.show()
		}
	}
}

// verification is what the engine's helper goroutines do; the engine waits for
// them when it ends.
type verification struct {
	wg      sync.WaitGroup
	running bool // whether the log goes on from the state is not known yet
	asking  bool // a look at the server is under way
}

// keepContact asks the server for its clock and the bucket's settings now and
// then, and for what the log has that the follower did not deliver.
func (e *engine) keepContact() {
	if e.verify.asking || time.Since(e.contactAt) < contact {
		return
	}
	e.ask()
}

func (e *engine) ask() {
	e.verify.asking, e.contactAt = true, time.Now()
	asked := e.tail
	since, rows := asked.Revision(), uint64(asked.Rows())
	e.verify.wg.Go(func() {
		in, err := e.info(e.ctx)
		e.post(func() {
			e.verify.asking = false
			if err == nil && in.State.Count < rows && in.State.Last >= since && !e.verify.running {
				e.emptied(in.State.Count, rows)
				return
			}
			e.contacted(since, in, err)
		})
	})
}

// emptied: the log has fewer messages than the state had rows, each of which is
// one message at least. Somebody has purged it, or rolled it up.
func (e *engine) emptied(messages, rows uint64) {
	e.log.Error("messages of the bucket were removed by another tool; reading it again", "op", "verify",
		"messages", messages, "rows", rows)
	e.rebuild()
}

// contacted takes the answer to a question that was asked when the state had the
// revision since.
func (e *engine) contacted(since kvstore.Revision, in *streamInfo, err error) {
	if err != nil {
		e.failed(err)
		return
	}
	e.drifted(verifyBucket(in.Config))
	if in.State.Last < since {
		e.verifyContinuity()
		return
	}
	if e.flight == nil {
		e.healthy()
	}
	e.mended(in.State.Last)
	if in.State.Last <= e.tail.Revision() {
		e.behind, e.progressAt = 0, time.Now()
	} else if e.behind != 0 {
		e.behind = max(e.behind, in.State.Last)
	}
	e.lag = in.State.Last
	e.stats.leader.Store(uint64(e.lag))
}

const (
	// patience is how long the follower may take to deliver what is known to be
	// in the log before the server is asked again.
	patience = 200 * time.Millisecond
	// stuck is how long before the follower is replaced; twice as long after each
	// time that it did not help, up to 1<<maxStuck times.
	stuck, maxStuck = 2 * time.Second, 4
)

// catchUp replaces a follower that does not deliver what the log is known to
// have.
func (e *engine) catchUp() {
	target := max(e.behind, e.lag)
	idle := time.Since(e.progressAt)
	switch {
	case target <= e.tail.Revision() || e.verify.running:
	case idle > stuck<<min(e.refollowed, maxStuck):
		e.refollow()
	case idle > patience && e.behind > 0 && !e.verify.asking:
		e.ask()
	}
}

// refollow finds out why the state does not move: a batch whose last message was
// removed, positions at the end that hold nothing any more, or a follower that
// has to be replaced.
func (e *engine) refollow() {
	e.progressAt = time.Now()
	ctx, cancel := context.WithTimeout(e.ctx, apiTimeout)
	defer cancel()
	in, err := e.info(ctx)
	if err != nil {
		e.failed(err)
		return
	}
	seen := e.tail.Revision()
	if n := len(e.batch); n > 0 {
		seen = e.batch[n-1].revision
	}
	switch more, err := e.hasAfter(ctx, seen); {
	case err != nil:
		e.failed(err)
	case more:
		e.replaceFollower()
	case len(e.batch) > 0:
		e.takeIn()
	case in.State.Last > seen:
		e.skip(in.State.Last)
	}
}

func (e *engine) replaceFollower() {
	f, err := e.startFollower(e.ctx, e.tail.Revision())
	if err != nil {
		e.failed(err)
		return
	}
	e.follower.stop()
	e.follower, e.batch = f, nil
	e.refollowed++
}

// skip moves the state over positions that hold nothing any more.
func (e *engine) skip(to kvstore.Revision) {
	e.rollBack(false)
	before := e.tail
	e.tail = before.Copy()
	e.tail.Advance(to)
	e.held = append(e.held, &kvstore.Commit{Revision: to, Time: e.clock.Now(), Before: before, After: e.tail, Gap: true})
	e.tornUntil = 0
	e.show()
}

// verifyContinuity makes sure that the log goes on from the state: after every
// reconnect, since a server that lost the end of its log, or was restored from
// an older copy, hands its sequences out again.
func (e *engine) verifyContinuity() {
	if e.verify.running {
		return
	}
	e.verify.running = true
	away := time.Since(e.contactAt) > maxAbsence
	state, known := e.tail.Revision(), e.anchors.latest()
	e.verify.wg.Go(func() {
		for {
			verdict, err := e.compare(state, known)
			if err == nil {
				e.post(func() { e.verified(verdict, away) })
				return
			}
			e.failed(err)
			select {
			case <-time.After(settleRetry):
			case <-e.ctx.Done():
				return
			}
		}
	})
}

type verdict int

const (
	goesOn  verdict = iota // the log still has what the state was built from
	unsure                 // it has been rewritten: nothing to compare
	differs                // it has something else there, or ends before it
)

// compare looks for the newest messages of the state in the log.
func (e *engine) compare(state kvstore.Revision, known []anchor) (verdict, error) {
	long, err := e.reaches(state)
	if err != nil {
		return 0, err
	}
	if !long {
		return differs, nil
	}
	if len(known) == 0 {
		return goesOn, nil // an empty bucket
	}
	for _, a := range known {
		m, err := e.stored(e.ctx, a.revision)
		switch {
		case err != nil:
			return 0, err
		case m == nil:
			continue
		case m.txn != a.txn || (a.txn == "" && m.time != a.time):
			return differs, nil
		default:
			return goesOn, nil
		}
	}
	return unsure, nil
}

// reaches tells whether the log is as long as the state. A server that has just
// become the leader of a replicated stream answers before it has applied all that
// it has, so it is asked again until its log has not grown for a while.
func (e *engine) reaches(state kvstore.Revision) (bool, error) {
	var last kvstore.Revision
	grew := time.Now()
	for {
		in, err := e.info(e.ctx)
		switch {
		case err != nil:
			return false, err
		case in.State.Last >= state:
			return true, nil
		case in.State.Last > last:
			last, grew = in.State.Last, time.Now()
		}
		if e.replicas == 1 || time.Since(grew) > catchUpTime {
			return false, nil
		}
		select {
		case <-time.After(settleRetry):
		case <-e.ctx.Done():
			return false, e.ctx.Err()
		}
	}
}

func (e *engine) verified(v verdict, away bool) {
	e.verify.running = false
	switch {
	case v == differs:
		e.log.Error("the log does not go on from the state: the NATS server lost the end of it or was "+
			"restored from an older copy; commits that were acknowledged since are gone", "op", "verify",
			"revision", uint64(e.tail.Revision()))
		e.rebuild()
	case v == unsure || away:
		e.log.Warn("the log was rewritten during an absence; reading it again", "op", "verify")
		e.rebuild()
	default:
		e.healthy()
		if e.flight != nil && e.flight.sent && len(e.flight.msgs) > 0 {
			e.unknown()
		}
	}
}

// rebuild reads the whole bucket again. Watchers have to start over.
func (e *engine) rebuild() {
	e.stats.rebuilds.Add(1)
	if f := e.flight; f != nil && f.sent {
		f.finishWriters(errRebuilt)
	}
	e.rollBack(false)
	e.follower.stop()
	e.batch, e.held, e.tornUntil, e.behind, e.lag = nil, nil, 0, 0, 0
	e.stats.leader.Store(0)
	for {
		l, err := e.load(e.ctx, kvstore.MaxRevision)
		if err == nil {
			e.restart(l)
			return
		}
		e.failed(err)
		e.failWhenDown()
		select {
		case <-time.After(settleRetry):
		case <-e.ctx.Done():
			return
		}
	}
}

// restart goes on from a state that was read anew. What was committed before it
// counts as seen by everybody: watchers are told to start over.
func (e *engine) restart(l *loaded) {
	e.head, e.tail, e.follower, e.progressAt = l.state, l.state, l.follower, time.Now()
	e.anchors = anchors{}
	e.anchors.add(l.last)
	e.unfedLog, e.gap = nil, l.state.Revision()
	clear(e.unfed)
	clear(e.unfedBy)
	e.released.Store(uint64(l.state.Revision()))
	e.committed.Store(l.state)
	e.history.Reset(l.state.Revision())
	e.healthy()
}
