package handlers

import (
	"fmt"
	"sync"

	"github.com/zlink/zlink-nats/kvstore"
)

// maxPendingBytes bounds the payloads of the requests in flight: a few hundred of the largest are worth as much memory as all
// usual ones together.
const maxPendingBytes = 256 << 20

// ticket is what a request takes of the room behind a gate.
type ticket struct {
	bytes int  // of its payload
	waits bool // for a revision that is not here yet
}

// gate bounds the requests in flight and tells when the last has left. Those that only wait get half the room, so that they
// never keep out the ones that have something to do.
type gate struct {
	max int

	mu     sync.Mutex
	inside int           // guarded by mu
	bytes  int           // guarded by mu; of those inside
	wait   int           // guarded by mu; those inside that wait
	closed bool          // guarded by mu
	idle   chan struct{} // closed once the gate is closed and nobody is inside
}

func newGate(limit int) *gate { return &gate{max: limit, idle: make(chan struct{})} }

// enter admits one request, which must leave. It returns kvstore.ErrOverloaded when the gate is full and kvstore.ErrClosed when
// it is closed.
func (g *gate) enter(t ticket) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return kvstore.ErrClosed
	case g.inside >= g.max:
		return fmt.Errorf("%w: %d requests in flight", kvstore.ErrOverloaded, g.inside)
	case g.bytes > 0 && g.bytes+t.bytes > maxPendingBytes:
		return fmt.Errorf("%w: requests of %d bytes in flight", kvstore.ErrOverloaded, g.bytes)
	case t.waits && g.wait >= (g.max+1)/2:
		return fmt.Errorf("%w: %d requests wait for a later revision", kvstore.ErrOverloaded, g.wait)
	}
	g.add(t, 1)
	return nil
}

func (g *gate) leave(t ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(t, -1)
	if g.closed && g.inside == 0 {
		close(g.idle)
	}
}

func (g *gate) add(t ticket, n int) {
	g.inside += n
	g.bytes += n * t.bytes
	if t.waits {
		g.wait += n
	}
}

// close admits nobody any more. Closing twice is one time too many.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.inside == 0 {
		close(g.idle)
	}
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}
