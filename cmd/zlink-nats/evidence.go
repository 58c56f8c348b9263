package main

import (
	"fmt"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// evidence is what is known of an object. It is printed as JSON: its parts are as the
// protocol has them.
type evidence struct {
	Kind           wire.LookupKind           `json:"kind"`                    // actor or spot
	GlobalID       string                    `json:"globalId"`                // the object within its kind
	Key            string                    `json:"key"`                     // text form
	State          string                    `json:"state"`                   // an [wire.EntryState], "missing" or "unreadable"
	Why            []string                  `json:"why"`                     // what makes it so, and what follows, in sentences
	StoreNow       wire.Instant              `json:"storeNow"`                // when the authority was read
	Authority      *wire.Authority           `json:"authority,omitzero"`      // absent if missing
	Lost           string                    `json:"lost,omitzero"`           // why its authority cannot be read, although it is stored
	Lease          *wire.LeaseReadReply      `json:"lease,omitzero"`          // of the owner, as it is now; absent if missing
	Node           *wire.MeshNodeItem        `json:"node,omitzero"`           // where the object is; absent if it is gone
	Spot           *wire.Authority           `json:"spot,omitzero"`           // what an actor is a member of, unless that is an entry spot
	Aggregate      *wire.AggregateFindReply  `json:"aggregate,omitzero"`      // what it takes part in; absent if nothing, or if the service cannot tell
	AggregateError string                    `json:"aggregateError,omitzero"` // why the service cannot tell
	TargetLease    *wire.LeaseReadReply      `json:"targetLease,omitzero"`    // of the owner that a prepared aggregate moves to, as it is now
	TargetNode     *wire.MeshNodeItem        `json:"targetNode,omitzero"`     // that a prepared aggregate moves to; absent if it is gone
	Transfer       *wire.ActorTransferRecord `json:"transfer,omitzero"`       // the active transfer of an actor; absent if there is none, or if the service cannot tell
	TransferError  string                    `json:"transferError,omitzero"`  // why the service cannot tell
	EntrySpotOf    []wire.MeshNodeItem       `json:"entrySpotOf,omitzero"`    // nodes that have a missing spot as their entry spot
	Rows           []locationRow             `json:"rows"`                    // that say where it is
	RowsError      string                    `json:"rowsError,omitzero"`      // why some cannot be read
	Changes        []pastChange              `json:"changes"`                 // oldest first
	ChangesError   string                    `json:"changesError,omitzero"`   // why there are no changes
}

// locationRow is what the row of a spot or an actor says of where it is.
type locationRow struct {
	MeshName            string          `json:"meshName"`
	OwnerNodeRID        wire.RID        `json:"ownerNodeRid"`
	OwnerNodeGeneration wire.Generation `json:"ownerNodeGeneration"`
	wire.OwnerToken
	Live      bool         `json:"live"`
	UpdatedAt wire.Instant `json:"updatedAt"`
}

func newEvidence(kind wire.LookupKind, id string) *evidence {
	e := &evidence{Kind: kind, GlobalID: id, Rows: []locationRow{}, Changes: []pastChange{}}
	e.Key = e.objectKey(id).Text()
	return e
}

func (e *evidence) objectKey(id string) wire.ObjectKey {
	if e.Kind == wire.LookupActor {
		return wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: id}
	}
	return spotKey(id)
}

// spotKey names a spot of any kind.
func spotKey(id string) wire.ObjectKey {
	return wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}
}

