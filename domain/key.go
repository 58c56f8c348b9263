package domain

import (
	"encoding/binary"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// The families of rows: the first segment of every key. The family "stamp"
// belongs to the store itself.
const (
	FamilyLease           = "lease"
	FamilyMeshNode        = "mesh-node"
	FamilyClientServer    = "client-server"
	FamilyFanoutPublisher = "fanout-publisher"
	FamilyPeer            = "peer"
	FamilySpot            = "spot"
	FamilyActor           = "actor"
	FamilyRoute           = "route"
	FamilyAuthority       = "authority"   // one row for each actor and spot, in key order
	FamilyTerminal        = "terminal"    // outcomes of operations that created an actor or failed to; they expire
	FamilyAbortMark       = "abort-mark"  // what aborts leave; they hold nothing and expire
	FamilyAggregate       = "aggregate"   // states of groups that change at one instant
	FamilyInventory       = "inventory"   // pages that list the participants of an aggregate
	FamilyParticipant     = "participant" // what an aggregate does to each of its participants
	FamilyTransfer        = "transfer"    // the latest transfer of each actor; they expire once they are finished
	FamilyOpaque          = "opaque"
)

// objectFamilies are the families of rows about objects, which carry no token that
// their liveness hangs on.
var objectFamilies = []string{
	FamilyAuthority, FamilyTerminal, FamilyAbortMark, FamilyAggregate, FamilyInventory, FamilyParticipant,
	FamilyTransfer,
}

// The indexes that [Schema] declares.
const (
	// indexOwner lists the rows that carry an owner's token, under ownerValue.
	indexOwner = "owner"
	// indexEntrySpot lists the mesh nodes that have an entry spot id, under the id.
	indexEntrySpot = "entry-spot"
	// unreadableValue is the value, in these and in indexHolder, of the rows that no
	// other can be told of: values of tokens and entry spot ids are never empty.
	unreadableValue = ""
)

// LeaseKey is the key of an owner's lease.
func LeaseKey(ownerID string) kvstore.Key { return kvstore.NewKey(FamilyLease, ownerID) }

// MeshNodeKey is the key of a mesh-node descriptor. The routing id comes last,
// because it may hold any byte.
func MeshNodeKey(meshName string, rid wire.RID) kvstore.Key {
	return kvstore.NewKey(FamilyMeshNode, meshName, string(rid))
}

// ClientServerKey is the key of a client-server descriptor.
func ClientServerKey(channelName string, rid wire.RID) kvstore.Key {
	return kvstore.NewKey(FamilyClientServer, channelName, string(rid))
}

// FanoutPublisherKey is the key of a fanout-publisher descriptor.
func FanoutPublisherKey(channelName string, rid wire.RID) kvstore.Key {
	return kvstore.NewKey(FamilyFanoutPublisher, channelName, string(rid))
}

// SpotKey is the key of a spot row.
func SpotKey(meshName, spotID string) kvstore.Key {
	return kvstore.NewKey(FamilySpot, meshName, spotID)
}

// ActorKey is the key of an actor row.
func ActorKey(meshName, actorID string) kvstore.Key {
	return kvstore.NewKey(FamilyActor, meshName, actorID)
}

// RouteKey is the key of a route.
func RouteKey(kind wire.RouteKind, routeKey string) kvstore.Key {
	return kvstore.NewKey(FamilyRoute, string(kind), routeKey)
}

// TransferKey is the key of the latest transfer of an actor.
func TransferKey(meshName, actorID string) kvstore.Key {
	return kvstore.NewKey(FamilyTransfer, meshName, actorID)
}

// OpaqueKey is the key of a caller's row in the opaque store.
func OpaqueKey(key []byte) kvstore.Key { return kvstore.NewKey(FamilyOpaque, string(key)) }

// ownerPrefix begins the index values of all tokens of an owner.
func ownerPrefix(ownerID string) string { return ownerID + kvstore.Separator }

// ownerValue is the index value of one token. Tokens of an owner are in the order
// of their generations.
func ownerValue(t wire.OwnerToken) string {
	return string(binary.BigEndian.AppendUint64([]byte(ownerPrefix(t.OwnerID)), uint64(t.LeaseGeneration)))
}
