// Package instance puts the parts of the service together: the store, what it sweeps, the feed of changes, and the requests.
//
// # Model
//
// [Open] gets everything ready on one connection, [Instance.Run] keeps it going, [Instance.Serve] takes requests, and
// [Instance.Stop] answers those that were taken. What Run does has to go on until Stop has returned.
//
// # Concurrency
//
// Open, Serve and Stop are called once each, in this order; Run alongside.
package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Options of an instance. Conn, Bucket, ID and Logger are required.
type Options struct {
	// Conn is used for everything and stays the caller's. It should reconnect for ever and not buffer while it is disconnected.
	Conn *nats.Conn
	// JSDomain is the JetStream domain of the streams; empty is the account's own.
	JSDomain string
	// Bucket names the key-value bucket.
	Bucket string
	// Prefix begins every subject; empty is [subjects.DefaultPrefix].
	Prefix subjects.Prefix
	// Replicas is how many servers store each row and change: 1..5, 0 is 1.
	Replicas int
	// ID names the instance, 1..255 bytes without '.'; no other instance of the bucket may have it.
	ID string
	// Version of the program, a semantic version; empty is 0.0.0.
	Version string
	// Encoding is that of pushed changes.
	Encoding wire.Encoding
	// Retention is how long changes are kept; 0 is the default of the feed.
	Retention time.Duration
	// OwnerSubjects is that of [handlers.Options].
	OwnerSubjects bool
	// RequestTimeout, AwaitTimeout and ForwardTimeout are those of [handlers.Options].
	RequestTimeout, AwaitTimeout, ForwardTimeout time.Duration
	// TracerProvider and MeterProvider are those of [handlers.Options].
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Logger         *slog.Logger
}

// Instance is one running service. Create it with [Open].
type Instance struct {
	// Store, Feed and Service are the parts, for their figures; Service is nil before [Instance.Serve].
	Store   *jetkv.Store
	Feed    *feed.Feed
	Service *handlers.Service

	o Options
}

// Open gets everything ready up to the point where it could begin to serve. The position of the feed comes first, since the store
// has to remember what is not pushed yet; the stream of changes comes last, since a server that the store refuses shall not get
// one.
func Open(ctx context.Context, o Options) (*Instance, error) {
	js, err := jetStream(&o)
	if err != nil {
		return nil, err
	}
	i := &Instance{o: o, Feed: NewFeed(js, o)}
	if err := i.Feed.Check(ctx); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	position, err := i.Feed.Position(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	i.Store, err = jetkv.Open(ctx, jetkv.Options{
		Conn: o.Conn, JSDomain: o.JSDomain, Bucket: o.Bucket, Replicas: o.Replicas, Schema: domain.Schema(), InstanceID: o.ID,
		HistoryFrom: position, Hold: true, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return i, i.Feed.Ensure(ctx)
}

func jetStream(o *Options) (jetstream.JetStream, error) {
	if o.JSDomain != "" {
		return jetstream.NewWithDomain(o.Conn, o.JSDomain)
	}
	return jetstream.New(o.Conn)
}

// NewFeed returns the feed of changes that an instance of these options has.
func NewFeed(js jetstream.JetStream, o Options) *feed.Feed {
	return feed.New(feed.Options{
		JetStream: js, Prefix: o.Prefix, Bucket: o.Bucket, InstanceID: o.ID, Encoding: o.Encoding, Replicas: o.Replicas,
		Retention: o.Retention, Logger: o.Logger,
	})
}

// Run keeps everything below the requests going until ctx ends, and then returns its error, or until a part fails.
func (i *Instance) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return i.Store.Run(ctx) })
	g.Go(func() error { return kvstore.Sweep(ctx, i.Store, i.o.Logger) })
	g.Go(func() error { return domain.SweepAggregates(ctx, i.Store, i.o.Logger) })
	g.Go(func() error { return i.Feed.Run(ctx, i.Store) })
	return g.Wait()
}

// Serve takes requests once a commit has gone through; ctx bounds the wait for that.
func (i *Instance) Serve(ctx context.Context) (err error) {
	if err := i.Store.Probe(ctx); err != nil {
		return fmt.Errorf("bucket %q takes no commit: %w", i.o.Bucket, err)
	}
	i.Service, err = handlers.Start(ctx, handlers.Options{
		Conn: i.o.Conn, Store: i.Store, Prefix: i.o.Prefix, InstanceID: i.o.ID, Version: i.o.Version, Logger: i.o.Logger,
		OwnerSubjects:  i.o.OwnerSubjects,
		RequestTimeout: i.o.RequestTimeout, AwaitTimeout: i.o.AwaitTimeout, ForwardTimeout: i.o.ForwardTimeout,
		TracerProvider: i.o.TracerProvider, MeterProvider: i.o.MeterProvider,
	})
	return err
}

// Stop takes no more requests and answers those that had arrived; see [handlers.Service.Stop].
func (i *Instance) Stop(ctx context.Context) error { return i.Service.Stop(ctx) }
