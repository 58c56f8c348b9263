package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// ErrStopped is what ends a Start that meets a Stop.
var ErrStopped = errors.New("the runtime was stopped")

// Runtime keeps the place of one host in the directory. Create it with [New]. It may be used from any number of goroutines.
type Runtime struct {
	o      Options
	meters *meters
	events events
	held   atomic.Pointer[hold] // nil while there is no lease, or none that may be used any more
	ending chan struct{}        // holds an item while a Stop is at work
	lines  lines                // that writers of rows stand in

	mu      sync.Mutex // guards what follows
	life    *life      // nil: stopped
	ends    bool       // a Stop ends the life, or cleans up after an earlier one
	state   State      // as it was logged last
	changed chan struct{}
	// token is the lease that is held, whether it may be relied on or not; last is the one before it. Zero is none.
	token, last wire.OwnerToken
	lifecycle   wire.Generation // of the first claim of the process; 0 before it
	claimID     string          // of a claim without an answer; empty is none
	renewedAt   wire.Instant
	healthy     bool
	lastError   string
	logged      string // failure of the latest heartbeat
	dirty       bool   // there may be something left to clean up
	reclaim     *reclaim
	published   map[Key]*publication
	rows        map[Kind]map[Key]*tracked
}

// life is what runs from a Start to the Stop that ends it.
type life struct {
	ctx      context.Context // ended by Stop
	cancel   context.CancelFunc
	wg       sync.WaitGroup // of what Stop waits for; added to while mu is held and ctx has not ended
	starting bool           // guarded by Runtime.mu
	left     bool           // dirty before it began
	publish  chan struct{}  // wakes the publisher
	reclaim  chan struct{}  // wakes what brings back what belongs to a lease
}

// State says where a runtime stands.
type State string

// The values of [State].
const (
	StateStopped  State = "stopped"
	StateStarting State = "starting"
	StateLeased   State = "leased"   // it has a lease; [Runtime.Usable] tells whether that is still good
	StateDegraded State = "degraded" // it has none, and asks for one with every heartbeat
	StateStopping State = "stopping"
	StateError    State = "error" // a descriptor cannot be published any more, as its revisions are used up
)

// New returns a runtime that is stopped. Errors wrap [ErrTimes], or say what is missing.
func New(o Options) (*Runtime, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("new node runtime: %w", err)
	}
	m, err := newMeters(o.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("new node runtime: %w", err)
	}
	return &Runtime{
		o: o, meters: m, events: events{handle: o.OnEvent}, ending: make(chan struct{}, 1), lines: newLines(),
		state: StateStopped, changed: make(chan struct{}), healthy: true,
		published: make(map[Key]*publication), rows: make(map[Kind]map[Key]*tracked),
	}, nil
}

// OwnerID is the owner whose lease is held.
func (r *Runtime) OwnerID() string { return r.o.OwnerID }

// Lifecycle is the generation of this life of the host, the same for as long as the process runs; 0 before the first claim.
func (r *Runtime) Lifecycle() wire.Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lifecycle
}

// Start claims the lease and begins to keep it. When the service does not answer, it succeeds all the same, and claims with every
// heartbeat; see [Runtime.AwaitReady]. It does nothing when the runtime is started. Errors, after which it is stopped: a
// [*ClaimError], the end of ctx (a token that comes later is released), and [ErrStopped].
func (r *Runtime) Start(ctx context.Context) error {
	l, err := r.begin()
	if l == nil {
		return err
	}
	defer l.wg.Done()
	ended := make(chan struct{})
	defer close(ended)
	claimID := r.pendingClaim()
	h, err := r.claim(ctx, claimID, func(token wire.OwnerToken) {
		<-ended
		r.lateClaim(claimID, token)
	})
	return r.started(ctx, l, h, err)
}

// begin makes a life, unless there is one.
func (r *Runtime) begin() (*life, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ends:
		return nil, fmt.Errorf("start: %w", ErrStopped)
	case r.life != nil:
		return nil, nil //nolint:nilnil // it is started: there is nothing to do
	}
	l := &life{starting: true, left: r.dirty, publish: make(chan struct{}, 1), reclaim: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.wg.Add(1) // for Start itself
	r.life, r.dirty = l, true
	r.changeLocked()
	return l, nil
}

