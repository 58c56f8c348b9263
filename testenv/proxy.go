package testenv

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Relay is a TCP proxy in front of one server, that can be told to misbehave;
// make one with [Proxy]. All methods may be called from any goroutine.
type Relay struct {
	target string
	l      net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex // guards what follows
	links map[*link]struct{}
	state relayState
	// changed is closed, and replaced, whenever state changes.
	changed chan struct{}
}

// relayState is how a Relay treats the bytes that pass it.
type relayState struct {
	cut, paused, dropReplies bool
	delay                    time.Duration
}

// Proxy starts a proxy in front of the server with the given URL. Clients connect
// to [Relay.URL]; those of a cluster have to be kept from learning the servers'
// own addresses, which [Relay.Connect] does.
func Proxy(t testing.TB, targetURL string) *Relay {
	t.Helper()
	u, err := url.Parse(targetURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{target: u.Host, l: l, links: make(map[*link]struct{}), changed: make(chan struct{})}
	r.wg.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// URL is the address that clients connect to.
func (r *Relay) URL() string { return "nats://" + r.l.Addr().String() }

// Connect connects through the proxy, as [Node.Connect] does without it.
func (r *Relay) Connect(t testing.TB, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, r.URL(), opts...)
}

// Cut closes all connections, and new ones as soon as they come, until
// [Relay.Heal].
func (r *Relay) Cut() { r.set(func(s *relayState) { s.cut = true }) }

// Heal lets connections through again.
func (r *Relay) Heal() { r.set(func(s *relayState) { s.cut = false }) }

// Pause holds back all bytes in both directions and keeps the connections open,
// until [Relay.Resume] lets them go on, none lost.
func (r *Relay) Pause() { r.set(func(s *relayState) { s.paused = true }) }

// Resume ends [Relay.Pause].
func (r *Relay) Resume() { r.set(func(s *relayState) { s.paused = false }) }

// Delay makes all bytes that come from now on d late, in each direction, without
// making the way narrower. 0 ends it.
func (r *Relay) Delay(d time.Duration) { r.set(func(s *relayState) { s.delay = d }) }

// DropReplies makes what the server sends disappear while what the clients send
// still arrives. Switched off, it closes the connections that lost something,
// since their streams are broken.
func (r *Relay) DropReplies(on bool) { r.set(func(s *relayState) { s.dropReplies = on }) }

// set changes the state, tells everybody who waits for that, and closes the
// connections that may not live on.
func (r *Relay) set(change func(*relayState)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state)
	close(r.changed)
	r.changed = make(chan struct{})
	for k := range r.links {
		if r.state.cut || k.lossy && !r.state.dropReplies {
			k.closeLocked()
		}
	}
}

// now is the state, and a channel that closes when it changes.
func (r *Relay) now() (relayState, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state, r.changed
}

// accept serves connections until the listener closes.
func (r *Relay) accept() {
	for {
		client, err := r.l.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.serve(client) })
	}
}

// serve forwards one client's bytes until either side closes.
func (r *Relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = client.Close()
		return
	}
	k := newLink(r, client, server)
	if !r.add(k) {
		k.close()
		return
	}
	k.run()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.links, k)
}

func (r *Relay) add(k *link) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.cut {
		return false
	}
	r.links[k] = struct{}{}
	return true
}

// close ends the proxy and waits for its goroutines.
func (r *Relay) close() {
	_ = r.l.Close()
	r.Cut()
	r.wg.Wait()
}
