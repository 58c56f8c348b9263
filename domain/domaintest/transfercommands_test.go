package domaintest_test

import (
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// transferCommands are the operations on transfers of actors.
var transferCommands = []weighed{
	{6, (*client).prepareTransfer},
	{3, func(c *client) command {
		return c.advanceTransfer("actor-transfer.commit", wire.TransferPrepared, domain.CommitActorTransfer)
	}},
	{3, func(c *client) command {
		return c.advanceTransfer("actor-transfer.activate", wire.TransferCommitted, domain.ActivateActorTransfer)
	}},
	{2, func(c *client) command {
		return c.advanceTransfer("actor-transfer.abort", wire.TransferPrepared, domain.AbortActorTransfer)
	}},
	{3, (*client).takeOverTransfer},
	{1, (*client).resolveTransfer},
}

// transferAnswers are the answers that a history of transfers is required to lead to.
var transferAnswers = []string{
	"actor-transfer.abort invalidState", "actor-transfer.abort notFound", "actor-transfer.abort rejectedConflict", "actor-transfer.abort stored",
	"actor-transfer.activate invalidState", "actor-transfer.activate notFound", "actor-transfer.activate rejectedConflict",
	"actor-transfer.activate stored",
	"actor-transfer.commit invalidState", "actor-transfer.commit notFound", "actor-transfer.commit rejectedConflict",
	"actor-transfer.commit stored",
	"actor-transfer.prepare rejectedConflict", "actor-transfer.prepare stored",
	"actor-transfer.resolve found", "actor-transfer.resolve missing",
	"actor-transfer.take-over invalidState", "actor-transfer.take-over notFound", "actor-transfer.take-over rejectedConflict",
	"actor-transfer.take-over stored",
	"sweep 0", "sweep some",
}

// transferActors are those that are handed over, all in the mesh "play".
var transferActors = []string{"a1", "a2"}

// transferActor is mostly one whose transfer is in a state.
func (c *client) transferActor(state wire.ActorTransferState) string {
	for range 3 {
		actor := pick(c, transferActors...)
		if t := c.seen.transfers[actor]; t != nil && t.State == state {
			return actor
		}
	}
	return pick(c, transferActors...)
}

func (c *client) recoveryOwner() string { return pick(c, "ra", "ra", "ra", "rb") }

func (c *client) recoveryLease() wire.Millis { return pick(c, wire.Millis(1), 50, 5_000) }

// transferID is mostly that of the active transfer, else of the latest that was asked
// for, else any.
func (c *client) transferID(actor string) string {
	if t := c.seen.transfers[actor]; t != nil && !c.once(8) {
		return t.TransferID
	}
	if t, ok := c.moved[actor]; ok && !c.once(4) {
		return t.TransferID
	}
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", c.roll(4))
}

// prepareTransfer repeats now and then what was asked for before.
func (c *client) prepareTransfer() command {
	actor := pick(c, transferActors...)
	t, ok := c.moved[actor]
	if !ok || !c.once(3) {
		ref := wire.ActorRef{ActorID: actor, ObjectGeneration: 1, MeshName: "play", NodeRID: "n1"}
		t = wire.ActorTransfer{
			MeshName: "play", ActorID: actor, TransferID: c.transferID(actor), Source: ref, Target: ref,
			ExpectedActorGeneration: 1, ExpectedMembershipEpoch: pick(c, wire.U64(1), 1, 2),
			Participants: []wire.RID{"n1", "\xff\x00"}, RecoveryOwnerID: c.recoveryOwner(),
		}
		t.Target.NodeRID = "\xff\x00"
	}
	c.moved[actor] = t
	if c.once(2) {
		t.Participants = slices.Clone(t.Participants)
		slices.Reverse(t.Participants)
	}
	return changing("actor-transfer.prepare", domain.ValidateActorTransferPrepare, domain.PrepareActorTransfer,
		&wire.ActorTransferPrepareRequest{ActorTransfer: t, RecoveryLeaseTTL: c.recoveryLease()})
}

func (c *client) advanceTransfer(name string, state wire.ActorTransferState,
	rule func(*kvstore.Tx, *wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error),
) command {
	actor := c.transferActor(state)
	owner := pick(c, "ra", "rb")
	if t := c.seen.transfers[actor]; t != nil && !c.once(3) {
		owner = t.RecoveryOwnerID
	}
	return changing(name, domain.ValidateActorTransferAdvance, rule, &wire.ActorTransferAdvanceRequest{
		MeshName: "play", ActorID: actor, TransferID: c.transferID(actor), RecoveryOwnerID: owner,
	})
}

func (c *client) takeOverTransfer() command {
	actor := pick(c, transferActors...)
	return changing("actor-transfer.take-over", domain.ValidateActorTransferTakeOver, domain.TakeOverActorTransfer,
		&wire.ActorTransferTakeOverRequest{
			MeshName: "play", ActorID: actor, TransferID: c.transferID(actor), SuccessorOwnerID: c.recoveryOwner(),
			RecoveryLeaseTTL: c.recoveryLease(),
		})
}

func (c *client) resolveTransfer() command {
	return asking("actor-transfer.resolve", domain.ValidateActorTransferResolve, domain.ResolveActorTransfer,
		&wire.ActorTransferResolveRequest{MeshName: "play", ActorID: pick(c, transferActors...)})
}

// countTransfers adds the active transfers to a census.
func (s *census) countTransfers(v kvstore.View) error {
	s.transfers = make(map[string]*wire.ActorTransferRecord)
	for _, actor := range transferActors {
		r, err := domain.ResolveActorTransfer(v, &wire.ActorTransferResolveRequest{MeshName: "play", ActorID: actor})
		if err != nil {
			return err
		}
		if r.Kind == wire.KindFound {
			s.transfers[actor] = r.Record
		}
	}
	return nil
}

// transfersGoOneWay: a transfer begins prepared, and another begins when it is finished;
// it changes hands when its recovery lease has lapsed. 9
func transfersGoOneWay(before, after *census) error {
	for actor, is := range after.transfers {
		was := before.transfers[actor]
		switch {
		case was == nil && is.State != wire.TransferPrepared:
			return fmt.Errorf("transfer of %s begins with %+v", actor, is)
		case was == nil:
		case was.TransferID != is.TransferID || was.State == wire.TransferCommitted && is.State == wire.TransferPrepared:
			return fmt.Errorf("transfer of %s is %+v after %+v", actor, is, was)
		case was.RecoveryOwnerID != is.RecoveryOwnerID && (was.State != is.State || was.RecoveryLeaseExpiresAt > wire.Instant(before.now)):
			return fmt.Errorf("transfer of %s was taken over at %d: %+v after %+v", actor, before.now, is, was)
		}
	}
	return nil
}
