package peers_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// forever is a lease that no test outlives.
const forever = wire.Millis(24 * 60 * 60 * 1000)

// world is a service, a host's connections, and a virtual clock.
type world struct {
	*testing.T
	c    *client.Client
	conn *conn
	net  *network
	stop func() // of the set that was started last
}

// inWorld runs a test in a bubble, in which time passes only while everybody waits.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		store := memkv.New(memkv.Options{Schema: domain.Schema()})
		local, err := handlers.NewLocal(handlers.Options{Store: store, InstanceID: "one", Logger: log})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(local.Close)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { _ = kvstore.Sweep(ctx, store, log) })
		t.Cleanup(func() { cancel(); wg.Wait() })

		w := &world{T: t, conn: &conn{Local: local, asked: make(map[string]int)}, net: newNetwork()}
		if w.c, err = client.New(w.conn, client.Options{}); err != nil {
			t.Fatal(err)
		}
		test(w)
		if faults := w.net.faulty(); len(faults) > 0 {
			t.Errorf("what no host may do: %q", faults)
		}
	})
}

// pass lets time pass, and everything happen that belongs to it.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// start runs a set for a host until the end of the test. It has listed when start returns.
func (w *world) start(o peers.Options) *peers.Set {
	w.Helper()
	o.Client, o.Dial, o.Logger = w.c, w.net.dial, slog.New(slog.DiscardHandler)
	s, err := peers.New(o)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			w.Errorf("Run: %v, want the context's error", err)
		}
	})
	w.Cleanup(func() { w.stop() })
	synctest.Wait()
	return s
}

// claim gets an owner a lease.
func (w *world) claim(owner string, ttl wire.Millis) wire.OwnerToken {
	w.Helper()
	reply, err := w.c.Leases.Claim(w.Context(), wire.LeaseClaimRequest{OwnerID: owner, TTL: ttl})
	if err != nil || reply.Token == nil {
		w.Fatalf("claim: %+v, %v", reply, err)
	}
	return *reply.Token
}

// router is the row of a router.
func router(rid wire.RID, endpoint string, owner wire.OwnerToken) wire.Peer {
	return wire.Peer{
		AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: rid, Role: wire.PeerRouter, Endpoint: endpoint, OwnerToken: owner,
	}
}

// routerHost is the host of a router.
func routerHost(rid wire.RID, endpoint string) peers.Own {
	return peers.Own{
		AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, RID: rid, Endpoint: endpoint,
	}
}

// put stores a row, which must be possible, and returns it with its generation.
func (w *world) put(p wire.Peer, intent wire.Intent) wire.Peer {
	w.Helper()
	reply, err := w.c.Peers.Update(w.Context(), wire.PeerUpdateRequest{Peer: p, Intent: intent})
	if err != nil || reply.Status != wire.StatusStored {
		w.Fatalf("put %q: %+v, %v", p.Endpoint, reply, err)
	}
	p.Generation = reply.Generation
	return p
}

// add stores a row of an owner of its own.
func (w *world) add(p wire.Peer) wire.Peer {
	w.Helper()
	p.OwnerToken = w.claim("of "+string(p.Role)+p.Endpoint, forever)
	return w.put(p, wire.IntentNewClaim)
}

func (w *world) remove(p wire.Peer) {
	w.Helper()
	key := wire.PeerKey{AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID}
	reply, err := w.c.Peers.Remove(w.Context(), wire.PeerRemoveRequest{Key: key, Owner: p.OwnerToken})
	if err != nil || reply.Status != wire.StatusStored {
		w.Fatalf("remove %q: %+v, %v", p.Endpoint, reply, err)
	}
}

// connected compares the connections that stand.
func (w *world) connected(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.net.connected()); diff != "" {
		w.Errorf("connections (-want +got):\n%s", diff)
	}
}

// happened compares what has happened to connections since it was called last.
func (w *world) happened(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.net.happened()); diff != "" {
		w.Errorf("what happened (-want +got):\n%s", diff)
	}
}

