package telemetry_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/telemetry"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestHeadersKeepTheirLowerCaseNames(t *testing.T) {
	t.Parallel()
	header := map[string][]string{telemetry.HeaderTraceParent: {parent}, telemetry.HeaderTraceState: {"a=1"}}
	ctx := telemetry.Extract(t.Context(), header)
	sc := trace.SpanContextFromContext(ctx)
	if got := sc.TraceID().String(); got != parent[3:35] || !sc.IsRemote() || !sc.IsSampled() {
		t.Errorf("extracted trace %s, remote %v, sampled %v", got, sc.IsRemote(), sc.IsSampled())
	}
	copied := map[string][]string{}
	telemetry.Inject(ctx, copied)
	if diff := cmp.Diff(header, copied); diff != "" {
		t.Errorf("headers after the journey (-want +got):\n%s", diff)
	}
}

func TestInjectReplacesTheTraceThatWasThere(t *testing.T) {
	t.Parallel()
	ctx := telemetry.Extract(t.Context(), map[string][]string{telemetry.HeaderTraceParent: {parent}})
	header := map[string][]string{telemetry.HeaderTraceParent: {"old"}, telemetry.HeaderTraceState: {"old=1"}, "Other": {"x"}}
	telemetry.Inject(ctx, header)
	want := map[string][]string{telemetry.HeaderTraceParent: {parent}, "Other": {"x"}}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestNoTraceMeansNoChange(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]map[string][]string{
		"no headers":     nil,
		"another case":   {"Traceparent": {parent}}, // NATS tells these apart
		"not a trace":    {telemetry.HeaderTraceParent: {"hello"}},
		"all zero trace": {telemetry.HeaderTraceParent: {"00-00000000000000000000000000000000-b7ad6b7169203331-01"}},
		"an empty value": {telemetry.HeaderTraceParent: {""}},
		"no value":       {telemetry.HeaderTraceParent: {}},
	} {
		if got := telemetry.Extract(t.Context(), header); got != t.Context() {
			t.Errorf("%s: extracted %v", name, trace.SpanContextFromContext(got))
		}
	}
	header := map[string][]string{telemetry.HeaderTraceParent: {"as it was"}}
	telemetry.Inject(t.Context(), header)
	if got := header[telemetry.HeaderTraceParent]; !slices.Equal(got, []string{"as it was"}) {
		t.Errorf("a context without a trace wrote %q", got)
	}
}

func TestCarrierListsNamesAndValues(t *testing.T) {
	t.Parallel()
	c := telemetry.Carrier{"a": {"1", "2"}, "B": {"3"}}
	keys := c.Keys()
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"B", "a"}) || !slices.Equal(c.Values("a"), []string{"1", "2"}) || c.Get("a") != "1" || c.Get("b") != "" {
		t.Errorf("keys %q, values %q, first %q, of another case %q", keys, c.Values("a"), c.Get("a"), c.Get("b"))
	}
}

func TestSpansAreNamedByOperations(t *testing.T) {
	t.Parallel()
	if got, want := telemetry.SpanName(telemetry.Process, "lease.claim"), "process lease.claim"; got != want {
		t.Errorf("span name %q, want %q", got, want)
	}
	got := make(map[string]string)
	for _, a := range telemetry.Messaging(telemetry.Request, "lease.claim", "zlink.v1.lease.claim") {
		got[string(a.Key)] = a.Value.AsString()
	}
	want := map[string]string{
		"messaging.system": "nats", "messaging.operation.name": "request", "messaging.operation.type": "send",
		"messaging.destination.template": "zlink.v1.lease.claim", "zlink.operation": "lease.claim",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}
