package client

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/telemetry"
)

// keyTries is how often a request was sent.
const keyTries = attribute.Key("zlink.tries")

// begin makes the span of a call. Every try is a part of it, and the service's spans become its children.
func (k *attempts) begin(ctx context.Context) (context.Context, trace.Span) {
	op := string(k.op)
	ctx, span := k.c.tracer.Start(ctx, telemetry.SpanName(telemetry.Request, op), trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(telemetry.Messaging(telemetry.Request, op, k.c.prefix.Operation(k.op))...)
	}
	return ctx, span
}

// conclude says what became of the call.
func (k *attempts) conclude(span trace.Span, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(keyTries.Int(k.tries))
	e, failed := errors.AsType[*Error](err)
	if !failed {
		span.SetAttributes(telemetry.KeyOutcome.String("ok"))
		return
	}
	span.SetAttributes(telemetry.KeyOutcome.String(string(e.Code)))
	span.SetStatus(codes.Error, string(e.Code))
}
