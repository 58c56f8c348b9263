package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/zlink/zlink-nats/telemetry"
)

// exports are the ways in which figures and traces leave the process: figures are there
// for Prometheus in any case; both go to a collector when the environment names one, with
// the variables that OpenTelemetry has for that.
type exports struct {
	registry *prometheus.Registry
	metrics  *sdkmetric.MeterProvider
	traces   *sdktrace.TracerProvider // nil when traces go nowhere
}

// newExports makes the figures of an instance known, which need not be there yet.
func newExports(ctx context.Context, r *running, id string, log *slog.Logger) (*exports, error) {
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "op", "export", "err", err) }))
	e := &exports{registry: prometheus.NewRegistry()}
	e.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	scrape, err := otelprometheus.New(otelprometheus.WithRegisterer(e.registry),
		otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	b := ownBuild()
	who, err := describe(ctx, id, b)
	if errors.Is(err, resource.ErrPartialResource) { // what cannot be read is left out, as in all of these variables
		log.Warn("telemetry", "op", "export", "err", fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err))
	} else if err != nil {
		return nil, err
	}
	options := []sdkmetric.Option{
		sdkmetric.WithReader(scrape), sdkmetric.WithResource(who),
		sdkmetric.WithCardinalityLimit(0), // there are as many nodes as there are
	}
	if options, err = pushMetrics(ctx, options); err != nil {
		return nil, err
	}
	if e.traces, err = pushTraces(ctx, who); err != nil {
		return nil, err
	}
	e.metrics = sdkmetric.NewMeterProvider(options...)
	return e, observe(telemetry.Meter(e.metrics, b.Version), r, id, b)
}

// describe says whose figures and traces these are. What the environment says
// (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) comes first.
func describe(ctx context.Context, id string, b build) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("zlink-nats"), semconv.ServiceVersion(b.Version), semconv.ServiceInstanceID(id),
	), resource.WithFromEnv())
}

// collects tells whether a collector takes one of "traces" and "metrics".
func collects(signal string) (bool, error) {
	variable := func(format string) string { return os.Getenv(fmt.Sprintf(format, strings.ToUpper(signal))) }
	if variable("OTEL_%s_EXPORTER") == "none" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && variable("OTEL_EXPORTER_OTLP_%s_ENDPOINT") == "" {
		return false, nil
	}
	protocol := variable("OTEL_EXPORTER_OTLP_%s_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("export of %s by %q: only http/protobuf is spoken here, which collectors take at port 4318: leave OTEL_EXPORTER_OTLP_PROTOCOL out",
			signal, protocol)
	}
	return true, nil
}

// pushMetrics adds the collector to the readers, if there is one.
func pushMetrics(ctx context.Context, options []sdkmetric.Option) ([]sdkmetric.Option, error) {
	if wanted, err := collects("metrics"); err != nil || !wanted {
		return options, err
	}
	exporter, err := otlpmetrichttp.New(ctx)
	return append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter))), err
}

// pushTraces returns nil when there is no collector. Without OTEL_TRACES_SAMPLER clients
// decide which of their requests are recorded: a directory is asked so often that it must
// not record everything by itself.
func pushTraces(ctx context.Context, who *resource.Resource) (*sdktrace.TracerProvider, error) {
	if wanted, err := collects("traces"); err != nil || !wanted {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithBatcher(exporter), sdktrace.WithResource(who)}
	if os.Getenv("OTEL_TRACES_SAMPLER") == "" {
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample())))
	}
	return sdktrace.NewTracerProvider(options...), nil
}

// tracer is what makes spans; nil when they go nowhere.
func (e *exports) tracer() trace.TracerProvider {
	if e.traces == nil {
		return nil
	}
	return e.traces
}

// scrapesAtOnce is how many scrapes are answered at the same time, further ones with 503: with thousands of nodes each
// takes some ten megabytes and a processor for half a second, and all of them together would be too late.
const scrapesAtOnce = 4

// handler answers Prometheus.
func (e *exports) handler() http.Handler {
	return promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{
		Registry: e.registry, EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce,
	})
}

// exportTimeout bounds what is still sent when the service has stopped: a collector that
// does not answer must not keep it.
const exportTimeout = 5 * time.Second

// stop sends what is left.
func (e *exports) stop(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), exportTimeout)
	defer cancel()
	var lost error
	if e.traces != nil {
		lost = e.traces.Shutdown(ctx)
	}
	if lost = errors.Join(lost, e.metrics.Shutdown(ctx)); lost != nil {
		log.Warn("telemetry", "op", "stop", "err", lost)
	}
}
