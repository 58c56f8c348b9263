package main

import (
	"fmt"
	"strings"

	"github.com/zlink/zlink-nats/wire"
)

// fact is a line of an explanation.
type fact struct{ name, text string }

// facts are what is known, each in a line.
func (e *evidence) facts() []fact {
	facts := []fact{{"key", e.Key}}
	if a := e.Authority; a != nil {
		facts = append(
			facts,
			fact{"version", fmt.Sprintf("%s, object generation %d, owner generation %d", shown(a.StoreVersion), a.ObjectGeneration, a.AuthorityOwnerGeneration)},
			fact{"what", fmt.Sprintf("%s of type %s, %s, phase %s", a.Allocation.ObjectKind, shown(a.Allocation.StableType), a.Allocation.State, a.Phase)},
			fact{"node", e.nodeFact()},
			fact{"owner", fmt.Sprintf("%s, lease %d", shown(a.OwnerID), a.OwnerLeaseGeneration)},
			fact{"lease", e.leaseFact()},
			fact{"takes", capacityText(a.Allocation.Capacity)},
		)
		if p := a.PendingCreation; p != nil {
			facts = append(facts, fact{"reservation", fmt.Sprintf("%s, from %s", shown(p.ReservationID), shown(p.RequestContentReference))})
		}
		if m := a.Membership; m != nil {
			facts = append(facts, fact{"member of", fmt.Sprintf("%s spot %s, generation %d", m.SpotKind, shown(m.SpotID), m.SpotGeneration)})
		}
		facts = append(facts, e.aggregateFacts()...)
		facts = append(facts, e.transferFacts()...)
	}
	if e.RowsError != "" {
		facts = append(facts, fact{"row", e.RowsError})
	} else if len(e.Rows) == 0 {
		facts = append(facts, fact{"row", "none"})
	}
	for _, r := range e.Rows {
		facts = append(facts, fact{"row", fmt.Sprintf("node %s of mesh %s (life %d), owner %s, lease %d, %s, updated %s",
			shown(r.OwnerNodeRID), shown(r.MeshName), r.OwnerNodeGeneration, shown(r.OwnerID), r.LeaseGeneration, liveness(r.Live), at(r.UpdatedAt))})
	}
	return facts
}

func (e *evidence) nodeFact() string {
	a := e.Authority.Allocation
	text := fmt.Sprintf("%s of mesh %s", shown(a.Descriptor.RID), shown(a.Descriptor.MeshName))
	if e.Node == nil {
		return text + fmt.Sprintf(" (life %d): its descriptor is gone", a.DescriptorLifecycleGeneration)
	}
	life := fmt.Sprintf("life %d, as when it was placed", e.Node.LifecycleGeneration)
	if !e.sameNode() {
		life = fmt.Sprintf("life %d, when it was placed %d", e.Node.LifecycleGeneration, a.DescriptorLifecycleGeneration)
	}
	return text + fmt.Sprintf(" at %s: %s, %s, %s; actors %s, spots %s", shown(e.Node.Endpoint), e.Node.State, liveness(e.Node.Live), life,
		usage(e.Node.PopulationCapacity.Actors), usage(e.Node.PopulationCapacity.Spots))
}

func (e *evidence) leaseFact() string {
	l := e.Lease
	switch {
	case l.Kind != wire.KindFound:
		return "over; the owner has none now"
	case e.ownerIsLive():
		return fmt.Sprintf("live until %s unless renewed, %v from now", at(l.LeaseExpiresAt), since(l.StoreNow, l.LeaseExpiresAt))
	default:
		return fmt.Sprintf("over; the owner has lease %d now, live until %s unless renewed", l.Token.LeaseGeneration, at(l.LeaseExpiresAt))
	}
}

func capacityText(c wire.Capacity) string {
	var parts []string
	if c.Actors > 0 {
		parts = append(parts, plural(int(c.Actors), "actor"))
	}
	if c.Spots > 0 {
		parts = append(parts, plural(int(c.Spots), "spot"))
	}
	if t := c.SpotType; t != nil {
		parts = append(parts, fmt.Sprintf("%d of %s %s", t.Count, t.ObjectKind, shown(t.StableType)))
	}
	return strings.Join(parts, ", ")
}
