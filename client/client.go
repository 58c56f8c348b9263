package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/telemetry"
	"github.com/zlink/zlink-nats/wire"
)

// The defaults of [Options].
const (
	// DefaultTimeout is what the protocol gives a request without a deadline.
	DefaultTimeout = 10 * time.Second
	// DefaultTryTimeout is far above what an answer takes and far below a patient caller's time: it is how long an instance that
	// died with the request in its hands can hold it up.
	DefaultTryTimeout = 2 * time.Second
)

// Conn sends requests. A [*nats.Conn] is one. It is used from many goroutines.
type Conn interface {
	// RequestMsgWithContext sends a message and returns the reply to it.
	RequestMsgWithContext(ctx context.Context, m *nats.Msg) (*nats.Msg, error)
}

// Options of a [Client]. The zero value is right for a service with default settings.
type Options struct {
	// Prefix begins every subject of the service; empty is [subjects.DefaultPrefix].
	Prefix subjects.Prefix
	// OwnerID sends every request on the subject of this owner, where it may act for no other. It is needed when the service runs
	// with owner subjects, and good when the NATS user may publish on those alone. Empty: the subjects that anybody may use.
	OwnerID string
	// Timeout bounds a call whose context has no deadline, tries and pauses included; at least 1 ms, 0 is [DefaultTimeout].
	// Operations that take as long as they need, [Objects.Await], those of [Aggregates] and [Owners.RemoveAll], have three times as
	// much.
	Timeout time.Duration
	// TryTimeout bounds the first try of a call, unless the operation takes as long as it needs; each further one gets twice
	// as much. At least 1 ms, 0 is [DefaultTryTimeout].
	TryTimeout time.Duration
	// TracerProvider makes a span of each call; nil is the global one, which makes none unless a program has set it. What the
	// service does for the call becomes a part of the span's trace in any case.
	TracerProvider trace.TracerProvider
	// AnyRevision answers reads from whatever state an instance has. Without it a read never shows less than what a reply to this
	// client has shown before.
	AnyRevision bool
	// JetStream is needed to follow changes: [Client.Changes] and the watches. It decides in which domain the streams are, and
	// stays the caller's.
	JetStream jetstream.JetStream
	// Interrupted hears why changes cannot be followed for the moment, before it is tried again. It is called from within the call
	// that waits, and may be nil.
	Interrupted func(err error)
}

// Client calls the operations of the service. Create it with [New]. It may be used from any number of goroutines.
type Client struct {
	Leases           Leases
	MeshNodes        MeshNodes
	ClientServers    ClientServers
	FanoutPublishers FanoutPublishers
	Peers            Peers
	Spots            Spots
	Actors           Actors
	Routes           Routes
	Authorities      Authorities
	Objects          Objects
	Aggregates       Aggregates
	Transfers        ActorTransfers
	Owners           Owners
	Directory        Directory
	Store            Store

	conn   Conn
	prefix subjects.Prefix
	opts   Options
	tracer trace.Tracer
	leader bool
	shared *shared
}

// shared is what a client and those derived from it learn.
type shared struct {
	seen  atomic.Uint64 // greatest revision that a reply has shown
	clock storeClock
}

// New returns a client. The connection stays the caller's. The errors are those of [subjects.ValidatePrefix] and for times that
// are out of range.
func New(conn Conn, o Options) (*Client, error) {
	if o.Prefix == "" {
		o.Prefix = subjects.DefaultPrefix
	}
	if err := subjects.ValidatePrefix(string(o.Prefix)); err != nil {
		return nil, err
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
		name     string
	}{
		{&o.Timeout, DefaultTimeout, "Timeout"},
		{&o.TryTimeout, DefaultTryTimeout, "TryTimeout"},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
		if *d.value < time.Millisecond {
			return nil, errors.New("new client: " + d.name + " of " + d.value.String() + ", want at least 1ms")
		}
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	c := &Client{conn: conn, prefix: o.Prefix, opts: o, tracer: telemetry.Tracer(o.TracerProvider, ""), shared: new(shared)}
	return c.bound(), nil
}

// Leader returns a client whose reads first catch up with the leader of the store, so that they show every write that was
// acknowledged to anybody before they were asked. It shares everything else with c.
func (c *Client) Leader() *Client {
	derived := *c
	derived.leader = true
	return derived.bound()
}

// Revision is the greatest revision that a reply to c has shown; 0 before the first.
func (c *Client) Revision() wire.Revision { return wire.Revision(c.shared.seen.Load()) }

// OwnerID is the owner that c acts for, of [Options]; empty is none.
func (c *Client) OwnerID() string { return c.opts.OwnerID }

// bound has the groups of operations use c.
func (c *Client) bound() *Client {
	c.Leases, c.Owners = Leases{c}, Owners{c}
	c.MeshNodes, c.ClientServers, c.FanoutPublishers = MeshNodes{c}, ClientServers{c}, FanoutPublishers{c}
	c.Peers, c.Spots, c.Actors, c.Routes = Peers{c}, Spots{c}, Actors{c}, Routes{c}
	c.Authorities, c.Objects = Authorities{c}, Objects{c}
	c.Aggregates, c.Transfers = Aggregates{c}, ActorTransfers{c}
	c.Directory, c.Store = Directory{c}, Store{c}
	return c
}

// saw remembers a revision that a reply has shown.
func (c *Client) saw(revision wire.Revision) {
	for {
		last := c.shared.seen.Load()
		if uint64(revision) <= last || c.shared.seen.CompareAndSwap(last, uint64(revision)) {
			return
		}
	}
}

// lookBack forgets a revision that the store does not have any more, such as after a backup was restored: reads would wait for it in
// vain. What the leader of the store has is never less than what a reply has shown, unless the store was set back.
func (c *Client) lookBack(ctx context.Context) {
	seen := c.shared.seen.Load()
	m := c.message(subjects.StatusGet, nil)
	m.Header[wire.HeaderConsistency] = []string{wire.ConsistencyLeader}
	asking, cancel := context.WithTimeout(ctx, clockPatience)
	defer cancel()
	answer, err := c.conn.RequestMsgWithContext(asking, m)
	if err != nil || c.understand(subjects.StatusGet, answer, new(wire.StatusGetReply)) != nil {
		return
	}
	if there := revisionOf(answer); there != 0 && uint64(there) < seen {
		c.shared.seen.CompareAndSwap(seen, uint64(there))
	}
}
