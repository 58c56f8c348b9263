package domain_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// newBenchWorld is a world with nodes whose limits no benchmark meets, and their
// targets.
func newBenchWorld(b *testing.B, nodes int) (*world, []wire.Target) {
	b.Helper()
	const ample = 1 << 30
	w := newWorld(b)
	var targets []wire.Target
	for n := range nodes {
		rid := wire.RID(fmt.Sprintf("n%d", n))
		token := w.hosts(rid, "owner-"+string(rid), limits(ample, ample), typeLimits(ample, ample))
		targets = append(targets, tgt(rid, token))
	}
	return w, targets
}

// mustReserve runs a write rule once; the object must then be reserved.
func mustReserve[Q any](b *testing.B, w *world, rule func(*kvstore.Tx, *Q) (*wire.ObjectReserveReply, error), req *Q) *wire.ObjectReserveReply {
	b.Helper()
	var reply *wire.ObjectReserveReply
	err := w.update(func(tx *kvstore.Tx) (err error) {
		reply, err = rule(tx, req)
		return err
	})
	if err != nil || reply.Kind != wire.KindReserved {
		b.Fatalf("got %+v (%v), want reserved", reply, err)
	}
	return reply
}

// BenchmarkReserveCommit measures both rules with their commits: a room is reserved
// on one of 8 nodes and committed.
func BenchmarkReserveCommit(b *testing.B) {
	w, targets := newBenchWorld(b, 8)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req := w.reserveRequest(fmt.Sprintf("r%d", i), targets[i%len(targets)])
		reply := mustReserve(b, w, domain.ReserveObject, req)
		r := reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, req.Target, reply.Creating}
		err := w.update(func(tx *kvstore.Tx) error {
			reply, err := domain.CommitObject(tx, r.commit())
			if err == nil && reply.Kind != wire.KindCommitted {
				b.Fatalf("got %+v, want committed", reply)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlace measures the choice of a node with the reservation that follows, and
// the choice alone.
func BenchmarkPlace(b *testing.B) {
	for _, nodes := range []int{8, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w, _ := newBenchWorld(b, nodes)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				req := placeRequestFor(w, fmt.Sprintf("r%d", i))
				mustReserve(b, w, func(tx *kvstore.Tx, req *wire.ObjectPlaceRequest) (*wire.ObjectReserveReply, error) {
					return domain.PlaceObject(tx, req, domain.Seed{uint64(i)})
				}, req)
			}
		})
		b.Run(fmt.Sprintf("select/nodes=%d", nodes), func(b *testing.B) {
			w, _ := newBenchWorld(b, nodes)
			req := &wire.PlacementSelectRequest{
				MeshName: "play", ObjectKind: wire.ObjectUserSpot, StableType: "room", Capacity: roomCapacity,
			}
			v := w.view()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				reply, err := domain.SelectPlacement(v, req, domain.Seed{uint64(i)})
				if err != nil || reply.Kind != wire.KindSelected {
					b.Fatalf("got %+v (%v), want selected", reply, err)
				}
			}
		})
	}
}

func placeRequestFor(w *world, id string) *wire.ObjectPlaceRequest {
	r := w.reserveRequest(id, wire.Target{})
	return &wire.ObjectPlaceRequest{
		Key: r.Key, Intent: r.Intent, MeshName: "play", CreatingPayload: r.CreatingPayload,
		Capacity: r.Capacity, ReservationID: r.ReservationID,
	}
}

// BenchmarkFind measures the look-up of one of many objects.
func BenchmarkFind(b *testing.B) {
	for _, objects := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			w, targets := newBenchWorld(b, 8)
			requests := make([]wire.ObjectFindRequest, objects)
			for i := range requests {
				id := fmt.Sprintf("r%d", i)
				mustReserve(b, w, domain.ReserveObject, w.reserveRequest(id, targets[i%len(targets)]))
				requests[i] = wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: id}
			}
			v := w.view()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				const stride = 7919 // far from the last one
				reply, err := domain.FindObject(v, &requests[i*stride%objects])
				if err != nil || reply.Kind != wire.KindFound {
					b.Fatalf("got %+v (%v), want found", reply, err)
				}
			}
		})
	}
}