// gather asks the service for everything but the past.
func (e *evidence) gather(c *caller) error {
	var a wire.Authority
	switch err := c.ask(subjects.AuthorityRead, &wire.AuthorityReadRequest{Key: e.objectKey(e.GlobalID)}, &a); {
	case isLost(err):
		return e.gatherLost(c, err)
	case err != nil:
		return err
	}
	e.StoreNow = a.StoreNow
	if a.Kind == wire.KindMissing || a.Allocation == nil || a.Live == nil {
		return e.search(c)
	}
	e.Authority, e.Lease = &a, new(wire.LeaseReadReply)
	if err := c.ask(subjects.LeaseRead, &wire.LeaseReadRequest{OwnerID: a.OwnerID}, e.Lease); err != nil {
		return err
	}
	var err error
	if e.Node, err = c.findNode(a.Allocation.Descriptor); err != nil {
		return err
	}
	e.findAggregate(c)
	if err := e.findTarget(c); err != nil {
		return err
	}
	e.findTransfer(c)
	if m := a.Membership; m != nil && m.SpotKind == wire.MembershipUser {
		e.Spot = new(wire.Authority)
		if err := c.ask(subjects.AuthorityRead, &wire.AuthorityReadRequest{Key: spotKey(m.SpotID)}, e.Spot); err != nil {
			return err
		}
	}
	return e.resolve(c, a.Allocation.Descriptor.MeshName)
}

// gatherLost looks for what there is beside an authority that cannot be read.
func (e *evidence) gatherLost(c *caller, why error) error {
	e.Lost = why.Error()
	var s wire.StatusGetReply
	if err := c.ask(subjects.StatusGet, &wire.StatusGetRequest{}, &s); err != nil {
		return err
	}
	e.StoreNow = s.StoreNow
	return e.search(c)
}

// findNode returns the descriptor of a node, or nil if it is gone.
func (c *caller) findNode(key wire.DescriptorKey) (*wire.MeshNodeItem, error) {
	for node, err := range each[wire.MeshNodeItem](c, nodesOf(key.MeshName, false)) {
		if err != nil {
			return nil, err
		}
		if node.RID == key.RID {
			return node, nil
		}
	}
	return nil, nil
}

// search looks in all meshes for traces of an object that has no authority.
func (e *evidence) search(c *caller) error {
	for m, err := range each[wire.TopologyMesh](c, meshesOf("", false)) {
		if err == nil {
			err = e.resolve(c, m.MeshName)
		}
		if err == nil && e.Kind == wire.LookupSpot {
			err = e.findEntrySpot(c, m.MeshName)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *evidence) findEntrySpot(c *caller, mesh string) error {
	for node, err := range each[wire.MeshNodeItem](c, nodesOf(mesh, false)) {
		if err != nil {
			return err
		}
		if node.EntrySpotID == e.GlobalID {
			e.EntrySpotOf = append(e.EntrySpotOf, *node)
		}
	}
	return nil
}

// resolve asks for the row of the object in a mesh. An explanation does without one that
// cannot be read.
func (e *evidence) resolve(c *caller, mesh string) error {
	err := e.resolveIn(c, mesh)
	if isLost(err) {
		e.RowsError = fmt.Sprintf("that in mesh %s cannot be read: %v", shown(mesh), err)
		return nil
	}
	return err
}

func (e *evidence) resolveIn(c *caller, mesh string) error {
	if e.Kind == wire.LookupActor {
		var reply wire.ActorResolveReply
		err := c.ask(subjects.ActorResolve, &wire.ActorResolveRequest{MeshName: mesh, ActorID: e.GlobalID}, &reply)
		if r := reply.Actor; err == nil && r != nil {
			e.Rows = append(e.Rows, locationRow{mesh, r.OwnerNodeRID, r.OwnerNodeGeneration, r.OwnerToken, r.Live, r.UpdatedAt})
		}
		return err
	}
	var reply wire.SpotResolveReply
	err := c.ask(subjects.SpotResolve, &wire.SpotResolveRequest{MeshName: mesh, SpotID: e.GlobalID}, &reply)
	if r := reply.Spot; err == nil && r != nil {
		e.Rows = append(e.Rows, locationRow{mesh, r.OwnerNodeRID, r.OwnerNodeGeneration, r.OwnerToken, r.Live, r.UpdatedAt})
	}
	return err
}
