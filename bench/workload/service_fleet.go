package workload

import (
	"context"
	"fmt"
	"math"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// ample is a limit that no run meets. A node without limits would spare the service the sums.
const ample = math.MaxInt32

// newFleet publishes nodes in a mesh, each under a lease of its own, for objects of a type.
func newFleet(ctx context.Context, nc *nats.Conn, mesh, stableType string) (fleet []wire.Target, err error) {
	for n := range nodes {
		name := fmt.Sprintf("%s-node%d", mesh, n)
		token, err := claim(ctx, nc, name)
		if err != nil {
			return nil, err
		}
		target, err := publish(ctx, nc, mesh, name, stableType, token)
		if err != nil {
			return nil, err
		}
		fleet = append(fleet, target)
	}
	return fleet, nil
}

// publish publishes a node for objects of a type.
func publish(ctx context.Context, nc *nats.Conn, mesh, name, stableType string, token wire.OwnerToken) (wire.Target, error) {
	d := newNode(name, token)
	d.MeshName, d.PlacementWeight = mesh, 100
	d.PopulationCapacity.Spots.Limit = ample
	d.PopulationCapacity.SpotTypes = []wire.SpotTypeUsage{
		{ObjectKind: wire.SpotUser, StableType: stableType, Usage: wire.Usage{Limit: ample}},
	}
	return wire.Target{
		MeshName: mesh, NodeRID: d.RID, NodeLifecycleGeneration: d.LifecycleGeneration, Owner: token,
	}, updateNode(ctx, nc, d, wire.IntentNewClaim)
}

// payloadBytes is small, since the rest of an object's row is already as large as the peers' [valueBytes].
const payloadBytes = 64

// reservation is an object that is being created.
type reservation struct {
	key     wire.ObjectKey
	id      string
	version wire.Version
	target  wire.Target
}

// reserve reserves a user spot on a node.
func reserve(ctx context.Context, nc *nats.Conn, id, stableType string, target wire.Target) (*reservation, error) {
	request := &wire.ObjectReserveRequest{
		Key: userSpot(id), Intent: intent(stableType), Target: target,
		CreatingPayload: newValue()[:payloadBytes], Capacity: one(stableType),
	}
	r, err := ask[wire.ObjectReserveReply](ctx, nc, subjects.ObjectReserve, request)
	if err != nil {
		return nil, err
	}
	return reserved(subjects.ObjectReserve, request.Key, r, target)
}

// place reserves a user spot on a node of a mesh that the service chooses.
func place(ctx context.Context, nc *nats.Conn, id, stableType, mesh string) (*reservation, error) {
	request := &wire.ObjectPlaceRequest{
		Key: userSpot(id), Intent: intent(stableType), MeshName: mesh,
		CreatingPayload: newValue()[:payloadBytes], Capacity: one(stableType),
	}
	r, err := ask[wire.ObjectReserveReply](ctx, nc, subjects.ObjectPlace, request)
	switch {
	case err != nil:
		return nil, err
	case r.Target == nil:
		return nil, fmt.Errorf("%s: got %q without a target", subjects.ObjectPlace, r.Kind)
	}
	return reserved(subjects.ObjectPlace, request.Key, r, *r.Target)
}

func reserved(op subjects.Operation, k wire.ObjectKey, r *wire.ObjectReserveReply, target wire.Target) (*reservation, error) {
	if err := expect(op, r.Kind, wire.KindReserved); err != nil {
		return nil, err
	}
	return &reservation{key: k, id: r.ReservationID, version: r.Creating.StoreVersion, target: target}, nil
}

// commit makes a reserved object exist.
func (r *reservation) commit(ctx context.Context, nc *nats.Conn) error {
	reply, err := ask[wire.ObjectCommitReply](ctx, nc, subjects.ObjectCommit, &wire.ObjectCommitRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target,
		ReadyPayload: newValue()[:payloadBytes],
	})
	if err != nil {
		return err
	}
	return expect(subjects.ObjectCommit, reply.Kind, wire.KindCommitted)
}

func userSpot(id string) wire.ObjectKey {
	return wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
}

func intent(stableType string) wire.CreationIntent {
	return wire.CreationIntent{
		StableType: stableType, RequestContentReference: "requests/1",
		RequestSHA256: newValue()[:32], RequestEncodedSize: valueBytes,
	}
}

// one is what an object of a type takes of its node.
func one(stableType string) wire.Capacity {
	return wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: stableType, Count: 1}}
}
