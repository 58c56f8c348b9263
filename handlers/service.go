package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

// The defaults of [Options].
const (
	// DefaultMaxPending is far above what keeps the store busy, and so many requests of usual size cost a few megabytes.
	DefaultMaxPending = 4096
	// DefaultRequestTimeout is the time that the protocol gives a request without a deadline.
	DefaultRequestTimeout = 10 * time.Second
	// DefaultAwaitTimeout is the time that the protocol gives a wait for an object without a deadline.
	DefaultAwaitTimeout = 30 * time.Second
	// DefaultForwardTimeout leaves the larger part of a request's usual time to do here what another instance did not do.
	DefaultForwardTimeout = 2 * time.Second
)

// maxInstanceID bounds the id in bytes, since it is part of continuation tokens and subjects.
const maxInstanceID = 255

// Options say what a [Service] serves and where. Conn, Store and InstanceID are required.
type Options struct {
	// Conn receives requests and sends replies; the caller closes it after [Service.Stop]. Set its handlers for errors and for
	// closing before [Start]: the framework wraps them.
	Conn *nats.Conn
	// Store is what the operations work on.
	Store kvstore.Store
	// Prefix begins every subject; empty is [subjects.DefaultPrefix].
	Prefix subjects.Prefix
	// InstanceID is the id of this instance, 1..255 bytes, the same as the store's: requests for [kvstore.Store.Writer] of another
	// instance are sent to that id.
	InstanceID string
	// OwnerSubjects says that a request that acts for an owner is taken on the subjects of that owner only.
	OwnerSubjects bool
	// Version of the program, a semantic version; empty is 0.0.0.
	Version string
	// Logger hears of bugs and of damaged data; nil is [slog.Default]. The connection's errors go to its own handler alone.
	Logger *slog.Logger
	// MaxPending is the greatest number of requests in flight, reads that are answered at once not counted; 0 is
	// [DefaultMaxPending].
	MaxPending int
	// RequestTimeout is the time of a request without a deadline; 0 is [DefaultRequestTimeout].
	RequestTimeout time.Duration
	// AwaitTimeout is the time of a wait for an object without a deadline; 0 is [DefaultAwaitTimeout].
	AwaitTimeout time.Duration
	// ForwardTimeout is how long another instance may take for a write; 0 is [DefaultForwardTimeout].
	ForwardTimeout time.Duration
	// TracerProvider makes the spans of requests and their commits; nil makes none, at no cost.
	TracerProvider trace.TracerProvider
	// MeterProvider gets the durations of requests; nil leaves them out.
	MeterProvider metric.MeterProvider
}

// Service answers requests. Create it with [Start].
type Service struct {
	conn           *nats.Conn // nil in a [Local]
	out            outlet     // where replies go
	store          kvstore.Store
	prefix         subjects.Prefix
	instanceID     string
	ownerSubjects  bool
	version        string
	log            *slog.Logger
	requestTimeout time.Duration
	awaitTimeout   time.Duration
	forwardTimeout time.Duration
	observer       observer

	endpoints []*endpoint
	headers   [2]atomic.Pointer[resultHeader] // by wire.Encoding
	snapshots kvstore.Snapshots
	gate      *gate
	awaiting  awaiting
	relays    relays
	micro     micro.Service
	subs      []*nats.Subscription // for the subjects of owners and of this instance
	base      context.Context      // of all requests: what waits for an object has none of its own
	cancel    context.CancelFunc   // ends base, and so what is in flight
	stopOnce  sync.Once
	stopErr   error // guarded by stopOnce
}

