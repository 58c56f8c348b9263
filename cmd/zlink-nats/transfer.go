package main

import (
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// findTransfer asks for the active transfer of an actor. An explanation does without,
// as it does without the aggregate.
func (e *evidence) findTransfer(c *caller) {
	if e.Kind != wire.LookupActor {
		return
	}
	var reply wire.ActorTransferResolveReply
	request := wire.ActorTransferResolveRequest{MeshName: e.Authority.Allocation.Descriptor.MeshName, ActorID: e.GlobalID}
	switch err := c.ask(subjects.ActorTransferResolve, &request, &reply); {
	case errors.Is(err, errNoOperation):
	case err != nil:
		e.TransferError = err.Error()
	default:
		e.Transfer = reply.Record
	}
}

// transferFacts are those about the transfer, if there is one.
func (e *evidence) transferFacts() []fact {
	if e.TransferError != "" {
		return []fact{{"transfer", "cannot be told: " + e.TransferError}}
	}
	t := e.Transfer
	if t == nil {
		return nil
	}
	return []fact{{"transfer", fmt.Sprintf("%s, %s, from node %s of mesh %s to node %s of mesh %s, %s", t.TransferID, t.State,
		shown(t.Source.NodeRID), shown(t.Source.MeshName), shown(t.Target.NodeRID), shown(t.Target.MeshName), e.recovery())}}
}

// recovery says who carries the transfer on, and for how long nobody else may.
func (e *evidence) recovery() string {
	owner, end := shown(e.Transfer.RecoveryOwnerID), e.Transfer.RecoveryLeaseExpiresAt
	if end <= e.StoreNow {
		return fmt.Sprintf("recovery owner %s, whose recovery lease ran out at %s: others may take it over", owner, at(end))
	}
	return fmt.Sprintf("recovery owner %s, whose recovery lease runs until %s, %v from now", owner, at(end), since(e.StoreNow, end))
}
