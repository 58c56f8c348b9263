package handlers_test

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// payload is a request in JSON.
func payload(t *testing.T, req any) string {
	t.Helper()
	data, err := wire.Marshal(wire.JSON, req)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// resultOf is the result in a reply in JSON.
func resultOf[Reply any](a answer) *Reply {
	a.t.Helper()
	if text := a.Header.Get(wire.HeaderError); text != "" {
		a.t.Fatalf("refused: %s", text)
	}
	reply := new(Reply)
	if err := wire.Unmarshal(wire.JSON, a.Data, reply); err != nil {
		a.t.Fatalf("reply %q: %v", a.Data, err)
	}
	return reply
}

// answerTo sends a request, which must be answered with a result.
func answerTo[Reply any](f *fixture, op subjects.Operation, req any) *Reply {
	f.t.Helper()
	return resultOf[Reply](f.call(op, payload(f.t, req), nil))
}

// keyOf is the key of an object: "a1" is an actor, every other id a user spot.
func keyOf(id string) wire.ObjectKey {
	if id[0] == 'a' {
		return wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: id}
	}
	return wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
}

// sortOf is the type of an object and what it takes: actors are of the type "hero", user spots of "room".
func sortOf(k wire.ObjectKey) (stableType string, takes wire.Capacity) {
	if k.Kind == wire.ObjectActor {
		return "hero", wire.Capacity{Actors: 1}
	}
	return "room", wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}}
}

// hosts claims a lease for an owner and publishes a node of it that takes so many rooms; 0 is any number.
func (f *fixture) hosts(rid wire.RID, owner string, rooms uint32) wire.OwnerToken {
	f.t.Helper()
	var token wire.OwnerToken
	text := f.claim(owner)
	if err := wire.Unmarshal(wire.JSON, []byte(text), &token); err != nil {
		f.t.Fatal(err)
	}
	f.hostsBy(token, rid, rooms)
	return token
}

// hostsBy publishes a node of an owner that has a lease.
func (f *fixture) hostsBy(token wire.OwnerToken, rid wire.RID, rooms uint32) {
	f.t.Helper()
	d := nodeOf(f.t, payload(f.t, token), string(rid))
	d.PopulationCapacity.SpotTypes = []wire.SpotTypeUsage{
		{ObjectKind: wire.SpotUser, StableType: "room", Usage: wire.Usage{Limit: rooms}},
	}
	f.call(subjects.MeshNodeUpdate, payload(f.t, wire.MeshNodeUpdateRequest{Descriptor: d, Intent: wire.IntentNewClaim}), nil).
		want(map[string]string{"status": "stored"})
}

// tgt is a node of "play" in its lifecycle 7.
func tgt(rid wire.RID, owner wire.OwnerToken) wire.Target {
	return wire.Target{MeshName: "play", NodeRID: rid, NodeLifecycleGeneration: 7, Owner: owner}
}

func digestOf(text string) wire.Bytes {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func intentFor(stableType string) wire.CreationIntent {
	return wire.CreationIntent{
		StableType: stableType, RequestContentReference: "requests/1", RequestSHA256: digestOf("request"), RequestEncodedSize: 7,
	}
}

// reservationID is the n-th id of a reservation of an object.
func reservationID(id string, n int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", crc32.ChecksumIEEE([]byte(id)), n)
}

// reserveOf asks for an object on a node of "play".
func reserveOf(id string, rid wire.RID, owner wire.OwnerToken) *wire.ObjectReserveRequest {
	k := keyOf(id)
	stableType, takes := sortOf(k)
	return &wire.ObjectReserveRequest{
		Key: k, Intent: intentFor(stableType), Target: tgt(rid, owner), CreatingPayload: wire.Bytes("creating"),
		Capacity: takes, ReservationID: reservationID(id, 1),
	}
}

// placeOf asks for an object on any node of "play".
func placeOf(id string) *wire.ObjectPlaceRequest {
	k := keyOf(id)
	stableType, takes := sortOf(k)
	return &wire.ObjectPlaceRequest{
		Key: k, Intent: intentFor(stableType), MeshName: "play", CreatingPayload: wire.Bytes("creating"), Capacity: takes,
		ReservationID: reservationID(id, 1),
	}
}

// reservation is an object that is being created.
type reservation struct {
	key     wire.ObjectKey
	id      string
	version wire.Version
	target  wire.Target
}

// reserved reserves an object on a node of "play".
func (f *fixture) reserved(id string, rid wire.RID, owner wire.OwnerToken) reservation {
	f.t.Helper()
	req := reserveOf(id, rid, owner)
	reply := answerTo[wire.ObjectReserveReply](f, subjects.ObjectReserve, req)
	if reply.Kind != wire.KindReserved {
		f.t.Fatalf("reserve %s on %s: %+v, want reserved", id, rid, reply)
	}
	return reservation{req.Key, reply.ReservationID, reply.Creating.StoreVersion, req.Target}
}

func (r reservation) commit() *wire.ObjectCommitRequest {
	return &wire.ObjectCommitRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, ReadyPayload: wire.Bytes("ready"),
	}
}

