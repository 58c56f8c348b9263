package main

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/config"
)

// dialer connects to a server.
type dialer func(network, address string) (net.Conn, error)

// Dial makes it a nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// connectUntil is connect, given up when ctx ends. The library waits for each of the servers in turn, and a service that is told
// to stop meanwhile would be killed by its supervisor before it noticed.
func connectUntil(ctx context.Context, c *config.Connection, besides ...nats.Option) (*link, error) {
	d, kept := dialUntil(ctx, c.Timeout)
	l, err := connect(c, append(besides, nats.SetCustomDialer(d))...)
	kept()
	if err == nil && ctx.Err() != nil { // the connection may have ended as well
		l.Close()
		return nil, ctx.Err()
	}
	return l, err
}

// dialUntil returns a dialer whose connections end with ctx until kept is called.
func dialUntil(ctx context.Context, timeout time.Duration) (d dialer, kept func()) {
	var isKept atomic.Bool
	d = func(network, address string) (net.Conn, error) {
		plain := net.Dialer{Timeout: timeout}
		if isKept.Load() {
			return plain.Dial(network, address)
		}
		conn, err := plain.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() {
			if !isKept.Load() {
				_ = conn.Close()
			}
		})
		return conn, nil
	}
	return d, func() { isKept.Store(true) }
}
