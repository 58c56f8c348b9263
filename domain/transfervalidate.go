package domain

import (
	"math"
	"strings"

	"github.com/zlink/zlink-nats/wire"
)

// ValidateActorTransferPrepare checks a request of actor-transfer.prepare. Besides
// *wire.InvalidError it returns *wire.TooLargeError for more participants than a row
// can hold.
func ValidateActorTransferPrepare(req *wire.ActorTransferPrepareRequest) error {
	var c checks
	c.within("", checkTransfer(&req.ActorTransfer))
	c.duration("recoveryLeaseTtlMs", req.RecoveryLeaseTTL)
	if c.err == nil {
		c.within("participants", checkTransferSize(&req.ActorTransfer))
	}
	return c.err
}

// ValidateActorTransferAdvance checks a request of actor-transfer.commit,
// actor-transfer.activate or actor-transfer.abort.
func ValidateActorTransferAdvance(req *wire.ActorTransferAdvanceRequest) error {
	var c checks
	c.transferID(req.MeshName, req.ActorID, req.TransferID)
	c.identifier("recoveryOwnerId", req.RecoveryOwnerID)
	return c.err
}

// ValidateActorTransferTakeOver checks a request of actor-transfer.take-over.
func ValidateActorTransferTakeOver(req *wire.ActorTransferTakeOverRequest) error {
	var c checks
	c.transferID(req.MeshName, req.ActorID, req.TransferID)
	c.identifier("successorOwnerId", req.SuccessorOwnerID)
	c.duration("recoveryLeaseTtlMs", req.RecoveryLeaseTTL)
	return c.err
}

// ValidateActorTransferResolve checks a request of actor-transfer.resolve.
func ValidateActorTransferResolve(req *wire.ActorTransferResolveRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.identifier("actorId", req.ActorID)
	return c.err
}

// transferID checks what every request that changes a transfer begins with.
func (c *checks) transferID(meshName, actorID, transferID string) {
	c.identifier("meshName", meshName)
	c.identifier("actorId", actorID)
	c.uuid("transferId", transferID)
}

// checkTransfer checks what a caller says of a transfer. The row of one holds the
// same.
func checkTransfer(t *wire.ActorTransfer) error {
	var c checks
	c.transferID(t.MeshName, t.ActorID, t.TransferID)
	c.transferRef("source", &t.Source, t)
	c.transferRef("target", &t.Target, t)
	c.generation("expectedActorGeneration", uint64(t.ExpectedActorGeneration))
	c.generation("expectedMembershipEpoch", uint64(t.ExpectedMembershipEpoch))
	c.transferNodes("participants", t.Participants)
	c.identifier("recoveryOwnerId", t.RecoveryOwnerID)
	return c.err
}

// transferRef checks one end of a transfer, which may be in another mesh.
func (c *checks) transferRef(field string, r *wire.ActorRef, t *wire.ActorTransfer) {
	c.within(field, checkActorRef(r))
	c.that(r.ActorID == t.ActorID, join(field, "actorId"), r.ActorID, "the actorId of the transfer")
}

func (c *checks) transferNodes(field string, rids []wire.RID) {
	c.that(len(rids) > 0, field, "", "at least one routing id")
	seen := make(map[wire.RID]bool, len(rids))
	for i, rid := range rids {
		c.element(field, i, checkTransferNode(rid, seen))
	}
}

func checkTransferNode(rid wire.RID, seen map[wire.RID]bool) error {
	var c checks
	c.rid("", rid)
	c.that(!seen[rid], "", string(rid), "each routing id once")
	seen[rid] = true
	return c.err
}

// checkTransferSize refuses transfers that are too large when encoded, with the
// longest name that a recovery owner can have: whoever takes over must not be refused
// for its name.
func checkTransferSize(t *wire.ActorTransfer) error {
	bytes := 0
	for _, rid := range t.Participants {
		bytes += elementHeads + len(rid)
	}
	longest := wire.ActorTransferRecord{
		ActorTransfer: *t, State: wire.TransferCommitted, RecoveryLeaseExpiresAt: math.MaxInt64, UpdatedAt: math.MaxInt64,
	}
	longest.RecoveryOwnerID = strings.Repeat("x", maxIdentifierBytes)
	var c checks
	c.record(bytes, &longest)
	return c.err
}
