package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zlink/zlink-nats/handlers"
)

// httpServer answers operators and their tools.
type httpServer struct {
	listener net.Listener
	server   *http.Server
	service  atomic.Pointer[handlers.Service] // nil until it takes requests
}

// Limits of a request: the answers are small and local, so that whoever is slower
// than this has gone or means harm.
const (
	httpReadTimeout  = 5 * time.Second
	httpWriteTimeout = 10 * time.Second
	httpIdleTimeout  = time.Minute
	httpHeaderBytes  = 16 << 10
)

// listenHTTP opens the listener for an instance; run answers.
func listenHTTP(address string, i *instance) (*httpServer, error) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("HTTP address is in use: %s: stop what listens there, or choose another address with --http (port 0 takes a free one, 'off' does without)", address)
	case err != nil:
		return nil, fmt.Errorf("listen for HTTP at %s: %w: choose another address with --http", address, err)
	}
	h := &httpServer{listener: listener}
	h.server = &http.Server{
		Handler:        h.routes(i),
		ReadTimeout:    httpReadTimeout,
		WriteTimeout:   httpWriteTimeout,
		IdleTimeout:    httpIdleTimeout,
		MaxHeaderBytes: httpHeaderBytes,
	}
	return h, nil
}

func (h *httpServer) routes(i *instance) http.Handler {
	ready := readiness{instance: i, service: &h.service}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "zlink-nats\n\n/healthz  the process lives\n/readyz   requests can be answered\n/metrics  figures for Prometheus")
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready.check(r.Context()); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.Handle("GET /metrics", metricsHandler(i, &h.service))
	return mux
}

// answer writes one text. A client that has gone does not get it; nobody minds.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// run answers until ctx ends.
func (h *httpServer) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = h.server.Close() })
	defer stop()
	if err := h.server.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("HTTP: %w", err)
	}
	return nil
}

// serving says that the service takes requests.
func (h *httpServer) serving(s *handlers.Service) { h.service.Store(s) }

// url is the address of the listener for a client on this machine.
func (h *httpServer) url() string {
	host, port, err := net.SplitHostPort(h.listener.Addr().String())
	if err != nil {
		return "http://" + h.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