// Start registers the service and returns when requests reach it. The context's values go to all requests; its end does not
// stop the service.
func Start(ctx context.Context, o Options) (*Service, error) {
	if o.Conn == nil {
		return nil, errors.New("start service: a connection is required")
	}
	s, err := newService(o, o.Conn)
	if err != nil {
		return nil, err
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.base, s.cancel = base, cancel
	if err := s.subscribe(ctx, base); err != nil {
		cancel()
		return nil, fmt.Errorf("start service %s: %w", s.prefix, err)
	}
	return s, nil
}

// outlet is where replies go: a [*nats.Conn], or a [Local].
type outlet interface {
	PublishMsg(m *nats.Msg) error
	MaxPayload() int64
}

func newService(o Options, out outlet) (*Service, error) {
	s := &Service{
		conn: o.Conn, out: out, store: o.Store, instanceID: o.InstanceID, ownerSubjects: o.OwnerSubjects, log: o.Logger,
		prefix:         or(o.Prefix, subjects.DefaultPrefix),
		version:        or(o.Version, "0.0.0"),
		gate:           newGate(or(o.MaxPending, DefaultMaxPending)),
		requestTimeout: or(o.RequestTimeout, DefaultRequestTimeout),
		awaitTimeout:   or(o.AwaitTimeout, DefaultAwaitTimeout),
		forwardTimeout: or(o.ForwardTimeout, DefaultForwardTimeout),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	switch {
	case s.store == nil:
		return nil, errors.New("start service: a store is required")
	case s.instanceID == "" || len(s.instanceID) > maxInstanceID:
		return nil, fmt.Errorf("start service: instance id of %d bytes, want 1..%d", len(s.instanceID), maxInstanceID)
	}
	s.endpoints = endpoints(s.store.Limits())
	var err error
	if s.observer, err = newObserver(&o, s.version); err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	for _, e := range s.endpoints {
		e.observed = observedOf(s.prefix, e.op)
		if e.parks {
			s.awaiting.endpoint = e
		}
	}
	return s, subjects.ValidatePrefix(string(s.prefix))
}

func or[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// endpoints lists what the service answers, group by group.
func endpoints(limits kvstore.Limits) []*endpoint {
	var all []*endpoint
	for _, group := range [][]*endpoint{
		leaseEndpoints(),
		meshNodeEndpoints(), clientServerEndpoints(), fanoutPublisherEndpoints(),
		peerEndpoints(), spotEndpoints(), actorEndpoints(), routeEndpoints(),
		authorityEndpoints(), objectEndpoints(), placementEndpoints(), aggregateEndpoints(), actorTransferEndpoints(),
		ownerEndpoints(), changeStampEndpoints(), topologyEndpoints(), storeEndpoints(limits), statusEndpoints(),
	} {
		all = append(all, group...)
	}
	return all
}

// subscribe makes the service known; ctx bounds it, base is the context of requests.
func (s *Service) subscribe(ctx, base context.Context) (err error) {
	bySubject := make(map[string]*endpoint)
	for _, e := range s.endpoints {
		bySubject[s.prefix.Operation(e.op)] = e
		bySubject[s.prefix.Instance(s.instanceID, e.op)] = e
	}
	s.micro, err = micro.AddService(s.conn, micro.Config{
		Name:        subjects.ServiceName,
		Version:     s.version,
		Description: "directory of owners, nodes and objects",
		Metadata:    map[string]string{"instance": s.instanceID, "prefix": string(s.prefix)},
		StatsHandler: func(e *micro.Endpoint) any {
			known := bySubject[e.Subject]
			return known.snapshot(known.op).stats()
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.micro.Stop())
			for _, sub := range append(s.subs, s.relays.sub) {
				if sub != nil {
					err = errors.Join(err, sub.Unsubscribe())
				}
			}
		}
	}()
	if err := s.subscribeRelays(); err != nil {
		return err
	}
	if err := s.addEndpoints(base); err != nil {
		return err
	}
	if err := s.subscribeOwners(base); err != nil {
		return err
	}
	own := s.prefix.InstancePrefix(s.instanceID)
	sub, err := s.conn.Subscribe(own.Operation(">"), func(m *nats.Msg) {
		from, op := senderOf(own, m.Subject)
		if e := bySubject[own.Operation(op)]; e != nil {
			s.accept(base, e, message{header: m.Header, data: m.Data, replyTo: m.Reply, direct: true, sender: from})
		}
	})
	if err != nil {
		return err
	}
	s.subs = append(s.subs, sub)
	return s.flush(ctx)
}

func (s *Service) addEndpoints(base context.Context) error {
	groups := make(map[string]micro.Group)
	for _, e := range s.endpoints {
		name := e.op.Group()
		if groups[name] == nil {
			groups[name] = s.micro.AddGroup(s.prefix.Group(name))
		}
		err := groups[name].AddEndpoint(strings.ReplaceAll(string(e.op), ".", "-"),
			micro.HandlerFunc(func(r micro.Request) {
				s.accept(base, e, message{header: nats.Header(r.Headers()), data: r.Data(), replyTo: r.Reply()})
			}),
			micro.WithEndpointSubject(e.op.Verb()),
			micro.WithEndpointPendingLimits(-1, maxPendingBytes),
			micro.WithEndpointMetadata(map[string]string{
				"operation": string(e.op), "owner_subject": s.prefix.AsWildcard(e.op), "request_schema": e.schema,
			}))
		if err != nil {
			return err
		}
	}
	return nil
}

// flushTimeout bounds a question to the server when the caller does not: the library wants a deadline.
const flushTimeout = 10 * time.Second

// flush waits until the server has processed what was sent.
func (s *Service) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return s.conn.FlushWithContext(ctx)
}

// Counters returns the figures since the start.
func (s *Service) Counters() Counters {
	c := Counters{InFlight: s.gate.count(), Awaiting: s.awaiting.length()}
	for _, e := range s.endpoints {
		c.Operations = append(c.Operations, e.snapshot(e.op))
	}
	return c
}

// Stop takes no more requests, answers those that had arrived, and returns when that is done. When the context ends first, what
// is still in flight is given up and the context's error returned. Further calls wait for the first and return what it did.
func (s *Service) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		if s.stopErr = s.stop(ctx); s.stopErr != nil {
			s.stopErr = fmt.Errorf("stop service: %w", s.stopErr)
		}
	})
	return s.stopErr
}

func (s *Service) stop(ctx context.Context) error {
	err := s.micro.Stop()
	for _, sub := range s.subs {
		err = errors.Join(err, sub.Drain())
	}
	err = errors.Join(err, s.drain(ctx))
	s.awaiting.close(s)
	s.gate.close()
	select {
	case <-s.gate.idle:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	s.cancel()
	s.relays.close()
	<-s.gate.idle
	s.awaiting.wg.Wait()
	return errors.Join(err, s.relays.sub.Unsubscribe(), s.flush(ctx))
}

// drain waits until every message that had reached the subscriptions was taken from them.
func (s *Service) drain(ctx context.Context) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	done := make(chan struct{})
	if err := s.conn.Barrier(func() { close(done) }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
