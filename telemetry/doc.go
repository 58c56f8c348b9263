// Package telemetry is what the service and its clients agree on when they tell of their work: the name of the instrumentation
// scope, the headers by which a trace travels, and the names and attributes of spans.
//
// # Traces
//
// A trace travels in the headers "traceparent" and "tracestate" of W3C Trace Context, in exactly these lower-case letters: NATS
// compares header names by case, and tools that canonicalise them would not find each other.
//
// # Names
//
// The name of a span is one of few: it says what is done and by which operation, never to which row, owner or instance. The same
// goes for destinations, which are templates: what varies in a subject stands in braces.
//
// # Concurrency
//
// Everything here is pure but for the headers that a caller hands over, and may be used from any goroutine.
package telemetry
