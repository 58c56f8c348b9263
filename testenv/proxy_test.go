package testenv_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/testenv"
)

func TestProxyForwardsAllBytesInOrder(t *testing.T) {
	t.Parallel()
	r := testenv.Proxy(t, "nats://"+echo(t))
	conn, err := net.Dial("tcp", r.URL()[len("nats://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	want := make([]byte, 2<<20)
	for i := range want {
		want[i] = byte(rand.Uint32())
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i, part := 0, len(want)/4; i < 4; i++ {
			switch i {
			case 1:
				r.Delay(20 * time.Millisecond)
			case 2:
				r.Pause()
			case 3:
				r.Delay(0)
				r.Resume()
			}
			if _, err := conn.Write(want[i*part : (i+1)*part]); err != nil {
				t.Error(err)
			}
		}
	})
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if !bytes.Equal(got, want) {
		t.Error("echo through the proxy differs from what was sent")
	}
}

// echo serves one connection after the other with what it sends, until the test
// ends.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn) // ends with the client
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// proxied is a server behind a proxy, with a connection through it.
func proxied(t *testing.T) (*testenv.Node, *testenv.Relay, *nats.Conn) {
	t.Helper()
	n := testenv.Server(t, testenv.ServerOptions{})
	r := testenv.Proxy(t, n.URL())
	return n, r, r.Connect(t)
}

func TestCutEndsConnectionsUntilHeal(t *testing.T) {
	t.Parallel()
	_, r, nc := proxied(t)
	r.Cut()
	testenv.Eventually(t, patience, nc.IsReconnecting, "connection lost")
	if _, err := nats.Connect(r.URL()); err == nil {
		t.Error("connected through a cut proxy")
	}
	r.Heal()
	awaitConnected(t, nc)
}

func TestDelayHoldsBothDirections(t *testing.T) {
	t.Parallel()
	const d = 50 * time.Millisecond
	_, r, nc := proxied(t)
	r.Delay(d)
	if rtt, err := nc.RTT(); rtt < 2*d || err != nil {
		t.Errorf("RTT() = %v, %v, want at least %v", rtt, err, 2*d)
	}
	r.Delay(0)
	testenv.Eventually(t, patience, func() bool {
		rtt, err := nc.RTT()
		return err == nil && rtt < d
	}, "round trip without delay")
}

func TestPauseHoldsBytesBackAndLosesNone(t *testing.T) {
	t.Parallel()
	_, r, nc := proxied(t)
	r.Pause()
	if err := nc.FlushTimeout(50 * time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("flush through a paused proxy: %v, want %v", err, nats.ErrTimeout)
	}
	if !nc.IsConnected() {
		t.Error("pause ended the connection")
	}
	r.Resume()
	if err := nc.FlushTimeout(patience); err != nil {
		t.Errorf("flush after resume: %v", err)
	}
	if got := nc.Stats().Reconnects; got != 0 {
		t.Errorf("%d reconnects, want the connection to survive", got)
	}
}

func TestDroppedReplyMeansThatTheRequestArrived(t *testing.T) {
	t.Parallel()
	n, r, nc := proxied(t)
	makeStream(t, nc, 1)
	direct := n.Connect(t)

	r.DropReplies(true)
	if _, err := nc.Request("s.x", nil, 50*time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("request without reply: %v, want %v", err, nats.ErrTimeout)
	}
	testenv.Eventually(t, patience, func() bool { return lastSequence(t, direct) == 1 }, "message stored")
	if !nc.IsConnected() {
		t.Error("dropping replies ended the connection at once")
	}

	r.DropReplies(false)
	testenv.Eventually(t, patience, func() bool { return nc.Stats().Reconnects == 1 }, "new connection in place of the broken one")
	awaitConnected(t, nc)
	if _, err := nc.Request("s.x", nil, patience); err != nil {
		t.Errorf("request after the fault: %v", err)
	}
}

func TestDroppingNothingKeepsTheConnection(t *testing.T) {
	t.Parallel()
	r := testenv.Proxy(t, "nats://"+echo(t))
	conn, err := net.Dial("tcp", r.URL()[len("nats://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	r.DropReplies(true)
	r.DropReplies(false)
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("read: %v, want the echo, since nothing was lost", err)
	}
}
