package jetkv

import (
	"context"
	"fmt"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// loaded is what was read from the bucket.
type loaded struct {
	state    *kvstore.State
	follower *follower         // delivers what comes later
	commits  []*kvstore.Commit // those after the revision that was asked for
	last     anchor
}

// load builds the state from the bucket: everything up to the last revision
// there is now. It returns the commits after from.
func (s *Store) load(ctx context.Context, from kvstore.Revision) (*loaded, error) {
	in, err := s.info(ctx)
	if err != nil {
		return nil, fmt.Errorf("read bucket %q: %w", s.opts.Bucket, err)
	}
	f, err := s.startFollower(ctx, 0)
	if err != nil {
		return nil, err
	}
	b := builder{state: kvstore.NewState(s.opts.Schema), from: from}
	if in.State.Count > 0 {
		if err := b.read(ctx, s, f, in.State.Last); err != nil {
			f.stop()
			return nil, fmt.Errorf("read bucket %q: %w", s.opts.Bucket, err)
		}
	}
	b.state.Advance(in.State.Last)
	return &loaded{state: b.state, follower: f, commits: b.commits, last: b.last}, nil
}

// builder adds records up to a state.
type builder struct {
	state   *kvstore.State
	from    kvstore.Revision // commits after it are kept
	commits []*kvstore.Commit
	group   []record // messages of one transaction, as far as they are here
	last    anchor
}

const (
	// loadIdle is how long a load waits for the next message before it gives up.
	loadIdle = 30 * time.Second
	// loadAsk is how long it waits before it asks the leader whether there is one.
	loadAsk = 50 * time.Millisecond
)

// read takes in records until it has all up to last and no batch is open. A
// consumer may live on a replica that is behind, so that it has nothing more
// means nothing; the leader is asked.
func (b *builder) read(ctx context.Context, s *Store, f *follower, last kvstore.Revision) error {
	ask := time.NewTicker(loadAsk)
	defer ask.Stop()
	heard := time.Now()
	for seen := kvstore.Revision(0); ; {
		select {
		case r := <-f.records:
			b.add(r)
			seen, heard = r.revision, time.Now()
			if seen >= last && (r.batch == "" || r.commit) {
				b.flush()
				return nil
			}
		case <-ask.C:
			if time.Since(heard) < loadAsk {
				continue
			}
			more, err := s.hasAfter(ctx, seen)
			switch {
			case err != nil:
				return err
			case !more:
				b.flush()
				return nil
			case time.Since(heard) > loadIdle:
				return fmt.Errorf("no message for %s at revision %d of %d", loadIdle, seen, last)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add takes one record in. Messages of one transaction make one commit.
func (b *builder) add(r record) {
	if len(b.group) > 0 && (r.txn == "" || r.txn != b.group[0].txn) {
		b.flush()
	}
	b.group = append(b.group, r)
}

// flush applies the transaction that is complete.
func (b *builder) flush() {
	if len(b.group) == 0 {
		return
	}
	last := b.group[len(b.group)-1]
	b.last = anchor{last.revision, last.txn, last.time}
	if last.revision <= b.from {
		for _, r := range b.group {
			r.apply(b.state)
		}
	} else {
		c := commitOf(b.state, b.group)
		b.state = c.After
		b.commits = append(b.commits, c)
	}
	b.group = b.group[:0]
}

// commitOf applies the records of one transaction to a copy of a state.
func commitOf(before *kvstore.State, group []record) *kvstore.Commit {
	first, last := group[0], group[len(group)-1]
	c := &kvstore.Commit{
		Revision: last.revision, Time: last.time, Writer: writer(first.txn),
		Before: before, After: before.Copy(), Gap: first.revision > before.Revision()+1,
	}
	for _, r := range group {
		if e, ok := r.apply(c.After); ok {
			c.Entries = append(c.Entries, e)
		}
	}
	return c
}
