package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// DefaultListen is the client address when neither [Options] nor the
	// configuration file names one.
	DefaultListen = "127.0.0.1:4222"
	// DefaultMaxPayload is the largest message in bytes, headers included: a
	// value of 1 MiB with headers fits, and a request or reply of 4 MiB. It is
	// also the most that NATS recommends.
	DefaultMaxPayload = 8 << 20
	// DefaultMaxBatchSize is the most messages in one atomic batch: a
	// transaction of 2,048 keys and what the store adds to it, with as much
	// again for transactions that go out together. The server's own limit
	// (1,000) is too low for one transaction.
	DefaultMaxBatchSize = 4096
)

// Options says how to run the server. The zero value of every field but Dir has
// a meaning. Where ConfigFile sets the same thing, the file wins, field by
// field: a file with "port: 4333" and no "host" listens on port 4333 of the host
// in Listen.
type Options struct {
	// Listen is the client address, "host:port". Port 0 takes a free port.
	// Empty means [DefaultListen].
	Listen string
	// Dir holds the stored data. It is created when it is not there. Required
	// unless the configuration file sets store_dir.
	Dir string
	// ConfigFile is the path of a native nats-server configuration, for TLS,
	// accounts, cluster routes or leaf nodes; empty means none. Its log
	// destination is not used, and it must not turn JetStream off.
	ConfigFile string
	// ServerName is the server's name; empty lets the server invent one. A
	// cluster needs names that are unique and stay the same.
	ServerName string
	// SyncAlways writes every commit through to the disk before it is
	// acknowledged. Without it, acknowledged writes of up to SyncInterval are
	// lost when the machine loses power.
	SyncAlways bool
	// SyncInterval is the time between two writes through to the disk; 0 means
	// the server's default of 2 minutes.
	SyncInterval time.Duration
	// MaxPayload is the largest message in bytes, headers included; 0 means
	// [DefaultMaxPayload].
	MaxPayload int32
	// MaxBatchSize is the most messages in an atomic batch; 0 means
	// [DefaultMaxBatchSize].
	MaxBatchSize int
	// Cluster makes the server a member of a cluster when its Listen is set.
	Cluster Cluster
	// Logger receives the server's log; nil drops it.
	Logger *slog.Logger
}

// Cluster describes a server's place in a cluster.
type Cluster struct {
	// Name is the cluster's name, the same for all members.
	Name string
	// Listen is the address for the other members, "host:port"; empty means no
	// cluster. Port 0 takes a free port.
	Listen string
	// Routes are the addresses of all members, "host:port"; a server notices
	// its own and skips it.
	Routes []string
}

// native turns o and its configuration file into the server's options.
func (o Options) native() (*server.Options, error) {
	// JetStream is on unless the file says otherwise. Everything else is filled
	// in after the file, because the server does not tell apart "already set"
	// and "set twice".
	n := &server.Options{JetStream: true}
	if err := readConfig(n, o.ConfigFile); err != nil {
		return nil, err
	}
	if err := o.fill(n); err != nil {
		return nil, err
	}
	if n.StoreDir == "" {
		return nil, errors.New("no data directory given")
	}
	n.NoSigs = true
	n.DisableJetStreamBanner = true
	return n, nil
}

// readConfig reads a configuration file into n. Mere warnings are no error.
func readConfig(n *server.Options, file string) error {
	err := n.ProcessConfigFile(file)
	if list, ok := errors.AsType[interface {
		error
		Errors() []error
	}](err); ok {
		err = errors.Join(list.Errors()...)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrConfig, err) // it names the file
	case !n.JetStream:
		return fmt.Errorf("%w: %w by %q: the service stores everything there; write 'jetstream: enabled'", ErrConfig, ErrJetStreamOff, file)
	}
	return nil
}

// fill sets what the configuration file left open.
func (o Options) fill(n *server.Options) error {
	if err := fillAddress(&n.Host, &n.Port, cmp.Or(o.Listen, DefaultListen)); err != nil {
		return fmt.Errorf("listen address: %w", err)
	}
	n.StoreDir = cmp.Or(n.StoreDir, o.Dir)
	n.ServerName = cmp.Or(n.ServerName, o.ServerName)
	n.MaxPayload = cmp.Or(n.MaxPayload, o.MaxPayload, DefaultMaxPayload)
	n.JetStreamLimits.MaxBatchSize = cmp.Or(n.JetStreamLimits.MaxBatchSize, o.MaxBatchSize, DefaultMaxBatchSize)
	if n.SyncInterval == 0 {
		n.SyncInterval, n.SyncAlways = o.SyncInterval, o.SyncAlways
	}
	if o.Cluster.Listen == "" {
		return nil
	}
	n.Cluster.Name = cmp.Or(n.Cluster.Name, o.Cluster.Name)
	if err := fillAddress(&n.Cluster.Host, &n.Cluster.Port, o.Cluster.Listen); err != nil {
		return fmt.Errorf("cluster address: %w", err)
	}
	if n.Routes == nil {
		for _, r := range o.Cluster.Routes {
			n.Routes = append(n.Routes, &url.URL{Scheme: "nats-route", Host: r})
		}
	}
	return nil
}

// fillAddress sets host and port from address where they are not set yet. The
// server says -1 for "any free port" and 0 for "not set".
func fillAddress(host *string, port *int, address string) error {
	h, p, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return fmt.Errorf("%q: port must be 0..65535", address)
	}
	// An empty host means all interfaces, as everywhere in Go.
	*host = cmp.Or(*host, h, server.DEFAULT_HOST)
	if *port == 0 {
		*port = int(number)
		if number == 0 {
			*port = server.RANDOM_PORT
		}
	}
	return nil
}
