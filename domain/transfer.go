package domain

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// transferRetention is how long a finished transfer is kept, in milliseconds.
const transferRetention kvstore.Instant = 300_000

// isActive tells whether a transfer is under way. A finished one has an expiry.
func isActive(t *wire.ActorTransferRecord) bool {
	return t.State == wire.TransferPrepared || t.State == wire.TransferCommitted
}

// decodeTransfer understands a transfer row or returns a *kvstore.DataLostError.
func decodeTransfer(r *kvstore.Row) (*wire.ActorTransferRecord, error) {
	t := new(wire.ActorTransferRecord)
	if err := decodeRecord(r, t); err != nil {
		return nil, err
	}
	if err := checkTransfer(&t.ActorTransfer); err != nil {
		return nil, lost(r, err)
	}
	switch {
	case TransferKey(t.MeshName, t.ActorID) != r.Key:
		return nil, lost(r, fmt.Errorf("record of the actor %q of %q", t.ActorID, t.MeshName))
	case t.RecoveryLeaseExpiresAt <= 0 || t.UpdatedAt <= 0:
		return nil, lost(r, errors.New("record without recoveryLeaseExpiresAt or updatedAt"))
	case isActive(t) != (r.Expiry == 0):
		return nil, lost(r, fmt.Errorf("%s transfer with the expiry %d", t.State, r.Expiry))
	}
	return t, nil
}

// findTransfer returns the latest transfer of an actor; nil when there is none.
func findTransfer(v kvstore.View, meshName, actorID string) (*wire.ActorTransferRecord, error) {
	r := v.Row(TransferKey(meshName, actorID))
	if r == nil {
		return nil, nil
	}
	return decodeTransfer(r)
}

// sameTransfer compares what callers say of a transfer. The order of participants
// does not matter.
func sameTransfer(a, b *wire.ActorTransfer) bool {
	return a.MeshName == b.MeshName && a.ActorID == b.ActorID &&
		a.TransferID == b.TransferID &&
		a.Source == b.Source && a.Target == b.Target &&
		a.ExpectedActorGeneration == b.ExpectedActorGeneration &&
		a.ExpectedMembershipEpoch == b.ExpectedMembershipEpoch &&
		a.RecoveryOwnerID == b.RecoveryOwnerID &&
		sameSet(a.Participants, b.Participants, equal, cmp.Compare)
}

// putTransfer stores a transfer that changed, and answers with it.
func putTransfer(tx *kvstore.Tx, t *wire.ActorTransferRecord) (*wire.ActorTransferReply, error) {
	t.UpdatedAt = wire.Instant(tx.Now())
	var expiry kvstore.Instant
	if !isActive(t) {
		expiry = tx.Now() + transferRetention
	}
	if err := putRecord(tx, TransferKey(t.MeshName, t.ActorID), t, expiry); err != nil {
		return nil, err
	}
	return transferReply(wire.TransferStatusStored, t), nil
}

func transferReply(status wire.ActorTransferStatus, t *wire.ActorTransferRecord) *wire.ActorTransferReply {
	return &wire.ActorTransferReply{Status: status, Record: t}
}

// recoveryLease is when a recovery lease ends that begins in the transaction.
func recoveryLease(tx *kvstore.Tx, ttl wire.Millis) wire.Instant {
	return wire.Instant(tx.Now()) + wire.Instant(ttl)
}

// PrepareActorTransfer begins a transfer of an actor that has none under way. One that
// repeats the prepared transfer is answered with that.
//
// Reads and writes: the row. Answers stored or rejectedConflict. Errors:
// *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted among them.
func PrepareActorTransfer(tx *kvstore.Tx, req *wire.ActorTransferPrepareRequest) (*wire.ActorTransferReply, error) {
	held, err := findTransfer(tx.View, req.MeshName, req.ActorID)
	switch {
	case err != nil:
		return nil, err
	case held == nil || !isActive(held):
		return putTransfer(tx, &wire.ActorTransferRecord{
			ActorTransfer: req.ActorTransfer, State: wire.TransferPrepared,
			RecoveryLeaseExpiresAt: recoveryLease(tx, req.RecoveryLeaseTTL),
		})
	case held.State == wire.TransferPrepared && sameTransfer(&held.ActorTransfer, &req.ActorTransfer):
		return transferReply(wire.TransferStatusStored, held), nil
	default: // another transfer is under way, or this one has come further or is another in all but its id
		return transferReply(wire.TransferStatusRejectedConflict, held), nil
	}
}

