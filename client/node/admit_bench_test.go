package node_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore/memkv"
)

// The question that a host asks before each message costs a look at the clock.
func BenchmarkAdmit(b *testing.B) {
	quiet := slog.New(slog.DiscardHandler)
	local, err := handlers.NewLocal(handlers.Options{Store: memkv.New(memkv.Options{Schema: domain.Schema()}), InstanceID: "here", Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer local.Close()
	c, err := client.New(local, client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := node.New(node.Options{Client: c, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Stop(context.Background()) }()
	b.ReportAllocs()
	for b.Loop() {
		if !r.Usable() {
			b.Fatal("not usable")
		}
	}
}
