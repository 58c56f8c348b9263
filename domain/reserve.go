package domain

import (
	"bytes"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// creation is what object.reserve and object.place have in common.
type creation struct {
	key             wire.ObjectKey
	intent          *wire.CreationIntent
	creatingPayload wire.Bytes
	capacity        wire.Capacity
	reservationID   string // never empty
	endedOwner      wire.EndedOwner
	// replays tells whether a reserved object is where the request wants it.
	replays func(*authority) bool
}

// verdict is what the first rows of the table say of a creation: the reply, or what
// the commit is to release.
type verdict struct {
	reply    *wire.ObjectReserveReply // nil: go on
	replayed *authority               // the reservation, if the reply repeats it
	existing *authority               // the row as stored; nil when there is none
	members  []*authority             // to be removed with the existing one
}

// examine goes through the rows of object.reserve that come before the choice of a
// node (1 to 8).
//
// Reads: for a spot the descriptors that have its id as their entry spot; the
// authority; for a reserved one the lease and the descriptor that it names; for an
// active one whose owner has ended, its members and the leases of their owners.
func (c *creation) examine(tx *kvstore.Tx) (d verdict, err error) {
	taken, err := c.isEntrySpot(tx.View)
	if err != nil {
		return d, err
	}
	if taken {
		return d.refuse(tx.View, wire.KindConflict, wire.ReasonEntrySpot)
	}
	a, err := findAuthority(tx.View, AuthorityKey(c.key))
	if err != nil || a == nil {
		return d, err
	}
	d.existing = a
	over, err := ended(tx.View, a)
	switch {
	case err != nil:
		return d, err
	case a.reserved() && over:
		return d, nil
	case a.Allocation.ObjectKind != c.key.Kind || a.Allocation.StableType != c.intent.StableType:
		return d.refuse(tx.View, wire.KindTypeMismatch, "")
	case a.reserved() && c.repeats(a):
		return d.replay(tx.View)
	case a.reserved():
		return d.refuse(tx.View, wire.KindConflict, wire.ReasonReserved)
	case c.endedOwner != wire.EndedOwnerRelease || !over:
		return d.refuse(tx.View, wire.KindAlreadyExists, "")
	}
	members, reason, err := releasable(tx, a)
	if err != nil {
		return d, err
	}
	if reason != "" {
		return d.refuse(tx.View, wire.KindUnavailable, reason)
	}
	d.members = members
	return d, nil
}

// isEntrySpot tells whether a spot's id is the entry spot of a node, live or not.
func (c *creation) isEntrySpot(v kvstore.View) (bool, error) {
	if !c.key.IsSpot() {
		return false, nil
	}
	if err := checkReadable(v, indexEntrySpot); err != nil {
		return false, err
	}
	for r := range v.Index(indexEntrySpot, c.key.GlobalID) {
		_, err := decodeMeshNode(r)
		return true, err
	}
	return false, nil
}

// repeats tells whether the request asks for a reservation that is there.
func (c *creation) repeats(a *authority) bool {
	p := a.Pending
	return a.ReservationID == c.reservationID && c.replays(a) &&
		p.RequestContentReference == c.intent.RequestContentReference &&
		bytes.Equal(p.RequestSHA256, c.intent.RequestSHA256) &&
		p.RequestEncodedSize == c.intent.RequestEncodedSize &&
		bytes.Equal(a.Payload, c.creatingPayload) && sameCapacity(a.Allocation.Capacity, c.capacity)
}

func sameCapacity(a, b wire.Capacity) bool {
	if a.SpotType != nil && b.SpotType != nil {
		return a.Actors == b.Actors && a.Spots == b.Spots && *a.SpotType == *b.SpotType
	}
	return a == b
}

func (d verdict) refuse(v kvstore.View, kind wire.Kind, reason wire.Reason) (verdict, error) {
	now, err := current(v, d.existing)
	d.reply = &wire.ObjectReserveReply{Kind: kind, Current: now, Reason: reason}
	return d, err
}

func (d verdict) replay(v kvstore.View) (verdict, error) {
	s, err := d.existing.snapshot(v)
	d.replayed = d.existing
	d.reply = &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: d.existing.ReservationID, Creating: s}
	return d, err
}

