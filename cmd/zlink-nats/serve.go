package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/embedded"
)

// serveCmd is the command serve.
type serveCmd struct{ config.Config }

// Help is shown with --help.
func (*serveCmd) Help() string {
	return `Run everything in one process, with the data in ./zlink-data:

    zlink-nats serve

Run the service on a NATS cluster that is there, each row on three of its servers:

    zlink-nats serve --server nats://127.0.0.1:4222 --replicas 3

When requests can be answered, one line goes to stdout, such as "ready nats://127.0.0.1:4222 http://127.0.0.1:8280". SIGTERM and SIGINT finish what was accepted and end; a second one ends at once.`
}

// Run serves until a signal, or until something fails that cannot be mended by trying on.
func (c *serveCmd) Run() error {
	defer runtime.KeepAlive(ballast())
	log := newLogger(c.LogFormat, c.LogLevel)
	ctx := untilSignal()
	err := serve(ctx, &c.Config, log)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped while starting
	}
	return err
}

// ballastBytes keeps the garbage collector from running every few milliseconds
// while the directory is small and busy.
const ballastBytes = 64 << 20

// ballast is memory that is never touched, so that it takes up no room: the
// collector's pace follows the size of the heap, ballast included. A directory
// that is larger than it is not affected, unlike with a raised GOGC.
func ballast() []byte { return make([]byte, ballastBytes) }

// untilSignal is a context that ends with SIGTERM or SIGINT. The next one ends the
// process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-received
		time.Sleep(sameSignal)
		for len(received) > 0 {
			<-received
		}
		cancel()
		<-received
		os.Exit(exitFailed)
	}()
	return ctx
}

// sameSignal is how long further signals count as the first one: some supervisors
// signal the process and its group.
const sameSignal = 20 * time.Millisecond

// serve runs the service until ctx ends, and then stops it.
func serve(ctx context.Context, c *config.Config, log *slog.Logger) error {
	// The id goes into subjects and log lines; these letters need no escaping.
	id := rand.Text()[:10]
	log = log.With("instance", id)
	r := &running{id: id}
	e, err := newExports(ctx, r, id, log)
	if err != nil {
		return err
	}
	defer e.stop(log)
	h, err := listenHTTP(c.HTTP, r, e.handler())
	if err != nil {
		return err
	}
	defer h.close()
	i := &process{config: c, log: log, id: id, http: h, exports: e}
	if c.External() {
		return i.connectAndRun(ctx)
	}
	server, err := startServer(ctx, c, log)
	if err != nil {
		return err
	}
	i.url = server.ClientURL()
	c.Server = i.url
	// Not over the network, and therefore without TLS, whatever the URL says.
	err = i.connectAndRun(ctx, server.InProcess(), servers(nats.DefaultURL))
	return errors.Join(err, stopServer(server))
}

// connectAndRun runs the service on the NATS that the configuration and the
// options name.
func (i *process) connectAndRun(ctx context.Context, opts ...nats.Option) error {
	external := i.url == ""
	l, err := connectUntil(ctx, &i.config.Connection, append(opts, serviceOptions(i.id, i.log)...)...)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		mend := "start it, or run one inside the service by leaving out --server, --context, NATS_URL and NATS_CONTEXT"
		if !external { // it runs, and whom it refuses it tells nothing over a pipe
			mend = "it runs inside the process and has ended the connection: give the service's user of --server-config, with --user and --password, --nkey or --creds"
		}
		return explainConnect(&i.config.Connection, err, mend)
	}
	defer l.Close()
	i.link, i.url = l, cmp.Or(i.url, l.ConnectedUrlRedacted())
	i.log.Info("connected", "url", i.url, "server", l.ConnectedServerName(), "version", l.ConnectedServerVersion())
	if err := i.open(ctx); err != nil {
		return l.explainJetStream(err)
	}
	return i.run(ctx)
}

// startServer starts the NATS server inside the process.
func startServer(ctx context.Context, c *config.Config, log *slog.Logger) (*embedded.Server, error) {
	name, _ := os.Hostname() // without one, the server invents a name
	server, err := embedded.Start(ctx, embedded.Options{
		ServerName:   name,
		Listen:       c.Listen,
		Dir:          c.Data,
		ConfigFile:   c.ServerConfig,
		SyncAlways:   c.Sync.Always(),
		SyncInterval: c.Sync.Every,
		Logger:       log,
	})
	switch {
	case errors.Is(err, embedded.ErrConfig):
		return nil, &usageError{err.Error()}
	case errors.Is(err, embedded.ErrAddressInUse):
		return nil, fmt.Errorf("%w: stop what listens there, or choose another address with --listen (port 0 takes a free one)", err)
	case errors.Is(err, embedded.ErrDirInUse):
		return nil, fmt.Errorf("%w: stop the other instance, give this one a directory of its own with --data, or connect it to the other's NATS with --server", err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%w: choose a directory that this user may write with --data", err)
	}
	return server, err
}

// closeTimeout bounds the closing of the server inside the process, which takes
// milliseconds unless the disk hangs.
const closeTimeout = 10 * time.Second

func stopServer(server *embedded.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return server.Stop(ctx)
}

// serviceOptions are the options of the service's own connection. It must not
// buffer while it is disconnected: what the store sends late would be stale.
func serviceOptions(id string, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name("zlink-nats " + id),
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is our own closing
				log.Warn("disconnected from NATS", "op", "connect", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("reconnected to NATS", "op", "connect", "url", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			var subject string
			if s != nil {
				subject = s.Subject
			}
			log.Error("NATS connection", "op", "connect", "subject", subject, "err", err)
		}),
	}
}
