package node

import (
	"context"
	"fmt"
	"sync"

	"github.com/zlink/zlink-nats/wire"
)

// CleanupError is why a runtime has stopped without taking everything away that is its owner's. Stop again to try again.
type CleanupError struct {
	Token wire.OwnerToken // the lease that may be live still
	Cause error
}

// Error says what went wrong.
func (e *CleanupError) Error() string {
	return fmt.Sprintf("clean up owner %q, lease %d: %v", e.Token.OwnerID, e.Token.LeaseGeneration, e.Cause)
}

// Unwrap gives the cause.
func (e *CleanupError) Unwrap() error { return e.Cause }

// Stop ends the use of the lease at once, waits for the renewal in flight, and then removes everything that is the owner's and
// releases the lease. The end of ctx ends the wait for another Stop, nothing else: Stop takes at most the time of a renewal and the
// clean-up's own. Without a clean-up that is due it does nothing. The error is a [*CleanupError]; a further Stop tries again.
func (r *Runtime) Stop(ctx context.Context) error {
	select {
	case r.ending <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("stop: %w", context.Cause(ctx))
	}
	defer func() { <-r.ending }()
	ctx = context.WithoutCancel(ctx)
	l, due := r.end()
	if !due {
		return nil
	}
	if l != nil {
		allowed, cancel := context.WithTimeout(ctx, r.o.RenewTimeout+r.o.CleanupTimeout)
		defer cancel()
		waitFor(allowed, &l.wg)
	}
	token := r.leftToken()
	err := r.cleanUp(ctx, token)
	r.ended(err)
	if err != nil {
		return &CleanupError{Token: token, Cause: err}
	}
	return nil
}

// end ends the life, if there is one, and tells whether there is anything to clean up.
func (r *Runtime) end() (l *life, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l = r.life; l != nil {
		l.cancel()
		r.dropLocked()
		r.changeLocked()
	}
	r.ends = r.dirty
	return l, r.dirty
}

func (r *Runtime) leftToken() wire.OwnerToken {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// ended records that the life is over. What was published is gone with it, but for the revisions, which go on.
func (r *Runtime) ended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life, r.ends, r.reclaim = nil, false, nil
	r.dirty = err != nil
	if err == nil {
		r.last = wire.OwnerToken{}
		clear(r.rows)
		for _, p := range r.published {
			p.forget()
		}
	}
	r.changeLocked()
}

// waitFor waits for a group, but not longer than ctx: what does not obey its context cannot be waited for.
func waitFor(ctx context.Context, wg *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// cleanUp removes what the owner has, and releases the lease. It has an allowance of its own.
func (r *Runtime) cleanUp(ctx context.Context, token wire.OwnerToken) error {
	if token == (wire.OwnerToken{}) {
		return nil // there never was a lease
	}
	_, err := within(ctx, "clean up", r.o.CleanupTimeout, func(ctx context.Context) (struct{}, error) {
		for {
			reply, err := r.o.Client.Owners.RemoveAll(ctx, wire.OwnerRemoveAllRequest{Owner: token})
			if err != nil {
				return struct{}{}, err
			}
			if reply.Removed == 0 {
				break
			}
		}
		// Stale is as good: somebody has seen to it already.
		_, err := r.o.Client.Leases.Release(ctx, wire.LeaseReleaseRequest{Token: token})
		return struct{}{}, err
	}, nil)
	r.asked(OpRelease, err)
	return err
}
