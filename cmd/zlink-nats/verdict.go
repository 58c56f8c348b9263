package main

import (
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/wire"
)

// stateMissing is the state of an object without an authority.
const stateMissing = "missing"

// stateUnreadable is the state of an object whose authority is stored, but damaged.
const stateUnreadable = "unreadable"

// state is that of the object's entry, by the lease as it is now.
func (e *evidence) state() wire.EntryState {
	switch {
	case e.Lost != "":
		return stateUnreadable
	case e.Authority == nil:
		return stateMissing
	case e.Authority.Allocation.State == wire.AllocationReserved:
		return wire.EntryCreating
	case e.ownerIsLive():
		return wire.EntryReady
	default:
		return wire.EntryUnavailable
	}
}

// ownerIsLive tells whether the lease of the object's owner is the one in the authority.
func (e *evidence) ownerIsLive() bool {
	return holds(e.Lease, e.Authority.OwnerLeaseGeneration)
}

// holds tells whether the lease that an owner has now is the one of that generation.
func holds(now *wire.LeaseReadReply, generation wire.Generation) bool {
	return now.Kind == wire.KindFound && now.Token.LeaseGeneration == generation
}

// sameNode tells whether the node is there in the life in which the object was placed.
func (e *evidence) sameNode() bool {
	return e.Node != nil && e.Node.LifecycleGeneration == e.Authority.Allocation.DescriptorLifecycleGeneration
}

// why says what makes the state, and what can be done, most important first.
func (e *evidence) why() []string {
	switch e.state() {
	case stateUnreadable:
		return e.whyUnreadable()
	case stateMissing:
		return e.whyMissing()
	case wire.EntryCreating:
		return e.whyCreating()
	case wire.EntryReady:
		return append([]string{"it is active, and the lease of its owner is live: messages reach it"}, e.besides()...)
	default:
		return append(e.whyUnavailable(), e.besides()...)
	}
}

func (e *evidence) whyUnreadable() []string {
	why := []string{
		fmt.Sprintf("its authority is stored, but cannot be read (%s): every operation on it is refused, and so is every creation under its id", e.Lost),
		"the service's log names the key: restore that row from a backup of the bucket's stream; deleting it instead gives up the object and frees its place",
	}
	for _, r := range e.Rows {
		why = append(why, fmt.Sprintf("a row in mesh %s says that it was on node %s", shown(r.MeshName), shown(r.OwnerNodeRID)))
	}
	return why
}

func (e *evidence) whyMissing() (why []string) {
	for i := range e.EntrySpotOf {
		n := &e.EntrySpotOf[i]
		why = append(why, fmt.Sprintf("it is the entry spot of node %s in mesh %s, which is %s and %s: an entry spot has no authority, its node's descriptor stands for it, and nothing can be created under its id",
			shown(n.RID), shown(n.MeshName), n.State, liveness(n.Live)))
	}
	if why != nil {
		return why
	}
	why = []string{
		fmt.Sprintf("there is no authority: %s; nothing can be sent to it", e.removal()),
		"object.reserve or object.place creates it",
	}
	for _, r := range e.Rows {
		why = append(why, fmt.Sprintf("a row in mesh %s still says that it is on node %s: it is of owner %s, who is to remove it with %s.remove",
			shown(r.MeshName), shown(r.OwnerNodeRID), shown(r.OwnerID), e.Kind))
	}
	return why
}

// removal says how there came to be no authority.
func (e *evidence) removal() string {
	for _, c := range slices.Backward(e.Changes) {
		if c.Kind == wire.EventAuthority && c.Change == wire.ChangeRemoved {
			return fmt.Sprintf("it was removed at %s, revision %d", at(c.StoreTime), c.Revision)
		}
	}
	return "it was never created, or it was deleted, aborted or released"
}

func (e *evidence) whyCreating() []string {
	a := e.Authority.Allocation
	node := shown(a.Descriptor.RID)
	var over string
	switch {
	case !e.ownerIsLive():
		over = e.leaseIsOver()
	case e.Node == nil:
		over = fmt.Sprintf("node %s is gone from mesh %s", node, shown(a.Descriptor.MeshName))
	case !e.sameNode():
		over = fmt.Sprintf("node %s has begun a new life (%d, it was reserved in %d)", node, e.Node.LifecycleGeneration, a.DescriptorLifecycleGeneration)
	default:
		return e.whyReserved()
	}
	return []string{
		over,
		"so nobody can complete it, and whoever wants it may reserve it anew; until then it keeps its place on the node",
		fmt.Sprintf(`to free the place now: zlink-nats call object.release-ended '{"key":"%s","expectedStoreVersion":"%s"}'`, e.Key, e.Authority.StoreVersion),
	}
}

