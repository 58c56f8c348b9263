package domain_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/wire"
)

func (o *modelObject) token() wire.OwnerToken {
	return wire.OwnerToken{OwnerID: o.OwnerID, LeaseGeneration: o.OwnerLeaseGeneration}
}

func (o *modelObject) target() wire.Target {
	return wire.Target{
		MeshName: o.Allocation.Descriptor.MeshName, NodeRID: o.Allocation.Descriptor.RID,
		NodeLifecycleGeneration: o.Allocation.DescriptorLifecycleGeneration, Owner: o.token(),
	}
}

func (o *modelObject) reserved() bool { return o.Allocation.State == wire.AllocationReserved }

func (o *modelObject) differs(kind wire.ObjectKind, stableType string) bool {
	return o.Allocation.ObjectKind != kind || o.Allocation.StableType != stableType
}

// snapshot is what replies show of an object.
func (m *model) snapshot(o modelObject) *wire.Authority {
	s, live := o.Authority, m.live(o.token())
	s.Live, s.StoreNow = &live, m.now
	return &s
}

// read is 5.1.
func (m *model) read(k wire.ObjectKey) *wire.Authority {
	o, ok := m.objects[modelText(k)]
	if !ok {
		return &wire.Authority{Kind: wire.KindMissing, StoreNow: m.now}
	}
	s := m.snapshot(o)
	s.Kind = wire.KindSnapshot
	return s
}

// sorted lists the objects in key order.
func (m *model) sorted() (all []modelObject) {
	for _, o := range m.objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b modelObject) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// liveTarget and ended are 1.11.
func (m *model) liveTarget(t wire.Target) bool {
	d, ok := m.nodes[t.Node()]
	return ok && d.LifecycleGeneration == t.NodeLifecycleGeneration && d.OwnerToken == t.Owner &&
		d.ObjectRole == wire.RoleServer && d.State == wire.StateServing && m.live(t.Owner)
}

func (m *model) ended(o modelObject) bool {
	if !m.live(o.token()) {
		return true
	}
	d, ok := m.nodes[o.Allocation.Descriptor]
	return o.reserved() && (!ok || d.LifecycleGeneration != o.Allocation.DescriptorLifecycleGeneration)
}

// accepts is 5.4: whether an actor with one membership may have the other.
func (m *model) accepts(had, wanted *wire.Membership) bool {
	if wanted == nil || wanted.SpotKind == wire.MembershipEntry || (had != nil && *had == *wanted) {
		return true
	}
	spot, ok := m.objects[modelText(wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: wanted.SpotID})]
	return ok && spot.Allocation.ObjectKind == wire.ObjectUserSpot && !spot.reserved() && !m.locked(spot.Key) &&
		spot.ObjectGeneration == wanted.SpotGeneration && spot.Phase == wire.PhaseSteady && m.live(spot.token())
}

// first is rows 1 to 8 of 6.1: a reply, or the objects that the commit releases.
func (m *model) first(req *wire.ObjectReserveRequest, inPlace func(wire.Target) bool) (reply *wire.ObjectReserveReply, gone []string) {
	text := modelText(req.Key)
	refuse := func(kind wire.Kind, reason wire.Reason) (*wire.ObjectReserveReply, []string) {
		return &wire.ObjectReserveReply{Kind: kind, Current: m.read(req.Key), Reason: reason}, nil
	}
	if req.Key.Kind != wire.ObjectActor {
		for _, d := range m.nodes {
			if d.EntrySpotID == req.Key.GlobalID { // row 1
				return refuse(wire.KindConflict, wire.ReasonEntrySpot)
			}
		}
	}
	o, ok := m.objects[text]
	switch {
	case !ok:
		return nil, nil
	case o.reserved() && m.ended(o): // row 2
		return nil, []string{text}
	case o.differs(req.Key.Kind, req.Intent.StableType): // rows 3 and 6
		return refuse(wire.KindTypeMismatch, "")
	case o.reserved() && o.reservationID == req.ReservationID && o.hasContentOf(req) && inPlace(o.target()): // row 4
		return &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: o.reservationID, Creating: m.snapshot(o)}, nil
	case o.reserved(): // row 5
		return refuse(wire.KindConflict, wire.ReasonReserved)
	case req.EndedOwner != wire.EndedOwnerRelease || !m.ended(o): // row 7
		return refuse(wire.KindAlreadyExists, "")
	}
	members, reason := m.releasable(o) // row 8
	if reason != "" {
		return refuse(wire.KindUnavailable, reason)
	}
	return nil, append([]string{text}, members...)
}

func (o *modelObject) hasContentOf(req *wire.ObjectReserveRequest) bool {
	p, i := o.PendingCreation, req.Intent
	return p.RequestContentReference == i.RequestContentReference && bytes.Equal(p.RequestSHA256, i.RequestSHA256) &&
		p.RequestEncodedSize == i.RequestEncodedSize && bytes.Equal(o.Payload, req.CreatingPayload) &&
		reflect.DeepEqual(o.Allocation.Capacity, req.Capacity)
}

