package handlers_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// benchCallers is how many requests are in flight.
const benchCallers = 64

// BenchmarkRead compares reads with an empty service of the same framework, both over one in-process connection.
func BenchmarkRead(b *testing.B) {
	node := testenv.Server(b, testenv.ServerOptions{})
	client := node.Connect(b)
	b.Run("echo", func(b *testing.B) {
		echo, err := micro.AddService(node.ConnectInProcess(b), micro.Config{Name: "echo", Version: "0.0.1"})
		if err != nil {
			b.Fatal(err)
		}
		err = echo.AddEndpoint("echo", micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(r.Data()) }))
		if err != nil {
			b.Fatal(err)
		}
		ask(b, client, "echo", []byte("empty"))
		if err := echo.Stop(); err != nil {
			b.Fatal(err)
		}
	})

	s := benchService(b, node, nil)
	write := marshal(b, wire.StoreWriteRequest{Mutations: []wire.StoreMutation{
		{Kind: wire.MutationPut, Key: wire.Bytes("k"), Bytes: make(wire.Bytes, 400)},
	}})
	if _, err := client.Request(subjects.DefaultPrefix.Operation(subjects.StoreWrite), write, patience); err != nil {
		b.Fatal(err)
	}
	b.Run("store.read", func(b *testing.B) {
		ask(b, client, subjects.DefaultPrefix.Operation(subjects.StoreRead), marshal(b, wire.StoreReadRequest{Key: wire.Bytes("k")}))
	})
	b.Run("store.write", func(b *testing.B) {
		ask(b, client, subjects.DefaultPrefix.Operation(subjects.StoreWrite), write)
	})
	if err := s.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkObserved shows what it costs to be told of reads: nothing, how long they took, that and that nobody records them, and
// all of it, by a recorder that drops it.
func BenchmarkObserved(b *testing.B) {
	node := testenv.Server(b, testenv.ServerOptions{})
	client := node.Connect(b)
	read := marshal(b, wire.StoreReadRequest{Key: wire.Bytes("k")})
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	traces := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		p := sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithBatcher(tracetest.NewNoopExporter()))
		b.Cleanup(func() { _ = p.Shutdown(context.Background()) }) // nothing is kept that could be lost
		return p
	}
	for name, edit := range map[string]func(*handlers.Options){
		"off":        nil,
		"timed":      func(o *handlers.Options) { o.MeterProvider = metrics },
		"unrecorded": func(o *handlers.Options) { o.MeterProvider, o.TracerProvider = metrics, traces(sdktrace.NeverSample()) },
		"recorded": func(o *handlers.Options) {
			o.MeterProvider, o.TracerProvider = metrics, traces(sdktrace.AlwaysSample())
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := benchService(b, node, edit)
			ask(b, client, subjects.DefaultPrefix.Operation(subjects.StoreRead), read)
			if err := s.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// benchService serves an empty store. The options may be changed by edit.
func benchService(b *testing.B, node *testenv.Node, edit func(*handlers.Options)) *handlers.Service {
	b.Helper()
	o := handlers.Options{
		Conn: node.ConnectInProcess(b), Store: memkv.New(memkv.Options{Schema: domain.Schema()}), InstanceID: "one",
		Logger: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	s, err := handlers.Start(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func marshal(b *testing.B, v any) []byte {
	b.Helper()
	data, err := wire.Marshal(wire.CBOR, v)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// ask spreads the benchmark's requests over the callers.
func ask(b *testing.B, nc *nats.Conn, subject string, payload []byte) {
	b.Helper()
	b.ReportAllocs()
	tickets := make(chan struct{})
	var wg sync.WaitGroup
	for range benchCallers {
		wg.Go(func() {
			for range tickets {
				if _, err := nc.Request(subject, payload, patience); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for b.Loop() {
		tickets <- struct{}{}
	}
	close(tickets)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}
