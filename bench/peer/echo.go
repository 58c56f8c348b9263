package peer

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	// EchoSubject is the subject of the empty micro service.
	EchoSubject = "bench.echo"
	// EchoBytes is the size of its reply.
	EchoBytes = 100
)

// echoSpec is an empty micro service on a NATS server.
type echoSpec struct{ URL string }

// Echo starts an empty micro service in a process of its own, connected to the NATS server at url. It answers
// [EchoSubject] with [EchoBytes] bytes.
func (g *Group) Echo(ctx context.Context, url string) error {
	if _, err := g.start(ctx, spec{Echo: &echoSpec{URL: url}}); err != nil {
		return fmt.Errorf("start echo: %w", err)
	}
	return nil
}

func (s *echoSpec) serve() (string, func(), error) {
	return s.URL, nothingToStop, serveEcho(s.URL)
}

// serveEcho answers until the process ends.
func serveEcho(url string, opts ...nats.Option) error {
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return err
	}
	srv, err := micro.AddService(nc, micro.Config{Name: "echo", Version: "1.0.0"})
	if err != nil {
		return err
	}
	reply := make([]byte, EchoBytes)
	handler := micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(reply) }) // a lost connection ends the callers too
	if err := srv.AddEndpoint("echo", handler, micro.WithEndpointSubject(EchoSubject)); err != nil {
		return err
	}
	return nc.Flush() // the server knows the subscription before the first request comes
}
