package histories_test

import (
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// attribute finds for every call that was told of a write the change in the stream, and gives the changes that nobody was told
// of to the calls of unknown outcome that may have made them. It returns what is wrong: writes without a change, and changes
// that nobody can have made.
func attribute(calls []*call, events []*event) (faults []error) {
	byRow := make(map[row][]*event)
	for _, e := range events {
		byRow[row{e.kind, e.key}] = append(byRow[row{e.kind, e.key}], e)
	}
	for _, c := range calls {
		if c.outcome == answered {
			if err := c.find(byRow, events); err != nil {
				faults = append(faults, err)
			}
		}
	}
	explained := make(map[*event]bool)
	for _, c := range calls {
		if c.outcome != unknown || reads[c.op] {
			continue
		}
		for _, e := range events {
			// Who repeats a request may be told of what the first did.
			if e.revision > c.since && (e.told == nil || e.told == c.request) && c.mayHaveMade(e) {
				c.maybe = append(c.maybe, e)
				explained[e] = true
			}
		}
	}
	for _, e := range events {
		if e.told == nil && !explained[e] && !followsFromRelease(e, byRow) {
			faults = append(faults, fmt.Errorf("nobody can have made the change %v", e))
		}
	}
	return faults
}

// row names what an event is about.
type row struct {
	kind wire.EventKind
	key  string
}

// find marks the change that an answered write made. A repeated request is told of the change of the first.
func (c *call) find(byRow map[row][]*event, events []*event) error {
	if c.op == subjects.AggregateCommit {
		return c.findMoved(byRow)
	}
	w, ok := c.wrote()
	if !ok {
		return nil
	}
	if r, ok := c.reply.(*wire.OwnerRemoveAllReply); ok {
		return c.findRemoved(uint64(r.Removed), events)
	}
	for _, e := range byRow[w.row] {
		if e.change == w.change && w.from <= e.revision && e.revision <= w.to && w.shows(e) {
			e.told = c.request
			if e.revision == c.revision || c.op == subjects.ObjectAbort || c.op == subjects.ObjectCompleteCreation {
				c.made = e
			}
			return nil
		}
	}
	return fmt.Errorf("no change %+v for %v, of %v", w.row, c, byRow[w.row])
}

// findRemoved marks the changes of one owner.remove-all: its rows have the revisions up to that of the reply.
func (c *call) findRemoved(n uint64, events []*event) error {
	for _, e := range events {
		if e.change == wire.ChangeRemoved && e.kind != wire.EventOwnerLease && c.revision-n < e.revision && e.revision <= c.revision {
			e.told = c.request
			c.removed = append(c.removed, e)
		}
	}
	if uint64(len(c.removed)) != n {
		return fmt.Errorf("%d changes for %v: %v", len(c.removed), c, c.removed)
	}
	return nil
}

// findMoved marks the changes of the participants of an aggregate: all are of the revision of its commit.
func (c *call) findMoved(byRow map[row][]*event) error {
	if c.said() != string(wire.KindCommitted) {
		return nil
	}
	for _, p := range c.group.participants {
		i := slices.IndexFunc(byRow[row{wire.EventAuthority, p.AuthorityKey.Text()}], func(e *event) bool {
			return e.revision == c.revision && c.group.does(e)
		})
		if i < 0 {
			return fmt.Errorf("no change of %s at revision %d for %v", p.AuthorityKey.Text(), c.revision, c)
		}
		byRow[row{wire.EventAuthority, p.AuthorityKey.Text()}][i].told = c.request
	}
	return nil
}

// does tells whether a change is that of a participant by the group.
func (g *group) does(e *event) bool {
	p := g.participant(e.key)
	return p != nil && e.object != nil && string(e.object.Payload) == string(p.AuthorityPayload)
}

// written is what an answered write must have left in the stream.
type written struct {
	row
	change   wire.ChangeType
	from, to uint64 // its revision
	shows    func(*event) bool
}

func anything(*event) bool { return true }

// wrote is the change of an answered write; ok is false when there is none.
func (c *call) wrote() (w written, ok bool) {
	switch r := c.request.(type) {
	case *wire.LeaseClaimRequest:
		reply := c.reply.(*wire.LeaseClaimReply)
		if reply.Kind != wire.KindClaimed {
			return w, false
		}
		g := uint64(reply.Token.LeaseGeneration)
		return written{row{wire.EventOwnerLease, r.OwnerID}, wire.ChangeUpserted, g, g, func(e *event) bool {
			return e.lease.OwnerToken == *reply.Token
		}}, true
	case *wire.LeaseReleaseRequest:
		return written{
			row{wire.EventOwnerLease, r.Token.OwnerID}, wire.ChangeRemoved, c.revision, c.revision, anything,
		}, c.reply.(*wire.LeaseReleaseReply).Kind == wire.KindReleased
	case *wire.MeshNodeUpdateRequest:
		reply := c.reply.(*wire.UpdateReply)
		return written{
			row{wire.EventMeshNode, string(r.Descriptor.RID)},
			wire.ChangeUpserted, uint64(reply.Generation), c.revision,
			func(e *event) bool {
				return e.node.Generation == reply.Generation && e.node.UpdatedAt == reply.UpdatedAt && content(e.node) == content(&r.Descriptor)
			},
		}, reply.Status == wire.StatusStored
	case *wire.MeshNodeRemoveRequest:
		return written{
			row{wire.EventMeshNode, string(r.RID)}, wire.ChangeRemoved, c.revision, c.revision, anything,
		}, c.reply.(*wire.RemoveReply).Status == wire.StatusStored
	case *wire.SpotUpdateRequest:
		reply := c.reply.(*wire.UpdateReply)
		return written{
			row{wire.EventSpot, r.Spot.SpotID},
			wire.ChangeUpserted, uint64(reply.Generation), c.revision,
			func(e *event) bool {
				return e.spot.Generation == reply.Generation && e.spot.UpdatedAt == reply.UpdatedAt && spotContent(e.spot) == spotContent(&r.Spot)
			},
		}, reply.Status == wire.StatusStored
	case *wire.SpotRemoveRequest:
		return written{
			row{wire.EventSpot, r.SpotID}, wire.ChangeRemoved, c.revision, c.revision, anything,
		}, c.reply.(*wire.RemoveReply).Status == wire.StatusStored
	case *wire.OwnerRemoveAllRequest:
		return w, c.reply.(*wire.OwnerRemoveAllReply).Removed > 0
	}
	if c.removes() { // the other row of the commit may be an abort mark or a terminal
		return written{row{wire.EventAuthority, c.object()}, wire.ChangeRemoved, c.revision - 1, c.revision, anything}, true
	}
	return c.stored()
}

// stored is the change of a write that was answered with the record that it stored.
func (c *call) stored() (w written, ok bool) {
	switch r := c.reply.(type) {
	case *wire.AuthorityCompareExchangeReply:
		ok = r.Kind == wire.KindStored
	case *wire.ObjectReserveReply:
		ok = r.Kind == wire.KindReserved
	case *wire.ObjectCommitReply:
		ok = r.Kind == wire.KindCommitted
	case *wire.ObjectCompleteCreationReply:
		ok = r.Kind == wire.KindCreated
	}
	if !ok {
		return w, false
	}
	a := c.snapshot()
	v := versionOf(a.StoreVersion)
	return written{row{wire.EventAuthority, c.object()}, wire.ChangeUpserted, v, v, func(e *event) bool {
		return sameRecord(e.object, a)
	}}, true
}

// sameRecord compares a record in an event with one in a reply, which also says whether the owner is live.
func sameRecord(a, b *wire.Authority) bool { return record(a) == record(b) }

func record(a *wire.Authority) string {
	c := *a
	c.Kind, c.Live, c.StoreNow = "", nil, 0
	return text(&c)
}

// content is what a node's owner says of it.
func content(d *wire.MeshNodeDescriptor) string {
	c := *d
	c.Generation, c.UpdatedAt = 0, 0
	p := &c.PopulationCapacity
	p.Actors.Active, p.Actors.Reserved, p.Spots.Active, p.Spots.Reserved = 0, 0, 0, 0
	p.SpotTypes = slices.Clone(p.SpotTypes)
	for i := range p.SpotTypes {
		p.SpotTypes[i].Active, p.SpotTypes[i].Reserved = 0, 0
	}
	return text(&c)
}

// mayHaveMade tells whether a write of unknown outcome can have made a change that nobody was told of.
func (c *call) mayHaveMade(e *event) bool {
	switch r := c.request.(type) {
	case *wire.LeaseClaimRequest:
		return e.lease != nil && e.key == r.OwnerID
	case *wire.LeaseReleaseRequest:
		return e.kind == wire.EventOwnerLease && e.key == r.Token.OwnerID && e.change == wire.ChangeRemoved
	case *wire.MeshNodeUpdateRequest:
		return e.node != nil && content(e.node) == content(&r.Descriptor)
	case *wire.MeshNodeRemoveRequest:
		return e.kind == wire.EventMeshNode && e.key == string(r.RID) && e.change == wire.ChangeRemoved
	case *wire.SpotUpdateRequest:
		return e.spot != nil && spotContent(e.spot) == spotContent(&r.Spot)
	case *wire.SpotRemoveRequest:
		return e.kind == wire.EventSpot && e.key == r.SpotID && e.change == wire.ChangeRemoved
	case *wire.OwnerRemoveAllRequest:
		return e.kind != wire.EventOwnerLease && e.change == wire.ChangeRemoved
	case *wire.AggregateCommitRequest:
		return c.group.does(e)
	}
	if e.kind != wire.EventAuthority || e.key != c.object() {
		return false
	}
	if tag := c.tag(); tag != "" {
		return e.object != nil && string(e.object.Payload) == tag
	}
	return e.change == wire.ChangeRemoved
}

// followsFromRelease tells whether a row was announced as no longer live because of a lease that was released in the same commit.
func followsFromRelease(e *event, byRow map[row][]*event) bool {
	if e.kind != wire.EventMeshNode && e.kind != wire.EventSpot || e.change != wire.ChangeExpired {
		return false
	}
	for _, owner := range owners {
		for _, l := range byRow[row{wire.EventOwnerLease, owner}] {
			if l.revision == e.revision && l.change == wire.ChangeRemoved {
				return true
			}
		}
	}
	return false
}
