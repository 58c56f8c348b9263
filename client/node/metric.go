package node

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/zlink/zlink-nats/telemetry"
)

// Operation is a sort of request, as the metrics name it.
type Operation string

// The values of [Operation].
const (
	OpRead             Operation = "read"
	OpCompareExchange  Operation = "compare_exchange" // every write of a descriptor, a row or an authority
	OpRelocationPut    Operation = "relocation_put"
	OpRelocationGet    Operation = "relocation_get"
	OpRelocationDelete Operation = "relocation_delete"
	OpLeaseRenew       Operation = "lease_renew" // claims too
	OpRelease          Operation = "release"
)

// meters are the instruments of a runtime.
type meters struct {
	errors   metric.Int64Counter
	failures metric.Int64Counter
	lateness metric.Float64Histogram
}

func newMeters(p metric.MeterProvider) (*meters, error) {
	m := telemetry.Meter(p, "")
	errCount, err1 := m.Int64Counter("zlink.location.store.errors",
		metric.WithUnit("{error}"), metric.WithDescription("Requests that failed or were refused."))
	failures, err2 := m.Int64Counter("zlink.location.owner_lease.renew.failures",
		metric.WithUnit("{failure}"), metric.WithDescription("Heartbeats that left the owner lease as it was, or without one."))
	lateness, err3 := m.Float64Histogram("zlink.location.owner_lease.renew.lateness",
		metric.WithUnit("s"), metric.WithDescription("How much later than scheduled heartbeats began."),
		metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30))
	return &meters{errCount, failures, lateness}, errors.Join(err1, err2, err3)
}

func (m *meters) failedRequest(op Operation) {
	m.errors.Add(context.Background(), 1, metric.WithAttributes(attribute.String("operation", string(op))))
}

func (m *meters) failedRenewal(scopes []Scope) {
	for _, s := range scopes {
		m.failures.Add(context.Background(), 1, s.attributes())
	}
}

func (m *meters) late(scopes []Scope, by time.Duration) {
	for _, s := range scopes {
		m.lateness.Record(context.Background(), by.Seconds(), s.attributes())
	}
}

func (s Scope) attributes() metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("scope_kind", s.Kind), attribute.String("scope_name", s.Name))
}
