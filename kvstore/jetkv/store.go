package jetkv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/zlink/zlink-nats/kvstore"
)

// Options configure a store. Conn, Bucket and Logger are required.
type Options struct {
	// Conn is used for everything and stays the caller's. It should reconnect
	// for ever and not buffer while it is disconnected (nats.ReconnectBufSize(-1)).
	Conn *nats.Conn
	// JSDomain is the JetStream domain; empty for the account's own.
	JSDomain string
	// Bucket names the KV bucket, created if there is none.
	Bucket string
	// Replicas of a bucket that is created, 1..5; 0 is 1.
	Replicas int
	// FirstRevision is the first revision of a bucket that is created; 0 is 1.
	FirstRevision kvstore.Revision
	// Schema declares indexes and stamps; nil declares none.
	Schema *kvstore.Schema
	// InstanceID names this instance, unique among those of the bucket, without
	// '.'; empty picks a random one.
	InstanceID string
	// HistoryFrom and Hold keep the commits after HistoryFrom, in the log and
	// for Watch, until Release lets them go.
	HistoryFrom kvstore.Revision
	Hold        bool
	// MaxPending bounds the transactions that wait; 0 is 8,192.
	MaxPending int
	// Clock replaces the estimated clock of the server, for tests.
	Clock  kvstore.Clock
	Logger *slog.Logger
}

// Store is a kvstore.Store over a JetStream KV bucket. Create it with Open, and
// keep Run running as long as it is used.
type Store struct {
	opts   Options
	log    *slog.Logger
	nc     *nats.Conn
	js     jetstream.JetStream
	prefix string // of the row subjects
	api    string // prefix of the JetStream API
	stream string

	clock    kvstore.Clock
	server   *serverClock
	history  *kvstore.Log
	limits   kvstore.Limits
	replicas int

	committed atomic.Pointer[kvstore.State]
	queue     chan *txn
	released  atomic.Uint64
	wake      chan struct{} // capacity 1: released has moved
	closed    chan struct{} // closed when Run ends
	stats     counters
	consumers atomic.Int64 // of the stream, when its leader was last asked

	healthMu  sync.Mutex
	healthyAt time.Time // guarded by healthMu; local time of the last answer
	failedAt  time.Time // guarded by healthMu; since when there is none; zero is healthy
	answered  time.Time // guarded by healthMu; when the stream leader last answered a question
	failure   string    // guarded by healthMu; text of the last failure
	drift     string    // guarded by healthMu; what is wrong with the bucket's settings

	winner atomic.Pointer[rival]

	shrunk bool    // the log ends before HistoryFrom: it is not the one that was meant
	life   string  // random, of this Store
	txns   uint64  // owned by the engine
	loaded *loaded // by Open, for Run
}

var _ kvstore.Store = (*Store)(nil)

// rival is another instance that wins the race for the next revision.
type rival struct {
	instance string
	seen     time.Time
}

// rivalFor is how long an instance counts as the writing one after its last
// commit that was seen.
const rivalFor = 200 * time.Millisecond

// Open creates or verifies the bucket, reads it, and returns a store that serves
// reads; Run makes it take writes. It refuses a server that is too old and a
// bucket with settings that the store cannot work with, and says what mends them.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := verifyServer(o.Conn); err != nil {
		return nil, err
	}
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newStore(o Options) (*Store, error) {
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.MaxPending == 0 {
		o.MaxPending = 8192
	}
	if o.InstanceID == "" {
		o.InstanceID = nuid.Next()
	}
	s := &Store{
		opts: o, log: o.Logger.With("bucket", o.Bucket), nc: o.Conn,
		prefix: subjectPrefix(o.Bucket), stream: streamName(o.Bucket), api: "$JS.API.",
		server: newServerClock(), queue: make(chan *txn, o.MaxPending),
		wake: make(chan struct{}, 1), closed: make(chan struct{}), life: rand.Text()[:8],
	}
	if s.clock = o.Clock; s.clock == nil {
		s.clock = s.server
	}
	var err error
	if o.JSDomain != "" {
		s.api = "$JS." + o.JSDomain + ".API."
		s.js, err = jetstream.NewWithDomain(o.Conn, o.JSDomain)
	} else {
		s.js, err = jetstream.New(o.Conn)
	}
	return s, err
}

func (s *Store) open(ctx context.Context) error {
	bucket, err := ensureBucket(ctx, s.js, &s.opts)
	if err != nil {
		return err
	}
	if s.replicas = bucket.CachedInfo().Config.Replicas; s.replicas != s.opts.Replicas {
		s.log.Warn("the bucket has another number of replicas than asked for", "op", "open", "replicas", s.replicas, "asked", s.opts.Replicas)
	}
	for range clockSamples {
		if _, err := s.info(ctx); err != nil {
			return fmt.Errorf("read bucket %q: %w", s.opts.Bucket, err)
		}
	}
	rows, err := s.probeBatch(ctx)
	if err != nil {
		return err
	}
	if rows < kvstore.DefaultCommitRows {
		s.log.Warn("one commit takes fewer rows than the contract allows: set jetstream { limits { batch { max_msgs: 4096 } } } "+
			"in the NATS server's configuration", "op", "open", "rows", rows, "contract", kvstore.DefaultCommitRows)
	}
	s.limits = kvstore.Limits{CommitRows: rows, RowBytes: int(s.nc.MaxPayload()) - messageOverhead}
	if s.nc.MaxPayload() < minPayload {
		s.log.Warn("values of 1 MiB do not fit: raise max_payload of the NATS server to 8MB",
			"op", "open", "max_payload", s.nc.MaxPayload())
	}
	return s.start(ctx)
}

