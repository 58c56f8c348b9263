package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
)

// nodeCmd is the command node.
type nodeCmd struct {
	config.Client
	nodeFlags
	LeaseTTL      time.Duration `name:"lease-ttl" default:"15s" env:"ZLINK_LEASE_TTL" help:"How long the lease lives unless it is renewed."`
	RenewInterval time.Duration `default:"5s" env:"ZLINK_RENEW_INTERVAL" help:"Time from one renewal to the next."`
	RenewTimeout  time.Duration `default:"3s" env:"ZLINK_RENEW_TIMEOUT" help:"Time for one renewal."`
	FencingMargin time.Duration `default:"5s" env:"ZLINK_FENCING_MARGIN" help:"How long before its end the lease is not relied on any more."`
	DrainTimeout  time.Duration `default:"30s" env:"ZLINK_DRAIN_TIMEOUT" help:"How long to wait for the objects to be gone after SIGTERM or SIGINT."`
	LogFormat     string        `default:"text" enum:"text,json" env:"ZLINK_LOG_FORMAT" help:"Form of the log on stderr: text or json."`
	LogLevel      string        `default:"info" enum:"debug,info,warn,error" env:"ZLINK_LOG_LEVEL" help:"Least level that is logged: debug, info, warn or error."`
}

// Help is shown with --help.
func (*nodeCmd) Help() string {
	return `Have rooms placed on a node of the mesh play, 100 at most, for a process that does not speak to the directory itself:

    zlink-nats node --mesh play --rid n1 --endpoint tcp://127.0.0.1:7000 --spot-type userSpot:room:100

It claims the lease of the owner, publishes the descriptor of the node under it, and renews. Once both are there, one line goes to stdout: "ready MESH RID OWNER LIFE", LIFE being the generation of the lease and of this life of the node. stderr has a line for each change of state.

Spots are placed only of the types given by --spot-type, and actors of any type unless there is an --actor-type. Limits of 0 are none.

SIGTERM and SIGINT drain: the node is published as draining, nothing is placed on it any more, and when no object is left on it, or --drain-timeout is over, everything of the owner is removed and the lease is released. A second signal ends at once, and the lease lapses by itself.

When the lease cannot be renewed, or is somebody else's, it is claimed anew as soon as possible. Give an --owner only if no other process can have it: the same one cannot be claimed again before its lease has lapsed.`
}

// Validate names the flag that is out of range.
func (c *nodeCmd) Validate() error {
	if err := c.check(); err != nil {
		return err
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
		least time.Duration
	}{
		{"lease-ttl", c.LeaseTTL, time.Millisecond},
		{"renew-interval", c.RenewInterval, time.Millisecond},
		{"renew-timeout", c.RenewTimeout, time.Millisecond},
		{"fencing-margin", c.FencingMargin, 0},
		{"drain-timeout", c.DrainTimeout, 0},
	} {
		if d.value < d.least {
			return &config.InvalidError{Field: d.flag, Got: d.value.String(), Want: fmt.Sprintf("a duration of %v or more", d.least)}
		}
	}
	return c.Client.Validate()
}

// Run keeps the node until a signal.
func (c *nodeCmd) Run() error {
	log := newLogger(c.LogFormat, c.LogLevel)
	c.Owner = cmp.Or(c.Owner, node.NewOwnerID())
	r, closeConn, err := c.runtime(log)
	if err != nil {
		return err
	}
	defer closeConn()
	ctx := untilSignal()
	if err := r.Start(context.WithoutCancel(ctx)); err != nil { // it takes --renew-timeout at most
		if refused, ok := errors.AsType[*node.ClaimError](err); ok {
			return fmt.Errorf("%w: another process has this owner, or had it less than its time to live ago: wait, or give another --owner", refused)
		}
		return err
	}
	err = c.keep(ctx, r, log)
	return errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
}

// runtime connects, and makes the runtime of the node.
func (c *nodeCmd) runtime(log *slog.Logger) (*node.Runtime, func(), error) {
	l, err := dial(&c.Connection, append(serviceOptions(c.Mesh+" "+shown(c.RID), log), nats.Name("zlink-nats node "+shown(c.RID)))...)
	if err != nil {
		return nil, nil, err
	}
	asking, err := client.New(l.Conn, client.Options{Prefix: subjects.Prefix(c.Prefix), OwnerID: c.Owner})
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	margin := c.FencingMargin
	if margin == 0 {
		margin = node.NoFencingMargin
	}
	r, err := node.New(node.Options{
		Client: asking, LeaseTTL: c.LeaseTTL, RenewInterval: c.RenewInterval, RenewTimeout: c.RenewTimeout,
		FencingMargin: margin, Logger: log, OnEvent: func(e node.Event) {
			if e.Kind == node.EventOwnershipLost {
				log.Warn("somebody else has the node", "key", e.Key.String())
			}
		},
	})
	if err != nil {
		l.Close()
	}
	if errors.Is(err, node.ErrTimes) {
		err = &usageError{fmt.Sprintf("--lease-ttl %v is too short: want more than --fencing-margin %v, the longer one of --renew-interval %v and --renew-timeout %v, and --renew-timeout together",
			c.LeaseTTL, c.FencingMargin, c.RenewInterval, c.RenewTimeout)}
	}
	return r, l.Close, err
}

// keep publishes the node, and drains it after a signal.
func (c *nodeCmd) keep(ctx context.Context, r *node.Runtime, log *slog.Logger) error {
	err := r.PublishMeshNode(ctx, c.descriptor())
	switch {
	case errors.Is(err, client.ErrInvalidArgument), errors.Is(err, client.ErrTooLarge):
		return err
	case err != nil && ctx.Err() == nil:
		log.Warn("not published yet", "err", err)
	}
	if err := r.AwaitReady(ctx); err == nil {
		if _, err := fmt.Fprintln(os.Stdout, "ready", shown(c.Mesh), shown(c.RID), shown(c.Owner), r.Lifecycle()); err != nil {
			return err
		}
		<-ctx.Done()
	}
	log.Info("draining", "atMost", c.DrainTimeout)
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.DrainTimeout)
	defer cancel()
	if err := r.Drain(draining); err != nil {
		log.Warn("drain", "err", err)
	}
	return nil
}
