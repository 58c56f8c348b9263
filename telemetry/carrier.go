package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The headers of W3C Trace Context, as they stand in NATS messages.
const (
	HeaderTraceParent = "traceparent"
	HeaderTraceState  = "tracestate"
)

// Carrier makes the headers of a NATS message a [propagation.TextMapCarrier]. Names are used as they are. A nil carrier can be
// read, not written.
type Carrier map[string][]string

var (
	_ propagation.TextMapCarrier = Carrier{}
	_ propagation.ValuesGetter   = Carrier{}
)

// Get returns the first value of a header; empty when there is none.
func (c Carrier) Get(name string) string {
	if values := c[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set replaces the values of a header by one.
func (c Carrier) Set(name, value string) { c[name] = []string{value} }

// Values returns all values of a header. They are not to be changed.
func (c Carrier) Values(name string) []string { return c[name] }

// Keys lists the names of the headers in no order.
func (c Carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

// Inject writes the trace of a context into headers, in place of the one that they have. It leaves them alone when the context has
// none.
func Inject(ctx context.Context, header map[string][]string) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	delete(header, HeaderTraceState)
	propagation.TraceContext{}.Inject(ctx, Carrier(header))
}

// Extract returns a context with the trace that headers carry as the remote parent, or the context itself when they carry none
// that is valid.
func Extract(ctx context.Context, header map[string][]string) context.Context {
	if len(header[HeaderTraceParent]) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, Carrier(header))
}
