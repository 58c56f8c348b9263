package handlers

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/telemetry"
	"github.com/zlink/zlink-nats/wire"
)

// durationBounds are the bounds of the buckets of request durations in seconds: a read takes some 20 us, a commit from 200 us to
// many milliseconds, and the time that a request usually has is 10 s.
var durationBounds = []float64{
	20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1, 2, 5, 10,
}

// observer tells of requests to whoever asked for it. A nil tracer or histogram hears nothing.
type observer struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
}

func newObserver(o *Options, version string) (w observer, err error) {
	if o.TracerProvider != nil {
		w.tracer = telemetry.Tracer(o.TracerProvider, version)
	}
	if o.MeterProvider != nil {
		w.duration, err = telemetry.Meter(o.MeterProvider, version).Float64Histogram("zlink.request.duration",
			metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(durationBounds...),
			metric.WithDescription("Time from a request's arrival to its reply."))
	}
	return w, err
}

// observed is what is told of every request of an operation, made once.
type observed struct {
	span     string
	anywhere []trace.SpanStartOption // of a request to any instance
	direct   []trace.SpanStartOption // of one to this instance alone
	record   []metric.RecordOption
}

func observedOf(prefix subjects.Prefix, op subjects.Operation) observed {
	start := func(destination string) []trace.SpanStartOption {
		return []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(telemetry.Messaging(telemetry.Process, string(op), destination)...),
		}
	}
	return observed{
		span:     telemetry.SpanName(telemetry.Process, string(op)),
		anywhere: start(prefix.Operation(op)),
		direct:   start(string(prefix) + ".instance.{instance}." + string(op)),
		record:   []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("operation", string(op))))},
	}
}

// observe starts the span of a request, a child of the client's. The context is that of the request from then on.
func (s *Service) observe(base context.Context, e *endpoint, r *request) context.Context {
	if s.observer.tracer == nil {
		return base
	}
	how := e.observed.anywhere
	if r.direct {
		how = e.observed.direct
	}
	ctx, span := s.observer.tracer.Start(telemetry.Extract(base, r.header), e.observed.span, how...)
	r.span = span
	return ctx
}

// within is a context in which further work on a request is done.
func (r *request) within(base context.Context) context.Context {
	if r.span == nil {
		return base
	}
	return trace.ContextWithSpan(base, r.span)
}

// ended tells what became of a request.
func (s *Service) ended(e *endpoint, r *request, outcome string, err error) {
	took := time.Since(r.start)
	e.add(outcome, took)
	if s.observer.duration != nil {
		s.observer.duration.Record(r.within(s.base), took.Seconds(), e.observed.record...)
	}
	if r.span == nil {
		return
	}
	if r.span.IsRecording() {
		r.span.SetAttributes(telemetry.KeyOutcome.String(outcome))
		fail(r.span, wire.Code(outcome), err)
	}
	r.span.End()
}

// fail marks a span when the service is what failed, and not the caller. Of a reply that could not be written only the code is known.
func fail(span trace.Span, code wire.Code, err error) {
	switch code {
	case wire.CodeInternal, wire.CodeDataLost, wire.CodeUnavailable, wire.CodeOutcomeUnknown:
		reason := string(code)
		if err != nil {
			reason = oneLine(err.Error())
		}
		span.SetStatus(codes.Error, reason)
	}
}

// update commits a transaction and tells, if somebody listens, how that went.
func (s *Service) update(ctx context.Context, o kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
	if s.observer.tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return s.store.Update(ctx, o, fn)
	}
	ctx, span := s.observer.tracer.Start(ctx, spanCommit)
	defer span.End()
	var runs commitRuns
	began := time.Now()
	revision, err := s.store.Update(ctx, o, func(tx *kvstore.Tx) error {
		runs.began(began)
		return fn(tx)
	})
	span.SetAttributes(telemetry.KeyAttempts.Int64(runs.attempts.Load()), telemetry.KeyRevision.Int64(int64(revision)),
		telemetry.KeyQueued.Float64(time.Duration(runs.queued.Load()).Seconds()))
	if _, contended := errors.AsType[*kvstore.ContendedError](err); err != nil && !contended {
		fail(span, detail(err).Code, err)
	}
	return revision, err
}

// spanCommit is the name of the spans of commits.
const spanCommit = "commit"

// commitRuns count the runs of a transaction's closure. The store may still be at it when the caller has given up.
type commitRuns struct {
	attempts atomic.Int64
	queued   atomic.Int64 // nanoseconds before the first run
}

func (c *commitRuns) began(since time.Time) {
	if c.attempts.Add(1) == 1 {
		c.queued.Store(int64(time.Since(since)))
	}
}