// whyReserved is about a reservation that can still be completed.
func (e *evidence) whyReserved() []string {
	end := "object.commit"
	if e.Kind == wire.LookupActor {
		end = "object.complete-creation"
	}
	why := []string{fmt.Sprintf("owner %s is creating it: it becomes ready with %s, and goes with object.abort", shown(e.Authority.OwnerID), end)}
	if s := e.Node.State; s != wire.StateServing {
		why = append(why, fmt.Sprintf("its node is %s, so that %s answers stale until the node is serving again", s, end))
	}
	return why
}

func (e *evidence) whyUnavailable() []string {
	why := []string{e.leaseIsOver()}
	if e.isLocked() {
		return append(why, "nobody can take it along or create it anew (unavailable, inAggregate) as long as it is locked")
	}
	if e.Lease.Kind == wire.KindFound {
		why = append(why, "the owner is to take it along with authority.compare-exchange, rebindOwnerLease")
	} else {
		why = append(why, "the owner's next lease may take it along with authority.compare-exchange, rebindOwnerLease, if its node is still in the life in which it was placed")
	}
	why = append(why, "an aggregate may move it to another node and owner (newOwner)")
	if p := e.Authority.Phase; p != wire.PhaseSteady {
		return append(why, fmt.Sprintf("it is %s, so that nobody can create it anew (unavailable, notSteady) until authority.compare-exchange, restore makes it steady", p))
	}
	anew := `object.reserve or object.place with "endedOwner": "release" creates it anew`
	if e.Authority.Allocation.ObjectKind == wire.ObjectUserSpot {
		anew += ", unless it has a member whose owner is live"
	}
	return append(why, anew)
}

// leaseIsOver says what became of the lease in the authority.
func (e *evidence) leaseIsOver() string {
	owner, had := shown(e.Authority.OwnerID), e.Authority.OwnerLeaseGeneration
	if e.Lease.Kind == wire.KindFound {
		return fmt.Sprintf("lease %d of its owner %s is over: the owner has lease %d now, so it was lost or has started again", had, owner, e.Lease.Token.LeaseGeneration)
	}
	return fmt.Sprintf("lease %d of its owner %s is over, and the owner has no other: it has stopped, or cannot reach the service", had, owner)
}

// besides are things about an active object that are worth a look.
func (e *evidence) besides() []string {
	why := e.whyAggregate()
	a := e.Authority.Allocation
	node := shown(a.Descriptor.RID)
	switch {
	case e.Node == nil:
		why = append(why, fmt.Sprintf("the descriptor of node %s is gone from mesh %s, which alone does not end the object", node, shown(a.Descriptor.MeshName)))
	case !e.sameNode():
		why = append(why, fmt.Sprintf("node %s has begun a new life since it was placed (%d, then %d), which alone does not end the object", node, e.Node.LifecycleGeneration, a.DescriptorLifecycleGeneration))
	case e.Node.State != wire.StateServing:
		why = append(why, fmt.Sprintf("its node is %s, and takes no new objects", e.Node.State))
	}
	if p := e.Authority.Phase; p != wire.PhaseSteady && e.ownerIsLive() {
		why = append(why, fmt.Sprintf("its owner says that it is %s", p))
	}
	for _, r := range e.Rows {
		if r.OwnerNodeRID != a.Descriptor.RID {
			why = append(why, fmt.Sprintf("its row says node %s, its authority node %s: the authority counts", shown(r.OwnerNodeRID), node))
		}
	}
	if e.Spot != nil {
		why = append(why, e.whySpot()...)
	}
	return why
}

// whySpot says what is wrong with the spot that an actor is a member of.
func (e *evidence) whySpot() []string {
	m := e.Authority.Membership
	wrong := ""
	switch s := e.Spot; {
	case s.Kind == wire.KindMissing:
		wrong = "is gone"
	case s.ObjectGeneration != m.SpotGeneration:
		wrong = fmt.Sprintf("was created anew since (generation %d, the member has %d)", s.ObjectGeneration, m.SpotGeneration)
	case s.Live == nil || !*s.Live:
		wrong = "has an owner whose lease is over"
	case s.Phase != wire.PhaseSteady:
		wrong = "is " + string(s.Phase)
	default:
		return nil
	}
	return []string{fmt.Sprintf("the spot %s that it is a member of %s: see zlink-nats explain spot %s", shown(m.SpotID), wrong, shown(m.SpotID))}
}

func liveness(live bool) string {
	if live {
		return "live"
	}
	return "not live"
}
