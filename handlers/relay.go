package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/zlink/zlink-nats/kvstore"
)

// relayed is a write that another instance was asked to carry out. While it waits for the answer it costs no goroutine: where two
// instances share the load, that is half of all requests.
type relayed struct {
	e      *endpoint
	r      *request
	place  ticket // behind the gate, until the request is answered
	writer string
	id     string           // of the request, for both instances
	since  kvstore.Revision // of the store when it was asked
	timer  *time.Timer      // ends the patience with the other instance
	// late takes the answer of the other instance once the request is being carried out here; nil before.
	late chan *nats.Msg
}

// relays are the requests that wait for the answer of another instance, by their ids.
type relays struct {
	inbox string // what the subjects of the answers begin with
	sub   *nats.Subscription

	mu      sync.Mutex
	waiting map[string]*relayed // guarded by mu
	closed  bool                // guarded by mu; the base context has ended
}

func (s *Service) subscribeRelays() (err error) {
	s.relays.inbox, s.relays.waiting = s.conn.NewInbox()+".", make(map[string]*relayed)
	if s.relays.sub, err = s.conn.Subscribe(s.relays.inbox+"*", s.relayAnswered); err != nil {
		return err
	}
	return s.relays.sub.SetPendingLimits(-1, -1) // the gate bounds how many there are
}

// relay has another instance carry out a write, and does it here when that one does not answer in time. It takes over the
// request's place behind the gate.
func (s *Service) relay(e *endpoint, r *request, place ticket, writer string) {
	w := &relayed{e: e, r: r, place: place, writer: writer, id: nuid.Next()}
	if v, err := s.store.View(s.base, kvstore.ReadOptions{}); err == nil {
		w.since = v.Revision()
	}
	if !s.expect(w) {
		go s.carryOut(w, nil)
		return
	}
	m := s.forwarded(writer, e.op, r, w.id)
	m.Reply = s.relays.inbox + w.id
	if err := s.conn.PublishMsg(m); err != nil && s.relays.take(w.id) != nil {
		go s.carryOut(w, notTaken(writer, err))
	}
}

// expect makes the request one of those that wait. It returns false when nothing is waited for any more.
func (s *Service) expect(w *relayed) bool {
	patience := s.forwardTimeout
	if w.e.long {
		patience = maxWait
	}
	s.relays.mu.Lock()
	defer s.relays.mu.Unlock()
	if s.relays.closed {
		return false
	}
	w.timer = time.AfterFunc(min(patience, w.r.left()), func() {
		if s.relays.expire(w) {
			s.carryOut(w, fmt.Errorf("%w: no reply from instance %q", kvstore.ErrDeadline, w.writer))
		}
	})
	s.relays.waiting[w.id] = w
	return true
}

// relayAnswered takes the answer of another instance.
func (s *Service) relayAnswered(m *nats.Msg) {
	w := s.relays.answered(m)
	switch {
	case w == nil:
	case noResponders(m):
		go s.carryOut(w, notTaken(w.writer, nats.ErrNoResponders))
	default:
		s.conclude(w, result{relayed: m}, nil)
	}
}

// noResponders tells whether the server says that nobody was there to take a request.
func noResponders(m *nats.Msg) bool { return len(m.Data) == 0 && first(m.Header, "Status") == "503" }

// carryOut carries the request out here, under the same id. When it turns out that it was done elsewhere, the answer from there is
// waited for all the same: nobody else knows the result.
func (s *Service) carryOut(w *relayed, refused error) {
	ctx, cancel := context.WithTimeout(w.r.within(s.base), w.r.left())
	defer cancel()
	res, err := s.runHere(ctx, w)
	if errors.Is(err, kvstore.ErrCarriedOut) && w.late != nil {
		select {
		case m := <-w.late:
			if !noResponders(m) {
				res, err = result{relayed: m}, nil
			}
		case <-ctx.Done():
		}
	}
	if errors.Is(refused, kvstore.ErrDeadline) {
		err = inDoubt(err)
	}
	s.relays.take(w.id)
	s.conclude(w, res, err)
}

func (s *Service) runHere(ctx context.Context, w *relayed) (res result, err error) {
	defer recovered(&err)
	return w.e.local(ctx, s, w.r, kvstore.UpdateOptions{Request: w.id, Since: w.since})
}

func (s *Service) conclude(w *relayed, res result, err error) {
	defer s.gate.leave(w.place)
	s.finish(w.e, w.r, res, err)
}

// take removes a request from those that wait; nil when it is not among them.
func (l *relays) take(id string) *relayed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takeLocked(id)
}

func (l *relays) takeLocked(id string) *relayed {
	w := l.waiting[id]
	if w != nil {
		delete(l.waiting, id)
		w.timer.Stop()
	}
	return w
}

// answered removes the request that was answered; nil when it is not waited for, or is being carried out here.
func (l *relays) answered(m *nats.Msg) *relayed {
	id := m.Subject[len(l.inbox):]
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[id]
	if w == nil || w.late == nil {
		return l.takeLocked(id)
	}
	select {
	case w.late <- m:
	default: // a second answer
	}
	return nil
}

// expire tells whether the request is to be carried out here from now on.
func (l *relays) expire(w *relayed) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[w.id] != w || w.late != nil {
		return false
	}
	w.late = make(chan *nats.Msg, 1)
	return true
}

// close ends all patience.
func (l *relays) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, w := range l.waiting {
		w.timer.Reset(0)
	}
}
