package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

const (
	// readyFor is how long a commit that went through proves that the next one will.
	readyFor = 3 * time.Second
	// readyRetry spaces the attempts while commits fail.
	readyRetry = 500 * time.Millisecond
	// readyWait bounds an attempt, below what orchestrators usually wait for an answer.
	readyWait = 900 * time.Millisecond
	// readyLag is how far the pushed changes may stay behind the commits.
	readyLag = 5 * time.Second
)

// readiness finds out whether the service can do its work: a commit succeeded
// lately and changes are pushed. It tries only when asked, and then not more often
// than needed, however many ask.
type readiness struct {
	running *running

	mu    sync.Mutex // also makes callers wait for an attempt that is under way
	tried time.Time  // guarded by mu; of the last attempt
	err   error      // guarded by mu; its result
	// goal is the revision that the feed was seen to be behind of, at goalAt.
	goal   kvstore.Revision // guarded by mu
	goalAt time.Time        // guarded by mu
}

// check returns why requests cannot be answered, or nil.
func (r *readiness) check(ctx context.Context) error {
	if err := r.running.obstacle(); err != nil {
		return err
	}
	i := r.running.instance.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := readyFor
	if r.err != nil {
		keep = readyRetry
	}
	if time.Since(r.tried) > keep {
		// One caller that goes away must not make the others believe that it failed.
		r.err = try(context.WithoutCancel(ctx), i)
		r.tried = time.Now()
	}
	return errors.Join(r.err, r.lagLocked(i))
}

// try commits something.
func try(ctx context.Context, i *process) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	if err := i.Store.Probe(ctx); err != nil {
		return fmt.Errorf("no commit goes through: %w", err)
	}
	return nil
}

// lagLocked looks whether the feed reaches what was committed some time ago. That
// it is a little behind is normal under load.
func (r *readiness) lagLocked(i *process) error {
	pushed := i.Feed.Stats().Revision
	if pushed >= r.goal {
		r.goal, r.goalAt = i.Store.Status().Revision, time.Now()
		return nil
	}
	if since := time.Since(r.goalAt); since > readyLag {
		return fmt.Errorf("changes are pushed up to revision %d only, though %d was committed %v ago", pushed, r.goal, since.Round(time.Second))
	}
	return nil
}
