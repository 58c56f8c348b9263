package measure_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/measure"
	"github.com/zlink/zlink-nats/testenv"
)

func TestMain(m *testing.M) { testenv.VerifyNoLeaks(m) }

func TestScenariosWorkAndLeaveNothing(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.ServerOptions{})
	instancetest.Start(t, instance.Options{Conn: instancetest.Connect(t, server), ID: "one"})
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
