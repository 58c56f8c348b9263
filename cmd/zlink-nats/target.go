package main

import (
	"fmt"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// findTarget asks for the lease and the node that a prepared aggregate moves to.
func (e *evidence) findTarget(c *caller) (err error) {
	if !e.isLocked() {
		return nil
	}
	a := e.Aggregate.Aggregate
	e.TargetLease = new(wire.LeaseReadReply)
	if err := c.ask(subjects.LeaseRead, &wire.LeaseReadRequest{OwnerID: a.TargetOwner.OwnerID}, e.TargetLease); err != nil {
		return err
	}
	e.TargetNode, err = c.findNode(a.TargetDescriptor)
	return err
}

// whyStale says why the aggregate cannot be committed, if its target is not a live one.
func (e *evidence) whyStale() []string {
	if e.Aggregate.OwnerTransition == wire.OwnerPreserve && !e.ownerIsLive() {
		return []string{"it is to stay with an owner whose lease is over: aggregate.commit would answer stale, and a lease that is over does not come back; abort the aggregate, and prepare another without it"}
	}
	if wrong := e.targetLifeIsOver(); wrong != "" {
		return []string{wrong + ": aggregate.commit would answer stale, and a life that is over does not come back; abort the aggregate, and prepare another for the new life"}
	}
	if wrong := e.targetLeaseIsOver(); wrong != "" {
		return []string{wrong + ": aggregate.commit would answer stale while that is so, and a lease that is over does not come back"}
	}
	if wrong := e.targetNodeIsWrong(); wrong != "" {
		return []string{wrong + ": aggregate.commit would answer stale while that is so"}
	}
	return nil
}

// targetLifeIsOver says that the target's node is there in another life than was meant, if
// its owner is the one that was meant: otherwise that owner's lease says more.
func (e *evidence) targetLifeIsOver() string {
	a, n := e.Aggregate.Aggregate, e.TargetNode
	if n == nil || n.OwnerToken != a.TargetOwner || n.LifecycleGeneration == a.TargetDescriptorLifecycleGeneration {
		return ""
	}
	return fmt.Sprintf("node %s of mesh %s, the target of the aggregate, has begun life %d, and was meant in life %d",
		shown(a.TargetDescriptor.RID), shown(a.TargetDescriptor.MeshName), n.LifecycleGeneration, a.TargetDescriptorLifecycleGeneration)
}

// targetLeaseIsOver says what became of the lease of the target's owner, if it is not live.
func (e *evidence) targetLeaseIsOver() string {
	to := e.Aggregate.Aggregate.TargetOwner
	switch {
	case holds(e.TargetLease, to.LeaseGeneration):
		return ""
	case e.TargetLease.Kind == wire.KindFound:
		return fmt.Sprintf("lease %d of owner %s, the target of the aggregate, is over, and the owner has lease %d now", to.LeaseGeneration, shown(to.OwnerID), e.TargetLease.Token.LeaseGeneration)
	default:
		return fmt.Sprintf("lease %d of owner %s, the target of the aggregate, is over, and the owner has no other", to.LeaseGeneration, shown(to.OwnerID))
	}
}

// targetNodeIsWrong says what of the target's descriptor keeps it from being a live target.
func (e *evidence) targetNodeIsWrong() string {
	a, n := e.Aggregate.Aggregate, e.TargetNode
	node := fmt.Sprintf("node %s of mesh %s, the target of the aggregate,", shown(a.TargetDescriptor.RID), shown(a.TargetDescriptor.MeshName))
	switch {
	case n == nil:
		return node + " has no descriptor"
	case n.OwnerToken != a.TargetOwner:
		return fmt.Sprintf("%s has a descriptor of owner %s, lease %d, and not of owner %s, lease %d", node,
			shown(n.OwnerID), n.LeaseGeneration, shown(a.TargetOwner.OwnerID), a.TargetOwner.LeaseGeneration)
	case n.ObjectRole != wire.RoleServer:
		return fmt.Sprintf("%s is a %s for objects and not a %s", node, n.ObjectRole, wire.RoleServer)
	case n.State != wire.StateServing:
		return fmt.Sprintf("%s is %s", node, n.State)
	}
	return ""
}
