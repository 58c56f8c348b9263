package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zlink/zlink-nats/embedded"
)

const (
	// clusterPoll is how often a starting cluster is asked whether it can store.
	clusterPoll = 50 * time.Millisecond
	// clusterAnswer is how long to wait for its answer: a cluster without a leader gives none.
	clusterAnswer = time.Second
)

// NATSOptions says what NATS to start.
type NATSOptions struct {
	Servers    int  // 1, or 3 for a cluster
	SyncAlways bool // write through to the disk before every acknowledgement
	// Echo makes every server answer [EchoSubject] from inside its process, connected as the service is to its embedded
	// server.
	Echo bool
}

// natsSpec is one NATS server, set up as the service sets up its own.
type natsSpec struct {
	Name       string
	Dir        string
	SyncAlways bool
	Echo       bool
	Listen     string   // address for the other members; empty means no cluster
	Routes     []string // addresses of all members
}

// NATS starts a NATS server or cluster and returns the client URLs, one a server, once a stream with a replica on
// every server can be made.
func (g *Group) NATS(ctx context.Context, o NATSOptions) ([]string, error) {
	specs, err := g.natsSpecs(o)
	if err != nil {
		return nil, err
	}
	urls, err := g.start(ctx, specs...)
	if err == nil {
		err = awaitStreams(ctx, urls)
	}
	if err != nil {
		return nil, fmt.Errorf("start NATS: %w", err)
	}
	return urls, nil
}

func (g *Group) natsSpecs(o NATSOptions) ([]spec, error) {
	var routes []string
	if o.Servers > 1 {
		ports, err := freePorts(o.Servers)
		if err != nil {
			return nil, err
		}
		for _, p := range ports {
			routes = append(routes, hostPort(p))
		}
	}
	specs := make([]spec, o.Servers)
	for i := range specs {
		name := fmt.Sprintf("nats%d", i)
		dir, err := g.newDir(name)
		if err != nil {
			return nil, err
		}
		s := &natsSpec{Name: name, Dir: dir, SyncAlways: o.SyncAlways, Echo: o.Echo, Routes: routes}
		if routes != nil {
			s.Listen = routes[i]
		}
		specs[i].NATS = s
	}
	return specs, nil
}

func (s *natsSpec) serve() (string, func(), error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	srv, err := embedded.Start(ctx, embedded.Options{
		Listen:     hostPort(0),
		Dir:        s.Dir,
		ServerName: s.Name,
		SyncAlways: s.SyncAlways,
		Cluster:    embedded.Cluster{Name: "bench", Listen: s.Listen, Routes: s.Routes},
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return "", nil, err
	}
	if s.Echo {
		if err := serveEcho(srv.ClientURL(), srv.InProcess()); err != nil {
			return "", nil, err
		}
	}
	return srv.ClientURL(), nothingToStop, nil
}

// awaitStreams waits until a stream with a replica on every server can be made, and removes it again.
func awaitStreams(ctx context.Context, urls []string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	nc, err := nats.Connect(urls[0])
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	tick := time.NewTicker(clusterPoll)
	defer tick.Stop()
	for {
		if err = tryStream(ctx, js, len(urls)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// tryStream makes and removes a stream. Making it once more is no error.
func tryStream(ctx context.Context, js jetstream.JetStream, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, clusterAnswer)
	defer cancel()
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "ready", Replicas: replicas})
	if err != nil {
		return err
	}
	return js.DeleteStream(ctx, s.CachedInfo().Config.Name)
}
