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

const (
	// maxAwaiting bounds the requests that wait for an object. Each costs about a kilobyte and nothing else while nothing happens.
	maxAwaiting = 65536
	// maxAwait bounds how long one can wait, so that those whose clients are gone do not add up.
	maxAwait = time.Hour
	// resyncPause keeps a history that breaks again and again from taking up a processor.
	resyncPause = 10 * time.Millisecond
)

// await answers at once when the condition holds, and else parks the request.
func await(ctx context.Context, s *Service, r *request) (result, error) {
	req, err := decode(r, domain.ValidateObjectAwait)
	if err != nil {
		return result{}, err
	}
	if _, err := s.store.View(ctx, r.readOptions()); err != nil { // what is looked at will not be older
		return result{}, err
	}
	return s.awaiting.park(s, &waiter{request: r, req: req})
}

// waiter is a request that waits, or is about to.
type waiter struct {
	*request
	req   *wire.ObjectAwaitRequest
	after kvstore.Revision // of the view that was looked at last
	timer *time.Timer      // ends the wait at the deadline
}

func (w *waiter) key() kvstore.Key { return domain.AuthorityKey(w.req.Key) }

// look returns the answer if the condition holds in a view, else a nil body.
func (w *waiter) look(v kvstore.View) (res result, err error) {
	defer recovered(&err)
	w.after = v.Revision()
	reply, err := domain.AwaitAuthority(v, w.req)
	if reply != nil {
		res = result{body: reply, revision: v.Revision()}
	}
	return res, err
}

// awaiting holds the requests that wait for an object. They have no goroutine of their own: one follows the store's commits while
// there are any, and answers those whose objects a commit has changed.
type awaiting struct {
	endpoint *endpoint
	wg       sync.WaitGroup // of the follower, and of answers under way

	mu        sync.Mutex
	waiters   map[kvstore.Key]map[*waiter]bool // guarded by mu
	count     int                              // guarded by mu
	following bool                             // guarded by mu
	closed    bool                             // guarded by mu
}

// park answers a request whose condition holds, and lets any other wait: whoever takes it out again answers it. Nothing gets lost
// in between: to have passed a commit that the view does not show, the follower would have needed the lock.
func (a *awaiting) park(s *Service, w *waiter) (result, error) {
	w.data, w.header = nil, nil // not needed any more
	a.mu.Lock()
	defer a.mu.Unlock()
	v, err := s.store.View(s.base, kvstore.ReadOptions{})
	if err != nil {
		return result{}, err
	}
	if res, err := w.look(v); err != nil || res.body != nil {
		return res, err
	}
	return result{parked: true}, a.addLocked(s, w)
}

func (a *awaiting) addLocked(s *Service, w *waiter) error {
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
	w.timer = time.AfterFunc(time.Until(w.start.Add(w.patience(maxAwait))), func() {
		a.finish(s, w, result{}, fmt.Errorf("%w: the object has not come to what was waited for", kvstore.ErrDeadline))
	})
	if !a.following {
		a.following = true
		after := w.after
		a.wg.Go(func() { a.follow(s, after) })
	}
	return nil
}

// take takes a waiter out; false when somebody else did. Who took it calls wg.Done when it is answered.
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
	a.wg.Add(1)
	return true
}

func (a *awaiting) finish(s *Service, w *waiter, res result, err error) {
	if a.take(w) {
		defer a.wg.Done()
		s.finish(a.endpoint, w.request, res, err)
	}
}

// check answers waiters whose condition holds in a view.
func (a *awaiting) check(s *Service, waiters []*waiter, v kvstore.View) {
	for _, w := range waiters {
		if res, err := w.look(v); err != nil || res.body != nil {
			a.finish(s, w, res, err)
		}
	}
}

// follow looks at every commit after a revision while somebody waits.
func (a *awaiting) follow(s *Service, after kvstore.Revision) {
	for err := a.read(s, after); err != nil && !a.rest(); err = a.read(s, after) {
		if errors.Is(err, kvstore.ErrResync) {
			after, err = a.lookAgain(s)
		}
		if err != nil {
			a.giveUp(s, err)
		}
	}
}

// read follows the commits after a revision until nobody waits, and then rests. Errors: kvstore.ErrResync, and that of a context
// that ended.
func (a *awaiting) read(s *Service, after kvstore.Revision) error {
	watcher, err := s.store.Watch(after)
	for err == nil && !a.rest() {
		var commits []*kvstore.Commit
		commits, err = watcher.Next(s.base)
		for _, c := range commits {
			if waiters := a.touched(c); len(waiters) > 0 {
				a.check(s, waiters, c.After.View(s.store.Clock().Now()))
			}
		}
	}
	return err
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

// touched returns those who wait for an object of a commit, but for those who have looked at a later view.
func (a *awaiting) touched(c *kvstore.Commit) (all []*waiter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	add := func(k kvstore.Key) {
		for w := range a.waiters[k] {
			if w.after < c.Revision {
				all = append(all, w)
			}
		}
	}
	for _, e := range c.Entries {
		add(e.Key)
		for _, r := range e.Overlaid {
			add(r.Key)
		}
	}
	return all
}

// lookAgain starts over from a view when history is broken, and returns its revision.
func (a *awaiting) lookAgain(s *Service) (kvstore.Revision, error) {
	select {
	case <-time.After(resyncPause):
	case <-s.base.Done():
		return 0, s.base.Err()
	}
	a.mu.Lock()
	v, err := s.store.View(s.base, kvstore.ReadOptions{}) // not older than what anybody has looked at
	waiters := a.allLocked()
	a.mu.Unlock()
	if err != nil {
		return 0, err
	}
	a.check(s, waiters, v)
	return v.Revision(), nil
}

func (a *awaiting) allLocked() []*waiter {
	all := make([]*waiter, 0, a.count)
	for _, waiters := range a.waiters {
		for w := range waiters {
			all = append(all, w)
		}
	}
	return all
}

func (a *awaiting) length() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// giveUp refuses all who wait.
func (a *awaiting) giveUp(s *Service, err error) {
	a.mu.Lock()
	waiters := a.allLocked()
	a.mu.Unlock()
	for _, w := range waiters {
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
		op: subjects.ObjectAwait, schema: schemaOf[wire.ObjectAwaitRequest](), inline: true, parks: true, serve: await,
	}
}
