package domain_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// transferModel is what the latest transfer of an actor should be.
type transferModel struct {
	is      wire.ActorTransfer
	state   string // empty: there is none
	expires wire.Instant
	updated wire.Instant
}

// at is the model at an instant: without what has been finished for too long.
func (m transferModel) at(now wire.Instant) transferModel {
	if (m.state == "activated" || m.state == "aborted") && now >= m.updated+300_000 {
		return transferModel{}
	}
	return m
}

func (m transferModel) active() bool { return m.state == "prepared" || m.state == "committed" }

// answer is a reply with the model's record.
func (m transferModel) answer(s wire.ActorTransferStatus) *wire.ActorTransferReply {
	return &wire.ActorTransferReply{Status: s, Record: &wire.ActorTransferRecord{
		ActorTransfer: m.is, State: wire.ActorTransferState(m.state), RecoveryLeaseExpiresAt: m.expires, UpdatedAt: m.updated,
	}}
}

// repeats tells whether a request is the one that made the record, or the like.
func (m transferModel) repeats(t wire.ActorTransfer) bool {
	nodes := make(map[wire.RID]bool)
	for _, rid := range m.is.Participants {
		nodes[rid] = true
	}
	for _, rid := range t.Participants {
		if !nodes[rid] {
			return false
		}
	}
	return len(t.Participants) == len(m.is.Participants) && t.TransferID == m.is.TransferID &&
		t.ExpectedActorGeneration == m.is.ExpectedActorGeneration && t.RecoveryOwnerID == m.is.RecoveryOwnerID
}

// drawnTransfer is one of few transfers of an actor, which differ in what the model
// compares.
func drawnTransfer(r *rapid.T, actor string) wire.ActorTransfer {
	return transferOf(drawn(r, []int{1, 1, 2}), func(t *wire.ActorTransfer) {
		t.ActorID, t.Source.ActorID, t.Target.ActorID = actor, actor, actor
		t.ExpectedActorGeneration = drawn(r, []wire.Generation{3, 3, 3, 4})
		t.RecoveryOwnerID = drawn(r, []string{"ra", "ra", "rb"})
		switch drawn(r, []int{0, 0, 1, 2}) {
		case 1:
			slices.Reverse(t.Participants)
		case 2:
			t.Participants[0] = "n3"
		}
	})
}

