package domain_test

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// snapshot is what authority.read answers of an object.
func (w *world) snapshot(id string) *wire.Authority {
	w.t.Helper()
	return read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: keyOf(id)})
}

// snapshots are those of all objects in key order.
func (w *world) snapshots() []wire.AuthorityItem {
	w.t.Helper()
	items, next, err := domain.ListAuthorities(w.view(), &wire.AuthorityListRequest{Limit: 1000}, "", domain.Page{Items: 1000})
	if err != nil || next != "" {
		w.t.Fatalf("snapshots: next %q, error %v", next, err)
	}
	return items
}

// exchange changes an object of a version.
func (w *world) exchange(id string, v wire.Version, m wire.AuthorityMutation) *wire.AuthorityCompareExchangeReply {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateAuthorityCompareExchange, domain.CompareExchangeAuthority,
		&wire.AuthorityCompareExchangeRequest{Key: keyOf(id), ExpectedStoreVersion: v, Mutation: m})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// putOf is the mutation put.
func putOf(edits ...func(*wire.AuthorityMutation)) wire.AuthorityMutation {
	m := wire.AuthorityMutation{
		Kind: wire.AuthorityPut, Payload: wire.Bytes("put"), GenerationTransition: wire.GenerationPreserve,
	}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func toPhase(p wire.Phase) func(*wire.AuthorityMutation) {
	return func(m *wire.AuthorityMutation) { m.Phase = p }
}

func joining(in wire.Membership) func(*wire.AuthorityMutation) {
	return func(m *wire.AuthorityMutation) { m.Membership = &in }
}

// changed changes an object of any version by a mutation, which must be stored, and
// returns its snapshot.
func (w *world) changed(id string, m wire.AuthorityMutation) *wire.Authority {
	w.t.Helper()
	reply := w.exchange(id, w.snapshot(id).StoreVersion, m)
	if reply.Kind != wire.KindStored {
		w.t.Fatalf("%s of %s: %+v, want stored", m.Kind, id, reply)
	}
	return &reply.Authority
}

// membershipIn is the membership in a user spot as it is.
func (w *world) membershipIn(spotID string) wire.Membership {
	w.t.Helper()
	return wire.Membership{SpotID: spotID, SpotGeneration: w.snapshot(spotID).ObjectGeneration, SpotKind: wire.MembershipUser}
}

// member creates an actor on a node of "play" that belongs to a user spot.
func (w *world) member(id, spotID string, rid wire.RID, owner wire.OwnerToken) *wire.Authority {
	w.t.Helper()
	w.ready(id, rid, owner)
	return w.changed(id, putOf(joining(w.membershipIn(spotID))))
}

// usage is what of a node of "play" is in use: the counters of its descriptor.
type usage struct{ Actors, Spots, Rooms, Chats use }

// use is a pair of counters.
type use struct{ Active, Reserved uint32 }

func (w *world) usage(rid wire.RID) usage {
	w.t.Helper()
	for _, n := range w.list() {
		if n.RID != rid {
			continue
		}
		p := n.PopulationCapacity
		u := usage{Actors: useOf(p.Actors), Spots: useOf(p.Spots)}
		for _, t := range p.SpotTypes {
			switch t.StableType {
			case "room":
				u.Rooms = useOf(t.Usage)
			case "chat":
				u.Chats = useOf(t.Usage)
			}
		}
		return u
	}
	w.t.Fatalf("no node %q", rid)
	return usage{}
}

func useOf(u wire.Usage) use { return use{u.Active, u.Reserved} }