// started makes of the outcome of the first claim what the table of 15.4 says.
func (r *Runtime) started(ctx context.Context, l *life, h *hold, err error) error {
	refused, isRefused := errors.AsType[*ClaimError](err)
	r.mu.Lock()
	defer r.mu.Unlock()
	l.starting = false
	defer r.changeLocked()
	switch {
	case l.ctx.Err() != nil:
		if h != nil {
			r.last, r.claimID = h.token, ""
		}
		return fmt.Errorf("start: %w", ErrStopped)
	case isRefused:
		r.claimID, r.life, r.dirty = "", nil, l.left
		l.cancel()
		r.askedLocked(OpLeaseRenew, nil)
		r.failedLocked(OpLeaseRenew, err)
		return fmt.Errorf("start: %w", refused)
	case h == nil && ctx.Err() != nil:
		r.life, r.dirty = nil, l.left
		l.cancel()
		return fmt.Errorf("start: %w", context.Cause(ctx))
	}
	r.askedLocked(OpLeaseRenew, err)
	if h != nil {
		r.takeLocked(h)
	}
	r.runLocked(l, r.o.Clock()+r.o.RenewInterval)
	return nil
}

// runLocked starts what a life consists of.
func (r *Runtime) runLocked(l *life, firstBeat time.Duration) {
	l.wg.Go(func() { r.beat(l, firstBeat) })
	l.wg.Go(func() {
		onWake(l.ctx, l.publish, func(ctx context.Context) {
			r.publishAll(ctx)
			wake(l.reclaim) // in this order
		})
	})
	l.wg.Go(func() { onWake(l.ctx, l.reclaim, r.bringBack) })
	if len(r.pendingLocked()) > 0 {
		wake(l.publish)
	}
}

// onWake does something whenever it is woken.
func onWake(ctx context.Context, woken <-chan struct{}, do func(context.Context)) {
	for {
		select {
		case <-woken:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// wake wakes what onWake runs; once is enough for all that happens before it looks.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pendingClaim is the id of the claim that has no answer, or of a new one.
func (r *Runtime) pendingClaim() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claimID == "" {
		r.claimID = NewOwnerID()
	}
	return r.claimID
}

// lateClaim deals with a token that nobody waits for any more. While the runtime runs, a claim under the same id will find it;
// otherwise it is released, and the id given up, so that no later claim finds what is being released.
func (r *Runtime) lateClaim(claimID string, token wire.OwnerToken) {
	r.mu.Lock()
	running := r.life != nil && r.life.ctx.Err() == nil
	if token == r.token || running && r.claimID == claimID {
		r.mu.Unlock()
		return
	}
	if r.claimID == claimID {
		r.claimID = ""
	}
	r.mu.Unlock()
	r.release(token)
}

// takeLocked begins to use a lease.
func (r *Runtime) takeLocked(h *hold) {
	r.held.Store(h)
	r.token, r.claimID, r.renewedAt, r.lastError = h.token, "", h.renewedAt, ""
	if r.lifecycle == 0 {
		r.lifecycle = h.token.LeaseGeneration
	}
}

// dropLocked ends the use of the lease.
func (r *Runtime) dropLocked() {
	r.held.Store(nil)
	if r.token != (wire.OwnerToken{}) {
		r.last, r.token = r.token, wire.OwnerToken{}
	}
}

// changeLocked logs a change of state, and wakes who waits for one.
func (r *Runtime) changeLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
	if now := r.stateLocked(); now != r.state {
		r.state = now
		log := r.o.Logger.With("owner", r.o.OwnerID, "gen", uint64(r.token.LeaseGeneration))
		switch now {
		case StateDegraded, StateError:
			log.Warn("node runtime: "+string(now), "err", r.lastError)
		default:
			log.Info("node runtime: " + string(now))
		}
	}
}

func (r *Runtime) stateLocked() State {
	switch {
	case r.life == nil:
		return StateStopped
	case r.life.ctx.Err() != nil:
		return StateStopping
	case r.life.starting:
		return StateStarting
	case r.exhaustedLocked():
		return StateError
	case r.token == (wire.OwnerToken{}):
		return StateDegraded
	}
	return StateLeased
}

// asked records the outcome of a request: nil is any answer.
func (r *Runtime) asked(op Operation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.askedLocked(op, err)
}

func (r *Runtime) askedLocked(op Operation, err error) {
	if errors.Is(err, context.Canceled) {
		return // it says nothing about the store
	}
	r.healthy = err == nil
	if err != nil {
		r.failedLocked(op, err)
	}
}

// failed records something that counts as an error although the store has answered.
func (r *Runtime) failed(op Operation, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failedLocked(op, err)
}

func (r *Runtime) failedLocked(op Operation, err error) {
	r.lastError = err.Error()
	r.meters.failedRequest(op)
}
