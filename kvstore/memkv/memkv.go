// Package memkv is the reference implementation of kvstore.Store: a log and its
// state in the memory of one process. It is for tests and is the model that
// other stores are compared with.
package memkv

import (
	"context"
	"errors"
	"sync"

	"github.com/zlink/zlink-nats/kvstore"
)

// keepCommits is how many commits a watcher may lag behind.
const keepCommits = 4096

// Options configure a store. The zero value is an empty store on the machine's
// clock with the default limits.
type Options struct {
	Schema *kvstore.Schema
	Clock  kvstore.Clock
	Limits kvstore.Limits
	// Start is the revision of the empty store; the first write is the next.
	Start kvstore.Revision
}

// Store keeps everything in memory. Create it with New.
type Store struct {
	clock  kvstore.Clock
	limits kvstore.Limits
	log    *kvstore.Log

	mu    sync.Mutex
	state *kvstore.State // guarded by mu; immutable once stored here
	err   error          // guarded by mu; what every call answers
}

var _ kvstore.Store = (*Store)(nil)

// New returns an empty store.
func New(o Options) *Store {
	if o.Clock == nil {
		o.Clock = kvstore.NewSystemClock()
	}
	if o.Limits.CommitRows == 0 {
		o.Limits.CommitRows = kvstore.DefaultCommitRows
	}
	state := kvstore.NewState(o.Schema)
	state.Advance(o.Start)
	return &Store{
		clock: o.Clock, limits: o.Limits, state: state,
		log: kvstore.NewLog(o.Start, keepCommits, false),
	}
}

// Fail makes every further View and Update return err, until Fail(nil).
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// View implements kvstore.Store.
func (s *Store) View(ctx context.Context, o kvstore.ReadOptions) (kvstore.View, error) {
	for {
		changed := s.log.Changed()
		state, err := s.current()
		if err != nil {
			return kvstore.View{}, err
		}
		if state.Revision() >= o.MinRevision {
			return state.View(s.clock.Now()), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return kvstore.View{}, errors.Join(kvstore.ErrDeadline, ctx.Err())
		}
	}
}

func (s *Store) current() (*kvstore.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.err
}

// Update implements kvstore.Store. Closures run one after another.
func (s *Store) Update(ctx context.Context, _ kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if err := ctx.Err(); err != nil {
		return 0, errors.Join(kvstore.ErrDeadline, err)
	}
	tx := kvstore.NewTx(s.state.View(s.clock.Now()), s.limits)
	if err := fn(tx); err != nil {
		return s.state.Revision(), err
	}
	writes, err := tx.Writes()
	if err != nil || len(writes) == 0 {
		return s.state.Revision(), err
	}
	before := s.state
	after := before.Copy()
	entries := kvstore.Apply(after, writes, false)
	s.state = after
	s.log.Append(&kvstore.Commit{
		Revision: after.Revision(), Time: tx.Now(), Entries: entries, Before: before, After: after,
	})
	return after.Revision(), nil
}

// Watch implements kvstore.Store.
func (s *Store) Watch(after kvstore.Revision) (*kvstore.Watcher, error) { return s.log.Watch(after) }

// Release implements kvstore.Store.
func (s *Store) Release(upTo kvstore.Revision) { s.log.Release(upTo) }

// Released implements kvstore.Store.
func (s *Store) Released() kvstore.Revision { return s.log.Released() }

// Clock implements kvstore.Store.
func (s *Store) Clock() kvstore.Clock { return s.clock }

// Limits implements kvstore.Store.
func (s *Store) Limits() kvstore.Limits { return s.limits }

// Writer implements kvstore.Store: there is no other instance.
func (s *Store) Writer() string { return "" }

// Status implements kvstore.Store.
func (s *Store) Status() kvstore.Status {
	state, err := s.current()
	st := kvstore.Status{
		Revision: state.Revision(),
		Server:   kvstore.Server{Name: "memory", Replicas: 1},
	}
	if err != nil {
		st.LastError = err.Error()
		return st
	}
	st.Healthy, st.HealthyAt = true, s.clock.Now()
	return st
}
