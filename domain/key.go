package domain

import (
	"encoding/binary"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// The families of rows: the first segment of every key. The family "stamp"
// belongs to the store itself.
const (
	FamilyLease    = "lease"
	FamilyMeshNode = "mesh-node"
	FamilyOpaque   = "opaque"
)

// The indexes that [Schema] declares.
const (
	// indexOwner lists the rows that carry an owner's token, under ownerValue.
	indexOwner = "owner"
	// indexEntrySpot lists the mesh nodes that have an entry spot id, under the id.
	indexEntrySpot = "entry-spot"
	// unreadableValue is the value, in both, of the rows that no other can be told
	// of: values of tokens and entry spot ids are never empty.
	unreadableValue = ""
)

// LeaseKey is the key of an owner's lease.
func LeaseKey(ownerID string) kvstore.Key { return kvstore.NewKey(FamilyLease, ownerID) }

// MeshNodeKey is the key of a mesh-node descriptor. The routing id comes last,
// because it may hold any byte.
func MeshNodeKey(meshName string, rid wire.RID) kvstore.Key {
	return kvstore.NewKey(FamilyMeshNode, meshName, string(rid))
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