// CommitActorTransfer lets a prepared transfer be activated.
//
// Reads and writes: the row. Answers stored, notFound, invalidState or
// rejectedConflict. Errors: *kvstore.DataLostError and those of tx.Put,
// kvstore.ErrExhausted among them.
func CommitActorTransfer(tx *kvstore.Tx, req *wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error) {
	return advanceTransfer(tx, req, wire.TransferPrepared, wire.TransferCommitted)
}

// ActivateActorTransfer finishes a committed transfer. It is otherwise as
// [CommitActorTransfer].
func ActivateActorTransfer(tx *kvstore.Tx, req *wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error) {
	return advanceTransfer(tx, req, wire.TransferCommitted, wire.TransferActivated)
}

// AbortActorTransfer gives a prepared transfer up. It is otherwise as
// [CommitActorTransfer].
func AbortActorTransfer(tx *kvstore.Tx, req *wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error) {
	return advanceTransfer(tx, req, wire.TransferPrepared, wire.TransferAborted)
}

// advanceTransfer takes the active transfer from one state to another. The recovery
// owner may do so after its lease as well, until somebody has taken over.
func advanceTransfer(tx *kvstore.Tx, req *wire.ActorTransferAdvanceRequest, from, to wire.ActorTransferState) (
	*wire.ActorTransferReply, error,
) {
	t, err := findTransfer(tx.View, req.MeshName, req.ActorID)
	switch {
	case err != nil:
		return nil, err
	case t == nil || !isActive(t) || t.TransferID != req.TransferID:
		return transferReply(wire.TransferStatusNotFound, nil), nil
	case t.State != from:
		return transferReply(wire.TransferStatusInvalidState, t), nil
	case t.RecoveryOwnerID != req.RecoveryOwnerID:
		return transferReply(wire.TransferStatusRejectedConflict, t), nil
	}
	t.State = to
	return putTransfer(tx, t)
}

// TakeOverActorTransfer makes a transfer whose recovery lease has lapsed somebody
// else's to carry on.
//
// Reads and writes: the row. Answers stored, notFound, invalidState or
// rejectedConflict. Errors: *kvstore.DataLostError and those of tx.Put,
// kvstore.ErrExhausted among them.
func TakeOverActorTransfer(tx *kvstore.Tx, req *wire.ActorTransferTakeOverRequest) (*wire.ActorTransferReply, error) {
	t, err := findTransfer(tx.View, req.MeshName, req.ActorID)
	switch {
	case err != nil:
		return nil, err
	case t == nil || t.TransferID != req.TransferID:
		return transferReply(wire.TransferStatusNotFound, nil), nil
	case !isActive(t):
		return transferReply(wire.TransferStatusInvalidState, t), nil
	case t.RecoveryLeaseExpiresAt > wire.Instant(tx.Now()):
		return transferReply(wire.TransferStatusRejectedConflict, t), nil
	}
	t.RecoveryOwnerID, t.RecoveryLeaseExpiresAt = req.SuccessorOwnerID, recoveryLease(tx, req.RecoveryLeaseTTL)
	return putTransfer(tx, t)
}

// ResolveActorTransfer answers found with the active transfer of an actor, else
// missing.
//
// Reads: the row. Errors: *kvstore.DataLostError.
func ResolveActorTransfer(v kvstore.View, req *wire.ActorTransferResolveRequest) (*wire.ActorTransferResolveReply, error) {
	t, err := findTransfer(v, req.MeshName, req.ActorID)
	switch {
	case err != nil:
		return nil, err
	case t == nil || !isActive(t):
		return &wire.ActorTransferResolveReply{Kind: wire.KindMissing}, nil
	}
	return &wire.ActorTransferResolveReply{Kind: wire.KindFound, Record: t}, nil
}
