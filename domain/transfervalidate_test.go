package domain_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func validTransfer() *wire.ActorTransferPrepareRequest {
	return &wire.ActorTransferPrepareRequest{ActorTransfer: transferOf(1), RecoveryLeaseTTL: ttl}
}

var refParts = map[string]part[wire.ActorRef]{
	"another actor":        {func(r *wire.ActorRef) { r.ActorID = "a2" }, "actorId"}, // 9
	"no actor":             {func(r *wire.ActorRef) { r.ActorID = "" }, "actorId"},
	"no mesh":              {func(r *wire.ActorRef) { r.MeshName = "" }, "meshName"},
	"mesh too long":        {func(r *wire.ActorRef) { r.MeshName = strings.Repeat("x", 256) }, "meshName"},
	"another mesh":         {func(r *wire.ActorRef) { r.MeshName = "lab" }, allowed},
	"no node":              {func(r *wire.ActorRef) { r.NodeRID = "" }, "nodeRid"},
	"node of any bytes":    {func(r *wire.ActorRef) { r.NodeRID = "\x00\xff" }, allowed},
	"node too long":        {func(r *wire.ActorRef) { r.NodeRID = wire.RID(strings.Repeat("x", 256)) }, "nodeRid"},
	"generation 0":         {func(r *wire.ActorRef) { r.ObjectGeneration = 0 }, "objectGeneration"},
	"greatest generation":  {func(r *wire.ActorRef) { r.ObjectGeneration = math.MaxInt64 }, allowed},
	"generation too great": {func(r *wire.ActorRef) { r.ObjectGeneration = math.MaxInt64 + 1 }, "objectGeneration"},
}

var participantParts = map[string]part[[]wire.RID]{
	"none":              {func(p *[]wire.RID) { *p = []wire.RID{} }, ""}, // 9
	"absent":            {func(p *[]wire.RID) { *p = nil }, ""},
	"one":               {func(p *[]wire.RID) { *p = []wire.RID{"n1"} }, allowed},
	"one twice":         {func(p *[]wire.RID) { *p = []wire.RID{"n1", "n2", "n1"} }, ""}, // 9
	"many":              {func(p *[]wire.RID) { *p = manyRIDs(1024) }, allowed},
	"of nearly a name":  {func(p *[]wire.RID) { *p = []wire.RID{"n1", "N1", "n1 "} }, allowed},
	"bytes of any kind": {func(p *[]wire.RID) { *p = []wire.RID{"\x00", "\xff", "\x00\xff"} }, allowed},
}

func manyRIDs(n int) (rids []wire.RID) {
	for i := range n {
		rids = append(rids, wire.RID(fmt.Sprintf("%0255d", i)))
	}
	return rids
}

var millis = map[string]part[wire.Millis]{
	"none":     {func(m *wire.Millis) { *m = 0 }, ""},
	"negative": {func(m *wire.Millis) { *m = -1 }, ""},
	"least":    {func(m *wire.Millis) { *m = 1 }, allowed},
	"greatest": {func(m *wire.Millis) { *m = 1 << 52 }, allowed},
	"too long": {func(m *wire.Millis) { *m = 1<<52 + 1 }, ""},
}

var numbers = map[string]part[uint64]{
	"0":         {func(n *uint64) { *n = 0 }, ""},
	"least":     {func(n *uint64) { *n = 1 }, allowed},
	"greatest":  {func(n *uint64) { *n = math.MaxInt64 }, allowed},
	"too great": {func(n *uint64) { *n = math.MaxInt64 + 1 }, ""},
}

func TestPartsOfPrepare(t *testing.T) { // 1.6, 9, F-03
	t.Parallel()
	type request = wire.ActorTransferPrepareRequest
	valid, fn := validTransfer, domain.ValidateActorTransferPrepare
	parts(t, fn, valid, "source", func(r *request) *wire.ActorRef { return &r.Source }, refParts)
	parts(t, fn, valid, "target", func(r *request) *wire.ActorRef { return &r.Target }, refParts)
	parts(t, fn, valid, "meshName", func(r *request) *string { return &r.MeshName }, texts(255, ""))
	parts(t, fn, valid, "transferId", func(r *request) *string { return &r.TransferID }, reservationIDs)
	parts(t, fn, valid, "transferId", func(r *request) *string { return &r.TransferID }, noText)
	parts(t, fn, valid, "recoveryOwnerId", func(r *request) *string { return &r.RecoveryOwnerID }, texts(255, ""))
	parts(t, fn, valid, "recoveryLeaseTtlMs", func(r *request) *wire.Millis { return &r.RecoveryLeaseTTL }, millis)
	parts(t, fn, valid, "expectedActorGeneration", func(r *request) *uint64 { return (*uint64)(&r.ExpectedActorGeneration) }, numbers)
	parts(t, fn, valid, "expectedMembershipEpoch", func(r *request) *uint64 { return (*uint64)(&r.ExpectedMembershipEpoch) }, numbers)
	for name, tt := range participantParts {
		req := valid()
		tt.edit(&req.Participants)
		field := "participants"
		switch {
		case tt.field == allowed:
			field = ""
		case name == "one twice":
			field = "participants[2]"
		}
		t.Log(name)
		wantInvalid(t, fn(req), field)
	}
	for name, rid := range map[string]wire.RID{"empty": "", "too long": wire.RID(strings.Repeat("x", 256))} {
		req := valid()
		req.Participants[1] = rid
		t.Log(name)
		wantInvalid(t, fn(req), "participants[1]")
	}
}

