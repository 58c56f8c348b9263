package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
)

// collector takes what programs export.
type collector struct {
	*httptest.Server
	mu   sync.Mutex
	sent map[string][]byte // guarded by mu; by path
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{sent: make(map[string][]byte)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sent[r.URL.Path] = append(c.sent[r.URL.Path], body...)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) has(path, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.sent[path], []byte(text))
}

func claimTraced(t *testing.T, s *served) {
	t.Helper()
	m := nats.NewMsg("zlink.v1.lease.claim")
	m.Header["traceparent"] = []string{"00-" + clientTrace + "-" + clientSpan + "-01"}
	m.Data = []byte(`{"ownerId":"a","leaseTtlMs":60000}`)
	if _, err := s.connect().RequestMsg(m, patience); err != nil {
		t.Fatal(err)
	}
	if _, err := s.connect().Request("zlink.v1.lease.read", []byte(`{"ownerId":"a"}`), patience); err != nil {
		t.Fatal(err)
	}
}

// What is left is sent when the program ends, long before it would be sent by itself.
// Only what the client records is recorded.
func TestCollectorGetsFiguresAndTraces(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	s := startProgram(t, "--http", "off", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	claimTraced(t, s)
	if err := s.terminate(); err != nil {
		t.Fatal(err)
	}
	trace, err := hex.DecodeString(clientTrace)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(trace), "process lease.claim", "commit", "zlink.outcome", "service.instance.id"} {
		if !c.has("/v1/traces", text) {
			t.Errorf("%q is not among the exported traces", text)
		}
	}
	if c.has("/v1/traces", "lease.read") {
		t.Error("a request is recorded that its client does not record")
	}
	for _, text := range []string{"zlink.requests", "zlink.request.duration", "zlink.store.revision"} {
		if !c.has("/v1/metrics", text) {
			t.Errorf("%q is not among the exported metrics", text)
		}
	}
}

func TestSamplerOfTheEnvironmentCounts(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	s := startProgram(t, "--http", "off", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL+"/t", "OTEL_TRACES_SAMPLER=always_on")
	claimTraced(t, s)
	if err := s.terminate(); err != nil {
		t.Fatal(err)
	}
	if !c.has("/t", "process lease.read") || c.has("/v1/metrics", "zlink") {
		t.Error("want all traces, and no metrics")
	}
}

// A collector that does not answer keeps nobody from stopping.
func TestProgramEndsWithoutItsCollector(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); c.Close() })
	s := startProgram(t, "--http", "off", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	claimTraced(t, s)
	if err := s.terminate(); err != nil {
		t.Errorf("end: %v", err)
	}
}
