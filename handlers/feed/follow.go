package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
)

// standby is how long the commits of another instance are left to it. With the jitter, and once more
// when the stream moved just then, it stays well below the 100 ms in which an expiry must be out.
const standby = 25 * time.Millisecond

// errSetBack says that the stream ends before what was there already: it was restored from an older
// copy, or a server that no longer leads it answered.
var errSetBack = errors.New("stream ends before the known position")

// follow runs one session after another.
func (f *Feed) follow(ctx context.Context) error {
	for {
		err := f.session(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.retry.pause(ctx, err); err != nil {
			return err
		}
	}
}

// session begins at the stream's position and pushes until something does not fit.
func (f *Feed) session(ctx context.Context) error {
	w, err := f.begin(ctx)
	if err != nil {
		return err
	}
	for {
		if err := f.receive(ctx, w); err != nil {
			return err
		}
		if f.queue.len() == 0 || f.wait() > 0 {
			continue
		}
		if err := f.advance(ctx); err != nil {
			return err
		}
	}
}

// begin finds out how far the stream is and watches the store from there on. When there is no going
// on from there, it says so and begins with the next commit.
func (f *Feed) begin(ctx context.Context) (*kvstore.Watcher, error) {
	f.queue = queue{}
	known := f.at.position
	at, err := f.look(ctx)
	if err != nil {
		return nil, err
	}
	f.at = at
	revision, err := f.reach(ctx, at.revision)
	if err != nil {
		return nil, fmt.Errorf("read store: %w", err)
	}
	switch {
	case at.revision > revision:
		f.restart(revision, "the store ends before the last pushed change: it was restored from an older copy or made anew")
	case at.event == 0 && at.last > 0 && known == position{}:
		f.restart(revision, "the stream was emptied and with it the position was lost")
	}
	after := f.at.needs()
	if f.at.covers(known) { // nothing was set back: what was released is out
		after = max(after, f.Stats().Revision)
	}
	w, err := f.store.Watch(after)
	if errors.Is(err, kvstore.ErrResync) {
		f.restart(revision, "the store no longer has the commits since the last pushed change")
		after = f.at.needs()
		w, err = f.store.Watch(after)
	}
	if err != nil {
		return nil, err
	}
	f.retry.reset()
	f.release(after)
	return w, nil
}

// restart gives up what lies between the stream's position and a store revision.
func (f *Feed) restart(revision kvstore.Revision, why string) {
	f.o.Logger.Error("changes were not pushed", "why", why, "after", f.at.revision, "upTo", revision)
	f.at.position = position{revision, whole}
	f.origin = f.at
	f.note(func(s *Stats) { s.Revision = revision })
}

// reach returns the store's revision, after giving it time to reach another one: this instance may
// be behind the one that appended.
func (f *Feed) reach(ctx context.Context, min kvstore.Revision) (kvstore.Revision, error) {
	v, err := f.view(ctx, kvstore.ReadOptions{Leader: true, MinRevision: min})
	if errors.Is(err, kvstore.ErrDeadline) {
		v, err = f.view(ctx, kvstore.ReadOptions{Leader: true})
	}
	if err != nil {
		return 0, err
	}
	return v.Revision(), nil
}

func (f *Feed) view(ctx context.Context, o kvstore.ReadOptions) (kvstore.View, error) {
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	return f.store.View(ctx, o)
}

// receive takes new commits in. With nothing else to do it waits for them.
func (f *Feed) receive(ctx context.Context, w *kvstore.Watcher) error {
	next := ctx
	if f.queue.len() > 0 {
		var cancel context.CancelFunc
		next, cancel = context.WithTimeout(ctx, f.wait())
		defer cancel()
	}
	commits, err := w.Next(next)
	if err != nil && next.Err() != nil && ctx.Err() == nil {
		return nil // there are none, and it is time for what waits
	}
	for _, c := range commits {
		f.take(c)
	}
	return err
}

// take adds a commit to what waits. Only of an own one the events are asked at once.
func (f *Feed) take(c *kvstore.Commit) {
	if c.Writer == f.o.InstanceID {
		f.deriveLeft()
		f.derive(c, true)
		return
	}
	if !f.yields && !f.queue.foreign() {
		f.leave()
	}
	f.queue.leave(c)
}

// deriveLeft asks for the events of the commits that were left to another instance.
func (f *Feed) deriveLeft() {
	for len(f.queue.left) > 0 {
		f.derive(f.queue.take(), false)
	}
}

func (f *Feed) derive(c *kvstore.Commit, own bool) {
	events, err := f.o.Events(c)
	if err != nil {
		attrs := []any{"op", "changes", "revision", c.Revision, "err", err}
		if lost, ok := errors.AsType[*kvstore.DataLostError](err); ok {
			attrs = append(attrs, "key", string(lost.Key))
		}
		f.o.Logger.Error("derive changes", attrs...)
	}
	f.release(f.queue.push(events, f.at.position, c.Revision, own))
}

// wait is how long there is nothing to do about the queue.
func (f *Feed) wait() time.Duration {
	if f.leads() {
		return 0
	}
	return time.Until(f.due)
}

// leads tells whether it is for this instance to append now.
func (f *Feed) leads() bool { return f.queue.own > 0 && !f.yields }

// leave leaves what waits to another instance, for a while.
func (f *Feed) leave() { f.due = time.Now().Add(jitter(standby)) }

// advance appends what is due. When another instance may have appended it, it looks first.
func (f *Feed) advance(ctx context.Context) error {
	if !f.leads() || !f.queue.items[0].own { // who leads has derived what was left
		moved, err := f.sync(ctx)
		if err != nil || f.queue.len() == 0 {
			return err
		}
		if moved && !f.leads() { // somebody is at it
			f.leave()
			return nil
		}
		f.deriveLeft()
	}
	return f.append(ctx)
}

// sync drops what is already in the stream and tells whether the stream moved.
func (f *Feed) sync(ctx context.Context) (moved bool, err error) {
	at, err := f.look(ctx)
	switch {
	case err != nil:
		return false, err
	case !at.covers(f.at.position):
		return false, fmt.Errorf("%w: %s, known %s", errSetBack, at.id(), f.at.id())
	}
	moved = at.last != f.at.last
	f.reached(at)
	return moved, nil
}

// reached notes how far the stream is.
func (f *Feed) reached(at mark) {
	f.at = at
	f.release(f.queue.pass(at.position))
	f.yields = f.yields && f.queue.len() > 0
}

// look asks how far the stream is until there is an answer.
func (f *Feed) look(ctx context.Context) (mark, error) {
	retry := newRetry(f.o.Logger)
	for {
		at, err := f.stream.last(ctx)
		if err == nil {
			return f.resolve(at), nil
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			f.o.Logger.Error("the stream was removed: making it anew, what it kept is lost")
			err = f.Ensure(ctx)
		}
		if ctx.Err() != nil {
			return mark{}, ctx.Err()
		}
		if err != nil {
			if err := retry.pause(ctx, err); err != nil {
				return mark{}, err
			}
		}
	}
}

// resolve replaces a position that the stream does not have, or not in terms of this store.
func (f *Feed) resolve(at mark) mark {
	switch {
	case at.event == 0:
		at.position = f.at.position
	case at.event == f.origin.event:
		at.position = f.origin.position
	}
	return at
}

// release tells the store that everything up to a revision is out; 0 says nothing.
func (f *Feed) release(upTo kvstore.Revision) {
	if upTo > 0 {
		f.store.Release(upTo)
	}
	f.note(func(s *Stats) { s.Revision = max(s.Revision, upTo) })
}