// TestTransferMachine compares random histories of two actors' transfers with the model,
// and wants each answer of each operation to come up.
func TestTransferMachine(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r)
		now := t0
		model := map[string]transferModel{}
		id := func(r *rapid.T) string { return transferID(drawn(r, []int{1, 1, 2})) }
		owner := func(r *rapid.T) string { return drawn(r, []string{"ra", "rb"}) }
		actor := func(r *rapid.T) string { return drawn(r, []string{"a1", "a2"}) }
		lease := func(r *rapid.T) wire.Millis { return drawn(r, []wire.Millis{1, 5, 20}) }
		answers := func(op string, got, wanted *wire.ActorTransferReply) {
			seen[op+" "+string(got.Status)] = true
			want(r, got, wanted)
		}
		notFound := &wire.ActorTransferReply{Status: wire.TransferStatusNotFound}
		advancing := func(op string, rule advance, from, to string) func(*rapid.T) {
			return func(r *rapid.T) {
				req := &wire.ActorTransferAdvanceRequest{MeshName: "play", ActorID: actor(r), TransferID: id(r), RecoveryOwnerID: owner(r)}
				got := ask(w, domain.ValidateActorTransferAdvance, rule, req)
				m := model[req.ActorID].at(now)
				switch {
				case !m.active() || m.is.TransferID != req.TransferID:
					answers(op, got, notFound)
				case m.state != from:
					answers(op, got, m.answer(wire.TransferStatusInvalidState))
				case m.is.RecoveryOwnerID != req.RecoveryOwnerID:
					answers(op, got, m.answer(wire.TransferStatusRejectedConflict))
				default:
					m.state, m.updated = to, now
					model[req.ActorID] = m
					answers(op, got, m.answer(wire.TransferStatusStored))
				}
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"advance": func(r *rapid.T) {
				now += drawn(r, []wire.Instant{1, 4, 5, 19, 20, 299_999, 300_000})
				w.at(int64(now - t0))
			},
			"sweep": func(*rapid.T) { w.expire() },
			"prepare": func(r *rapid.T) {
				a := actor(r)
				req := &wire.ActorTransferPrepareRequest{ActorTransfer: drawnTransfer(r, a), RecoveryLeaseTTL: lease(r)}
				got := ask(w, domain.ValidateActorTransferPrepare, domain.PrepareActorTransfer, req)
				m := model[a].at(now)
				switch {
				case m.active() && m.state == "prepared" && m.repeats(req.ActorTransfer):
					answers("repeat", got, m.answer(wire.TransferStatusStored))
				case m.active():
					answers("prepare", got, m.answer(wire.TransferStatusRejectedConflict))
				default:
					m = transferModel{req.ActorTransfer, "prepared", now + wire.Instant(req.RecoveryLeaseTTL), now}
					model[a] = m
					answers("prepare", got, m.answer(wire.TransferStatusStored))
				}
			},
			"commit":   advancing("commit", domain.CommitActorTransfer, "prepared", "committed"),
			"activate": advancing("activate", domain.ActivateActorTransfer, "committed", "activated"),
			"abort":    advancing("abort", domain.AbortActorTransfer, "prepared", "aborted"),
			"take-over": func(r *rapid.T) {
				req := &wire.ActorTransferTakeOverRequest{
					MeshName: "play", ActorID: actor(r), TransferID: id(r), SuccessorOwnerID: owner(r), RecoveryLeaseTTL: lease(r),
				}
				got := ask(w, domain.ValidateActorTransferTakeOver, domain.TakeOverActorTransfer, req)
				m := model[req.ActorID].at(now)
				switch {
				case m.state == "" || m.is.TransferID != req.TransferID:
					answers("take-over", got, notFound)
				case !m.active():
					answers("take-over", got, m.answer(wire.TransferStatusInvalidState))
				case m.expires > now:
					answers("take-over", got, m.answer(wire.TransferStatusRejectedConflict))
				default:
					m.is.RecoveryOwnerID, m.expires, m.updated = req.SuccessorOwnerID, now+wire.Instant(req.RecoveryLeaseTTL), now
					model[req.ActorID] = m
					answers("take-over", got, m.answer(wire.TransferStatusStored))
				}
			},
			"": func(*rapid.T) {
				rows := 0
				for _, a := range []string{"a1", "a2"} {
					m := model[a].at(now)
					wanted := &wire.ActorTransferResolveReply{Kind: wire.KindMissing}
					if m.active() {
						wanted = &wire.ActorTransferResolveReply{Kind: wire.KindFound, Record: m.answer("").Record}
					}
					if m.state != "" {
						rows++
					}
					want(r, read(w, domain.ResolveActorTransfer, &wire.ActorTransferResolveRequest{MeshName: "play", ActorID: a}), wanted)
				}
				stored, _ := domain.CountRows(w.view())
				want(r, stored, rows)
			},
		})
	})
	for _, answer := range []string{
		"prepare stored", "repeat stored", "prepare rejectedConflict",
		"commit stored", "commit notFound", "commit invalidState", "commit rejectedConflict",
		"activate stored", "activate notFound", "activate invalidState", "activate rejectedConflict",
		"abort stored", "abort notFound", "abort invalidState", "abort rejectedConflict",
		"take-over stored", "take-over notFound", "take-over invalidState", "take-over rejectedConflict",
	} {
		if !seen[answer] && !testing.Short() { // which makes few histories
			t.Errorf("no history led to %q", answer)
		}
	}
}
