package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/embedded"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/wire"
)

// startService runs a service for an example, and returns the address of its server.
func startService() (url string, stop func()) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "zlink-example-")
	check(err)
	server, err := embedded.Start(ctx, embedded.Options{Listen: "127.0.0.1:0", Dir: dir})
	check(err)
	conn, err := nats.Connect(server.ClientURL())
	check(err)
	i, err := instance.Open(ctx, instance.Options{Conn: conn, Bucket: "zlink", ID: "example", Logger: slog.New(slog.DiscardHandler)})
	check(err)
	running, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { _ = i.Run(running) })
	check(i.Serve(ctx))
	return server.ClientURL(), func() {
		check(i.Stop(ctx))
		cancel()
		parts.Wait()
		conn.Close()
		check(server.Stop(ctx))
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// node is a descriptor for the examples.
func node(owner wire.OwnerToken, rid wire.RID) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: "play", RID: rid, LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "tcp://10.0.0.1:7000",
		ObjectRole: wire.RoleServer, PlacementWeight: 100, ActivationConcurrency: wire.ActivationConcurrency{Limit: 8},
		State: wire.StateServing, SecurityIdentity: "node", OwnerToken: owner,
	}
}

func Example() {
	url, stop := startService()
	defer stop()
	ctx := context.Background()

	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn) // only needed to follow changes
	if err != nil {
		log.Fatal(err)
	}
	directory, err := client.New(conn, client.Options{JetStream: js})
	if err != nil {
		log.Fatal(err)
	}

	claim, err := directory.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "n1", TTL: 15_000})
	if err != nil {
		log.Fatal(err)
	}
	switch claim.Kind {
	case wire.KindClaimed:
		fmt.Println("owner", claim.Token.OwnerID)
	case wire.KindConflict:
		fmt.Println("somebody else is n1")
	}

	again, err := directory.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "n1", TTL: 15_000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Kind)
	// Output:
	// owner n1
	// conflict
}

func ExampleError() {
	url, stop := startService()
	defer stop()
	ctx := context.Background()
	conn, err := nats.Connect(url)
	check(err)
	defer conn.Close()
	directory, err := client.New(conn, client.Options{})
	check(err)

	_, err = directory.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "n1"})
	if refused, ok := errors.AsType[*client.Error](err); ok && errors.Is(err, client.ErrInvalidArgument) {
		fmt.Println("wrong:", refused.Field)
	}
	if errors.Is(err, client.ErrOutcomeUnknown) {
		fmt.Println("read before you decide")
	}
	// Output: wrong: leaseTtlMs
}

func ExampleMeshNodes_Watch() {
	url, stop := startService()
	defer stop()
	ctx := context.Background()
	conn, err := nats.Connect(url)
	check(err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	check(err)
	directory, err := client.New(conn, client.Options{JetStream: js})
	check(err)
	claim, err := directory.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "n1", TTL: 15_000})
	check(err)
	_, err = directory.MeshNodes.Update(ctx, wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: node(*claim.Token, "n1")})
	check(err)

	nodes := make(map[wire.RID]*wire.MeshNodeItem)
	for event, err := range directory.MeshNodes.Watch(ctx, wire.MeshNodeListRequest{MeshName: "play"}) {
		if err != nil {
			log.Fatal(err)
		}
		switch event.Type {
		case client.EventListed, client.EventUpserted:
			nodes[event.Key] = event.Row
		case client.EventExpired:
			if n := nodes[event.Key]; n != nil {
				n.Live = false
			}
		case client.EventRemoved:
			delete(nodes, event.Key)
		case client.EventResync:
			clear(nodes) // what is still there is listed again
		case client.EventSynced:
		}
		fmt.Println(event.Type, event.Key, len(nodes))

		if event.Type == client.EventSynced { // for this example, something happens now
			_, err := directory.Leases.Release(ctx, wire.LeaseReleaseRequest{Token: *claim.Token})
			check(err)
		}
		if event.Type == client.EventExpired {
			break
		}
	}
	// Output:
	// listed n1 1
	// synced  1
	// expired n1 1
}

func ExampleClient_Changes() {
	url, stop := startService()
	defer stop()
	ctx := context.Background()
	conn, err := nats.Connect(url)
	check(err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	check(err)
	directory, err := client.New(conn, client.Options{JetStream: js})
	check(err)
	_, err = directory.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "n1", TTL: 15_000})
	check(err)

	changes, err := directory.Changes(ctx, client.ChangesRequest{From: client.FromOldest})
	if err != nil {
		log.Fatal(err)
	}
	defer changes.Close()
	change, err := changes.Next(ctx)
	if errors.Is(err, client.ErrHistoryGone) {
		log.Fatal("read a list, and go on from its revision: ", err)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(change.Type, change.Kind, change.ID)
	// Output: upserted owner-lease n1
}

func ExampleNewObjectCache() {
	url, stop := startService()
	defer stop()
	ctx := context.Background()
	conn, err := nats.Connect(url)
	check(err)
	defer conn.Close()
	directory, err := client.New(conn, client.Options{})
	check(err)

	objects, err := client.NewObjectCache(directory, client.DefaultCacheOptions())
	if err != nil {
		log.Fatal(err)
	}
	defer objects.Close()
	key := wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "user:42"}
	object, err := objects.Get(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	switch {
	case object.Kind == wire.KindMissing:
		fmt.Println("there is no such actor")
	case *object.Live && object.Allocation.State == wire.AllocationActive:
		fmt.Println("it is on node", object.Allocation.Descriptor.RID)
		// The node says that it does not have it:
		objects.Forget(key)
	}
	// Output: there is no such actor
}
