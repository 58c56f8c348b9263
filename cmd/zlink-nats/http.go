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

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/dashboard"
)

// httpServer answers operators and their tools, from before the data is read until
// the service has stopped; or it is off.
type httpServer struct {
	listener net.Listener // nil when it is off
	server   *http.Server
	ended    chan struct{} // closed when it answers no more
	err      error         // why; set before ended is closed
	running  *running
}

// running is the instance that takes requests, or why there is none.
type running struct {
	id       string                  // of the instance
	instance atomic.Pointer[process] // nil until it takes requests
	stopping atomic.Bool
	waiting  atomic.Pointer[error] // what keeps it from starting; nil when that is nothing known
}

// obstacle is why no requests are taken, or nil.
func (r *running) obstacle() error {
	switch waiting := r.waiting.Load(); {
	case r.stopping.Load():
		return errors.New("stopping: no requests are taken any more")
	case r.instance.Load() != nil:
		return nil
	case waiting != nil:
		return fmt.Errorf("starting: the NATS server is not ready: %w", *waiting)
	default:
		return errors.New("starting: no requests are taken yet")
	}
}

// Limits of a request: the answers are small and local, so that whoever is slower
// than this has gone or means harm.
const (
	httpReadTimeout  = 5 * time.Second
	httpWriteTimeout = 10 * time.Second
	httpIdleTimeout  = time.Minute
	httpHeaderBytes  = 16 << 10
)

// listenHTTP answers at an address, which may be off, until close is called.
func listenHTTP(address string, r *running, metrics http.Handler) (*httpServer, error) {
	h := &httpServer{ended: make(chan struct{}), running: r}
	if address == config.Off {
		return h, nil
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("HTTP address is in use: %s: stop what listens there, or choose another address with --http (port 0 takes a free one, 'off' does without)", address)
	case err != nil:
		return nil, fmt.Errorf("listen for HTTP at %s: %w: choose another address with --http", address, err)
	}
	h.listener = listener
	h.server = &http.Server{
		Handler:        h.routes(metrics),
		ReadTimeout:    httpReadTimeout,
		WriteTimeout:   httpWriteTimeout,
		IdleTimeout:    httpIdleTimeout,
		MaxHeaderBytes: httpHeaderBytes,
	}
	go func() {
		h.err = h.server.Serve(listener)
		close(h.ended)
	}()
	return h, nil
}

func (h *httpServer) routes(metrics http.Handler) http.Handler {
	ready := readiness{running: h.running}
	mux := http.NewServeMux()
	overview := dashboard.Source((&observer{running: h.running, ready: &ready, countedAt: time.Now()}).overview)
	mux.HandleFunc("GET /{$}", overview.Page)
	mux.HandleFunc("GET /api/overview", overview.JSON)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready.check(r.Context()); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.Handle("GET /metrics", metrics)
	return mux
}

// answer writes one text. A client that has gone does not get it; nobody minds.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// run returns when ctx ends, or why it answers no more.
func (h *httpServer) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.ended:
		return fmt.Errorf("HTTP: %w", h.err)
	}
}

// close ends it at once: whoever watches an instance that ends loses nothing.
func (h *httpServer) close() {
	if h.listener == nil {
		return
	}
	_ = h.server.Close()
	<-h.ended
}

// url is the address for a client on this machine; empty when it is off.
func (h *httpServer) url() string {
	if h.listener == nil {
		return ""
	}
	host, port, err := net.SplitHostPort(h.listener.Addr().String())
	if err != nil {
		return "http://" + h.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