// releasable is 6.2.
func (m *model) releasable(o modelObject) (members []string, reason wire.Reason) {
	if m.locked(o.Key) {
		return nil, wire.ReasonInAggregate
	}
	if o.Phase != wire.PhaseSteady {
		return nil, wire.ReasonNotSteady
	}
	if o.Allocation.ObjectKind == wire.ObjectUserSpot {
		for text, a := range m.objects {
			if j := a.Membership; j != nil && *j == (wire.Membership{
				SpotID: o.globalID, SpotGeneration: o.ObjectGeneration, SpotKind: wire.MembershipUser,
			}) {
				members = append(members, text)
			}
		}
	}
	for _, text := range members {
		if a := m.objects[text]; m.live(a.token()) {
			return nil, wire.ReasonMemberLive
		}
	}
	for _, text := range members {
		if m.locked(text) || m.objects[text].Phase != wire.PhaseSteady {
			return nil, wire.ReasonMemberNotSteady
		}
	}
	if 1+len(members) > m.rows {
		return nil, wire.ReasonTooManyRows
	}
	return members, ""
}

// reserve is 6.1.
func (m *model) reserve(req *wire.ObjectReserveRequest) (*wire.ObjectReserveReply, error) {
	reply, gone := m.first(req, func(t wire.Target) bool { return t == req.Target })
	if reply != nil {
		return reply, nil
	}
	d := m.nodes[req.Target.Node()]
	switch {
	case !m.liveTarget(req.Target): // row 9
		return &wire.ObjectReserveReply{
			Kind: wire.KindConflict, Current: m.read(req.Key), Reason: wire.ReasonTargetUnavailable,
		}, nil
	case !m.room(&d.MeshNodeDescriptor, req.Capacity, gone): // row 10
		return &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted}, nil
	}
	return m.begin(req, req.Target, gone), nil
}

// begin is rows 11 and 12 of 6.1.
func (m *model) begin(req *wire.ObjectReserveRequest, t wire.Target, gone []string) *wire.ObjectReserveReply {
	text := modelText(req.Key)
	gone = slices.DeleteFunc(gone, func(k string) bool { return k == text }) // that row is replaced
	rev, ok := m.take(1 + len(gone))
	if !ok {
		return &wire.ObjectReserveReply{Kind: wire.KindGenerationExhausted}
	}
	for _, k := range gone {
		delete(m.objects, k)
	}
	o := modelObject{globalID: req.Key.GlobalID, reservationID: req.ReservationID, Authority: wire.Authority{
		Key: text, StoreVersion: modelVersion(rev), Payload: req.CreatingPayload,
		ObjectGeneration: wire.Generation(rev), AuthorityOwnerGeneration: wire.Generation(rev),
		OwnerID: t.Owner.OwnerID, OwnerLeaseGeneration: t.Owner.LeaseGeneration,
		Allocation: &wire.Allocation{
			State: wire.AllocationReserved, ObjectKind: req.Key.Kind, StableType: req.Intent.StableType,
			Descriptor: t.Node(), DescriptorLifecycleGeneration: t.NodeLifecycleGeneration, Capacity: req.Capacity,
		},
		PendingCreation: &wire.PendingCreation{
			ReservationID: req.ReservationID, RequestContentReference: req.Intent.RequestContentReference,
			RequestSHA256: req.Intent.RequestSHA256, RequestEncodedSize: req.Intent.RequestEncodedSize,
		},
		Phase: wire.PhaseSteady,
	}}
	m.objects[text] = o
	return &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: o.reservationID, Creating: m.snapshot(o)}
}

// place is 6.6. Any node that qualifies may have been chosen.
func (m *model) place(req *wire.ObjectPlaceRequest, chosen *wire.Target) (*wire.ObjectReserveReply, error) {
	as := &wire.ObjectReserveRequest{
		Key: req.Key, Intent: req.Intent, CreatingPayload: req.CreatingPayload, Capacity: req.Capacity,
		ReservationID: req.ReservationID, EndedOwner: req.EndedOwner,
	}
	reply, gone := m.first(as, func(t wire.Target) bool { return t.MeshName == req.MeshName })
	if reply != nil {
		if reply.Kind == wire.KindReserved {
			o := m.objects[modelText(req.Key)]
			t := o.target()
			reply.Target = &t
		}
		return reply, nil
	}
	nodes, reason := m.candidates(&wire.PlacementSelectRequest{
		MeshName: req.MeshName, ObjectKind: req.Key.Kind, StableType: req.Intent.StableType,
		Capacity: req.Capacity, Exclude: req.Exclude,
	}, gone)
	switch {
	case reason == wire.ReasonCapacity: // row 10
		return &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted}, nil
	case reason != "": // row 9
		return &wire.ObjectReserveReply{Kind: wire.KindNoTarget}, nil
	}
	t := oneOf(nodes, chosen)
	reply = m.begin(as, t, gone)
	if reply.Kind == wire.KindReserved {
		reply.Target = &t
	}
	return reply, nil
}

// oneOf returns the target that was chosen if it is one of those, else another.
func oneOf(nodes []wire.Target, chosen *wire.Target) wire.Target {
	if chosen != nil && slices.Contains(nodes, *chosen) {
		return *chosen
	}
	return nodes[0]
}

// choose is 7.1 of placement.select.
func (m *model) choose(req *wire.PlacementSelectRequest, chosen *wire.Target) *wire.PlacementSelectReply {
	nodes, reason := m.candidates(req, nil)
	if reason != "" {
		return &wire.PlacementSelectReply{Kind: wire.KindNone, Reason: reason}
	}
	t := oneOf(nodes, chosen)
	return &wire.PlacementSelectReply{Kind: wire.KindSelected, Target: &t}
}
