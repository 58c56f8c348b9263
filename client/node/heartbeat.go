package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// errDeadline is what a heartbeat records that begins too late.
var errDeadline = errors.New("the deadline of the owner lease has passed")

// beat renews the lease at its times until the life ends.
func (r *Runtime) beat(l *life, next time.Duration) {
	for wait(l.ctx, r.o.Clock, next) == nil {
		if claimed := r.heartbeat(l, next); claimed {
			next = r.o.Clock()
		}
		next += r.o.RenewInterval
		wake(l.publish)
	}
}

// heartbeat renews the lease, or claims one where there is none. It tells whether it has claimed.
func (r *Runtime) heartbeat(l *life, scheduled time.Duration) (claimed bool) {
	now := r.o.Clock()
	r.meters.late(r.scopes(), max(0, now-scheduled))
	var failure error
	fail := func(err error) {
		if failure == nil { // one failed handler a heartbeat
			r.events.tell(Event{Kind: EventOwnerLeaseRenewalFailed, Err: err})
		}
		failure = err
	}
	if h := r.held.Load(); h != nil {
		if now >= h.deadline {
			err := fmt.Errorf("renew lease %d of %q: %w", h.token.LeaseGeneration, h.token.OwnerID, errDeadline)
			r.failed(OpLeaseRenew, err)
			fail(err)
		}
		if err := r.renewHeld(l, h); err != nil {
			fail(err)
		}
	}
	if l.ctx.Err() == nil && r.held.Load() == nil {
		if err := r.claimAgain(l); err != nil {
			failure = err
		} else {
			claimed = true
		}
	}
	if failure != nil {
		r.meters.failedRenewal(r.scopes())
	}
	if claimed {
		failure = nil // the changes of state have told why
	}
	r.logHeartbeat(failure)
	return claimed
}

// logHeartbeat logs that heartbeats begin to fail, or fail for another reason, and that they do not any more.
func (r *Runtime) logHeartbeat(failure error) {
	var text string
	if failure != nil {
		text = failure.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case text == r.logged:
		return
	case failure != nil:
		r.o.Logger.Warn("heartbeat", "owner", r.o.OwnerID, "err", failure)
	default:
		r.o.Logger.Info("heartbeat: renewed again", "owner", r.o.OwnerID)
	}
	r.logged = text
}

// renewHeld renews a lease. Once it turns out to be over, it is not held any more.
func (r *Runtime) renewHeld(l *life, h *hold) error {
	renewed, err := r.renew(context.Background(), h.token) // Stop waits for it
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, errStale):
		r.askedLocked(OpLeaseRenew, nil)
		r.failedLocked(OpLeaseRenew, err)
		r.dropLocked()
		r.changeLocked()
		return err
	case err != nil:
		r.askedLocked(OpLeaseRenew, err)
		return err
	case l.ctx.Err() != nil:
		return nil // Stop has taken the lease away
	}
	r.askedLocked(OpLeaseRenew, nil)
	r.held.Store(renewed)
	r.renewedAt, r.lastError = renewed.renewedAt, ""
	r.events.tell(Event{Kind: EventOwnerLeaseRenewed})
	return nil
}

// claimAgain claims a lease while the runtime has none, and has everything brought back that belongs to it.
func (r *Runtime) claimAgain(l *life) error {
	claimID := r.pendingClaim()
	h, err := r.claim(context.Background(), claimID, func(token wire.OwnerToken) { r.lateClaim(claimID, token) })
	r.mu.Lock()
	defer r.mu.Unlock()
	_, refused := errors.AsType[*ClaimError](err)
	switch {
	case refused:
		r.claimID = ""
		r.askedLocked(OpLeaseRenew, nil)
		r.failedLocked(OpLeaseRenew, err)
		return err
	case err != nil:
		r.askedLocked(OpLeaseRenew, err)
		return err
	case l.ctx.Err() != nil:
		r.last, r.claimID = h.token, "" // for Stop to release
		return nil
	}
	r.askedLocked(OpLeaseRenew, nil)
	r.takeLocked(h)
	r.reclaim = &reclaim{lease: h.token}
	r.changeLocked()
	return nil
}

// scopes are those that heartbeats are recorded for.
func (r *Runtime) scopes() []Scope {
	if len(r.o.Scopes) > 0 {
		return r.o.Scopes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	meshes := make(map[string]bool)
	for k, p := range r.published {
		if k.Kind == KindMeshNode && p.wish != nil {
			meshes[k.Scope] = true
		}
	}
	for k := range r.rows[KindPeer] {
		meshes[k.Scope] = true
	}
	scopes := make([]Scope, 0, len(meshes))
	for _, mesh := range slices.Sorted(maps.Keys(meshes)) {
		scopes = append(scopes, Scope{Kind: "mesh", Name: mesh})
	}
	return scopes
}
