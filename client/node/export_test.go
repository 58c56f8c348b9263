package node

import (
	"time"

	"github.com/zlink/zlink-nats/wire"
)

// DeadlineOf is deadlineOf.
func DeadlineOf(started, completed time.Duration, expires, now wire.Instant, margin time.Duration) time.Duration {
	return deadlineOf(started, completed, expires, now, margin)
}

// SetRevision makes a revision of a descriptor the latest.
func (r *Runtime) SetRevision(key Key, revision wire.Revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published[key].revision = revision
}

// Monotonic is the default clock.
func Monotonic() func() time.Duration { return monotonic() }

// MaxEvents is how many events wait for a slow handler.
const MaxEvents = maxEvents