// start reads the bucket. Commits after HistoryFrom are delivered to watchers.
func (s *Store) start(ctx context.Context) error {
	from := kvstore.MaxRevision
	if s.opts.Hold {
		from = s.opts.HistoryFrom
	}
	l, err := s.load(ctx, from)
	if err != nil {
		return err
	}
	if s.shrunk = s.opts.HistoryFrom > l.state.Revision(); s.shrunk {
		s.log.Error("the log ends before the revision up to which changes were published: the bucket was "+
			"restored from an older copy", "op", "open", "revision", uint64(l.state.Revision()),
			"published", uint64(s.opts.HistoryFrom))
	}
	from = min(from, l.state.Revision())
	s.loaded = l
	s.released.Store(uint64(from))
	s.committed.Store(l.state)
	s.history = kvstore.NewLog(from, keepCommits, s.opts.Hold)
	s.history.Append(l.commits...)
	s.healthy()
	return nil
}

// keepCommits is how many commits a watcher may lag behind.
const keepCommits = 4096

// View implements kvstore.Store.
func (s *Store) View(ctx context.Context, o kvstore.ReadOptions) (kvstore.View, error) {
	if o.Leader {
		if _, err := s.Update(ctx, kvstore.UpdateOptions{}, func(*kvstore.Tx) error { return nil }); err != nil {
			return kvstore.View{}, err
		}
	}
	for {
		changed := s.history.Changed()
		if state := s.committed.Load(); state.Revision() >= o.MinRevision {
			return state.View(s.clock.Now()), nil
		}
		select {
		case <-changed:
		case <-s.closed:
			return kvstore.View{}, kvstore.ErrClosed
		case <-ctx.Done():
			return kvstore.View{}, fmt.Errorf("%w: waiting for revision %d: %w", kvstore.ErrDeadline, o.MinRevision, ctx.Err())
		}
	}
}

// Watch implements kvstore.Store.
func (s *Store) Watch(after kvstore.Revision) (*kvstore.Watcher, error) {
	if after > 0 && after == s.opts.HistoryFrom && s.shrunk {
		return nil, kvstore.ErrResync
	}
	return s.history.Watch(after)
}

// Release implements kvstore.Store.
func (s *Store) Release(upTo kvstore.Revision) {
	for {
		old := s.released.Load()
		if uint64(upTo) <= old {
			return
		}
		if s.released.CompareAndSwap(old, uint64(upTo)) {
			break
		}
	}
	s.history.Release(upTo)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Released implements kvstore.Store.
func (s *Store) Released() kvstore.Revision { return kvstore.Revision(s.released.Load()) }

// Clock implements kvstore.Store.
func (s *Store) Clock() kvstore.Clock { return s.clock }

// Limits implements kvstore.Store.
func (s *Store) Limits() kvstore.Limits { return s.limits }

// Writer implements kvstore.Store.
func (s *Store) Writer() string {
	if r := s.winner.Load(); r != nil && time.Since(r.seen) < rivalFor {
		return r.instance
	}
	return ""
}

// Status implements kvstore.Store.
func (s *Store) Status() kvstore.Status {
	st := kvstore.Status{
		Revision: s.committed.Load().Revision(),
		Server: kvstore.Server{
			Name: s.nc.ConnectedServerName(), Version: s.nc.ConnectedServerVersion(), Replicas: s.replicas,
			Consumers: int(s.consumers.Load()),
		},
	}
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	if !s.healthyAt.IsZero() {
		st.HealthyAt = s.clock.Now() - kvstore.Instant(time.Since(s.healthyAt).Milliseconds())
	}
	st.Healthy = s.failedAt.IsZero() && !s.healthyAt.IsZero()
	if st.LastError = s.failure; st.LastError == "" {
		st.LastError = s.drift
	}
	return st
}

// Probe commits a row of the store's own and returns how that went: it is the
// proof that writes work, which no information about a stream is. It fails as
// well while the bucket has settings that the store cannot work with.
func (s *Store) Probe(ctx context.Context) error {
	if drift := s.settingsDrift(); drift != "" {
		return errors.New(drift)
	}
	_, err := s.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := tx.Put(kvstore.NewKey(probeFamily), []byte(s.opts.InstanceID), 0)
		return err
	})
	return err
}

// healthy notes that the store has answered.
func (s *Store) healthy() {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	s.healthyAt, s.failedAt, s.failure = time.Now(), time.Time{}, ""
}

// heard notes that the stream leader has answered a question.
func (s *Store) heard() {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	s.answered = time.Now()
}

// failed notes a failure to reach the store.
func (s *Store) failed(err error) {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	if s.failedAt.IsZero() {
		s.failedAt = time.Now()
		s.log.Warn("store does not answer", "op", "commit", "err", err)
	}
	s.failure = err.Error()
}

// drifted notes what is wrong with the bucket's settings; nil is nothing.
func (s *Store) drifted(err error) {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	if err == nil {
		s.drift = ""
		return
	}
	if s.drift != err.Error() {
		s.log.Error("the bucket's settings were changed", "op", "verify", "err", err)
	}
	s.drift = err.Error()
}

func (s *Store) settingsDrift() string {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	return s.drift
}

// downFor is how long the store may be silent, to questions as well, before
// callers are told at once that it cannot be reached. One that answers is slow.
const downFor = 2 * time.Second

func (s *Store) down() bool {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	return !s.failedAt.IsZero() && time.Since(s.failedAt) > downFor && time.Since(s.answered) > downFor
}

func (s *Store) lastError() string {
	s.healthMu.Lock()
	defer s.healthMu.Unlock()
	return s.failure
}

var errDisconnected = errors.New("disconnected from NATS")
