package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// actorPrefix and spotPrefix begin the keys of the authorities of actors and of
// spots.
var (
	actorPrefix = kvstore.NewKey(FamilyAuthority, wire.KeyTextPrefix+"a:")
	spotPrefix  = kvstore.NewKey(FamilyAuthority, wire.KeyTextPrefix+"s:")
)

// entry is an authority as find and list show it.
func (a *authority) entry(live bool) *wire.ObjectEntry {
	e := &wire.ObjectEntry{
		GlobalID: a.GlobalID, ObjectGeneration: a.ObjectGeneration, StableType: a.Allocation.StableType,
		MeshName: a.Allocation.Descriptor.MeshName, NodeRID: a.Allocation.Descriptor.RID, State: wire.EntryUnavailable,
	}
	switch {
	case a.reserved():
		e.State = wire.EntryCreating
	case live:
		e.State = wire.EntryReady
	}
	return e
}

// FindObject answers where an object is, or missing.
//
// Reads: the authority and the lease of its owner. Errors: *kvstore.DataLostError.
func FindObject(v kvstore.View, req *wire.ObjectFindRequest) (*wire.ObjectFindReply, error) {
	kind := wire.ObjectActor
	if req.Kind == wire.LookupSpot {
		kind = wire.ObjectUserSpot // the three kinds share their identities
	}
	a, err := findAuthority(v, AuthorityKey(wire.ObjectKey{Kind: kind, GlobalID: req.GlobalID}))
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return &wire.ObjectFindReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	}
	live, err := isLive(v, a.token())
	if err != nil {
		return nil, err
	}
	return &wire.ObjectFindReply{Kind: wire.KindFound, Entry: a.entry(live)}, nil
}

// ListObjects lists the objects of a kind, a type and a mesh that come after a row,
// in key order. It returns the key to go on after, empty at the end.
//
// Reads: the authorities and the leases of their owners. Cost: proportional to the
// rows listed, and to the types and meshes of the kind that the request does not name. Errors: *kvstore.DataLostError, also for an authority that might be of
// the kind because nobody can tell what it is.
func ListObjects(v kvstore.View, req *wire.ObjectListRequest, after kvstore.Key, p Page) ([]wire.ObjectEntry, kvstore.Key, error) {
	prefix := spotPrefix
	if req.ObjectKind == wire.ObjectActor {
		prefix = actorPrefix
	}
	if err := checkAuthorities(v, prefix); err != nil {
		return nil, "", err
	}
	return fill(itemsOf(objectRows(v, req, after), func(r *kvstore.Row) (*wire.ObjectEntry, error) {
		a, err := decodeAuthority(r)
		if err != nil {
			return nil, err
		}
		live, err := isLive(v, a.token())
		if err != nil || (req.LiveOnly && !live) {
			return nil, err
		}
		return a.entry(live), nil
	}), p)
}

// AwaitAuthority answers the record of an object if the condition of the request
// holds, else nil.
//
// Reads: the authority and the lease of its owner. Errors: *kvstore.DataLostError.
func AwaitAuthority(v kvstore.View, req *wire.ObjectAwaitRequest) (*wire.Authority, error) {
	a, err := findAuthority(v, AuthorityKey(req.Key))
	if err != nil || !isAwaited(a, req) {
		return nil, err
	}
	return current(v, a)
}

// isAwaited tells whether the condition of the request holds for an authority, nil if
// there is none.
func isAwaited(a *authority, req *wire.ObjectAwaitRequest) bool {
	switch {
	case req.Until == wire.AwaitSettled:
		return a == nil || a.active()
	case req.SinceVersion == "":
		return a != nil
	}
	return a == nil || !a.hasVersion(req.SinceVersion)
}
