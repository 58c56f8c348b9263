package handlers_test

import (
	"context"
	"sync"

	"github.com/zlink/zlink-nats/kvstore"
)

// stub is a store whose methods a test replaces one by one; the others are those of the store within.
type stub struct {
	kvstore.Store
	view   func(context.Context, kvstore.ReadOptions) (kvstore.View, error)
	update func(context.Context, kvstore.UpdateOptions, func(*kvstore.Tx) error) (kvstore.Revision, error)
	status func() kvstore.Status
	watch  func(kvstore.Revision) (*kvstore.Watcher, error)
	writer string

	mu      sync.Mutex
	updates []kvstore.UpdateOptions // guarded by mu; of every call
	views   []kvstore.ReadOptions   // guarded by mu; of every call
}

func (s *stub) View(ctx context.Context, o kvstore.ReadOptions) (kvstore.View, error) {
	s.mu.Lock()
	s.views = append(s.views, o)
	s.mu.Unlock()
	if s.view != nil {
		return s.view(ctx, o)
	}
	return s.Store.View(ctx, o)
}

func (s *stub) Update(ctx context.Context, o kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
	s.mu.Lock()
	s.updates = append(s.updates, o)
	s.mu.Unlock()
	if s.update != nil {
		return s.update(ctx, o, fn)
	}
	return s.Store.Update(ctx, o, fn)
}

func (s *stub) Status() kvstore.Status {
	if s.status != nil {
		return s.status()
	}
	return s.Store.Status()
}

func (s *stub) Watch(after kvstore.Revision) (*kvstore.Watcher, error) {
	if s.watch != nil {
		return s.watch(after)
	}
	return s.Store.Watch(after)
}

func (s *stub) Writer() string { return s.writer }

func (s *stub) updatesSeen() []kvstore.UpdateOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

func (s *stub) viewsSeen() []kvstore.ReadOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views
}