// conn is the host's connection to the service.
type conn struct {
	*handlers.Local

	mu     sync.Mutex
	broken map[string]bool          // guarded by mu; operations that fail at once; "" is all
	slow   map[string]time.Duration // guarded by mu
	asked  map[string]int           // guarded by mu; by operation
}

func (c *conn) RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	op := m.Subject[len(subjects.DefaultPrefix)+1:]
	c.mu.Lock()
	c.asked[op]++
	broken, slow := c.broken[op] || c.broken[""], c.slow[op]
	c.mu.Unlock()
	if broken {
		return nil, nats.ErrConnectionClosed
	}
	if slow > 0 {
		time.Sleep(slow)
	}
	return c.Local.RequestMsgWithContext(ctx, m)
}

// fail breaks the connection for an operation, or for all, until mend.
func (c *conn) fail(op string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = map[string]bool{op: true}
}

// mend returns what was broken.
func (c *conn) mend() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	broken := c.broken
	c.broken = nil
	return broken
}

func (c *conn) delay(op string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slow = map[string]time.Duration{op: d}
}

// count tells how often an operation was asked for since it was called last.
func (c *conn) count(op string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.asked[op]
	c.asked[op] = 0
	return n
}

// network makes connections as its fields say.
type network struct {
	mu      sync.Mutex
	refuse  map[string]bool          // guarded by mu; endpoints
	linger  map[string]time.Duration // guarded by mu; how long a close takes
	pending map[string]time.Duration // guarded by mu; how long a dial takes
	stand   map[string]*link         // guarded by mu; by endpoint
	log     []string                 // guarded by mu
	faults  []string                 // guarded by mu; what no host may do
}

// link is a connection of the network.
type link struct {
	net      *network
	rid      wire.RID
	endpoint string
	once     sync.Once
	done     chan struct{}
}

func newNetwork() *network {
	return &network{
		refuse: make(map[string]bool), linger: make(map[string]time.Duration), pending: make(map[string]time.Duration),
		stand: make(map[string]*link),
	}
}

func (n *network) dial(ctx context.Context, t peers.Target) (peers.Connection, error) {
	n.mu.Lock()
	n.log = append(n.log, "dial "+t.Endpoint)
	if t.Row.Draining {
		n.faults = append(n.faults, "dialled while draining: "+t.Endpoint)
	}
	pending := n.pending[t.Endpoint]
	n.mu.Unlock()
	if pending > 0 {
		select {
		case <-time.After(pending):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse[t.Endpoint] {
		return nil, errors.New("refused")
	}
	for _, l := range n.stand {
		if l.rid == t.Key.RID && l.rid != "" || l.endpoint == t.Endpoint {
			n.faults = append(n.faults, "dialled although connected: "+t.Endpoint)
		}
	}
	l := &link{net: n, rid: t.Key.RID, endpoint: t.Endpoint, done: make(chan struct{})}
	n.stand[t.Endpoint] = l
	return l, nil
}

func (l *link) Done() <-chan struct{} { return l.done }

func (l *link) Close() error {
	l.net.mu.Lock()
	l.net.log = append(l.net.log, "close "+l.endpoint)
	linger := l.net.linger[l.endpoint]
	l.net.mu.Unlock()
	if linger > 0 {
		time.Sleep(linger)
	}
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.net.log = append(l.net.log, "gone "+l.endpoint)
	if l.net.stand[l.endpoint] == l {
		delete(l.net.stand, l.endpoint)
	}
	return io.EOF // makes no difference
}

// drop ends the connection to an endpoint from the other side.
func (n *network) drop(endpoint string) {
	n.mu.Lock()
	l := n.stand[endpoint]
	n.mu.Unlock()
	l.once.Do(func() { close(l.done) })
}

func (n *network) setRefuse(endpoint string, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse[endpoint] = on
}

func (n *network) connected() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for endpoint := range n.stand {
		all = append(all, endpoint)
	}
	slices.Sort(all)
	return all
}

func (n *network) happened() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	log := n.log
	n.log = nil
	return log
}

func (n *network) faulty() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.faults
}

// hinder makes dials to an endpoint and the closing of connections to it take time.
func (n *network) hinder(endpoint string, pending, linger time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending[endpoint], n.linger[endpoint] = pending, linger
}
