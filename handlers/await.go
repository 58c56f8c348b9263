package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// maxAwaiting bounds the requests that wait for an object. Each costs about a kilobyte and nothing else while nothing happens.
const maxAwaiting = 65536

// await answers at once when the condition holds, and else parks the request.
func await(ctx context.Context, s *Service, r *request) (result, error) {
	req, err := decode(r, domain.ValidateObjectAwait)
	if err != nil {
		return result{}, err
	}
	v, err := s.store.View(ctx, r.readOptions())
	if err != nil {
		return result{}, err
	}
	reply, err := domain.AwaitAuthority(v, req)
	if err != nil || reply != nil {
		return result{body: reply, revision: v.Revision()}, err
	}
	return s.awaiting.park(ctx, s, &waiter{request: r, req: req})
}

// waiter is a parked request.
type waiter struct {
	*request
	req   *wire.ObjectAwaitRequest
	timer *time.Timer // ends the wait at the deadline
}

func (w *waiter) key() kvstore.Key { return domain.AuthorityKey(w.req.Key) }

// awaiting holds the requests that wait for an object. They have no goroutine of their own: one follows the store's commits while
// there are any, and answers those whose objects a commit has changed.
type awaiting struct {
	endpoint *endpoint
	wg       sync.WaitGroup

	mu        sync.Mutex
	waiters   map[kvstore.Key]map[*waiter]bool // guarded by mu
	count     int                              // guarded by mu
	following bool                             // guarded by mu
	closed    bool                             // guarded by mu
}

// park lets a request wait. Whoever takes it out again answers it.
func (a *awaiting) park(ctx context.Context, s *Service, w *waiter) (result, error) {
	w.data, w.header = nil, nil // not needed any more
	if err := a.add(s, w); err != nil {
		return result{}, err
	}
	// The condition may have come to hold before the waiter was there to be seen.
	v, err := s.store.View(ctx, kvstore.ReadOptions{})
	if err == nil {
		a.check(s, w, v)
	}
	return result{parked: true}, nil
}

func (a *awaiting) add(s *Service, w *waiter) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errStopping
	case a.count >= maxAwaiting:
		return fmt.Errorf("%w: %d requests wait for objects", kvstore.ErrOverloaded, a.count)
	}
	if a.waiters == nil {
		a.waiters = make(map[kvstore.Key]map[*waiter]bool)
	}
	k := w.key()
	if a.waiters[k] == nil {
		a.waiters[k] = make(map[*waiter]bool)
	}
	a.waiters[k][w] = true
	a.count++
	w.timer = time.AfterFunc(time.Until(w.start.Add(w.patience())), func() {
		a.finish(s, w, result{}, fmt.Errorf("%w: the object has not come to what was waited for", kvstore.ErrDeadline))
	})
	if !a.following {
		a.following = true
		a.wg.Go(func() { a.follow(s) })
	}
	return nil
}

// take takes a waiter out; false when somebody else did.
func (a *awaiting) take(w *waiter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := w.key()
	if !a.waiters[k][w] {
		return false
	}
	delete(a.waiters[k], w)
	if len(a.waiters[k]) == 0 {
		delete(a.waiters, k)
	}
	a.count--
	w.timer.Stop()
	return true
}

func (a *awaiting) finish(s *Service, w *waiter, res result, err error) {
	if a.take(w) {
		s.finish(a.endpoint, w.request, res, err)
	}
}

// check answers a waiter if its condition holds in a view.
func (a *awaiting) check(s *Service, w *waiter, v kvstore.View) {
	reply, err := domain.AwaitAuthority(v, w.req)
	if err != nil || reply != nil {
		a.finish(s, w, result{body: reply, revision: v.Revision()}, err)
	}
}

// of returns those who wait for the object of a key.
func (a *awaiting) of(k kvstore.Key) []*waiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*waiter
	for w := range a.waiters[k] {
		all = append(all, w)
	}
	return all
}

func (a *awaiting) all() []*waiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*waiter, 0, a.count)
	for _, waiters := range a.waiters {
		for w := range waiters {
			all = append(all, w)
		}
	}
	return all
}

// rest tells the follower to end when nobody waits.
func (a *awaiting) rest() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count > 0 {
		return false
	}
	a.following = false
	return true
}

// follow looks at every commit while somebody waits.
func (a *awaiting) follow(s *Service) {
	for !a.rest() {
		v, err := s.store.View(s.base, kvstore.ReadOptions{})
		if err != nil {
			a.giveUp(s, err)
			continue
		}
		commits, err := s.store.Watch(v.Revision())
		if err != nil {
			continue // history moved on between the two
		}
		for _, w := range a.all() {
			a.check(s, w, v)
		}
		if err := a.read(s, commits); !errors.Is(err, kvstore.ErrResync) {
			a.giveUp(s, err)
		}
	}
}

// read follows commits until nobody waits; then it returns kvstore.ErrResync, as when history breaks.
func (a *awaiting) read(s *Service, watcher *kvstore.Watcher) error {
	for a.length() > 0 {
		commits, err := watcher.Next(s.base)
		if err != nil {
			return err
		}
		for _, c := range commits {
			a.seen(s, c)
		}
	}
	return kvstore.ErrResync
}

func (a *awaiting) seen(s *Service, c *kvstore.Commit) {
	var v kvstore.View
	for _, e := range c.Entries {
		for i, w := range a.of(e.Key) {
			if i == 0 {
				v = c.After.View(s.store.Clock().Now())
			}
			a.check(s, w, v)
		}
	}
}

func (a *awaiting) length() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// giveUp refuses all who wait.
func (a *awaiting) giveUp(s *Service, err error) {
	for _, w := range a.all() {
		a.finish(s, w, result{}, err)
	}
}

// close lets nobody wait any more and refuses those who do: another instance can go on.
func (a *awaiting) close(s *Service) {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.giveUp(s, errStopping)
}

// awaitEndpoint is object.await.
func awaitEndpoint() *endpoint {
	return &endpoint{
		op: subjects.ObjectAwait, schema: schemaOf[wire.ObjectAwaitRequest](), inline: true, serve: await,
	}
}
