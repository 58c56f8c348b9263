package handlers

import (
	"fmt"
	"sync"

	"github.com/zlink/zlink-nats/kvstore"
)

// gate bounds the requests in flight and tells when the last has left.
type gate struct {
	max int

	mu     sync.Mutex
	inside int           // guarded by mu
	closed bool          // guarded by mu
	idle   chan struct{} // closed once the gate is closed and nobody is inside
}

func newGate(limit int) *gate { return &gate{max: limit, idle: make(chan struct{})} }

// enter admits one request, which must leave. It returns kvstore.ErrOverloaded when the gate is full and kvstore.ErrClosed when
// it is closed.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return kvstore.ErrClosed
	case g.inside >= g.max:
		return fmt.Errorf("%w: %d requests in flight", kvstore.ErrOverloaded, g.inside)
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.idle)
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
