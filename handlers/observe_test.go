package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
)

// traced are the headers of a client that records its request.
func traced() headers {
	return headers{"traceparent": "00-" + clientTrace + "-" + clientSpan + "-01", "tracestate": "vendor=x"}
}

// spans record what a service tells.
type spans struct {
	t *testing.T
	*tracetest.SpanRecorder
	provider *sdktrace.TracerProvider
}

func recordSpans(t *testing.T, o ...sdktrace.TracerProviderOption) *spans {
	r := tracetest.NewSpanRecorder()
	return &spans{t, r, sdktrace.NewTracerProvider(append(o, sdktrace.WithSpanProcessor(r))...)}
}

func (s *spans) of(o *handlers.Options) { o.TracerProvider = s.provider }

// named waits for spans of a name, and returns them as they ended.
func (s *spans) named(name string, n int) []sdktrace.ReadOnlySpan {
	s.t.Helper()
	var found []sdktrace.ReadOnlySpan
	testenv.Eventually(s.t, patience, func() bool {
		found = nil
		for _, span := range s.Ended() {
			if span.Name() == name {
				found = append(found, span)
			}
		}
		return len(found) >= n
	}, n, "spans", name)
	if len(found) != n {
		s.t.Fatalf("%d spans %q, want %d", len(found), name, n)
	}
	return found
}

