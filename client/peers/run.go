package peers

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// eventPause is the shortest pause between two looks at the directory, so that one listing shows what many events say.
	eventPause = 50 * time.Millisecond
	// safetyPolls is how many polling intervals pass between two looks while change events are received: an event that got lost
	// is made up for in 30 s by default, and the directory has a thirtieth of the work.
	safetyPolls = 30
)

// Run keeps the host connected until the context ends; then it closes the connections, and returns the context's error when all
// are gone. It is called once.
func (s *Set) Run(ctx context.Context) error {
	r := runner{
		Set: s, state: newState(s.rules, &s.o),
		events: make(chan func()), ends: make(map[identity]context.CancelFunc),
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-timer.C:
		case <-s.wake:
		case event := <-r.events:
			event()
			r.drain()
		case <-ctx.Done():
			continue
		}
		r.act(ctx)
		r.begin(ctx)
		timer.Reset(r.wait())
	}
	r.settle()
	return ctx.Err()
}

// runner carries out what the state decides. One goroutine has it; the others hand it what is to be done there.
type runner struct {
	*Set
	state  *state
	events chan func()
	ends   map[identity]context.CancelFunc // by the state's links
	wg     sync.WaitGroup

	passing      bool      // a pass is on its way
	republishing bool      // the own row is being written
	passedAt     time.Time // end of the last pass; zero before the first
	known        *stamps   // of the last complete listing; nil when the next pass has to list
}

// drain takes the events that are there, so that the state is asked once for all of them.
func (r *runner) drain() {
	for {
		select {
		case event := <-r.events:
			event()
		default:
			return
		}
	}
}

// settle waits until everything has ended that was begun. The context of all of it has ended.
func (r *runner) settle() {
	ended := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(ended)
	}()
	for {
		select {
		case <-r.events: // makes no difference any more
		case <-ended:
			return
		}
	}
}

// act does what the state has decided.
func (r *runner) act(ctx context.Context) {
	todo := r.state.plan(time.Now())
	r.mu.Lock()
	r.status.Wanted, r.status.Connected = len(r.state.wanted), r.state.connections()
	r.mu.Unlock()
	if r.o.OnChange != nil && len(todo.added)+len(todo.ceased) > 0 {
		r.o.OnChange(DesiredSetChanged{
			AutoConnectType: r.o.Own.AutoConnectType, MeshName: r.o.Own.MeshName,
			ConnectedEndpoints: todo.added, DisconnectedEndpoints: todo.ceased,
		})
	}
	for _, t := range todo.close {
		r.ends[t.Key.identity()]()
	}
	for _, t := range todo.dial {
		linked, end := context.WithCancel(ctx)
		r.ends[t.Key.identity()] = end
		r.wg.Go(func() { r.connect(linked, t) })
	}
}

// connect makes a connection and stays with it until nothing is left of it.
func (r *runner) connect(ctx context.Context, t Target) {
	id := t.Key.identity()
	c, err := r.o.Dial(ctx, t)
	if err != nil {
		r.o.Logger.Debug("dial", "op", "peers", "key", t.Endpoint, "err", err)
	} else {
		r.events <- func() { r.state.stands(id) }
		select {
		case <-c.Done():
		case <-ctx.Done():
		}
		if err := c.Close(); err != nil {
			r.o.Logger.Warn("close connection", "op", "peers", "key", t.Endpoint, "err", err)
		}
	}
	r.events <- func() {
		r.ends[id]()
		delete(r.ends, id)
		r.state.gone(time.Now(), id)
	}
}

// wait is how long nothing is to be done, unless something happens.
func (r *runner) wait() time.Duration {
	now := time.Now()
	at, ok := r.due()
	if next, other := r.state.next(now); other && (!ok || next.Before(at)) {
		at, ok = next, true
	}
	if !ok {
		return forever
	}
	return at.Sub(now)
}

// forever is longer than any pass takes.
const forever = 24 * time.Hour

// due is when the next pass begins; false while one is on its way.
func (r *runner) due() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch interval := r.o.PollingInterval; {
	case r.passing:
		return time.Time{}, false
	case r.passedAt.IsZero():
		return time.Now(), true
	case r.news.any():
		return r.passedAt.Add(min(eventPause, interval)), true
	case !r.status.WatchEnabled || r.known == nil || r.state.lost():
		return r.passedAt.Add(interval), true
	default:
		return r.passedAt.Add(safetyPolls * interval), true
	}
}

// begin begins a pass when one is due.
func (r *runner) begin(ctx context.Context) {
	at, ok := r.due()
	if !ok || time.Now().Before(at) {
		return
	}
	r.passing = true
	r.mu.Lock()
	leader, known := r.news.any(), r.known
	r.news.latest, r.news.unknown = 0, false
	r.mu.Unlock()
	if leader || r.state.lost() {
		known = nil
	}
	r.wg.Go(func() {
		p := r.look(ctx, known, leader)
		r.events <- func() { r.passed(ctx, p) }
	})
}

// passed takes the outcome of a pass.
func (r *runner) passed(ctx context.Context, p pass) {
	now := time.Now()
	r.passing, r.passedAt = false, now
	r.note(p)
	switch {
	case p.skipped:
	case p.err != nil:
		if !r.state.failing {
			r.o.Logger.Warn("list peers", "op", "peers", "err", p.err)
		}
		r.known = nil
		r.state.fail(now)
	default:
		r.known = p.stamps
		if !r.state.succeed(now, p.listing.items) && r.o.Republish != nil {
			r.known = nil
			r.republish(ctx)
		}
	}
}

// note keeps what a pass tells for the status.
func (r *runner) note(p pass) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.StoreHealthy, r.status.LastError = p.err == nil, ""
	switch {
	case p.err != nil:
		r.status.LastError = p.err.Error()
	case !p.skipped:
		r.status.LastRefreshAt = p.listing.storeNow
		r.news.listed(p.listing.revision)
	}
}

// republish writes the own row, unless that is being done already.
func (r *runner) republish(ctx context.Context) {
	if r.republishing {
		return
	}
	r.republishing = true
	r.wg.Go(func() {
		limited, cancel := context.WithTimeout(ctx, r.o.RequestTimeout)
		defer cancel()
		err := r.o.Republish(limited)
		r.events <- func() {
			r.republishing = false
			if err != nil && !errors.Is(err, context.Canceled) {
				r.o.Logger.Warn("publish the own row", "op", "peers", "err", err)
				r.mu.Lock()
				r.status.LastError = err.Error()
				r.mu.Unlock()
			}
		}
	})
}
