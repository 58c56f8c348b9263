package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/run"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// instance is one running service.
type instance struct {
	config  *config.Config
	log     *slog.Logger
	id      string
	http    *httpServer
	exports *exports

	// Set on the way.
	url     string // for clients to connect to
	link    *link
	opening *opening
	feed    *feed.Feed
	store   *jetkv.Store
	service *handlers.Service
}

// open gets everything ready up to the point where it could begin to serve. It waits for
// a cluster that is not ready itself.
func (i *instance) open(ctx context.Context) error {
	i.opening = &opening{until: time.Now().Add(i.config.StartupTimeout), link: i.link, log: i.log, why: &i.http.running.waiting}
	return i.opening.try(ctx, i.openOnce)
}

// openOnce opens what the service stands on. The position of the feed comes first, since
// the store has to remember what is not pushed yet; the stream of changes comes last, since a server that the store
// refuses shall not get one.
func (i *instance) openOnce(ctx context.Context) error {
	js, err := i.link.jetStream()
	if err != nil {
		return err
	}
	i.feed = newFeed(i.config, js, i.id, i.log)
	if err := i.feed.Check(ctx); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	position, err := i.feed.Position(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	i.store, err = jetkv.Open(ctx, jetkv.Options{
		Conn:        i.link.Conn,
		JSDomain:    i.link.domain,
		Bucket:      i.config.Bucket,
		Replicas:    i.config.Replicas,
		Schema:      domain.Schema(),
		InstanceID:  i.id,
		HistoryFrom: position,
		Hold:        true,
		Logger:      i.log,
	})
	if err != nil {
		return err
	}
	return i.feed.Ensure(ctx)
}

func newFeed(c *config.Config, js jetstream.JetStream, id string, log *slog.Logger) *feed.Feed {
	encoding := wire.CBOR
	if c.ChangesEncoding == "json" {
		encoding = wire.JSON
	}
	return feed.New(feed.Options{
		JetStream:  js,
		Prefix:     subjects.Prefix(c.Prefix),
		Bucket:     c.Bucket,
		InstanceID: id,
		Encoding:   encoding,
		Replicas:   c.Replicas,
		Retention:  c.ChangesRetention,
		Logger:     log,
	})
}

// run serves until ctx ends or a part fails, and stops what it started. Everything
// below the service runs on until it has answered what it accepted.
func (i *instance) run(ctx context.Context) error {
	below, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var g run.Group
	for _, part := range []func() error{
		func() error { return i.store.Run(below) },
		func() error { return kvstore.Sweep(below, i.store, i.log) },
		func() error { return domain.SweepAggregates(below, i.store, i.log) },
		func() error { return i.feed.Run(below, i.store) },
		func() error { return i.http.run(below) },
		func() error { return i.serve(ctx, below) },
	} {
		g.Add(part, func(error) { cancel() })
	}
	return g.Run()
}

// serve answers requests until one of the contexts ends: ctx is the wish to stop,
// below the end of what the service stands on.
func (i *instance) serve(ctx, below context.Context) error {
	if err := i.start(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		i.log.Info("stopping")
	case <-below.Done():
	}
	i.http.running.stopping.Store(true)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.config.ShutdownTimeout)
	defer cancel()
	return i.service.Stop(stopping)
}

// prove commits something.
func (i *instance) prove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, i.config.Timeout)
	defer cancel()
	return i.store.Probe(ctx)
}

// start takes requests once a commit has gone through, and says so.
func (i *instance) start(ctx context.Context) error {
	if err := i.opening.try(ctx, i.prove); err != nil {
		return fmt.Errorf("bucket %q takes no commit: %w", i.config.Bucket, err)
	}
	service, err := handlers.Start(ctx, handlers.Options{
		Conn:           i.link.Conn,
		Store:          i.store,
		Prefix:         subjects.Prefix(i.config.Prefix),
		InstanceID:     i.id,
		OwnerSubjects:  i.config.OwnerSubjects,
		Version:        ownBuild().Version,
		Logger:         i.log,
		RequestTimeout: i.config.RequestTimeout,
		AwaitTimeout:   i.config.AwaitTimeout,
		TracerProvider: i.exports.tracer(),
		MeterProvider:  i.exports.metrics,
	})
	if err != nil {
		return err
	}
	i.service = service
	i.http.running.instance.Store(i)
	i.log.Info("ready", "version", ownBuild().Version, "revision", i.store.Status().Revision)
	_, err = fmt.Fprintln(os.Stdout, strings.TrimSpace("ready "+i.url+" "+i.http.url()))
	return err
}
