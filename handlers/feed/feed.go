package feed

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// DefaultRetention is how long events are kept at least.
	DefaultRetention = time.Hour
	// DefaultTimeout bounds the wait for one answer of the server.
	DefaultTimeout = 2 * time.Second
)

// Options say what to push and where. Zero values have the meaning given.
type Options struct {
	// JetStream reaches the stream. Required.
	JetStream jetstream.JetStream
	// Prefix of all subjects; empty is [subjects.DefaultPrefix].
	Prefix subjects.Prefix
	// Bucket names the store that the changes are of. A stream belongs to one bucket and one prefix:
	// two directories in one account would answer each other's requests. Empty leaves that unchecked.
	Bucket string
	// InstanceID is the id under which this instance commits ([kvstore.Commit.Writer]). Required.
	InstanceID string
	// Events tells what a commit means to subscribers, in ascending order of revision. It is a pure
	// function of the commit, the same in every instance. Events returned beside an error are pushed
	// and the error is logged. nil is [domain.Events].
	Events func(*kvstore.Commit) ([]domain.Event, error)
	// Encoding of the payloads; zero is CBOR.
	Encoding wire.Encoding
	// Replicas of the stream, 1..5; 0 is 1.
	Replicas int
	// Retention is how long events are kept at least; 0 is [DefaultRetention].
	Retention time.Duration
	// Timeout bounds the wait for one answer of the server; 0 is [DefaultTimeout].
	Timeout time.Duration
	// Logger of what operators need to know; nil drops it.
	Logger *slog.Logger
}

// Feed pushes the changes of one store. Make one with [New]. Its methods may be called from any
// goroutine, also while Run runs.
type Feed struct {
	o      Options
	stream *stream

	// The rest but stats belongs to Run.
	store  kvstore.Store
	at     mark      // how far the stream is, as far as known
	origin mark      // where the feed began anew because history was lost
	queue  queue     // events that are not known to be out
	due    time.Time // when to look after what is left to other instances
	yields bool      // another instance appended first: own commits are left to it as well
	costs  costs
	retry  retry

	mu    sync.Mutex
	stats Stats // guarded by mu
}

// Stats are the figures of a feed since it was made.
type Stats struct {
	// Revision is the store revision up to which all events are out. Compared with the store's own
	// it says how far the feed lags.
	Revision kvstore.Revision
	// Sequence is that of the stream's last message, as far as known.
	Sequence uint64
	// Waiting counts the events that are not known to be out. A commit that is left to another instance
	// counts as one: its events are not derived before this instance has to append them.
	Waiting int
	// Events and Appends count what this instance appended; an append holds one event or more.
	Events, Appends uint64
	// Conflicts counts the appends that came second to another instance's, Failures those that were
	// refused for another reason or not acknowledged in time.
	Conflicts, Failures uint64
}

// New makes a feed. It does nothing before its methods are called.
func New(o Options) *Feed {
	o.Prefix = cmp.Or(o.Prefix, subjects.DefaultPrefix)
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Events == nil {
		o.Events = domain.Events
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("op", "feed", "stream", subjects.ChangesStream)
	return &Feed{o: o, stream: newStream(o), costs: newCosts(o.Replicas), retry: newRetry(o.Logger)}
}

// Position returns the revision after which a feed that starts now needs the store's commits; 0 when
// nothing was pushed yet. It is the one before the last event's, because that need not be the last
// event of its revision. With a store whose log begins there or earlier, [Feed.Run] goes on without
// a gap. The stream must exist, see [Feed.Ensure].
func (f *Feed) Position(ctx context.Context) (kvstore.Revision, error) {
	m, err := f.stream.last(ctx)
	return m.needs(), err
}

// Run pushes what is committed behind the stream's position until the context ends, and returns the
// context's error. It outlives every failure of the server and of the store, and logs those that
// last. It may be called once.
func (f *Feed) Run(ctx context.Context, store kvstore.Store) error {
	f.store = store
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.follow(ctx) })
	g.Go(func() error { return f.stream.keepTrimmed(ctx) })
	return g.Wait()
}

// Stats returns the figures of this moment. It may be called from any goroutine.
func (f *Feed) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// note changes the figures.
func (f *Feed) note(change func(*Stats)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Sequence, f.stats.Waiting = f.at.last, f.queue.len()
	change(&f.stats)
}
