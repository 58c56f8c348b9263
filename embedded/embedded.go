package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// readyTimeout bounds the wait for the listeners. Recovery of the stored
	// data is over by then, so only a defect takes this long.
	readyTimeout = 10 * time.Second
	// readyPoll is the distance of two looks at them.
	readyPoll = 2 * time.Millisecond
)

var (
	// ErrAddressInUse says that something else listens on an address that the
	// server was told to listen on.
	ErrAddressInUse = errors.New("address is in use")
	// ErrDirInUse says that another running server owns the data directory.
	ErrDirInUse = errors.New("data directory is in use by another server")
	// ErrConfig says that the configuration file cannot be read, or is wrong.
	ErrConfig = errors.New("server configuration")
	// ErrJetStreamOff says that the configuration file turns JetStream off.
	ErrJetStreamOff = errors.New("JetStream is turned off")

	errNotReady = fmt.Errorf("not ready for connections after %v", readyTimeout)
)

// Server is a running NATS server. Make one with [Start], end it with
// [Server.Stop].
type Server struct {
	ns   *server.Server
	url  string
	lock *dirLock

	stop    sync.Once
	stopped chan struct{} // closed when the server is down and the directory is free
}

// Start starts a server and returns when it accepts connections and JetStream
// is on. Recovering a large data directory takes seconds; ctx is looked at
// before and after, not during it.
//
// Errors: [ErrAddressInUse], [ErrDirInUse], [ErrConfig] with the server's own
// words for the mistake or [ErrJetStreamOff], the error of the file system when
// the data directory cannot be made or written, the error of ctx. After an error
// nothing is left running.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start embedded NATS server: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, o Options) (*Server, error) {
	opts, err := o.native()
	if err != nil {
		return nil, err
	}
	// The server opens its stored data before its listeners, so a taken address
	// has to be noticed here, while nothing has been touched yet.
	if err := probe(opts); err != nil {
		return nil, err
	}
	lock, err := lockDir(opts.StoreDir)
	if err != nil {
		return nil, err
	}
	ns, err := run(ctx, opts, newBridge(o.Logger))
	if err != nil {
		lock.release()
		return nil, err
	}
	return &Server{ns: ns, url: clientURL(ns), lock: lock, stopped: make(chan struct{})}, nil
}

// run starts a server with opts and waits until it is ready.
func run(ctx context.Context, opts *server.Options, log *bridge) (*server.Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	addresses := listenAddresses(opts) // before the server writes chosen ports into opts
	ns, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	ns.SetLoggerV2(log, opts.Debug || log.debug(), opts.Trace, opts.TraceVerbose)
	if opts.LogFile != "" || opts.Syslog || opts.RemoteSyslog != "" {
		ns.Warnf("The log settings of %s are not used: the server logs where the service logs", opts.ConfigFile)
	}
	ns.Start()
	if err := awaitReady(ctx, ns, log); err != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
		// Someone may have taken an address since the first look.
		return nil, errors.Join(probeAll(addresses), err)
	}
	return ns, nil
}

// awaitReady returns when every listener of ns is open and JetStream is on.
func awaitReady(ctx context.Context, ns *server.Server, log *bridge) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotReady)
	defer cancel()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	// The server's own wait looks only every 25 ms; asked for less it looks once.
	for log.fatal() == nil && !ns.ReadyForConnections(time.Microsecond) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := log.fatal(); err != nil || ns.JetStreamEnabled() {
		return err
	}
	return ErrJetStreamOff
}

// ClientURL is the address that clients on this machine connect to, such as
// "nats://127.0.0.1:4222"; "tls://" when the configuration file sets up TLS.
func (s *Server) ClientURL() string { return s.url }

// InProcess is the option that makes [nats.Connect] talk to the server without
// the network; the URL given to Connect is then not used. Credentials are
// needed as over the network when the configuration file asks for them.
func (s *Server) InProcess() nats.Option { return nats.InProcessServer(s.ns) }

// NATS is the server itself, for tests that need to look inside or to disturb
// it.
func (s *Server) NATS() *server.Server { return s.ns }

// Stop closes all connections, writes what is still in memory, and frees the
// data directory. It returns when that is done, or with the error of ctx when
// ctx ends first; stopping then goes on. Stop may be called again to wait for it.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		go func() {
			defer close(s.stopped)
			s.ns.Shutdown()
			s.ns.WaitForShutdown()
			s.lock.release()
		}()
	})
	select {
	case <-s.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop embedded NATS server: %w", ctx.Err())
	}
}
