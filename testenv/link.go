package testenv

import (
	"net"
	"sync"
	"time"
)

const (
	// chunkBytes is how much a link reads at once, queueChunks how much it holds
	// back per direction before the sender feels it.
	chunkBytes  = 32 << 10
	queueChunks = 256
)

// link is one connection through a Relay.
type link struct {
	r              *Relay
	client, server net.Conn
	done           chan struct{} // closed when the link is closed

	// Guarded by the relay's lock.
	closed bool
	lossy  bool // bytes from the server have been dropped
}

// chunk is a piece of the stream and the instant from which it may go on.
type chunk struct {
	bytes []byte
	due   time.Time
}

func newLink(r *Relay, client, server net.Conn) *link {
	return &link{r: r, client: client, server: server, done: make(chan struct{})}
}

// run forwards in both directions until the link is closed.
func (k *link) run() {
	var wg sync.WaitGroup
	wg.Go(func() { k.forward(k.client, k.server) })
	wg.Go(func() { k.forward(k.server, k.client) })
	wg.Wait()
}

// forward moves bytes in one direction. When their source ends, it still
// delivers what it holds, and then closes the link.
func (k *link) forward(from, to net.Conn) {
	defer k.close()
	queue := make(chan chunk, queueChunks)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		defer close(queue)
		k.read(from, queue)
	})
	for c := range queue {
		if !k.await(c.due) {
			return
		}
		if from == k.server && k.drop() {
			continue
		}
		if _, err := to.Write(c.bytes); err != nil {
			k.close()
			return
		}
	}
}

// read queues what comes from a connection until it ends or the link is closed.
func (k *link) read(from net.Conn, queue chan<- chunk) {
	for {
		b := make([]byte, chunkBytes)
		n, err := from.Read(b)
		if n > 0 {
			state, _ := k.r.now()
			select {
			case queue <- chunk{bytes: b[:n], due: time.Now().Add(state.delay)}:
			case <-k.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits until due and until the relay is not paused; false means that the
// link was closed meanwhile.
func (k *link) await(due time.Time) bool {
	late := time.NewTimer(time.Until(due))
	defer late.Stop()
	select {
	case <-late.C:
	case <-k.done:
		return false
	}
	for {
		state, changed := k.r.now()
		if !state.paused {
			return true
		}
		select {
		case <-changed:
		case <-k.done:
			return false
		}
	}
}

// drop reports whether bytes from the server are to disappear, and notes that
// some did.
func (k *link) drop() bool {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	if k.r.state.dropReplies {
		k.lossy = true
	}
	// A link that lost something is on its way out: nothing may follow the gap.
	return k.lossy
}

func (k *link) close() {
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	k.closeLocked()
}

func (k *link) closeLocked() {
	if k.closed {
		return
	}
	k.closed = true
	close(k.done)
	// What the peers have not been sent is lost, as on a broken line.
	_ = k.client.Close()
	_ = k.server.Close()
}
