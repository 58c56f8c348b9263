package kvstore

import (
	"context"
	"maps"
	"sort"
	"sync"
)

// Log keeps the latest commits for watchers. An engine appends to it; its zero
// value is not usable, see NewLog.
type Log struct {
	keep int

	mu       sync.Mutex
	commits  []*Commit         // guarded by mu; ascending
	dropped  uint64            // guarded by mu; commits[0] has this number
	floor    Revision          // guarded by mu; commits after floor are all here
	last     Revision          // guarded by mu
	released Revision          // guarded by mu
	hold     bool              // guarded by mu; keep what is not released
	changed  chan struct{}     // guarded by mu; closed at the next append
	expired  map[string]uint64 // guarded by mu; see Expired
}

// NewLog returns a log that begins after a revision and remembers at least the
// last keep commits. With hold it keeps all that were not released as well.
func NewLog(after Revision, keep int, hold bool) *Log {
	return &Log{
		keep: keep, floor: after, last: after, released: after, hold: hold,
		changed: make(chan struct{}), expired: make(map[string]uint64),
	}
}

// Append adds commits in order.
func (l *Log) Append(commits ...*Commit) {
	if len(commits) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, commits...)
	l.countLocked(commits)
	l.last = commits[len(commits)-1].Revision
	l.trimLocked()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Log) countLocked(commits []*Commit) {
	for _, c := range commits {
		for i := range c.Entries {
			if e := &c.Entries[i]; e.Expired || e.Row != nil && e.Prior != nil && !e.Prior.Live(c.Time) {
				l.expired[e.Key.Split(2)[0]]++
			}
		}
	}
}

// Expired counts the rows in the appended commits whose expiry came before anybody removed
// them, by the first segment of their keys: those that were swept and those that were
// replaced before they were.
func (l *Log) Expired() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.expired)
}

// Reset forgets everything: watchers get ErrResync.
func (l *Log) Reset(after Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped += uint64(len(l.commits)) + 1
	l.commits, l.floor, l.last = nil, after, after
	l.released = min(l.released, after)
	close(l.changed)
	l.changed = make(chan struct{})
}

// Release lets go of commits up to a revision.
func (l *Log) Release(upTo Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = max(l.released, upTo)
	l.trimLocked()
}

// Released is the greatest revision that was let go of, or the one that the log begins
// after.
func (l *Log) Released() Revision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// trimLocked drops what nobody needs. Moving the rest costs its length, so it
// waits until there is as much to drop.
func (l *Log) trimLocked() {
	n := len(l.commits) - l.keep
	if n < l.keep {
		return
	}
	if l.hold {
		n = min(n, sort.Search(len(l.commits), func(i int) bool { return l.commits[i].Revision > l.released }))
	}
	if n < l.keep {
		return
	}
	l.floor = l.commits[n-1].Revision
	l.commits = append([]*Commit(nil), l.commits[n:]...)
	l.dropped += uint64(n)
}

// Watch follows the commits after a revision, or returns ErrResync.
func (l *Log) Watch(after Revision) (*Watcher, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < l.floor {
		return nil, ErrResync
	}
	n := len(l.commits)
	for n > 0 && l.commits[n-1].Revision > after {
		n--
	}
	return &Watcher{log: l, after: after, next: l.dropped + uint64(n)}, nil
}

// Watcher reads commits in order. It is for one goroutine; it holds no resources
// and need not be closed.
type Watcher struct {
	log   *Log
	after Revision
	next  uint64
}

// Next waits for commits and returns all there are, at least one. It returns
// ErrResync when the watcher was too slow or history broke, else the context's
// error.
func (w *Watcher) Next(ctx context.Context) ([]*Commit, error) {
	for {
		commits, changed, err := w.poll()
		if len(commits) > 0 || err != nil {
			return commits, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Ready returns the commits that are there, without waiting.
func (w *Watcher) Ready() []*Commit {
	commits, _, _ := w.poll()
	return commits
}

func (w *Watcher) poll() ([]*Commit, <-chan struct{}, error) {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.next < l.dropped {
		return nil, nil, ErrResync
	}
	commits := l.commits[w.next-l.dropped:]
	w.next += uint64(len(commits))
	for len(commits) > 0 && commits[0].Revision <= w.after {
		commits = commits[1:]
	}
	return commits[:len(commits):len(commits)], l.changed, nil
}

// Changed returns a channel that is closed at the next append.
func (l *Log) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}
