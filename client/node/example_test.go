package node_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/wire"
)

// A host takes its place in the mesh "play", asks before it does something for one of its objects, and leaves. The service is one
// in the process; a program passes its NATS connection to client.New instead.
func Example() {
	quiet := slog.New(slog.DiscardHandler)
	service, err := handlers.NewLocal(handlers.Options{
		Store: memkv.New(memkv.Options{Schema: domain.Schema()}), InstanceID: "example", Logger: quiet,
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

	ctx := context.Background()
	host, err := node.New(node.Options{Client: c, Logger: quiet, OnEvent: func(e node.Event) {
		if e.Kind == node.EventOwnershipLost {
			fmt.Println("somebody else has", e.Key) // stop the object
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	if err := host.Start(ctx); err != nil { // claims the owner lease, and renews it from now on
		log.Fatal(err)
	}
	err = host.PublishMeshNode(ctx, wire.MeshNodeDescriptor{
		MeshName: "play", RID: "n1", Endpoint: "tcp://127.0.0.1:7000", ObjectRole: wire.RoleServer, State: wire.StateServing,
		PlacementWeight: 100, ActivationConcurrency: wire.ActivationConcurrency{Limit: 8}, SecurityIdentity: "n1",
	})
	if err != nil {
		log.Fatal(err)
	}
	created, err := host.Admit() // remembered with each object: under another token it may be somebody else's
	if err != nil {
		log.Fatal(err)
	}
	if now, err := host.Admit(); err == nil && now == created { // before each message that an object gets, and each timer that fires
		fmt.Println("deliver the message")
	}
	fmt.Println(host.Status().State, host.Status().Ready)

	if err := host.Drain(ctx); err != nil { // until its objects are elsewhere
		fmt.Println(err)
	}
	if err := host.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	_, err = host.Admit()
	fmt.Println(host.Status().State, err)
	// Output:
	// deliver the message
	// leased true
	// stopped no usable owner lease
}
