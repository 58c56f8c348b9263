package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/oklog/run"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// process is one running service, with what a program has around it.
type process struct {
	config  *config.Config
	log     *slog.Logger
	id      string
	http    *httpServer
	exports *exports

	// Set on the way.
	url     string // for clients to connect to
	link    *link
	opening *opening
	*instance.Instance
}

// open gets everything ready up to the point where it could begin to serve. It waits for
// a cluster that is not ready itself.
func (i *process) open(ctx context.Context) error {
	i.opening = &opening{until: time.Now().Add(i.config.StartupTimeout), link: i.link, log: i.log, why: &i.http.running.waiting}
	o := instanceOptions(i.config, i.link, i.id, i.log)
	o.TracerProvider, o.MeterProvider = i.exports.tracer(), i.exports.metrics
	return i.opening.try(ctx, func(ctx context.Context) (err error) {
		i.Instance, err = instance.Open(ctx, o)
		return err
	})
}

// instanceOptions are those of an instance on a link.
func instanceOptions(c *config.Config, l *link, id string, log *slog.Logger) instance.Options {
	encoding := wire.CBOR
	if c.ChangesEncoding == "json" {
		encoding = wire.JSON
	}
	return instance.Options{
		Conn: l.Conn, JSDomain: l.domain, Bucket: c.Bucket, Prefix: subjects.Prefix(c.Prefix), Replicas: c.Replicas, ID: id,
		Version: ownBuild().Version, Encoding: encoding, Retention: c.ChangesRetention, OwnerSubjects: c.OwnerSubjects,
		RequestTimeout: c.RequestTimeout, AwaitTimeout: c.AwaitTimeout, Logger: log,
	}
}

// run serves until ctx ends or a part fails, and stops what it started. Everything
// below the requests runs on until those that were accepted are answered.
func (i *process) run(ctx context.Context) error {
	below, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var g run.Group
	for _, part := range []func() error{
		func() error { return i.Run(below) },
		func() error { return i.http.run(below) },
		func() error { return i.serve(ctx, below) },
	} {
		g.Add(part, func(error) { cancel() })
	}
	return g.Run()
}

// serve answers requests until one of the contexts ends: ctx is the wish to stop,
// below the end of what the service stands on.
func (i *process) serve(ctx, below context.Context) error {
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
	return i.Stop(stopping)
}

// start takes requests once a commit has gone through, and says so.
func (i *process) start(ctx context.Context) error {
	err := i.opening.try(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, i.config.Timeout)
		defer cancel()
		return i.Serve(ctx)
	})
	if err != nil {
		return err
	}
	i.http.running.instance.Store(i)
	i.log.Info("ready", "version", ownBuild().Version, "revision", i.Store.Status().Revision)
	_, err = fmt.Fprintln(os.Stdout, strings.TrimSpace("ready "+i.url+" "+i.http.url()))
	return err
}
