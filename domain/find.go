package domain

import (
	"unique"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// actorPrefix and spotPrefix begin the keys of the authorities of actors and of
// spots.
var (
	actorPrefix = kvstore.NewKey(FamilyAuthority, wire.KeyTextPrefix+"a:")
	spotPrefix  = kvstore.NewKey(FamilyAuthority, wire.KeyTextPrefix+"s:")
)

// place is what find and list need to know of an authority. It is kept with the row:
// where an object is, is asked far more often than changed, and to decode the whole
// record costs more than everything else about the answer. Text is shared by many
// rows, so that a place takes little.
type place struct {
	token    wire.OwnerToken
	reserved bool
	entry    wire.ObjectEntry // without its state
}

// placeOf returns the place in an authority row or a *kvstore.DataLostError.
func placeOf(r *kvstore.Row) (*place, error) { return kvstore.Decoded(r, decodePlace) }

func decodePlace(r *kvstore.Row) (*place, error) {
	a, err := decodeAuthority(r)
	if err != nil {
		return nil, err
	}
	return a.place(), nil
}

func (r *authorityRecord) place() *place {
	return &place{
		token:    wire.OwnerToken{OwnerID: shared(r.OwnerID), LeaseGeneration: r.OwnerLeaseGeneration},
		reserved: r.reserved(),
		entry: wire.ObjectEntry{
			GlobalID: r.GlobalID, ObjectGeneration: r.ObjectGeneration, StableType: shared(r.Allocation.StableType),
			MeshName: shared(r.Allocation.Descriptor.MeshName), NodeRID: shared(r.Allocation.Descriptor.RID),
		},
	}
}

// shared returns a text that equal ones share.
func shared[T ~string](text T) T { return unique.Make(text).Value() }

// shown is the entry as the liveness of the owner makes it.
func (p *place) shown(live bool) *wire.ObjectEntry {
	e := p.entry
	switch {
	case p.reserved:
		e.State = wire.EntryCreating
	case live:
		e.State = wire.EntryReady
	default:
		e.State = wire.EntryUnavailable
	}
	return &e
}

// FindObject answers where an object is, or missing.
//
// Reads: the authority and the lease of its owner. Errors: *kvstore.DataLostError.
func FindObject(v kvstore.View, req *wire.ObjectFindRequest) (*wire.ObjectFindReply, error) {
	kind := wire.ObjectActor
	if req.Kind == wire.LookupSpot {
		kind = wire.ObjectUserSpot // the three kinds share their identities
	}
	r := v.Row(AuthorityKey(wire.ObjectKey{Kind: kind, GlobalID: req.GlobalID}))
	if r == nil {
		return &wire.ObjectFindReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	}
	p, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	live, err := isLive(v, p.token)
	if err != nil {
		return nil, err
	}
	return &wire.ObjectFindReply{Kind: wire.KindFound, Entry: p.shown(live)}, nil
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
		p, err := placeOf(r)
		if err != nil {
			return nil, err
		}
		live, err := isLive(v, p.token)
		if err != nil || (req.LiveOnly && !live) {
			return nil, err
		}
		return p.shown(live), nil
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
