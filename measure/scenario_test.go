package measure_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/measure"
	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

// serve runs a service on a server of its own.
func serve(t *testing.T) *testenv.Node {
	t.Helper()
	server := testenv.Server(t, testenv.ServerOptions{})
	i, err := instance.Open(t.Context(), instance.Options{
		Conn: server.Connect(t, nats.ReconnectBufSize(-1)), Bucket: "zlink", ID: "one", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := i.Run(running); !errors.Is(err, context.Canceled) {
			t.Errorf("instance: %v", err)
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := i.Stop(ctx); err != nil {
			t.Error(err)
		}
		stop()
		parts.Wait()
	})
	if err := i.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server
}

func TestScenariosWorkAndLeaveNothing(t *testing.T) {
	t.Parallel()
	server := serve(t)
	conns := []*nats.Conn{server.Connect(t), server.Connect(t)}
	c, err := client.New(conns[0], client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name measure.Name
		rate float64
	}{{measure.Place, 0}, {measure.Resolve, 300}, {measure.Lease, 0}, {measure.Lease, 50}, {measure.Watch, 0}, {measure.Watch, 50}} {
		s, err := measure.New(row.name, conns, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := measure.Run(t.Context(), s, measure.Options{Workers: 3, Duration: 300 * time.Millisecond, Rate: row.rate})
		if err != nil || r.Failed > 0 || r.Samples == 0 {
			t.Errorf("%s at rate %v: %+v, %v", row.name, row.rate, r, err)
		}
		if row.name == measure.Watch && r.Samples%3 != 0 {
			t.Errorf("%s: %d changes heard, want as many by each of 3 subscribers", row.name, r.Samples)
		}
	}
	status, err := c.Leader().Directory.Status(t.Context())
	if err != nil || status.Rows > 0 || status.Leases > 0 {
		t.Errorf("left: %+v, %v; want no rows and no leases", status, err)
	}
}

func TestUnknownScenarioIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := measure.New("fly", nil, ""); err == nil {
		t.Error("accepted")
	}
}
