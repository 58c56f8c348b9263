package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/wire"
)

// Status is how a runtime is.
type Status struct {
	State              State
	StoreHealthy       bool         // the latest request of any kind was answered
	LastError          string       // of the latest failure since the lease was last claimed or renewed; empty is none
	OwnerLeaseHealthy  bool         // the lease may be relied on now
	OwnerLeaseRenewed  wire.Instant // store time of the last claim or renewal; 0 is never
	Ready              bool         // the lease may be relied on, and everything that is to be published is
	CleanupComplete    bool         // nothing is left of the runtime in the directory
	Published, Pending int          // descriptors: all, and those whose present content is not known to be stored
	WatchEnabled       bool         // change events of peers are being received
	PollingIntervalMs  int64        // how often peers are looked for without them; 0 is not at all
	LastRefreshAt      wire.Instant // store time of the last complete listing of peers; 0 is never
}

// Status says how the runtime is.
func (r *Runtime) Status() Status {
	p := r.o.Peers()
	s := Status{
		OwnerLeaseHealthy: r.Usable(), WatchEnabled: p.WatchEnabled, PollingIntervalMs: p.PollingInterval.Milliseconds(),
		LastRefreshAt: p.LastRefreshAt,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.State, s.StoreHealthy, s.LastError = r.stateLocked(), r.healthy, r.lastError
	s.OwnerLeaseRenewed, s.CleanupComplete = r.renewedAt, !r.dirty
	for _, p := range r.published {
		if p.wish == nil {
			continue
		}
		s.Published++
		if !p.current(r.token.LeaseGeneration) {
			s.Pending++
		}
	}
	s.Ready = s.OwnerLeaseHealthy && s.Pending == 0
	return s
}

// AwaitReady returns when the lease may be relied on and every descriptor that is to be published is; it does not wait for one to
// be given. It returns the end of ctx, and [ErrStopped] when the runtime is stopped.
func (r *Runtime) AwaitReady(ctx context.Context) error {
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		switch s := r.Status(); {
		case s.Ready:
			return nil
		case s.State == StateStopped || s.State == StateStopping:
			return fmt.Errorf("await ready: %w", ErrStopped)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await ready: %w", errors.Join(context.Cause(ctx), r.lastFailure()))
		}
	}
}

func (r *Runtime) lastFailure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastError == "" {
		return nil
	}
	return errors.New(r.lastError)
}