func (r reservation) abort() *wire.ObjectAbortRequest {
	return &wire.ObjectAbortRequest{Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target}
}

func (r reservation) releaseEnded() *wire.ObjectReleaseEndedRequest {
	return &wire.ObjectReleaseEndedRequest{Key: r.key, ExpectedStoreVersion: r.version}
}

// complete ends the creation of an actor as the operation n of n1, whose deadline is some time after now.
func (r reservation) complete(kind wire.CompletionKind, n uint64, now wire.Instant) *wire.ObjectCompleteCreationRequest {
	c := wire.Completion{Kind: kind, Terminal: wire.Terminal{
		Operation:        wire.OperationKey{SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{Low: wire.U64(n)}},
		TerminalEnvelope: wire.Bytes("done"), TerminalEnvelopeSHA256: digestOf("done"), OperationDeadline: now + 10_000,
	}}
	if kind == wire.CompletionCreated {
		c.ReadyPayload = wire.Bytes("ready")
	}
	return &wire.ObjectCompleteCreationRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, Completion: c,
	}
}

// ready creates a user spot and returns its record.
func (f *fixture) ready(id string, rid wire.RID, owner wire.OwnerToken) *wire.Authority {
	f.t.Helper()
	reply := answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, f.reserved(id, rid, owner).commit())
	if reply.Kind != wire.KindCommitted {
		f.t.Fatalf("commit %s: %+v, want committed", id, reply)
	}
	return reply.Ready
}

// mutation asks for a change of an object of a version: put, or delete.
func mutation(id string, v wire.Version, kind wire.AuthorityMutationKind) *wire.AuthorityCompareExchangeRequest {
	m := wire.AuthorityMutation{Kind: kind}
	if kind == wire.AuthorityPut {
		m.Payload, m.GenerationTransition = wire.Bytes("put"), wire.GenerationPreserve
	}
	return &wire.AuthorityCompareExchangeRequest{Key: keyOf(id), ExpectedStoreVersion: v, Mutation: m}
}

// exchanged changes an object of a version.
func (f *fixture) exchanged(id string, v wire.Version, kind wire.AuthorityMutationKind) *wire.Authority {
	f.t.Helper()
	reply := answerTo[wire.AuthorityCompareExchangeReply](f, subjects.AuthorityCompareExchange, mutation(id, v, kind))
	if reply.Kind != wire.KindStored && reply.Kind != wire.KindDeleted {
		f.t.Fatalf("%s of %s: %+v, want stored or deleted", kind, id, reply)
	}
	return &reply.Authority
}

// lately lets a read see what any instance has written.
var lately = headers{wire.HeaderConsistency: wire.ConsistencyLeader}

// read is what authority.read answers of an object.
func (f *fixture) read(id string) *wire.Authority {
	f.t.Helper()
	return resultOf[wire.Authority](f.call(subjects.AuthorityRead, payload(f.t, wire.AuthorityReadRequest{Key: keyOf(id)}), lately))
}

// usage is what of a node of "play" is in use: actors, spots, rooms.
func (f *fixture) usage(rid wire.RID) (actors, spots, rooms wire.Usage) {
	f.t.Helper()
	return f.usageAt(rid, lately)
}

// usageAt is the same as an instance knows it that does what the headers ask for.
func (f *fixture) usageAt(rid wire.RID, h headers) (actors, spots, rooms wire.Usage) {
	f.t.Helper()
	list := resultOf[wire.MeshNodeListReply](f.call(subjects.MeshNodeList, `{"meshName":"play"}`, h))
	for _, n := range list.Items {
		if p := n.PopulationCapacity; n.RID == rid {
			return p.Actors, p.Spots, p.SpotTypes[0].Usage
		}
	}
	f.t.Fatalf("no node %q in %+v", rid, list)
	return actors, spots, rooms
}
