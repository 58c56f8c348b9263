package domain_test

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// What one object of each sort takes.
var (
	actorCapacity = wire.Capacity{Actors: 1}
	roomCapacity  = spotsOf(wire.SpotUser, "room")
	chatCapacity  = spotsOf(wire.SpotInstance, "chat")
)

func spotsOf(kind wire.SpotObjectKind, stableType string) wire.Capacity {
	return wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: kind, StableType: stableType, Count: 1}}
}

// keyOf is the key of an object: "a1" is an actor, "r1" a user spot, "i1" an
// instance spot.
func keyOf(id string) wire.ObjectKey {
	kinds := map[byte]wire.ObjectKind{'a': wire.ObjectActor, 'r': wire.ObjectUserSpot, 'i': wire.ObjectInstanceSpot}
	kind, ok := kinds[id[0]]
	if !ok {
		panic("no sort of object has ids like " + id)
	}
	return wire.ObjectKey{Kind: kind, GlobalID: id}
}

// sortOf is the type of an object and what it takes: actors are of the type "hero",
// user spots of "room", instance spots of "chat".
func sortOf(k wire.ObjectKey) (stableType string, takes wire.Capacity) {
	switch k.Kind {
	case wire.ObjectActor:
		return "hero", actorCapacity
	case wire.ObjectUserSpot:
		return "room", roomCapacity
	default:
		return "chat", chatCapacity
	}
}

// limits are the limits of a node for actors and spots; 0 is none.
func limits(actors, spots uint32) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) {
		d.PopulationCapacity.Actors.Limit, d.PopulationCapacity.Spots.Limit = actors, spots
	}
}

// typeLimits are the limits of a node for user spots of the type "room" and instance
// spots of "chat"; 0 is none.
func typeLimits(rooms, chats uint32) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) {
		d.PopulationCapacity.SpotTypes = []wire.SpotTypeUsage{
			{ObjectKind: wire.SpotUser, StableType: "room", Usage: wire.Usage{Limit: rooms}},
			{ObjectKind: wire.SpotInstance, StableType: "chat", Usage: wire.Usage{Limit: chats}},
		}
	}
}

// hosts claims a lease for an owner and publishes a node of it.
func (w *world) hosts(rid wire.RID, owner string, edits ...func(*wire.MeshNodeDescriptor)) wire.OwnerToken {
	w.t.Helper()
	token := w.claim(owner)
	w.stored(wire.IntentNewClaim, node(rid, token, edits...))
	return token
}

// tgt is a node of "play" in its lifecycle 7.
func tgt(rid wire.RID, owner wire.OwnerToken) wire.Target {
	return wire.Target{MeshName: "play", NodeRID: rid, NodeLifecycleGeneration: 7, Owner: owner}
}

// reserveRequest asks for an object. Its reservation id is made of the object's id
// and the store's revision, so it is another after every write.
func (w *world) reserveRequest(id string, target wire.Target, edits ...func(*wire.ObjectReserveRequest)) *wire.ObjectReserveRequest {
	k := keyOf(id)
	stableType, takes := sortOf(k)
	req := &wire.ObjectReserveRequest{
		Key: k, Intent: intentFor(stableType), Target: target,
		CreatingPayload: wire.Bytes("creating"), Capacity: takes, ReservationID: w.newReservationID(id),
	}
	for _, edit := range edits {
		edit(req)
	}
	return req
}

func intentFor(stableType string) wire.CreationIntent {
	return wire.CreationIntent{
		StableType: stableType, RequestContentReference: "requests/1", RequestSHA256: digestOf("request"), RequestEncodedSize: 7,
	}
}

func digestOf(text string) wire.Bytes {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func (w *world) newReservationID(id string) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", crc32.ChecksumIEEE([]byte(id)), uint64(w.view().Revision())%(1<<48))
}

