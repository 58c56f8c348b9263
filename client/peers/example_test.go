package peers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/wire"
)

// socket is a connection of which nothing is real.
type socket struct{ gone chan struct{} }

func (s socket) Done() <-chan struct{} { return s.gone }
func (s socket) Close() error          { return nil }

// A router in the mesh "play" connects to the one other router there. The service is one in the process; a program passes its
// NATS connection to client.New instead.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	service, err := handlers.NewLocal(handlers.Options{
		Store: memkv.New(memkv.Options{Schema: domain.Schema()}), InstanceID: "example", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close()
	c, err := client.New(service, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := c.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "other", TTL: 15_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.Peers.Update(ctx, wire.PeerUpdateRequest{Intent: wire.IntentNewClaim, Peer: wire.Peer{
		AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: "n2", Role: wire.PeerRouter,
		Endpoint: "tcp://node-2.example:7000", OwnerToken: *other.Token,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}

	set, err := peers.New(peers.Options{
		Client: c,
		Own: peers.Own{
			AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, RID: "n1",
			Endpoint: "tcp://node-1.example:7000",
		},
		Dial: func(_ context.Context, t peers.Target) (peers.Connection, error) {
			fmt.Println("connect to", t.Endpoint)
			cancel() // the example ends here
			return socket{gone: make(chan struct{})}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = set.Run(ctx)
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// connect to tcp://node-2.example:7000
	// true
}
