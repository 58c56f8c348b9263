package instance_test

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/telemetry"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

// place has a node with room, and places a room.
func place(t *testing.T, c *client.Client) *wire.ObjectReserveReply {
	t.Helper()
	lease, err := c.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: "a", TTL: 60_000})
	if err != nil || lease.Token == nil {
		t.Fatalf("claim: %+v, %v", lease, err)
	}
	node, err := c.MeshNodes.Update(t.Context(), wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: wire.MeshNodeDescriptor{
		MeshName: "play", RID: "n1", LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "tcp://n1:1", ObjectRole: wire.RoleServer,
		PlacementWeight: 100, ActivationConcurrency: wire.ActivationConcurrency{Limit: 1}, State: wire.StateServing, SecurityIdentity: "s",
		PopulationCapacity: wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: "room"}}},
		OwnerToken:         *lease.Token,
	}})
	if err != nil || node.Status != wire.StatusStored {
		t.Fatalf("node: %+v, %v", node, err)
	}
	none := sha256.Sum256(nil)
	placed, err := c.Objects.Place(t.Context(), wire.ObjectPlaceRequest{
		Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "lobby"}, MeshName: "play", CreatingPayload: []byte{},
		Intent:   wire.CreationIntent{StableType: "room", RequestContentReference: "none", RequestSHA256: none[:]},
		Capacity: wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}},
	})
	if err != nil || placed.Kind != wire.KindReserved {
		t.Fatalf("place: %+v, %v", placed, err)
	}
	return placed
}

// TestTraceOfAPlacement follows one object.place from the client's call to the commit: three spans of one trace, each within the
// one before.
func TestTraceOfAPlacement(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	server := testenv.Server(t, testenv.ServerOptions{})
	instancetest.Start(t, instance.Options{Conn: instancetest.Connect(t, server), ID: "one", TracerProvider: provider})
	c, err := client.New(server.Connect(t), client.Options{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	placed := place(t, c)

	var spans tracetest.SpanStubs // of the placement: call, request, commit
	testenv.Eventually(t, time.Minute, func() bool {
		spans = traceOf(exporter.GetSpans(), "request object.place")
		return len(spans) == 3
	}, "spans of the placement")
	for i, want := range []struct {
		name string
		kind trace.SpanKind
	}{{"request object.place", trace.SpanKindClient}, {"process object.place", trace.SpanKindServer}, {"commit", trace.SpanKindInternal}} {
		got := spans[i]
		if got.Name != want.name || got.SpanKind != want.kind {
			t.Errorf("span %d is %q of kind %v, want %q of kind %v", i, got.Name, got.SpanKind, want.name, want.kind)
		}
		if i > 0 && got.Parent.SpanID() != spans[i-1].SpanContext.SpanID() {
			t.Errorf("%q is not a child of %q", got.Name, spans[i-1].Name)
		}
	}
	for i, outcome := range []string{"ok", "ok"} {
		if got := value(spans[i], telemetry.KeyOutcome).AsString(); got != outcome {
			t.Errorf("%q has outcome %q, want %q", spans[i].Name, got, outcome)
		}
	}
	if got := value(spans[2], telemetry.KeyRevision).AsInt64(); got != int64(placed.Creating.ObjectGeneration) {
		t.Errorf("the commit has revision %d, want that of the reservation, %d", got, placed.Creating.ObjectGeneration)
	}
}

// traceOf are the spans of the trace that has a root of a name, parents before their children.
func traceOf(all tracetest.SpanStubs, root string) (spans tracetest.SpanStubs) {
	at := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Name == root })
	if at < 0 {
		return nil
	}
	for next := at; next >= 0; {
		parent := all[next]
		spans = append(spans, parent)
		next = slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return s.Parent.SpanID() == parent.SpanContext.SpanID() })
	}
	return spans
}

func value(s tracetest.SpanStub, key attribute.Key) attribute.Value {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value
		}
	}
	return attribute.Value{}
}
