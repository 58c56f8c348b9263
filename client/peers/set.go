package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

// The defaults of [Options]. Spec: domain 16.
const (
	DefaultPollingInterval   = time.Second
	DefaultStoreFailureGrace = 30 * time.Second
	DefaultLeaseTTL          = 15 * time.Second
	// DefaultRequestTimeout is what a renewal of a lease has.
	DefaultRequestTimeout = 3 * time.Second
	// DefaultPageSize is the greatest that the protocol allows: a listing is always read to its end.
	DefaultPageSize = 1000
)

// Options of a [Set]. Client, Dial, and in Own the type, mesh and role are required.
type Options struct {
	Client *client.Client
	Own    Own
	Dial   Dial
	// NodeOf tells what the host knows of a peer besides its row. It is asked only when the host's own ObjectRole is client;
	// nil connects to peers whatever they are. It is called while a listing is taken, and must not wait for anything.
	NodeOf func(wire.Peer) Node
	// Republish writes the host's row, which a listing did not show as live. Nil when the host has no row. It is called again
	// after the next listing that does not show the row, so an error is only recorded. It has RequestTimeout.
	Republish func(context.Context) error
	// OnChange hears of every change of the set of targets, in order, before anything is done about it; nil for nobody. It must
	// not wait for the set.
	OnChange func(DesiredSetChanged)
	// PollingInterval is the pause between two looks at the directory, and before a refused dial is tried again; 0 is
	// [DefaultPollingInterval].
	PollingInterval time.Duration
	// StoreFailureGrace is how long after the first of listings that fail targets are dialled; 0 is [DefaultStoreFailureGrace],
	// less is no time at all.
	StoreFailureGrace time.Duration
	// LeaseTTL is how long targets stay wanted after such a time although no listing shows them; 0 is [DefaultLeaseTTL].
	LeaseTTL time.Duration
	// RequestTimeout bounds each request to the service; 0 is [DefaultRequestTimeout].
	RequestTimeout time.Duration
	// PageSize is that of listings, 1..1000; 0 is [DefaultPageSize].
	PageSize uint32
	// Logger hears of failures and, at the level debug, of refused dials; nil is [slog.Default].
	Logger *slog.Logger
}

// Status tells how a [Set] is. Spec: domain 15.8.
type Status struct {
	// StoreHealthy tells whether the latest look at the directory succeeded.
	StoreHealthy bool
	// WatchEnabled tells whether change events are being received; see [Set.Watching].
	WatchEnabled bool
	// PollingInterval is that of the options.
	PollingInterval time.Duration
	// LastRefreshAt is the store's time at the last complete listing; 0 before the first.
	LastRefreshAt wire.Instant
	// LastError is the text of the latest failure, of a look at the directory or of a publication; empty after a success.
	LastError string
	// Wanted counts the targets, Connected the connections to them that stand.
	Wanted, Connected int
}

// Set keeps a host connected to its peers. Create it with [New].
type Set struct {
	o     Options
	rules rules
	wake  chan struct{} // holds one; says that what mu guards has changed

	mu     sync.Mutex
	status Status // guarded by mu
	news   news   // guarded by mu
}

// New returns a set that does nothing before [Set.Run]. It fails when an option is missing or out of range.
func New(o Options) (*Set, error) {
	setDefault(&o.PollingInterval, DefaultPollingInterval)
	setDefault(&o.StoreFailureGrace, DefaultStoreFailureGrace)
	setDefault(&o.LeaseTTL, DefaultLeaseTTL)
	setDefault(&o.RequestTimeout, DefaultRequestTimeout)
	setDefault(&o.PageSize, DefaultPageSize)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("new set of peers: %w", err)
	}
	own := o.Own
	own.Endpoint = NormalizeEndpoint(own.Endpoint)
	return &Set{
		o: o, rules: rules{own: own, nodeOf: o.NodeOf}, wake: make(chan struct{}, 1),
		status: Status{PollingInterval: o.PollingInterval},
	}, nil
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

func (o *Options) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("a client is required")
	case o.Dial == nil:
		return errors.New("Dial is required")
	case !o.Own.AutoConnectType.Valid():
		return fmt.Errorf("auto-connect type %q", o.Own.AutoConnectType)
	case o.Own.MeshName == "":
		return errors.New("a mesh is required")
	case !o.Own.Role.Valid():
		return fmt.Errorf("role %q", o.Own.Role)
	case !cmp.Or(o.Own.ObjectRole, wire.RoleNone).Valid():
		return fmt.Errorf("object role %q", o.Own.ObjectRole)
	case min(o.PollingInterval, o.LeaseTTL, o.RequestTimeout) < 0:
		return errors.New("PollingInterval, LeaseTTL and RequestTimeout are positive")
	case o.PageSize > DefaultPageSize:
		return fmt.Errorf("page size %d, want 1..%d", o.PageSize, DefaultPageSize)
	}
	return nil
}

// Changed says that a row of a peer has changed at a revision, or that its owner's lease has ended, as the change events of the
// kind peer in the mesh do; 0 when it is not known at which. Events of leases need not be handed over: those that end the life of
// a row come with one of the row. The directory is looked at again soon, unless a listing has shown this revision already.
func (s *Set) Changed(revision wire.Revision) {
	s.mu.Lock()
	fresh := s.news.changed(revision)
	s.mu.Unlock()
	if fresh {
		s.signal()
	}
}

// Watching says whether change events are being received from now on, and handed to [Set.Changed]. While they are, nothing is
// polled, except now and then as a safety net.
func (s *Set) Watching(on bool) {
	s.mu.Lock()
	fresh := on != s.status.WatchEnabled
	if fresh && on {
		s.news.changed(0) // what has changed before
	}
	s.status.WatchEnabled = on
	s.mu.Unlock()
	if fresh {
		s.signal()
	}
}

func (s *Set) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Status tells how the set is.
func (s *Set) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// news is what change events have said and no listing has shown yet.
type news struct {
	shown   wire.Revision // by the last complete listing
	latest  wire.Revision // that an event has had; 0 for none beyond shown
	unknown bool          // something has changed at a revision that is not known
}

func (n *news) changed(revision wire.Revision) (fresh bool) {
	switch {
	case revision == 0:
		n.unknown = true
	case revision <= n.shown:
		return false
	default:
		n.latest = max(n.latest, revision)
	}
	return true
}

func (n *news) any() bool { return n.unknown || n.latest != 0 }

// listed takes that a listing has shown a revision.
func (n *news) listed(revision wire.Revision) {
	n.shown = max(n.shown, revision)
	if n.latest <= n.shown {
		n.latest = 0
	}
}
