package measure

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// fleetNodes is how many nodes objects are placed on.
	fleetNodes = 4
	// leaseTTL lets the fleet outlive pauses of the process; it is renewed three times meanwhile.
	leaseTTL = 30 * time.Second
	// roomType is the type of the objects.
	roomType = "bench-room"
)

// fleet is an owner with some nodes that have room for any number of objects, in a mesh of its own.
type fleet struct {
	clients []*client.Client
	name    string // of the mesh and of the owner
	token   wire.OwnerToken

	stop    context.CancelFunc
	renewer sync.WaitGroup
}

func newFleet(clients []*client.Client) *fleet {
	return &fleet{clients: clients, name: "bench-" + strings.ToLower(rand.Text()[:10])}
}

// client is that of a worker: they share the connections.
func (f *fleet) client(worker int) *client.Client { return f.clients[worker%len(f.clients)] }

// open claims the owner's lease and keeps it.
func (f *fleet) open(ctx context.Context) error {
	r, err := f.client(0).Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: f.name, TTL: wire.Millis(leaseTTL.Milliseconds())})
	switch {
	case err != nil:
		return err
	case r.Kind != wire.KindClaimed:
		return fmt.Errorf("claim of owner %q: %s", f.name, r.Kind)
	}
	f.token = *r.Token
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	f.renewer.Go(func() { f.renew(renewing) })
	return nil
}

// renew keeps the lease until the context ends. That it failed shows in the operations.
func (f *fleet) renew(ctx context.Context) {
	for until(ctx, time.Now().Add(leaseTTL/3)) {
		_, _ = f.client(0).Leases.Renew(ctx, wire.LeaseRenewRequest{Token: f.token, TTL: wire.Millis(leaseTTL.Milliseconds())})
	}
}

// publish stores the descriptors of the nodes.
func (f *fleet) publish(ctx context.Context) error {
	for i := range fleetNodes {
		r, err := f.client(0).MeshNodes.Update(ctx, wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: f.node(i)})
		switch {
		case err != nil:
			return err
		case r.Status != wire.StatusStored:
			return fmt.Errorf("descriptor %d: %s", i, r.Status)
		}
	}
	return nil
}

func (f *fleet) node(i int) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: f.name, RID: wire.RID("node-" + strconv.Itoa(i)), LifecycleGeneration: f.token.LeaseGeneration, DescriptorRevision: 1,
		Endpoint: "tcp://127.0.0.1:" + strconv.Itoa(i+1), ObjectRole: wire.RoleServer, PlacementWeight: 100,
		PopulationCapacity:    wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: roomType}}},
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 64}, SpotTypes: []string{roomType}, State: wire.StateServing,
		SecurityIdentity: "bench", OwnerToken: f.token,
	}
}

// room is an object of the fleet.
type room struct {
	key     wire.ObjectKey
	version wire.Version // of its record
}

var nothing = sha256.Sum256(nil)

// create places a room and commits it.
func (f *fleet) create(ctx context.Context, c *client.Client, id string) (room, error) {
	key := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
	placed, err := c.Objects.Place(ctx, wire.ObjectPlaceRequest{
		Key: key, MeshName: f.name, CreatingPayload: []byte{},
		Intent:   wire.CreationIntent{StableType: roomType, RequestContentReference: "bench", RequestSHA256: nothing[:]},
		Capacity: wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: roomType, Count: 1}},
	})
	switch {
	case err != nil:
		return room{}, err
	case placed.Kind != wire.KindReserved:
		return room{}, fmt.Errorf("place %q: %s %s", id, placed.Kind, placed.Reason)
	}
	committed, err := c.Objects.Commit(ctx, wire.ObjectCommitRequest{
		Key: key, ReservationID: placed.ReservationID, ExpectedStoreVersion: placed.Creating.StoreVersion, Target: *placed.Target,
		ReadyPayload: []byte{},
	})
	switch {
	case err != nil:
		return room{}, err
	case committed.Ready == nil:
		return room{}, fmt.Errorf("commit %q: %s", id, committed.Kind)
	}
	return room{key, committed.Ready.StoreVersion}, nil
}

// destroy removes a room.
func (f *fleet) destroy(ctx context.Context, c *client.Client, r room) error {
	reply, err := c.Authorities.CompareExchange(ctx, wire.AuthorityCompareExchangeRequest{
		Key: r.key, ExpectedStoreVersion: r.version, Mutation: wire.AuthorityMutation{Kind: wire.AuthorityDelete},
	})
	switch {
	case err != nil:
		return err
	case reply.Kind != wire.KindDeleted:
		return fmt.Errorf("delete %q: %s", r.key.GlobalID, reply.Kind)
	}
	return nil
}

// Settle has nothing to wait for: what workers began they have ended.
func (f *fleet) Settle(context.Context) error { return nil }

// Remove removes all that the owner has.
func (f *fleet) Remove(ctx context.Context) error {
	if f.stop == nil {
		return nil
	}
	f.stop()
	f.renewer.Wait()
	c := f.client(0)
	for {
		r, err := c.Owners.RemoveAll(ctx, wire.OwnerRemoveAllRequest{Owner: f.token})
		if err != nil {
			return err
		}
		if r.Removed == 0 {
			break
		}
	}
	_, err := c.Leases.Release(ctx, wire.LeaseReleaseRequest{Token: f.token})
	return err
}
