package domain

import (
	"strconv"

	"github.com/zlink/zlink-nats/wire"
)

// The limits of the opaque store. Sizes are in bytes.
const (
	maxOpaqueKeyBytes = 1024
	// maxOpaqueKeys bounds the different keys of one write.
	maxOpaqueKeys = 2048
	// maxOpaqueWriteBytes bounds the keys, values and expected versions of one
	// write.
	maxOpaqueWriteBytes = 4 << 20
)

// ValidateStoreRead checks a request of store.read. It returns *wire.InvalidError,
// or *wire.TooLargeError for a key that is too long.
func ValidateStoreRead(req *wire.StoreReadRequest) error {
	var c checks
	c.opaqueKey("key", req.Key)
	return c.err
}

// ValidateStoreScan checks a request of store.scan. It returns *wire.InvalidError,
// or *wire.TooLargeError for a prefix that is too long.
func ValidateStoreScan(req *wire.StoreScanRequest) error {
	var c checks
	c.size("prefix", len(req.Prefix), maxOpaqueKeyBytes)
	c.cursor("cursor", req.Cursor)
	c.uint("limit", req.Limit, 1, MaxPageItems)
	return c.err
}

func (c *checks) opaqueKey(field string, key []byte) {
	c.that(len(key) >= 1, field, "", "1..1024 bytes")
	c.size(field, len(key), maxOpaqueKeyBytes)
}

// ValidateStoreWrite checks a request of store.write against the limits of the
// protocol and of one commit, which is kvstore.Limits.CommitRows of the store. It
// returns *wire.InvalidError or *wire.TooLargeError.
func ValidateStoreWrite(req *wire.StoreWriteRequest, commitRows int) error {
	var c checks
	n := len(req.Conditions) + len(req.Mutations)
	c.that(n > 0, "mutations", "", "a condition or a mutation")
	w := opaqueWrite{uses: make(map[string]opaqueUse, n)}
	for i := range req.Conditions {
		c.element("conditions", i, w.condition(&req.Conditions[i]))
	}
	for i := range req.Mutations {
		c.element("mutations", i, w.mutation(&req.Mutations[i]))
	}
	c.that(len(w.uses) <= maxOpaqueKeys, "mutations", strconv.Itoa(len(w.uses))+" keys", "at most 2048 different keys")
	c.size("mutations", len(req.Mutations), commitRows)
	c.size(wire.PayloadField, w.bytes, maxOpaqueWriteBytes)
	return c.err
}

// opaqueWrite adds up what a write names.
type opaqueWrite struct {
	uses  map[string]opaqueUse
	bytes int
}

// opaqueUse says in which lists of a write a key is.
type opaqueUse struct{ condition, mutation bool }

func (w *opaqueWrite) condition(o *wire.StoreCondition) error {
	var c checks
	c.opaqueKey("key", o.Key)
	switch o.Kind {
	case wire.ConditionMissing:
		c.that(o.Expected == "", "expected", string(o.Expected), "none for the kind missing")
	case wire.ConditionVersion:
		c.that(o.Expected != "" && len(o.Expected) <= maxVersionBytes, "expected", string(o.Expected), "1..64 bytes")
	default:
		c.refuse("kind", string(o.Kind), "missing or version")
	}
	use := w.uses[string(o.Key)]
	c.that(!use.condition, "key", bytesGot(len(o.Key)), "each key in one condition")
	use.condition = true
	w.uses[string(o.Key)] = use
	w.bytes += len(o.Key) + len(o.Expected)
	return c.err
}

func (w *opaqueWrite) mutation(m *wire.StoreMutation) error {
	var c checks
	c.opaqueKey("key", m.Key)
	switch m.Kind {
	case wire.MutationPut:
		c.that(m.Bytes != nil, "bytes", "", "0..1048576 bytes")
		c.size("bytes", len(m.Bytes), maxValueBytes)
		if m.Retention != 0 { // absent
			c.duration("retentionMs", m.Retention)
		}
	case wire.MutationDelete:
		c.that(m.Bytes == nil, "bytes", bytesGot(len(m.Bytes)), "none for the kind delete")
		c.that(m.Retention == 0, "retentionMs", strconv.FormatInt(int64(m.Retention), 10), "none for the kind delete")
	default:
		c.refuse("kind", string(m.Kind), "put or delete")
	}
	use := w.uses[string(m.Key)]
	c.that(!use.mutation, "key", bytesGot(len(m.Key)), "each key in one mutation")
	use.mutation = true
	w.uses[string(m.Key)] = use
	w.bytes += len(m.Key) + len(m.Bytes)
	return c.err
}

// bytesGot describes bytes that are not shown; empty for none.
func bytesGot(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + " bytes"
}