func (w *world) reserve(req *wire.ObjectReserveRequest) *wire.ObjectReserveReply {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateObjectReserve, domain.ReserveObject, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// reservation is an object that is being created.
type reservation struct {
	key      wire.ObjectKey
	id       string
	version  wire.Version
	target   wire.Target
	creating *wire.Authority
}

// reserved reserves an object on a node of "play".
func (w *world) reserved(id string, rid wire.RID, owner wire.OwnerToken, edits ...func(*wire.ObjectReserveRequest)) reservation {
	w.t.Helper()
	req := w.reserveRequest(id, tgt(rid, owner), edits...)
	reply := w.reserve(req)
	if reply.Kind != wire.KindReserved {
		w.t.Fatalf("reserve %s on %s: %+v, want reserved", id, rid, reply)
	}
	return reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, req.Target, reply.Creating}
}

func (r reservation) commit(edits ...func(*wire.ObjectCommitRequest)) *wire.ObjectCommitRequest {
	req := &wire.ObjectCommitRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, ReadyPayload: wire.Bytes("ready"),
	}
	for _, edit := range edits {
		edit(req)
	}
	return req
}

func (r reservation) abort(edits ...func(*wire.ObjectAbortRequest)) *wire.ObjectAbortRequest {
	req := &wire.ObjectAbortRequest{Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target}
	for _, edit := range edits {
		edit(req)
	}
	return req
}

// term is the terminal of the operation k of n1.
func term(k uint64) wire.Terminal {
	return wire.Terminal{
		Operation:        wire.OperationKey{SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{Low: wire.U64(k)}},
		TerminalEnvelope: wire.Bytes("done"), TerminalEnvelopeSHA256: digestOf("done"), OperationDeadline: t0 + 10_000,
	}
}

// complete ends the reservation of an actor with the terminal of an operation.
func (r reservation) complete(kind wire.CompletionKind, t wire.Terminal, edits ...func(*wire.ObjectCompleteCreationRequest)) *wire.ObjectCompleteCreationRequest {
	req := &wire.ObjectCompleteCreationRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target,
		Completion: wire.Completion{Kind: kind, Terminal: t},
	}
	if kind == wire.CompletionCreated {
		req.Completion.ReadyPayload = wire.Bytes("ready")
	}
	for _, edit := range edits {
		edit(req)
	}
	return req
}

func (w *world) commit(req *wire.ObjectCommitRequest) *wire.ObjectCommitReply {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateObjectCommit, domain.CommitObject, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

func (w *world) abort(req *wire.ObjectAbortRequest) wire.Kind {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateObjectAbort, domain.AbortObject, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Kind
}

func (w *world) complete(req *wire.ObjectCompleteCreationRequest) *wire.ObjectCompleteCreationReply {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateObjectCompleteCreation, domain.CompleteCreation, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

func (w *world) releaseEnded(id string, v wire.Version) wire.Kind {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateObjectReleaseEnded, domain.ReleaseEnded,
		&wire.ObjectReleaseEndedRequest{Key: keyOf(id), ExpectedStoreVersion: v})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Kind
}

// makeReady ends a reservation so that the object exists, and returns its snapshot.
// The operation that creates an actor is numbered by the store's revision.
func (w *world) makeReady(r reservation) *wire.Authority {
	w.t.Helper()
	if r.key.IsSpot() {
		reply := w.commit(r.commit())
		want(w.t, reply.Kind, wire.KindCommitted)
		return reply.Ready
	}
	reply := w.complete(r.complete(wire.CompletionCreated, term(uint64(w.view().Revision()))))
	want(w.t, reply.Kind, wire.KindCreated)
	return reply.Ready
}

// ready creates an object on a node of "play" and returns its snapshot.
func (w *world) ready(id string, rid wire.RID, owner wire.OwnerToken, edits ...func(*wire.ObjectReserveRequest)) *wire.Authority {
	w.t.Helper()
	return w.makeReady(w.reserved(id, rid, owner, edits...))
}
