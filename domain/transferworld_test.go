package domain_test

import (
	"fmt"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// transferID is the n-th id of a transfer.
func transferID(n int) string { return fmt.Sprintf("7c9e6679-7425-40de-944b-%012d", n) }

// transferOf is the n-th transfer of the actor "a1" of "play", whose recovery owner is
// "ra".
func transferOf(n int, edits ...func(*wire.ActorTransfer)) wire.ActorTransfer {
	t := wire.ActorTransfer{
		MeshName: "play", ActorID: "a1", TransferID: transferID(n),
		Source:                  wire.ActorRef{ActorID: "a1", ObjectGeneration: 3, MeshName: "play", NodeRID: "n1"},
		Target:                  wire.ActorRef{ActorID: "a1", ObjectGeneration: 4, MeshName: "play", NodeRID: "n2"},
		ExpectedActorGeneration: 3, ExpectedMembershipEpoch: 5,
		Participants: []wire.RID{"n1", "n2", "\x00\xff"}, RecoveryOwnerID: "ra",
	}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

func recoveredBy(owner string) func(*wire.ActorTransfer) {
	return func(t *wire.ActorTransfer) { t.RecoveryOwnerID = owner }
}

// recordOfTransfer is what is stored of a transfer that was changed last at t0 plus some
// milliseconds.
func recordOfTransfer(t wire.ActorTransfer, s wire.ActorTransferState, expires, updated int64) *wire.ActorTransferRecord {
	return &wire.ActorTransferRecord{
		ActorTransfer: t, State: s, RecoveryLeaseExpiresAt: t0 + wire.Instant(expires), UpdatedAt: t0 + wire.Instant(updated),
	}
}

func transferAnswer(s wire.ActorTransferStatus, r *wire.ActorTransferRecord) *wire.ActorTransferReply {
	return &wire.ActorTransferReply{Status: s, Record: r}
}

// prepareTransfer asks for a transfer with a recovery lease of 30 s.
func (w *world) prepareTransfer(t wire.ActorTransfer) *wire.ActorTransferReply {
	w.t.Helper()
	return w.prepareTransferFor(t, ttl)
}

func (w *world) prepareTransferFor(t wire.ActorTransfer, ttl wire.Millis) *wire.ActorTransferReply {
	w.t.Helper()
	return ask(w, domain.ValidateActorTransferPrepare, domain.PrepareActorTransfer,
		&wire.ActorTransferPrepareRequest{ActorTransfer: t, RecoveryLeaseTTL: ttl})
}

// ask makes a request that is valid to a write rule.
func ask[Q, R any](w *world, validate func(*Q) error, rule func(*kvstore.Tx, *Q) (*R, error), req *Q) *R {
	w.t.Helper()
	if err := validate(req); err != nil {
		w.t.Fatal(err)
	}
	return write(w, rule, req)
}

// advance is a rule that takes a transfer further.
type advance = func(*kvstore.Tx, *wire.ActorTransferAdvanceRequest) (*wire.ActorTransferReply, error)

// advances are all of them, with the states that they need and lead to.
var advances = map[string]struct {
	rule     advance
	from, to wire.ActorTransferState
}{
	"commit":   {domain.CommitActorTransfer, wire.TransferPrepared, wire.TransferCommitted},
	"activate": {domain.ActivateActorTransfer, wire.TransferCommitted, wire.TransferActivated},
	"abort":    {domain.AbortActorTransfer, wire.TransferPrepared, wire.TransferAborted},
}

func advanceRequest(n int, owner string) *wire.ActorTransferAdvanceRequest {
	return &wire.ActorTransferAdvanceRequest{MeshName: "play", ActorID: "a1", TransferID: transferID(n), RecoveryOwnerID: owner}
}

// advance takes the n-th transfer further for its recovery owner.
func (w *world) advance(rule advance, n int, owner string) *wire.ActorTransferReply {
	w.t.Helper()
	return ask(w, domain.ValidateActorTransferAdvance, rule, advanceRequest(n, owner))
}

func takeOverRequest(n int, successor string, ttl wire.Millis) *wire.ActorTransferTakeOverRequest {
	return &wire.ActorTransferTakeOverRequest{
		MeshName: "play", ActorID: "a1", TransferID: transferID(n), SuccessorOwnerID: successor, RecoveryLeaseTTL: ttl,
	}
}

// takeOver lets a successor take the n-th transfer over for 30 s.
func (w *world) takeOver(n int, successor string) *wire.ActorTransferReply {
	w.t.Helper()
	return ask(w, domain.ValidateActorTransferTakeOver, domain.TakeOverActorTransfer, takeOverRequest(n, successor, ttl))
}

func (w *world) resolveTransfer() *wire.ActorTransferResolveReply {
	w.t.Helper()
	return read(w, domain.ResolveActorTransfer, &wire.ActorTransferResolveRequest{MeshName: "play", ActorID: "a1"})
}

// inState brings the first transfer into a state, at the clock's instant.
func (w *world) inState(s wire.ActorTransferState) {
	w.t.Helper()
	w.prepareTransfer(transferOf(1))
	switch s {
	case wire.TransferPrepared:
	case wire.TransferCommitted:
		w.advance(domain.CommitActorTransfer, 1, "ra")
	case wire.TransferActivated:
		w.advance(domain.CommitActorTransfer, 1, "ra")
		w.advance(domain.ActivateActorTransfer, 1, "ra")
	case wire.TransferAborted:
		w.advance(domain.AbortActorTransfer, 1, "ra")
	}
}
