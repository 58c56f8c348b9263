package testenv

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/embedded"
)

const (
	// stopTimeout bounds a server's way down, and patience every other wait of
	// this package. Both are far above what is normal: the machine may be busy.
	stopTimeout = 30 * time.Second
	patience    = 30 * time.Second
)

// ServerOptions says how a test's servers are set up; the zero value is what the
// service itself uses, without waiting for the disk.
type ServerOptions struct {
	// SyncAlways writes every commit through to the disk.
	SyncAlways bool
	// MaxPayload is the largest message in bytes; 0 means the embedded server's
	// default.
	MaxPayload int32
	// MaxBatchSize is the most messages in an atomic batch; 0 means the embedded
	// server's default.
	MaxBatchSize int
	// Config is text in the native nats-server format, for accounts,
	// permissions, limits. It must not set addresses, names or store_dir.
	Config string
}

// Node is one server: alone, or a member of a [Cluster]. Its address and its
// data directory stay the same over stops and starts. All methods may be called
// from any goroutine, but stops and starts of one node not at the same time.
type Node struct {
	t    testing.TB
	opts embedded.Options

	mu  sync.Mutex       // guards srv
	srv *embedded.Server // nil while the node is down
}

// Server starts one server with an empty data directory.
func Server(t testing.TB, o ServerOptions) *Node {
	t.Helper()
	for range startAttempts {
		n := newNode(t, o, "alone", FreeAddresses(t, 1)[0])
		err := n.start()
		if err == nil {
			return n
		}
		if !errors.Is(err, embedded.ErrAddressInUse) {
			t.Fatal(err)
		}
	}
	t.Fatalf("no free port in %d attempts", startAttempts)
	return nil
}

func newNode(t testing.TB, o ServerOptions, name, listen string) *Node {
	t.Helper()
	base := tempDir(t)
	opts := embedded.Options{
		Listen:       listen,
		Dir:          filepath.Join(base, "data"),
		ServerName:   name,
		SyncAlways:   o.SyncAlways,
		MaxPayload:   o.MaxPayload,
		MaxBatchSize: o.MaxBatchSize,
	}
	if o.Config != "" {
		opts.ConfigFile = filepath.Join(base, "server.conf")
		if err := os.WriteFile(opts.ConfigFile, []byte(o.Config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := &Node{t: t, opts: opts}
	t.Cleanup(n.Stop)
	return n
}

// URL is the node's address, whether it runs or not.
func (n *Node) URL() string { return "nats://" + n.opts.Listen }

// Name is the server's name.
func (n *Node) Name() string { return n.opts.ServerName }

// Running reports whether the node is up.
func (n *Node) Running() bool { return n.current() != nil }

// NATS is the server inside, of a node that is up.
func (n *Node) NATS() *server.Server {
	n.t.Helper()
	srv := n.current()
	if srv == nil {
		n.t.Fatalf("server %s is down", n.Name())
	}
	return srv.NATS()
}

// tempDir is t.TempDir for a server's data: what the server is writing while it
// stops, such as a batch that is being staged, may come into being a moment after it
// has stopped, and the directory is removed all the same.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zlink-node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !poll(patience, func() bool { err = os.RemoveAll(dir); return err == nil }) {
			t.Error(err)
		}
	})
	return dir
}

// Connect connects over TCP. The connection tries to come back quickly and
// without end, and closes with the test; opts come on top of that.
func (n *Node) Connect(t testing.TB, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, n.URL(), opts...)
}

// ConnectInProcess connects without the network. The connection also finds the
// node again after a restart.
func (n *Node) ConnectInProcess(t testing.TB, opts ...nats.Option) *nats.Conn {
	t.Helper()
	return connect(t, n.URL(), append([]nats.Option{nats.InProcessServer(dialer{n})}, opts...)...)
}

// dialer makes in-process connections to whatever server the node runs now.
type dialer struct{ n *Node }

// InProcessConn implements [nats.InProcessConnProvider].
func (d dialer) InProcessConn() (net.Conn, error) {
	srv := d.n.current()
	if srv == nil {
		return nil, errors.New("server is down")
	}
	return srv.NATS().InProcessConn()
}

// connect connects in the way that suits tests: back within milliseconds after
// a fault, and only through the addresses given, so that no connection slips
// past a [Proxy] to an address that the cluster announced.
func connect(t testing.TB, urls string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(urls, append([]nats.Option{
		nats.MaxReconnects(-1),
		nats.ReconnectWait(20 * time.Millisecond),
		nats.ReconnectJitter(5*time.Millisecond, 5*time.Millisecond),
		nats.IgnoreDiscoveredServers(),
	}, opts...)...)
	if err != nil {
		t.Fatalf("connect to %s: %v", urls, err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Start starts a node that is down, on its address and its data; it does nothing
// when the node is up.
func (n *Node) Start() {
	n.t.Helper()
	Eventually(n.t, patience, func() bool {
		err := n.start()
		if err != nil && !errors.Is(err, embedded.ErrAddressInUse) {
			n.t.Fatal(err)
		}
		return err == nil
	}, "listen again on", n.opts.Listen)
}

// Restart stops the node, if it is up, and starts it again.
func (n *Node) Restart() {
	n.t.Helper()
	n.Stop()
	n.Start()
}

// Stop stops the node in good order; it does nothing when the node is down.
func (n *Node) Stop() {
	n.t.Helper()
	n.mu.Lock()
	srv := n.srv
	n.srv = nil
	n.mu.Unlock()
	if srv == nil {
		return
	}
	// Not the test's context: that one has ended when the test cleans up.
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := srv.Stop(ctx); err != nil {
		n.t.Error(err)
	}
}

func (n *Node) current() *embedded.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.srv
}

func (n *Node) start() error {
	if n.Running() {
		return nil
	}
	srv, err := embedded.Start(context.Background(), n.opts)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.srv = srv
	return nil
}
