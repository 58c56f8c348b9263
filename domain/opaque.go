package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// ReadOpaque answers found with the value of a key that is there and has not
// expired, else missing.
//
// Reads: the row.
func ReadOpaque(v kvstore.View, req *wire.StoreReadRequest) (*wire.StoreReadReply, error) {
	now := wire.Instant(v.Now())
	r := v.Row(OpaqueKey(req.Key))
	if r == nil {
		return &wire.StoreReadReply{Kind: wire.KindMissing, StoreNow: now}, nil
	}
	return &wire.StoreReadReply{
		Kind: wire.KindFound, Bytes: opaqueBytes(r), Version: version(r),
		ExpiresAt: wire.Instant(r.Expiry), StoreNow: now,
	}, nil
}

// WriteOpaque applies all mutations if all conditions hold. Puts get their
// versions in the order of the request.
//
// Reads: the rows of the conditions. Writes: those of the mutations. Answers
// applied or conflict. Errors: those of tx.Put.
func WriteOpaque(tx *kvstore.Tx, req *wire.StoreWriteRequest) (*wire.StoreWriteReply, error) {
	now := wire.Instant(tx.Now())
	for i := range req.Conditions {
		if !holds(tx.View, &req.Conditions[i]) {
			return &wire.StoreWriteReply{Kind: wire.KindConflict, StoreNow: now}, nil
		}
	}
	versions := []wire.PutVersion{}
	for i := range req.Mutations {
		m := &req.Mutations[i]
		rev, err := mutate(tx, m)
		if err != nil {
			return nil, err
		}
		if m.Kind == wire.MutationPut {
			versions = append(versions, wire.PutVersion{Key: m.Key, Version: wire.Version(rev.String())})
		}
	}
	return &wire.StoreWriteReply{Kind: wire.KindApplied, PutVersions: versions, StoreNow: now}, nil
}

func holds(v kvstore.View, c *wire.StoreCondition) bool {
	r := v.Row(OpaqueKey(c.Key))
	if c.Kind == wire.ConditionMissing {
		return r == nil
	}
	return r != nil && version(r) == c.Expected
}

func mutate(tx *kvstore.Tx, m *wire.StoreMutation) (kvstore.Revision, error) {
	k := OpaqueKey(m.Key)
	if m.Kind == wire.MutationDelete {
		return tx.Delete(k)
	}
	var expiry kvstore.Instant
	if m.Retention != 0 {
		expiry = tx.Now() + kvstore.Instant(m.Retention)
	}
	return tx.Put(k, m.Bytes, expiry)
}

// ScanOpaque lists the keys that begin with the prefix of the request and come
// after a row, in byte order.
//
// Reads: the rows. The cursor and the limit of the request are the caller's
// business: it gives the view and the page.
func ScanOpaque(v kvstore.View, req *wire.StoreScanRequest, after kvstore.Key, p Page) ([]wire.StoreItem, kvstore.Key, error) {
	return fill(itemsOf(v.Scan(OpaqueKey(req.Prefix), after), func(r *kvstore.Row) (*wire.StoreItem, error) {
		return &wire.StoreItem{
			Key: wire.Bytes(r.Key[len(OpaqueKey(nil)):]), Bytes: opaqueBytes(r), Version: version(r),
			ExpiresAt: wire.Instant(r.Expiry),
		}, nil
	}), p)
}

// opaqueBytes never returns nil, which would be an absent value.
func opaqueBytes(r *kvstore.Row) wire.Bytes {
	if r.Value == nil {
		return wire.Bytes{}
	}
	return r.Value
}

// version is the store version of a row.
func version(r *kvstore.Row) wire.Version { return wire.Version(r.Revision.String()) }
