package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Scope is the name of the instrumentation scope of every span and instrument.
const Scope = "github.com/zlink/zlink-nats"

// Attributes of the project's own.
const (
	// KeyOperation is the operation of a request: "lease.claim".
	KeyOperation = attribute.Key("zlink.operation")
	// KeyOutcome is what became of a request: "ok", "forwarded", or the code of its refusal.
	KeyOutcome = attribute.Key("zlink.outcome")
	// KeyRevision is the store revision that a result reflects.
	KeyRevision = attribute.Key("zlink.revision")
	// KeyAttempts is how often the rule of a commit ran.
	KeyAttempts = attribute.Key("zlink.attempts")
	// KeyQueued is the time in seconds that a commit waited before its rule ran for the first time.
	KeyQueued = attribute.Key("zlink.queued")
)

// Action is what a span does with a message.
type Action string

// The actions.
const (
	// Request is sending a request and waiting for the reply, by a client.
	Request Action = "request"
	// Process is answering a request, by an instance of the service.
	Process Action = "process"
)

// Tracer returns the tracer of the project in a version of it.
func Tracer(p trace.TracerProvider, version string) trace.Tracer {
	return p.Tracer(Scope, trace.WithInstrumentationVersion(version), trace.WithSchemaURL(semconv.SchemaURL))
}

// Meter returns the meter of the project in a version of it.
func Meter(p metric.MeterProvider, version string) metric.Meter {
	return p.Meter(Scope, metric.WithInstrumentationVersion(version), metric.WithSchemaURL(semconv.SchemaURL))
}

// SpanName names the span of an action on the requests of an operation: "process lease.claim".
func SpanName(a Action, operation string) string { return string(a) + " " + operation }

// Messaging are the attributes of the span of an action. The destination is a template: a subject without ids, such as
// "zlink.v1.instance.{instance}.lease.claim". Make them once for each operation, not for each request.
func Messaging(a Action, operation, destination string) []attribute.KeyValue {
	kind := semconv.MessagingOperationTypeSend
	if a == Process {
		kind = semconv.MessagingOperationTypeProcess
	}
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String("nats"),
		semconv.MessagingOperationName(string(a)),
		kind,
		semconv.MessagingDestinationTemplate(destination),
		KeyOperation.String(operation),
	}
}
