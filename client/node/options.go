package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// The defaults of [Options].
const (
	DefaultLeaseTTL      = 15 * time.Second
	DefaultRenewInterval = 5 * time.Second
	DefaultRenewTimeout  = 3 * time.Second
	DefaultFencingMargin = 5 * time.Second
	DefaultPollInterval  = time.Second
	// DefaultCleanupTimeout is what the protocol gives to cleaning up.
	DefaultCleanupTimeout = 5 * time.Second
)

// NoFencingMargin relies on the lease to its very end. It is for clocks that cannot drift, such as those of tests.
const NoFencingMargin time.Duration = -1

// Options of a [Runtime]. Client is required; the zero value of everything else is its default.
type Options struct {
	// Client asks the service. With owner subjects it is one of the owner: see [client.Options.OwnerID] and [NewOwnerID].
	Client *client.Client
	// OwnerID is the owner whose lease is held, an identifier of 1..255 bytes; empty is the owner of the client, or else a random
	// one. Give the same one again after a restart only if it is sure that the process before has ended.
	OwnerID string
	// LeaseTTL is how long the lease lives unless it is renewed, in whole milliseconds.
	LeaseTTL time.Duration
	// RenewInterval is the time from one heartbeat to the next.
	RenewInterval time.Duration
	// RenewTimeout bounds each claim and each renewal.
	RenewTimeout time.Duration
	// FencingMargin is how long before its end the lease is not relied on any more; [NoFencingMargin] is none.
	FencingMargin time.Duration
	// CleanupTimeout bounds the clean-up of [Runtime.Stop].
	CleanupTimeout time.Duration
	// PollInterval is the time from one look at the usage to the next while the host drains.
	PollInterval time.Duration
	// Clock returns the time since some fixed instant. It never goes back, and counts the time that the process stood still.
	Clock func() time.Duration
	// RewritePayload makes the payload of an authority that is bound to a new lease out of its record; nil keeps payloads. It may be
	// called several times for one authority, and from several goroutines.
	RewritePayload func(ctx context.Context, record *wire.Authority) (wire.Bytes, error)
	// OnEvent is told what happens, one event after another, in the order in which it happened; it may call the runtime. See
	// [Event].
	OnEvent func(Event)
	// Scopes are those that the lateness and the failures of heartbeats are recorded for. None are one of the kind mesh for every
	// mesh that the host has a descriptor or a peer in.
	Scopes []Scope
	// Peers tells how the part of the host is that keeps its peers, for [Runtime.Status], such as [peers.Set.Status]; nil is none.
	Peers func() peers.Status
	// MeterProvider gives the meter of the instruments; nil is the global one.
	MeterProvider metric.MeterProvider
	// Logger hears of changes of state, and of failures that no caller is told of; nil is [slog.Default].
	Logger *slog.Logger
}

// Scope is something that depends on the lease, as the labels of metrics name it.
type Scope struct {
	Kind string // "mesh" or "channel"
	Name string // of the mesh or channel
}

// ErrTimes is why [New] refuses times between which no renewal would be in time.
var ErrTimes = errors.New("times do not fit")

// complete sets defaults and checks the rest, by 15.1.
func (o *Options) complete() error {
	if o.Client == nil {
		return errors.New("a client is required")
	}
	if err := o.completeTimes(); err != nil {
		return err
	}
	o.OwnerID = cmp.Or(o.OwnerID, o.Client.OwnerID(), NewOwnerID())
	if c := o.Client.OwnerID(); c != "" && c != o.OwnerID {
		return fmt.Errorf("the client acts for the owner %q, not for %q", c, o.OwnerID)
	}
	if o.Clock == nil {
		o.Clock = monotonic()
	}
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	if o.Peers == nil {
		o.Peers = func() peers.Status { return peers.Status{} }
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

func (o *Options) completeTimes() error {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
		name     string
	}{
		{&o.LeaseTTL, DefaultLeaseTTL, "LeaseTTL"},
		{&o.RenewInterval, DefaultRenewInterval, "RenewInterval"},
		{&o.RenewTimeout, DefaultRenewTimeout, "RenewTimeout"},
		{&o.CleanupTimeout, DefaultCleanupTimeout, "CleanupTimeout"},
		{&o.PollInterval, DefaultPollInterval, "PollInterval"},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
		if *d.value <= 0 {
			return fmt.Errorf("%w: %s of %v, want more than 0", ErrTimes, d.name, *d.value)
		}
	}
	switch {
	case o.FencingMargin == NoFencingMargin:
		o.FencingMargin = 0
	case o.FencingMargin == 0:
		o.FencingMargin = DefaultFencingMargin
	case o.FencingMargin < 0:
		return fmt.Errorf("%w: FencingMargin of %v, want 0 or more", ErrTimes, o.FencingMargin)
	}
	if o.LeaseTTL%time.Millisecond != 0 {
		return fmt.Errorf("%w: LeaseTTL of %v, want whole milliseconds", ErrTimes, o.LeaseTTL)
	}
	// After one renewal that took all of its time, the next one must be over before the deadline.
	worst, good := max(o.RenewInterval, o.RenewTimeout)+o.RenewTimeout, o.LeaseTTL-o.FencingMargin
	if worst >= good {
		return fmt.Errorf("%w: max(interval %v, timeout %v) + timeout is %v, want less than time to live %v - margin %v, which is %v",
			ErrTimes, o.RenewInterval, o.RenewTimeout, worst, o.LeaseTTL, o.FencingMargin, good)
	}
	return nil
}

// NewOwnerID returns an owner id that nobody else has: a random UUID without dashes.
func NewOwnerID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return hex.EncodeToString(b[:])
}
