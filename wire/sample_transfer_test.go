package wire_test

import "github.com/zlink/zlink-nats/wire"

const sampleTransferID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

// sampleTransfer returns a transfer between a node and one whose routing id is no text.
func sampleTransfer() wire.ActorTransfer {
	return wire.ActorTransfer{
		MeshName: "play", ActorID: "user:42", TransferID: sampleTransferID,
		Source:                  wire.ActorRef{ActorID: "user:42", ObjectGeneration: 43, MeshName: "play", NodeRID: "n1"},
		Target:                  wire.ActorRef{ActorID: "user:42", ObjectGeneration: 1<<63 - 1, MeshName: "lab", NodeRID: "\x00\xff"},
		ExpectedActorGeneration: 43, ExpectedMembershipEpoch: 1<<63 - 1,
		Participants: []wire.RID{"n1", "\x00\xff"}, RecoveryOwnerID: "recovery-é",
	}
}

// transferSamples has the messages about transfers of actors.
func transferSamples() []sample {
	const now = wire.Instant(1783036800000)
	transfer := sampleTransfer()
	record := func(state wire.ActorTransferState) *wire.ActorTransferRecord {
		return &wire.ActorTransferRecord{
			ActorTransfer: transfer, State: state, RecoveryLeaseExpiresAt: now + 30000, UpdatedAt: now,
		}
	}
	advance := &wire.ActorTransferAdvanceRequest{
		MeshName: "play", ActorID: "user:42", TransferID: sampleTransferID, RecoveryOwnerID: "recovery-é",
	}
	reply := func(status wire.ActorTransferStatus, r *wire.ActorTransferRecord) *wire.ActorTransferReply {
		return &wire.ActorTransferReply{Status: status, Record: r}
	}
	return []sample{
		{"actor-transfer.prepare", &wire.ActorTransferPrepareRequest{ActorTransfer: transfer, RecoveryLeaseTTL: 30000}},
		{"actor-transfer.prepare.stored", reply(wire.TransferStatusStored, record(wire.TransferPrepared))},
		{"actor-transfer.prepare.rejected-conflict", reply(wire.TransferStatusRejectedConflict, record(wire.TransferCommitted))},
		{"actor-transfer.commit", advance},
		{"actor-transfer.commit.not-found", reply(wire.TransferStatusNotFound, nil)},
		{"actor-transfer.activate", advance},
		{"actor-transfer.activate.stored", reply(wire.TransferStatusStored, record(wire.TransferActivated))},
		{"actor-transfer.abort", advance},
		{"actor-transfer.take-over", &wire.ActorTransferTakeOverRequest{
			MeshName: "play", ActorID: "user:42", TransferID: sampleTransferID, SuccessorOwnerID: "b", RecoveryLeaseTTL: 1,
		}},
		{"actor-transfer.take-over.invalid-state", reply(wire.TransferStatusInvalidState, record(wire.TransferAborted))},
		{"actor-transfer.resolve", &wire.ActorTransferResolveRequest{MeshName: "play", ActorID: "user:42"}},
		{"actor-transfer.resolve.found", &wire.ActorTransferResolveReply{Kind: wire.KindFound, Record: record(wire.TransferCommitted)}},
		{"actor-transfer.resolve.missing", &wire.ActorTransferResolveReply{Kind: wire.KindMissing}},
	}
}
