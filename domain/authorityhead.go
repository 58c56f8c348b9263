package domain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// The indexes of authorities. A row of which nobody can tell where it belongs is in
// indexHolder under unreadableValue.
const (
	// indexHolder lists authorities by the token of their owner, under ownerValue.
	indexHolder = "holder"
	// indexMember lists actors by the user spot that they belong to, under
	// memberValue.
	indexMember = "member"
	// indexObject lists authorities by kind, type and mesh, under objectValue.
	indexObject = "object"
)

// memberValue is the index value of one incarnation of a user spot.
func memberValue(spotID string, g wire.Generation) string {
	return string(binary.BigEndian.AppendUint64([]byte(spotID+kvstore.Separator), uint64(g)))
}

// objectValue is the index value of the objects of a kind and a type in a mesh.
func objectValue(kind wire.ObjectKind, stableType, meshName string) string {
	return string(kind) + kvstore.Separator + stableType + kvstore.Separator + meshName
}

// authorityHead is the part of an authority that indexes and sums are made of; see
// recordHead for why it is read on its own. Text is shared with the row.
type authorityHead struct {
	token      wire.OwnerToken
	allocation wire.Allocation
	membership wire.Membership // zero if there is none
	// visibleRevision is 0 if the row's own is visible.
	visibleRevision wire.Revision
}

func (h *authorityHead) visible(r *kvstore.Row) kvstore.Revision {
	return visibleRevision(h.visibleRevision, r)
}

// authorityHeadOf reads the head of an authority or returns a
// *kvstore.DataLostError.
func authorityHeadOf(r *kvstore.Row) (h authorityHead, err error) {
	if p, ok := r.Over.(*projection); ok {
		if p.lost != nil {
			return h, p.lost
		}
		h, err = authorityHeadOf(p.base)
		h.visibleRevision = 0
		return p.staged.head(h, &p.move.target), err
	}
	body, err := recordBody(r.Value)
	if err != nil {
		return h, lost(r, err)
	}
	s := skimmer{rest: body}
	s.each(func(name []byte) bool {
		switch string(name) {
		case "ownerId":
			h.token.OwnerID = string(s.text())
		case "ownerLeaseGeneration":
			h.token.LeaseGeneration = wire.Generation(s.open(majorUint))
		case "allocation":
			s.allocation(&h.allocation)
		case "membership":
			s.membership(&h.membership)
		case "visibleRevision":
			h.visibleRevision = wire.Revision(s.open(majorUint))
		default:
			return false
		}
		return true
	})
	err = errors.New("record without a legible owner, allocation and membership")
	if !s.broken {
		err = h.contradiction(r)
	}
	if err != nil {
		return h, lost(r, err)
	}
	return h, nil
}

// contradiction says what in a head cannot be in a row. Decoding asks for it as
// well, so that whatever the rules can read has its place in indexes and sums.
func (h *authorityHead) contradiction(r *kvstore.Row) error {
	a, t, m := &h.allocation, h.allocation.Capacity.SpotType, h.membership
	switch {
	case h.token.OwnerID == "" || h.token.LeaseGeneration == 0:
		return errors.New("record without an owner token")
	case !a.State.Valid() || !a.ObjectKind.Valid() || a.StableType == "" || a.Descriptor.MeshName == "" || a.Descriptor.RID == "":
		return errors.New("record without a type and a node")
	case (a.ObjectKind == wire.ObjectActor) != r.Key.HasPrefix(actorPrefix):
		return fmt.Errorf("record of an object that is %s", a.ObjectKind)
	case a.Capacity == wire.Capacity{}:
		return errors.New("record that takes no capacity")
	case t != nil && (!t.ObjectKind.Valid() || t.StableType == "" || t.Count == 0):
		return errors.New("record that takes capacity of no type")
	case m != wire.Membership{} && (a.ObjectKind != wire.ObjectActor || m.SpotID == "" || m.SpotGeneration == 0 || !m.SpotKind.Valid()):
		return errors.New("record with a membership that cannot be")
	case kvstore.Revision(h.visibleRevision) > r.Revision:
		return fmt.Errorf("visible revision %d in a row of revision %d", h.visibleRevision, r.Revision)
	}
	return nil
}

// each passes over a map. read reads the value of a name, or returns false for one
// that is to be passed over.
func (s *skimmer) each(read func(name []byte) bool) {
	if s.null() {
		return
	}
	for pairs := s.open(majorMap); pairs > 0 && !s.broken; pairs-- {
		if !read(s.text()) {
			s.skip()
		}
	}
}