// TestActorOfATransfer: the actor is named three times. 9
func TestActorOfATransfer(t *testing.T) {
	t.Parallel()
	for id, ok := range identifiers {
		req := validTransfer()
		req.ActorID, req.Source.ActorID, req.Target.ActorID = id, id, id
		field := "actorId"
		if ok {
			field = ""
		}
		wantInvalid(t, domain.ValidateActorTransferPrepare(req), field)
	}
	req := validTransfer()
	req.ActorID = "a2"
	wantInvalid(t, domain.ValidateActorTransferPrepare(req), "source.actorId")
}

func TestPartsOfAdvance(t *testing.T) { // 1.6, F-03
	t.Parallel()
	type request = wire.ActorTransferAdvanceRequest
	valid, fn := func() *request { return advanceRequest(1, "ra") }, domain.ValidateActorTransferAdvance
	parts(t, fn, valid, "meshName", func(r *request) *string { return &r.MeshName }, texts(255, ""))
	parts(t, fn, valid, "actorId", func(r *request) *string { return &r.ActorID }, texts(255, ""))
	parts(t, fn, valid, "transferId", func(r *request) *string { return &r.TransferID }, reservationIDs)
	parts(t, fn, valid, "transferId", func(r *request) *string { return &r.TransferID }, noText)
	parts(t, fn, valid, "recoveryOwnerId", func(r *request) *string { return &r.RecoveryOwnerID }, texts(255, ""))
}

func TestPartsOfTakeOver(t *testing.T) { // 1.6, F-03
	t.Parallel()
	type request = wire.ActorTransferTakeOverRequest
	valid, fn := func() *request { return takeOverRequest(1, "rb", ttl) }, domain.ValidateActorTransferTakeOver
	parts(t, fn, valid, "meshName", func(r *request) *string { return &r.MeshName }, texts(255, ""))
	parts(t, fn, valid, "actorId", func(r *request) *string { return &r.ActorID }, texts(255, ""))
	parts(t, fn, valid, "transferId", func(r *request) *string { return &r.TransferID }, reservationIDs)
	parts(t, fn, valid, "transferId", func(r *request) *string { return &r.TransferID }, noText)
	parts(t, fn, valid, "successorOwnerId", func(r *request) *string { return &r.SuccessorOwnerID }, texts(255, ""))
	parts(t, fn, valid, "recoveryLeaseTtlMs", func(r *request) *wire.Millis { return &r.RecoveryLeaseTTL }, millis)
}

func TestPartsOfResolveTransfer(t *testing.T) { // 1.6
	t.Parallel()
	type request = wire.ActorTransferResolveRequest
	valid := func() *request { return &request{MeshName: "play", ActorID: "a1"} }
	fn := domain.ValidateActorTransferResolve
	parts(t, fn, valid, "meshName", func(r *request) *string { return &r.MeshName }, texts(255, ""))
	parts(t, fn, valid, "actorId", func(r *request) *string { return &r.ActorID }, texts(255, ""))
}

// TestLargestTransfer: what is accepted fits in a row for good, whoever takes over. 1.6
func TestLargestTransfer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 255)
	sized := func(n int) *wire.ActorTransferPrepareRequest { // n bytes of participants beside the longest ones
		req := validTransfer()
		req.Participants = append(manyRIDs(4077), wire.RID(strings.Repeat("y", n)))
		return req
	}
	var large *wire.TooLargeError
	if err := domain.ValidateActorTransferPrepare(sized(255)); !errors.As(err, &large) {
		t.Fatalf("error %v, want it too large", err)
	}
	fits := 255 - (large.Got - large.Limit)
	wantTooLarge(t, domain.ValidateActorTransferPrepare(sized(fits+1)), "participants", oneMiB, oneMiB+1)
	largest := sized(fits)
	wantInvalid(t, domain.ValidateActorTransferPrepare(largest), "")
	w := newWorld(t)
	want(t, w.prepareTransferFor(largest.ActorTransfer, 1).Status, wire.TransferStatusStored)
	w.at(1)
	want(t, w.takeOver(1, long).Status, wire.TransferStatusStored)
	want(t, w.advance(domain.CommitActorTransfer, 1, long).Status, wire.TransferStatusStored)
	want(t, w.advance(domain.ActivateActorTransfer, 1, long).Status, wire.TransferStatusStored)
	n := len(w.view().Row(domain.TransferKey("play", "a1")).Value)
	if n > oneMiB || n < oneMiB-16 { // instants of today are shorter than the longest
		t.Errorf("row of %d bytes, want nearly %d", n, oneMiB)
	}
}
