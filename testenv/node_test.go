package testenv_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/testenv"
)

const patience = 30 * time.Second

// makeStream makes a stream "S" on the subjects "s.>".
func makeStream(t *testing.T, nc *nats.Conn, replicas int) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: replicas})
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// publish stores one message and returns its sequence.
func publish(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	ack, err := js.Publish(t.Context(), "s.x", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// lastSequence asks for the sequence of the stream's last message.
func lastSequence(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

// awaitConnected waits until a connection that lost its server is back.
func awaitConnected(t *testing.T, nc *nats.Conn) {
	t.Helper()
	testenv.Eventually(t, patience, func() bool { return nc.IsConnected() && nc.Flush() == nil }, "connection back")
}

// load publishes until the test closes stop, and notes what was acknowledged.
type load struct {
	wg   sync.WaitGroup
	stop chan struct{}

	mu    sync.Mutex // guards acked
	acked map[string]uint64
}

func startLoad(t *testing.T, js jetstream.JetStream) *load {
	t.Helper()
	l := &load{stop: make(chan struct{}), acked: make(map[string]uint64)}
	for w := range 4 {
		l.wg.Go(func() { l.publish(t.Context(), js, w) })
	}
	testenv.Eventually(t, patience, func() bool { return l.count() > 200 }, "200 acknowledged messages")
	return l
}

func (l *load) publish(ctx context.Context, js jetstream.JetStream, worker int) {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		value := strconv.Itoa(worker) + "." + strconv.Itoa(i)
		short, cancel := context.WithTimeout(ctx, time.Second)
		ack, err := js.Publish(short, "s."+strconv.Itoa(worker), []byte(value), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			l.mu.Lock()
			l.acked[value] = ack.Sequence
			l.mu.Unlock()
		}
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// check ends the load and fails the test when an acknowledged message is not
// where it was acknowledged.
func (l *load) check(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	close(l.stop)
	l.wg.Wait()
	s, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	for value, seq := range l.acked {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatalf("message %s, acknowledged at %d: %v", value, seq, err)
		}
		if string(m.Data) != value {
			t.Fatalf("sequence %d holds %s, want %s", seq, m.Data, value)
		}
	}
}

func TestServersOfOneTestAreApart(t *testing.T) {
	t.Parallel()
	a, b := testenv.Server(t, testenv.ServerOptions{}), testenv.Server(t, testenv.ServerOptions{SyncAlways: true})
	publish(t, makeStream(t, a.Connect(t), 1))
	js := makeStream(t, b.ConnectInProcess(t), 1)
	if got := publish(t, js); got != 1 {
		t.Errorf("first message of the second server has sequence %d, want 1", got)
	}
}

func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{
		SyncAlways: true, MaxPayload: 2 << 20, MaxBatchSize: 7,
		Config: `authorization { user: u, password: p }`,
	})
	nc := n.Connect(t, nats.UserInfo("u", "p"))
	if got := nc.MaxPayload(); got != 2<<20 {
		t.Errorf("max payload = %d, want %d", got, 2<<20)
	}
	v, err := n.NATS().Varz(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.JetStream.Limits.MaxBatchSize; got != 7 {
		t.Errorf("max batch size = %d, want 7", got)
	}
	if !n.NATS().JetStreamConfig().SyncAlways {
		t.Error("server does not sync always")
	}
	if _, err := nats.Connect(n.URL()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("connect without password: %v, want %v", err, nats.ErrAuthorization)
	}
}

func TestRestartKeepsAddressDataAndConnections(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	outside, inside := n.Connect(t), n.ConnectInProcess(t)
	publish(t, makeStream(t, outside, 1))
	url := n.URL()
	n.Restart()
	if got := n.URL(); got != url {
		t.Errorf("URL() = %q, want %q", got, url)
	}
	for _, nc := range []*nats.Conn{outside, inside} {
		awaitConnected(t, nc)
		if got := lastSequence(t, nc); got != 1 {
			t.Errorf("last sequence = %d, want 1", got)
		}
	}
}

func TestStoppedServerRefusesUntilStarted(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	n.Stop()
	n.Stop() // once more does nothing
	if n.Running() {
		t.Error("Running() after Stop")
	}
	if _, err := nats.Connect(n.URL()); err == nil {
		t.Error("connected to a stopped server")
	}
	n.Start()
	n.Start() // once more does nothing
	n.Connect(t)
}

func TestKilledServerHasWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]testenv.ServerOptions{
		"sync later":  {},
		"sync always": {SyncAlways: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testenv.Server(t, o)
			nc := n.Connect(t)
			js := makeStream(t, nc, 1)
			l := startLoad(t, js)
			for range 3 {
				n.Kill()
				n.Kill() // once more does nothing
				n.Start()
				awaitConnected(t, nc)
			}
			l.check(t, js)
		})
	}
}

func TestRestoredServerIsAsItWas(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	nc := n.Connect(t)
	js := makeStream(t, nc, 1)
	publish(t, js)
	backup := n.CopyDir(t)
	awaitConnected(t, nc)
	for range 2 { // a copy can be restored more than once
		if got := publish(t, js); got != 2 {
			t.Fatalf("second message has sequence %d, want 2", got)
		}
		n.RestoreDir(t, backup)
		awaitConnected(t, nc)
		if got := lastSequence(t, nc); got != 1 {
			t.Errorf("last sequence after restore = %d, want 1", got)
		}
	}
}

func TestCopyAndRestoreLeaveAStoppedServerStopped(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	n.Stop()
	n.RestoreDir(t, n.CopyDir(t))
	if n.Running() {
		t.Error("server runs, want it down as before")
	}
	n.Start()
}
