package peer_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/zlink/zlink-nats/bench/peer"
)

func TestMain(m *testing.M) {
	peer.ServeChild()
	os.Exit(m.Run())
}

// newGroup makes a group that is closed with the test, and then must have left nothing.
func newGroup(t *testing.T) (*peer.Group, context.Context) {
	t.Helper()
	dir := t.TempDir()
	g, err := peer.NewGroup(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error("close group:", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("group left %v (%v), want nothing", left, err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // building the service included
	t.Cleanup(cancel)
	return g, ctx
}

func TestEtcdServes(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	endpoints, err := g.Etcd(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(ctx, "k", "v"); err != nil {
		t.Error(err)
	}
}

func TestRedisSyncsAlways(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	addr, err := g.Redis(ctx)
	if errors.Is(err, peer.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	got, err := client.ConfigGet(ctx, "append*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if got["appendonly"] != "yes" || got["appendfsync"] != "always" {
		t.Errorf("got %v, want a log that is synced always", got)
	}
	if v := peer.RedisVersion(ctx); v == "" {
		t.Error("got no version of an installed redis-server")
	}
}

func TestEchoAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		inside bool
	}{{"inside the server's process", true}, {"in its own process", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, ctx := newGroup(t)
			urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1, SyncAlways: true, Echo: tt.inside})
			if err != nil {
				t.Fatal(err)
			}
			if !tt.inside {
				if err := g.Echo(ctx, urls[0]); err != nil {
					t.Fatal(err)
				}
			}
			nc, err := nats.Connect(urls[0])
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			reply, err := nc.RequestWithContext(ctx, peer.EchoSubject, nil)
			if err != nil || len(reply.Data) != peer.EchoBytes {
				t.Errorf("got %v (%v), want %d bytes", reply, err, peer.EchoBytes)
			}
		})
	}
}

func TestServiceAnswers(t *testing.T) {
	t.Setenv("ZLINK_PREFIX", "elsewhere") // whoever measures may use the service for real
	g, ctx := newGroup(t)
	inside, err := g.Service(ctx, peer.ServiceOptions{Sync: "always"})
	if err != nil {
		t.Fatal(err)
	}
	urls, err := g.NATS(ctx, peer.NATSOptions{Servers: 1})
	if err != nil {
		t.Fatal(err)
	}
	beside, err := g.Service(ctx, peer.ServiceOptions{Servers: urls, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{inside, beside} {
		nc, err := nats.Connect(url)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.RequestWithContext(ctx, "zlink.v1.status.get", nil); err != nil {
			t.Errorf("service at %s: %v", url, err)
		}
	}
}

func TestStartReportsWhyAPeerEnded(t *testing.T) {
	t.Parallel()
	g, ctx := newGroup(t)
	const nobody = "nats://127.0.0.1:1"
	err := g.Echo(ctx, nobody)
	if err == nil || !strings.Contains(err.Error(), "no servers available") {
		t.Errorf("got error %v, want the child's own words", err)
	}
	_, err = g.Service(ctx, peer.ServiceOptions{Servers: []string{nobody}, Replicas: 1})
	if err == nil || !strings.Contains(err.Error(), nobody) {
		t.Errorf("got error %v, want the service's own words", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	g, _ := newGroup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Etcd(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