func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	all := make(map[string]string)
	for _, a := range s.Attributes() {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

func childOf(t *testing.T, s sdktrace.ReadOnlySpan, trace, parent string) {
	t.Helper()
	if got := s.SpanContext().TraceID().String() + " " + s.Parent().SpanID().String(); got != trace+" "+parent {
		t.Errorf("%s: trace and parent %s, want %s %s", s.Name(), got, trace, parent)
	}
}

func TestSpanOfARequestIsAChildOfTheClients(t *testing.T) {
	t.Parallel()
	s := recordSpans(t)
	f := start(t, s.of)
	f.call(subjects.LeaseClaim, claimA, traced()).want(map[string]string{"kind": "claimed"})
	server, commit := s.named("process lease.claim", 1)[0], s.named("commit", 1)[0]
	childOf(t, server, clientTrace, clientSpan)
	childOf(t, commit, clientTrace, server.SpanContext().SpanID().String())
	if got := server.SpanContext().TraceState().String(); got != "vendor=x" || server.SpanKind() != trace.SpanKindServer {
		t.Errorf("trace state %q, kind %s", got, server.SpanKind())
	}
	want := map[string]string{
		"messaging.system": "nats", "messaging.operation.name": "process", "messaging.operation.type": "process",
		"messaging.destination.template": "zlink.v1.lease.claim", "zlink.operation": "lease.claim", "zlink.outcome": "ok",
	}
	if diff := cmp.Diff(want, attributes(server)); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	got := attributes(commit)
	if got["zlink.attempts"] != "1" || got["zlink.revision"] != "1" || got["zlink.queued"] == "" {
		t.Errorf("attributes of the commit %v", got)
	}
}

func TestClientDecidesWhetherItsRequestIsRecorded(t *testing.T) {
	t.Parallel()
	s := recordSpans(t, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	f := start(t, s.of)
	f.call(subjects.LeaseRead, readA, headers{"traceparent": "00-" + clientTrace + "-" + clientSpan + "-00"}).fields()
	f.call(subjects.LeaseRead, readA, nil).fields()
	f.call(subjects.LeaseRead, readA, traced()).fields()
	s.named("process lease.read", 1)
}

func TestSpanSaysWhatBecameOfARequest(t *testing.T) {
	t.Parallel()
	s := recordSpans(t)
	var store *stub
	f := start(t, func(o *handlers.Options) { s.of(o); store = &stub{Store: o.Store}; o.Store = store })
	store.update = func(context.Context, kvstore.UpdateOptions, func(*kvstore.Tx) error) (kvstore.Revision, error) {
		return 0, errors.New("no idea")
	}
	f.call(subjects.LeaseClaim, `{}`, traced()).refused(wire.CodeInvalidArgument, "ownerId")
	f.call(subjects.LeaseClaim, claimA, traced()).refused(wire.CodeInternal, "")
	got := make(map[string]sdktrace.Status)
	for _, span := range s.named("process lease.claim", 2) {
		got[attributes(span)["zlink.outcome"]] = span.Status()
	}
	want := map[string]sdktrace.Status{
		"invalidArgument": {}, "internal": {Code: codes.Error, Description: "no idea"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status by outcome (-want +got):\n%s", diff)
	}
	if got := s.named("commit", 1)[0].Status(); got != want["internal"] {
		t.Errorf("status of the commit %v", got)
	}
}

// Two instances make one trace of a request that one hands to the other, and each counts it.
func TestTraceOfARelayedRequestGoesOnInTheOtherInstance(t *testing.T) {
	t.Parallel()
	s := recordSpans(t)
	handsOverTo := func(other string) func(*handlers.Options) {
		return func(o *handlers.Options) { s.of(o); o.Store = &stub{Store: o.Store, writer: other} }
	}
	f := start(t, handsOverTo("two"))
	f.serve("two", f.store, handsOverTo("one"))
	f.call(subjects.LeaseClaim, claimA, traced()).want(map[string]string{"kind": "claimed"}) // whoever of them it comes to
	ends := s.named("process lease.claim", 2)
	inner, outer := ends[0], ends[1]
	if attributes(inner)["zlink.outcome"] == handlers.OutcomeForwarded {
		inner, outer = outer, inner
	}
	childOf(t, outer, clientTrace, clientSpan)
	childOf(t, inner, clientTrace, outer.SpanContext().SpanID().String())
	childOf(t, s.named("commit", 1)[0], clientTrace, inner.SpanContext().SpanID().String())
	if a, b := attributes(outer), attributes(inner); a["zlink.outcome"] != handlers.OutcomeForwarded ||
		b["zlink.outcome"] != handlers.OutcomeOK || b["messaging.destination.template"] != "zlink.v1.instance.{instance}.lease.claim" {
		t.Errorf("attributes of who hands over %v, of who commits %v", a, b)
	}
	f.statistics(2, "lease-claim", handlers.OutcomeForwarded, handlers.OutcomeOK)
}

// statistics waits until $SRV.STATS of so many instances has requests of an endpoint with these outcomes, one each, and how long
// each took.
func (f *fixture) statistics(instances int, endpoint string, outcomes ...string) {
	f.t.Helper()
	testenv.Eventually(f.t, patience, func() bool {
		got := make(map[string]uint64)
		for _, data := range f.statisticsOf(instances, endpoint) {
			for outcome, n := range data.Outcomes {
				got[outcome] += n
			}
			if len(data.Outcomes) > 0 && (data.Total <= 0 || data.Average <= 0) {
				return false
			}
		}
		want := make(map[string]uint64)
		for _, outcome := range outcomes {
			want[outcome] = 1
		}
		return cmp.Equal(want, got)
	}, "statistics of", endpoint, outcomes)
}

// statisticsData is what $SRV.STATS has of an endpoint.
type statisticsData struct {
	Outcomes map[string]uint64 `json:"outcomes"`
	Total    time.Duration     `json:"processing_time"`
	Average  time.Duration     `json:"average_processing_time"`
}

// statisticsOf asks so many instances.
func (f *fixture) statisticsOf(instances int, endpoint string) (all []statisticsData) {
	f.t.Helper()
	inbox, err := f.client.SubscribeSync(f.client.NewRespInbox())
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	if err := f.client.PublishRequest("$SRV.STATS.zlink", inbox.Subject, nil); err != nil {
		f.t.Fatal(err)
	}
	for range instances {
		m, err := inbox.NextMsg(patience)
		if err != nil {
			f.t.Fatal(err)
		}
		var stats micro.Stats
		if err := json.Unmarshal(m.Data, &stats); err != nil {
			f.t.Fatal(err)
		}
		for _, e := range stats.Endpoints {
			if e.Name != endpoint {
				continue
			}
			var data statisticsData
			if err := json.Unmarshal(e.Data, &data); err != nil {
				f.t.Fatal(err)
			}
			all = append(all, data)
		}
	}
	return all
}

func TestSpanOfAParkedRequestEndsWithIt(t *testing.T) {
	t.Parallel()
	s := recordSpans(t)
	f := start(t, s.of)
	w := f.waits()
	w.send(changed("r1", ""), headers{
		"traceparent": traced()["traceparent"], "Zlink-Deadline": strconv.FormatInt(testT0+50, 10),
	})
	w.next().refused(wire.CodeDeadlineExceeded, "")
	span := s.named("process object.await", 1)[0]
	childOf(t, span, clientTrace, clientSpan)
	if took := span.EndTime().Sub(span.StartTime()); took < 50*time.Millisecond || attributes(span)["zlink.outcome"] != "deadlineExceeded" {
		t.Errorf("span of %s with %v", took, attributes(span))
	}
	f.statistics(1, "object-await", "deadlineExceeded")
}

// No name and no attribute of a metric may have anything in it that callers choose: there would be no end of them.
func TestNamesDoNotDependOnWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	const id = "an-id-that-must-not-show"
	s := recordSpans(t)
	reader := sdkmetric.NewManualReader()
	f := start(t, func(o *handlers.Options) {
		s.of(o)
		o.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	})
	f.claim(id)
	f.call(subjects.StoreRead, `{"key":"`+id+`"}`, nil)
	s.named("process store.read", 1)
	s.named("process lease.claim", 1)
	for _, span := range s.Ended() {
		for name, value := range attributes(span) {
			if strings.Contains(span.Name()+name+value, id) {
				t.Errorf("span %q has %s=%s", span.Name(), name, value)
			}
		}
	}
	got := durations(t, reader)
	if diff := cmp.Diff(map[string]uint64{"lease.claim": 1, "store.read": 1}, got); diff != "" {
		t.Errorf("durations counted by operation (-want +got):\n%s", diff)
	}
}

// durations are the counts of the histogram by its one attribute.
func durations(t *testing.T, reader *sdkmetric.ManualReader) map[string]uint64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]uint64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "zlink.request.duration" || m.Unit != "s" {
				t.Errorf("metric %q in %q", m.Name, m.Unit)
				continue
			}
			for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				op, _ := p.Attributes.Value(attribute.Key("operation"))
				if p.Attributes.Len() != 1 || p.Sum <= 0 {
					t.Errorf("point %v of %v s", p.Attributes.ToSlice(), p.Sum)
				}
				counts[op.AsString()] = p.Count
			}
		}
	}
	return counts
}
