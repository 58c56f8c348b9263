package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

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
	config *config.Config
	log    *slog.Logger
	link   *link
	id     string
	build  build
	feed   *feed.Feed
	store  *jetkv.Store
	http   *httpServer // nil when it is off
	// service is set when it has started.
	service *handlers.Service
}

// open prepares an instance up to the point where it could begin to serve. The
// position of the feed comes first, since the store has to remember what is not
// pushed yet; the stream of changes comes last, since a server that the store
// refuses shall not get one.
func open(ctx context.Context, c *config.Config, l *link, id string, log *slog.Logger) (*instance, error) {
	i := &instance{config: c, log: log, link: l, id: id, build: ownBuild()}
	js, err := l.jetStream()
	if err != nil {
		return nil, err
	}
	i.feed = newFeed(c, js, id, log)
	position, err := i.feed.Position(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	if i.store, err = openStore(ctx, c, l, id, position, log); err != nil {
		return nil, err
	}
	if err := i.feed.Ensure(ctx); err != nil || c.HTTP == config.Off {
		return i, err
	}
	i.http, err = listenHTTP(c.HTTP, i)
	return i, err
}

func openStore(ctx context.Context, c *config.Config, l *link, id string, from kvstore.Revision, log *slog.Logger) (*jetkv.Store, error) {
	return jetkv.Open(ctx, jetkv.Options{
		Conn:        l.Conn,
		JSDomain:    l.domain,
		Bucket:      c.Bucket,
		Replicas:    c.Replicas,
		Schema:      domain.Schema(),
		InstanceID:  id,
		HistoryFrom: from,
		Hold:        true,
		Logger:      log,
	})
}

func newFeed(c *config.Config, js jetstream.JetStream, id string, log *slog.Logger) *feed.Feed {
	encoding := wire.CBOR
	if c.ChangesEncoding == "json" {
		encoding = wire.JSON
	}
	return feed.New(feed.Options{
		JetStream:  js,
		Prefix:     subjects.Prefix(c.Prefix),
		InstanceID: id,
		Encoding:   encoding,
		Replicas:   c.Replicas,
		Retention:  c.ChangesRetention,
		Logger:     log,
	})
}

// run serves until ctx ends or a part fails, and stops what it started. Everything
// below the service runs on until the service has answered what it accepted.
func (i *instance) run(ctx context.Context) error {
	below, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var g run.Group
	add := func(execute func() error) { g.Add(execute, func(error) { cancel() }) }
	add(func() error { return i.store.Run(below) })
	add(func() error { return kvstore.Sweep(below, i.store, i.log) })
	add(func() error { return i.feed.Run(below, i.store) })
	if i.http != nil {
		add(func() error { return i.http.run(below) })
	}
	add(func() error { return i.serve(ctx, below) })
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
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.config.ShutdownTimeout)
	defer cancel()
	return i.service.Stop(stopping)
}

// start takes requests once a commit has gone through, and says so.
func (i *instance) start(ctx context.Context) error {
	proof, cancel := context.WithTimeout(ctx, i.config.Timeout)
	defer cancel()
	if err := i.store.Probe(proof); err != nil {
		return fmt.Errorf("bucket %q takes no commit: %w", i.config.Bucket, err)
	}
	service, err := handlers.Start(ctx, handlers.Options{
		Conn:           i.link.Conn,
		Store:          i.store,
		Prefix:         subjects.Prefix(i.config.Prefix),
		InstanceID:     i.id,
		Version:        i.build.Version,
		Logger:         i.log,
		RequestTimeout: i.config.RequestTimeout,
	})
	if err != nil {
		return err
	}
	i.service = service
	ready := "ready " + i.link.ConnectedUrlRedacted()
	if i.http != nil {
		i.http.serving(service)
		ready += " " + i.http.url()
	}
	i.log.Info("ready", "version", i.build.Version, "revision", i.store.Status().Revision)
	_, err = fmt.Fprintln(os.Stdout, ready)
	return err
}
