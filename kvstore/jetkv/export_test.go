package jetkv

import (
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
)

// VersionAtLeast is versionAtLeast.
func VersionAtLeast(have, want string) bool { return versionAtLeast(have, want) }

// Encode is encode.
func Encode(prefix, txn, request string, w kvstore.Write) *nats.Msg {
	return encode(prefix, txn, request, w)
}

// Record is what decode reads.
type Record struct {
	Key            kvstore.Key
	Foreign        bool
	Kind           kvstore.WriteKind
	Value          []byte
	Expiry         kvstore.Instant
	Expired        bool
	Txn, Request   string
	Batch          string
	LastOfItsBatch bool
}

// Decode is decode.
func Decode(prefix, subject string, h nats.Header, data []byte) Record {
	r := decode(prefix, subject, h, data)
	return Record{
		Key: r.key, Foreign: r.foreign, Kind: r.kind, Value: r.value, Expiry: r.expiry, Expired: r.expired,
		Txn: r.txn, Request: r.request, Batch: r.batch, LastOfItsBatch: r.commit,
	}
}

// Apply carries a decoded message out on a state.
func Apply(prefix, subject string, h nats.Header, data []byte, s *kvstore.State, rev kvstore.Revision) {
	r := decode(prefix, subject, h, data)
	r.revision = rev
	r.apply(s)
}

// IsUnanswered is isUnanswered.
func IsUnanswered(err error) bool { return isUnanswered(err) }