// returned sums up what the commit gives back to nodes.
func (d *verdict) returned() map[wire.DescriptorKey]vector {
	if d.existing == nil {
		return nil
	}
	back := make(map[wire.DescriptorKey]vector)
	for _, a := range append([]*authority{d.existing}, d.members...) {
		node := a.Allocation.Descriptor
		if back[node] == nil {
			back[node] = make(vector)
		}
		back[node].add(a.Allocation.Capacity)
	}
	return back
}

// reserve stores the reservation and removes what it releases.
func (c *creation) reserve(tx *kvstore.Tx, d *verdict, node *wire.MeshNodeDescriptor) (*wire.ObjectReserveReply, error) {
	if !revisionsLeft(tx, 1+len(d.members)) {
		return &wire.ObjectReserveReply{Kind: wire.KindGenerationExhausted}, nil
	}
	next, err := tx.Next()
	if err != nil {
		return nil, err
	}
	a, err := c.record(node, wire.Generation(next)).put(tx)
	if err != nil {
		return nil, err
	}
	for _, m := range d.members {
		if _, err := tx.Delete(m.row.Key); err != nil {
			return nil, err
		}
	}
	s, err := a.snapshot(tx.View)
	return &wire.ObjectReserveReply{Kind: wire.KindReserved, ReservationID: c.reservationID, Creating: s}, err
}

// revisionsLeft tells whether there are revisions for a commit of so many rows.
func revisionsLeft(tx *kvstore.Tx, rows int) bool {
	return tx.Revision() <= kvstore.MaxRevision-kvstore.Revision(rows)
}

func (c *creation) record(node *wire.MeshNodeDescriptor, g wire.Generation) *authorityRecord {
	return &authorityRecord{
		GlobalID: c.key.GlobalID, ObjectGeneration: g, AuthorityOwnerGeneration: g,
		OwnerID: node.OwnerID, OwnerLeaseGeneration: node.LeaseGeneration,
		Allocation: wire.Allocation{
			State: wire.AllocationReserved, ObjectKind: c.key.Kind, StableType: c.intent.StableType,
			Descriptor:                    wire.DescriptorKey{MeshName: node.MeshName, RID: node.RID},
			DescriptorLifecycleGeneration: node.LifecycleGeneration, Capacity: c.capacity,
		},
		ReservationID: c.reservationID,
		Pending: &pendingCreation{
			RequestContentReference: c.intent.RequestContentReference,
			RequestSHA256:           c.intent.RequestSHA256, RequestEncodedSize: c.intent.RequestEncodedSize,
		},
		Phase: wire.PhaseSteady, Payload: c.creatingPayload,
	}
}

// ReserveObject gives the caller an object to create on a node. The request has a
// reservation id, the caller's or a new one.
//
// Reads: what examine reads, the target's descriptor and lease, and the usage of the
// target node. Writes: the authority; with endedOwner release the members of the
// object that it replaces. Answers reserved, alreadyExists, typeMismatch, conflict,
// unavailable, placementCapacityExhausted or generationExhausted. Errors: *kvstore.DataLostError and those of tx.Put.
func ReserveObject(tx *kvstore.Tx, req *wire.ObjectReserveRequest) (*wire.ObjectReserveReply, error) {
	c := &creation{
		key: req.Key, intent: &req.Intent, creatingPayload: req.CreatingPayload, capacity: req.Capacity,
		reservationID: req.ReservationID, endedOwner: req.EndedOwner,
		replays: func(a *authority) bool { return a.target() == req.Target },
	}
	d, err := c.examine(tx)
	if err != nil || d.reply != nil {
		return d.reply, err
	}
	node, err := liveTarget(tx.View, req.Target)
	if err != nil {
		return nil, err
	}
	if node == nil {
		d, err = d.refuse(tx.View, wire.KindConflict, wire.ReasonTargetUnavailable)
		return d.reply, err
	}
	room, err := hasRoom(tx.View, node, c.capacity, d.returned()[req.Target.Node()])
	if err != nil {
		return nil, err
	}
	if !room {
		return &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted}, nil
	}
	return c.reserve(tx, &d, node)
}