func (s *skimmer) allocation(a *wire.Allocation) {
	s.each(func(name []byte) bool {
		switch string(name) {
		case "state":
			a.State = wire.AllocationState(s.text())
		case "objectKind":
			a.ObjectKind = wire.ObjectKind(s.text())
		case "stableType":
			a.StableType = string(s.text())
		case "descriptor":
			s.descriptor(&a.Descriptor)
		case "capacity":
			s.capacity(&a.Capacity)
		default:
			return false
		}
		return true
	})
}

func (s *skimmer) descriptor(d *wire.DescriptorKey) {
	s.each(func(name []byte) bool {
		switch string(name) {
		case "meshName":
			d.MeshName = string(s.text())
		case "rid":
			d.RID = wire.RID(s.rid())
		default:
			return false
		}
		return true
	})
}

func (s *skimmer) capacity(c *wire.Capacity) {
	s.each(func(name []byte) bool {
		switch string(name) {
		case "actors":
			c.Actors = s.count()
		case "spots":
			c.Spots = s.count()
		case "spotType":
			if s.null() {
				break
			}
			c.SpotType = new(wire.SpotCapacity)
			s.spotCapacity(c.SpotType)
		default:
			return false
		}
		return true
	})
}

func (s *skimmer) spotCapacity(t *wire.SpotCapacity) {
	s.each(func(name []byte) bool {
		switch string(name) {
		case "objectKind":
			t.ObjectKind = wire.SpotObjectKind(s.text())
		case "stableType":
			t.StableType = string(s.text())
		case "count":
			t.Count = s.count()
		default:
			return false
		}
		return true
	})
}

func (s *skimmer) membership(m *wire.Membership) {
	s.each(func(name []byte) bool {
		switch string(name) {
		case "spotId":
			m.SpotID = string(s.text())
		case "spotGeneration":
			m.SpotGeneration = wire.Generation(s.open(majorUint))
		case "spotKind":
			m.SpotKind = wire.MembershipKind(s.text())
		default:
			return false
		}
		return true
	})
}

// count reads a number that fits a capacity.
func (s *skimmer) count() uint32 {
	n := s.open(majorUint)
	s.broken = s.broken || n > math.MaxUint32
	return uint32(n)
}

// rid reads a routing id in either of its forms.
func (s *skimmer) rid() []byte {
	if len(s.rest) > 0 && s.rest[0]>>5 == majorBytes {
		return s.take(s.open(majorBytes))
	}
	return s.take(s.open(majorText))
}

// authorityFacts is what follows from an authority.
func authorityFacts(r *kvstore.Row) kvstore.Facts {
	h, err := authorityHeadOf(r)
	if err != nil {
		return kvstore.Facts{Index: []kvstore.IndexEntry{{Index: indexHolder, Value: unreadableValue}}}
	}
	return kvstore.Facts{Index: h.indexes(), Amounts: h.amounts()}
}

// indexes are the index entries of an authority. Values are shared by many rows, so each
// is kept once.
func (h *authorityHead) indexes() []kvstore.IndexEntry {
	entries := make([]kvstore.IndexEntry, 0, 3)
	add := func(index, value string) {
		entries = append(entries, kvstore.IndexEntry{Index: index, Value: shared(value)})
	}
	a := &h.allocation
	add(indexHolder, ownerValue(h.token))
	add(indexObject, objectValue(a.ObjectKind, a.StableType, a.Descriptor.MeshName))
	if h.membership.SpotKind == wire.MembershipUser {
		add(indexMember, memberValue(h.membership.SpotID, h.membership.SpotGeneration))
	}
	return entries
}

// checkAuthorities returns the *kvstore.DataLostError of an authority among those
// whose keys begin with a prefix of which nobody can tell where it belongs, and with the
// empty prefix also that of an aggregate that may hold room. Whoever
// concludes something from what an index or a sum does not hold has to ask.
func checkAuthorities(v kvstore.View, prefix kvstore.Key) error {
	for r := range v.Index(indexHolder, unreadableValue) {
		switch {
		case !r.Key.HasPrefix(prefix):
			continue
		case isAuthority(r.Key):
			_, err := authorityHeadOf(r)
			return err
		}
		_, err := decodeAggregate(r)
		return err
	}
	return nil
}
