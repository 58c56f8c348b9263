// Package workload holds the operations that the service and its peers are measured with, as [load.Workload]s.
//
// # Operations
//
// "Update descriptor" is a transaction that reads three rows and writes one: the owner's lease must be the expected
// one, the descriptor must not have changed, its entry-spot identity must not be taken by another row; then the
// descriptor is written. Every caller has a descriptor of its own and knows its version from its last transaction, so
// nothing is read beforehand and nobody conflicts.
//
// "Store write" is a transaction with two version conditions and four puts, again on rows of the caller's own.
//
// "Create object" is a transaction with six conditions and four puts, twice for each object: the first reserves it on one
// of eight nodes, the second commits it. A store that has only rows has to keep what the service derives from them, so it
// needs rows for the node's counter, the counter of the object's type there and an index besides that of the object; the
// conditions are on the node's lease and descriptor, the object, the counters, and on the entry spot that must not have
// the object's id, or on the index. In a real system all who place on a node compete for its counters. Here every caller
// has counters of its own, so that nobody conflicts, to the advantage of the peers.
//
// Each peer does them in the way its own users would: etcd in one Txn, Redis in one Lua script, the service in one
// request: [NodeUpdate], [StoreWrite] and [ObjectCreate]. What else the service does stands beside the bare NATS that it
// stands on: a lease renewal, which rewrites one row, beside [KVUpdate], and reads, of a row and with [ObjectFind] of an
// object, beside [Echo]. [OwnerRemoveAll] and [ObjectList] stand beside themselves, in a store with other rows and in one
// without.
//
// # Connections
//
// Callers share at most maxConns (4) connections to etcd and to NATS, whose protocols carry many requests at once. Redis
// answers one request after another on a connection, so there every caller has one.
package workload

import "fmt"

const (
	// valueBytes is the size of every row whose content the bench chooses.
	valueBytes = 400
	// leaseBytes is the size of a row of an owner lease.
	leaseBytes = 50
	// maxConns is where more connections stop to help on a small machine.
	maxConns = 4
)

// newValue makes the content of a row: bytes that do not compress to nothing.
func newValue() []byte {
	value := make([]byte, valueBytes)
	for i := range value {
		value[i] = byte(i*7 + i/13)
	}
	return value
}

// key names row n of a kind that belongs to a caller.
func key(kind string, caller, n int) string { return fmt.Sprintf("%s/%06d/%d", kind, caller, n) }
