package domain_test

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

var (
	activeStates   = []wire.ActorTransferState{wire.TransferPrepared, wire.TransferCommitted}
	finishedStates = []wire.ActorTransferState{wire.TransferActivated, wire.TransferAborted}
)

func TestPrepareStoresATransfer(t *testing.T) { // 9 prepare row 4, F-01
	t.Parallel()
	w := newWorld(t)
	record := recordOfTransfer(transferOf(1), wire.TransferPrepared, 30_000, 0)
	want(t, w.prepareTransfer(transferOf(1)), transferAnswer(wire.TransferStatusStored, record))
	want(t, w.resolveTransfer(), &wire.ActorTransferResolveReply{Kind: wire.KindFound, Record: record})
	want(t, w.view().Row(domain.TransferKey("play", "a1")).Expiry, 0)
}

func TestPrepareDuringAnotherTransferIsRejected(t *testing.T) { // 9 prepare row 1, F-01
	t.Parallel()
	for _, state := range activeStates {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.inState(state)
			w.at(40_000) // the recovery lease has lapsed, which changes nothing
			w.quiet(func() {
				want(t, w.prepareTransfer(transferOf(2)),
					transferAnswer(wire.TransferStatusRejectedConflict, recordOfTransfer(transferOf(1), state, 30_000, 0)))
			})
		})
	}
}

func TestPrepareIsRepeatable(t *testing.T) { // 9 prepare row 2, F-01
	t.Parallel()
	w := newWorld(t)
	first := w.prepareTransfer(transferOf(1))
	w.at(1_000)
	w.quiet(func() {
		want(t, w.prepareTransfer(transferOf(1)), first)
		want(t, w.prepareTransferFor(transferOf(1), 1), first) // the recovery lease does not move
		reordered := transferOf(1, func(t *wire.ActorTransfer) { slices.Reverse(t.Participants) })
		want(t, w.prepareTransfer(reordered), first) // as they were stored
	})
	w.at(50_000)
	w.quiet(func() { want(t, w.prepareTransfer(transferOf(1)), first) })
}

// TestPrepareWithOtherFieldsIsRejected changes every field but the identity. 9 prepare
// row 3, F-01
func TestPrepareWithOtherFieldsIsRejected(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*wire.ActorTransfer){
		"generation of the source": func(t *wire.ActorTransfer) { t.Source.ObjectGeneration++ },
		"mesh of the source":       func(t *wire.ActorTransfer) { t.Source.MeshName = "lab" },
		"node of the source":       func(t *wire.ActorTransfer) { t.Source.NodeRID = "n3" },
		"generation of the target": func(t *wire.ActorTransfer) { t.Target.ObjectGeneration++ },
		"mesh of the target":       func(t *wire.ActorTransfer) { t.Target.MeshName = "lab" },
		"node of the target":       func(t *wire.ActorTransfer) { t.Target.NodeRID = "n3" },
		"expected generation":      func(t *wire.ActorTransfer) { t.ExpectedActorGeneration++ },
		"expected epoch":           func(t *wire.ActorTransfer) { t.ExpectedMembershipEpoch++ },
		"other participant":        func(t *wire.ActorTransfer) { t.Participants[0] = "n3" },
		"one participant less":     func(t *wire.ActorTransfer) { t.Participants = t.Participants[1:] },
		"one participant more":     func(t *wire.ActorTransfer) { t.Participants = append(t.Participants, "n3") },
		"recovery owner":           recoveredBy("rb"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := w.prepareTransfer(transferOf(1))
			w.quiet(func() {
				want(t, w.prepareTransfer(transferOf(1, edit)), transferAnswer(wire.TransferStatusRejectedConflict, first.Record))
			})
		})
	}
}

func TestPrepareOfACommittedTransferIsRejected(t *testing.T) { // 9 prepare row 3
	t.Parallel()
	w := newWorld(t)
	w.inState(wire.TransferCommitted)
	w.quiet(func() {
		want(t, w.prepareTransfer(transferOf(1)),
			transferAnswer(wire.TransferStatusRejectedConflict, recordOfTransfer(transferOf(1), wire.TransferCommitted, 30_000, 0)))
	})
}

func TestPrepareReplacesAFinishedTransfer(t *testing.T) { // 9 prepare row 4
	t.Parallel()
	for _, state := range finishedStates {
		for n, name := range map[int]string{1: "with the same id", 2: "with another id"} {
			t.Run(string(state)+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.inState(state)
				w.at(1_000)
				record := recordOfTransfer(transferOf(n), wire.TransferPrepared, 31_000, 1_000)
				want(t, w.prepareTransfer(transferOf(n)), transferAnswer(wire.TransferStatusStored, record))
				w.at(400_000) // the expiry of the finished one is gone with it
				want(t, w.resolveTransfer().Record, record)
			})
		}
	}
}

func TestTransfersOfDifferentActorsDoNotMeet(t *testing.T) { // 1.8
	t.Parallel()
	w := newWorld(t)
	others := []func(*wire.ActorTransfer){
		func(t *wire.ActorTransfer) { t.MeshName = "lab" },
		func(t *wire.ActorTransfer) { t.ActorID, t.Source.ActorID, t.Target.ActorID = "A1", "A1", "A1" },
	}
	for i, edit := range others {
		want(t, w.prepareTransfer(transferOf(2+i, edit)).Status, wire.TransferStatusStored)
	}
	want(t, w.resolveTransfer(), &wire.ActorTransferResolveReply{Kind: wire.KindMissing})
	want(t, w.prepareTransfer(transferOf(1)).Status, wire.TransferStatusStored)
}

// TestAdvanceOfNoActiveTransferIsNotFound: there is none, another one is active, or
// this one is finished. 9 commit row 1, F-02
func TestAdvanceOfNoActiveTransferIsNotFound(t *testing.T) {
	t.Parallel()
	notFound := transferAnswer(wire.TransferStatusNotFound, nil)
	for name, a := range advances {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.quiet(func() { want(t, w.advance(a.rule, 1, "ra"), notFound) })
			w.prepareTransfer(transferOf(1))
			w.quiet(func() {
				want(t, w.advance(a.rule, 9, "ra"), notFound)
				want(t, w.advance(a.rule, 9, "rb"), notFound)
			})
			for _, state := range finishedStates {
				w := newWorld(t)
				w.inState(state)
				w.quiet(func() { want(t, w.advance(a.rule, 1, "ra"), notFound) })
			}
		})
	}
}

// TestAdvanceInAnotherState comes before the recovery owner is looked at. 9 commit rows
// 2 and 3, F-02
func TestAdvanceInAnotherState(t *testing.T) {
	t.Parallel()
	for name, a := range advances {
		for _, state := range activeStates {
			if state == a.from {
				continue
			}
			t.Run(name+" of a transfer that is "+string(state), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.inState(state)
				invalid := transferAnswer(wire.TransferStatusInvalidState, recordOfTransfer(transferOf(1), state, 30_000, 0))
				w.quiet(func() {
					want(t, w.advance(a.rule, 1, "ra"), invalid)
					want(t, w.advance(a.rule, 1, "rb"), invalid)
				})
			})
		}
	}
}

func TestAdvanceByAnotherOwnerIsRejected(t *testing.T) { // 9 commit row 3, F-02
	t.Parallel()
	for name, a := range advances {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.inState(a.from)
			w.quiet(func() {
				want(t, w.advance(a.rule, 1, "rb"),
					transferAnswer(wire.TransferStatusRejectedConflict, recordOfTransfer(transferOf(1), a.from, 30_000, 0)))
			})
		})
	}
}

// TestAdvanceByTheRecoveryOwner: its lease need not be valid any more. 9 commit row 4
func TestAdvanceByTheRecoveryOwner(t *testing.T) {
	t.Parallel()
	for name, a := range advances {
		for _, later := range []int64{1, 30_000, 1_000_000} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.inState(a.from)
				w.at(later)
				record := recordOfTransfer(transferOf(1), a.to, 30_000, later)
				want(t, w.advance(a.rule, 1, "ra"), transferAnswer(wire.TransferStatusStored, record))
				resolved := &wire.ActorTransferResolveReply{Kind: wire.KindMissing}
				if a.to == wire.TransferCommitted {
					resolved = &wire.ActorTransferResolveReply{Kind: wire.KindFound, Record: record}
				}
				want(t, w.resolveTransfer(), resolved)
			})
		}
	}
}

func TestTransferFromBeginningToEnd(t *testing.T) { // F-02
	t.Parallel()
	w := newWorld(t)
	want(t, w.prepareTransfer(transferOf(1)).Status, wire.TransferStatusStored)
	want(t, w.advance(domain.CommitActorTransfer, 1, "rb").Status, wire.TransferStatusRejectedConflict)
	committed := w.advance(domain.CommitActorTransfer, 1, "ra")
	want(t, committed.Status, wire.TransferStatusStored)
	want(t, committed.Record.State, wire.TransferCommitted)
	want(t, w.advance(domain.AbortActorTransfer, 1, "ra").Status, wire.TransferStatusInvalidState)
	want(t, w.advance(domain.ActivateActorTransfer, 1, "ra").Status, wire.TransferStatusStored)
	want(t, w.resolveTransfer().Kind, wire.KindMissing)
	want(t, w.advance(domain.CommitActorTransfer, 9, "ra").Status, wire.TransferStatusNotFound)
}

func TestTakeOverOfAnotherTransferIsNotFound(t *testing.T) { // 9 take-over row 1
	t.Parallel()
	w := newWorld(t)
	notFound := transferAnswer(wire.TransferStatusNotFound, nil)
	w.quiet(func() { want(t, w.takeOver(1, "rb"), notFound) })
	for _, state := range slices.Concat(activeStates, finishedStates) {
		w := newWorld(t)
		w.inState(state)
		w.at(30_000)
		w.quiet(func() { want(t, w.takeOver(9, "rb"), notFound) })
	}
}

func TestTakeOverOfAFinishedTransfer(t *testing.T) { // 9 take-over row 2, F-03
	t.Parallel()
	for _, state := range finishedStates {
		for _, later := range []int64{0, 30_000} {
			w := newWorld(t)
			w.inState(state)
			w.at(later)
			w.quiet(func() {
				want(t, w.takeOver(1, "rb"),
					transferAnswer(wire.TransferStatusInvalidState, recordOfTransfer(transferOf(1), state, 30_000, 0)))
			})
		}
	}
}

// TestTakeOverWaitsForTheRecoveryLease: at its last instant nobody may, at its expiry
// anybody. 9 take-over rows 3 and 4, F-03
func TestTakeOverWaitsForTheRecoveryLease(t *testing.T) {
	t.Parallel()
	for _, state := range activeStates {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.inState(state)
			w.at(29_999)
			w.quiet(func() {
				rejected := transferAnswer(wire.TransferStatusRejectedConflict, recordOfTransfer(transferOf(1), state, 30_000, 0))
				want(t, w.takeOver(1, "rb"), rejected)
				want(t, w.takeOver(1, "ra"), rejected)
			})
			w.at(30_000)
			taken := recordOfTransfer(transferOf(1, recoveredBy("rb")), state, 60_000, 30_000)
			want(t, w.takeOver(1, "rb"), transferAnswer(wire.TransferStatusStored, taken))
			want(t, w.resolveTransfer().Record, taken)
			w.quiet(func() { want(t, w.takeOver(1, "rc").Status, wire.TransferStatusRejectedConflict) })
			w.at(60_000)
			want(t, w.takeOver(1, "rb").Record.RecoveryLeaseExpiresAt, t0+90_000) // by whom it is already
		})
	}
}

func TestSuccessorCarriesTheTransferOn(t *testing.T) { // F-03
	t.Parallel()
	w := newWorld(t)
	w.prepareTransfer(transferOf(1))
	w.at(30_000)
	w.takeOver(1, "rb")
	w.quiet(func() {
		want(t, w.advance(domain.CommitActorTransfer, 1, "ra").Status, wire.TransferStatusRejectedConflict)
		want(t, w.prepareTransfer(transferOf(1)).Status, wire.TransferStatusRejectedConflict) // the record is the successor's
		want(t, w.prepareTransfer(transferOf(1, recoveredBy("rb"))).Status, wire.TransferStatusStored)
	})
	aborted := recordOfTransfer(transferOf(1, recoveredBy("rb")), wire.TransferAborted, 60_000, 30_000)
	want(t, w.advance(domain.AbortActorTransfer, 1, "rb"), transferAnswer(wire.TransferStatusStored, aborted))
	w.quiet(func() { want(t, w.takeOver(1, "rc"), transferAnswer(wire.TransferStatusInvalidState, aborted)) })
}

func TestFinishedTransferStaysFor300Seconds(t *testing.T) { // 9
	t.Parallel()
	for _, state := range finishedStates {
		w := newWorld(t)
		w.at(2_000)
		w.inState(state)
		want(t, w.view().Row(domain.TransferKey("play", "a1")).Expiry, kvstore.Instant(t0+302_000))
		w.at(301_999)
		want(t, w.takeOver(1, "rb").Status, wire.TransferStatusInvalidState)
		w.at(302_000)
		want(t, w.takeOver(1, "rb").Status, wire.TransferStatusNotFound)
	}
}

func TestActiveTransferStays(t *testing.T) { // 9
	t.Parallel()
	for _, state := range activeStates {
		w := newWorld(t)
		w.inState(state)
		w.at(1_000_000_000)
		want(t, w.resolveTransfer().Kind, wire.KindFound)
	}
}

// TestOneOfManyAdvancesIsStored: a transfer is committed or aborted, by one of those
// who try at the same time.
func TestOneOfManyAdvancesIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prepareTransfer(transferOf(1))
	var mu sync.Mutex
	stored := 0
	var wg sync.WaitGroup
	for i := range 40 {
		rule := domain.CommitActorTransfer
		if i%2 == 0 {
			rule = domain.AbortActorTransfer
		}
		wg.Go(func() {
			var r *wire.ActorTransferReply
			err := w.update(func(tx *kvstore.Tx) (err error) {
				r, err = rule(tx, advanceRequest(1, "ra"))
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if r.Status == wire.TransferStatusStored {
				stored++
			}
		})
	}
	wg.Wait()
	want(t, stored, 1)
}

// TestNoRevisionLeftForTransfers: none of the operations has a result for that. 1.3
func TestNoRevisionLeftForTransfers(t *testing.T) {
	t.Parallel()
	w := newWorldAt(t, kvstore.MaxRevision-1)
	w.prepareTransfer(transferOf(1))
	w.at(30_000)
	other := transferOf(2, func(t *wire.ActorTransfer) { t.MeshName = "lab" })
	for name, fn := range map[string]func(*kvstore.Tx) error{
		"prepare":   rule(domain.PrepareActorTransfer, &wire.ActorTransferPrepareRequest{ActorTransfer: other, RecoveryLeaseTTL: ttl}),
		"commit":    rule(domain.CommitActorTransfer, advanceRequest(1, "ra")),
		"abort":     rule(domain.AbortActorTransfer, advanceRequest(1, "ra")),
		"take-over": rule(domain.TakeOverActorTransfer, takeOverRequest(1, "rb", ttl)),
	} {
		if err := w.update(fn); !errors.Is(err, kvstore.ErrExhausted) {
			t.Errorf("%s: error %v, want %v", name, err, kvstore.ErrExhausted)
		}
	}
	want(t, w.prepareTransfer(transferOf(1)).Status, wire.TransferStatusStored) // exhaustion is checked last
	want(t, w.advance(domain.ActivateActorTransfer, 1, "ra").Status, wire.TransferStatusInvalidState)

	w = newWorldAt(t, kvstore.MaxRevision-2)
	w.inState(wire.TransferCommitted)
	if err := w.update(rule(domain.ActivateActorTransfer, advanceRequest(1, "ra"))); !errors.Is(err, kvstore.ErrExhausted) {
		t.Errorf("activate: error %v, want %v", err, kvstore.ErrExhausted)
	}
}

// TestTransfersAreNobodysChange: no events, no stamps, and they are no owner's rows, but
// they are counted. 10, 11, 13
func TestTransfersAreNobodysChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("ra")
	stamps := w.allStamps()
	w.events()
	w.inState(wire.TransferCommitted)
	want(t, w.events(), nil)
	want(t, w.allStamps(), stamps)
	rows, leases := domain.CountRows(w.view())
	want(t, rows, 2)
	want(t, leases, 1)
	w.quiet(func() { want(t, w.removeAll(a, 100), []int{0}) })
	w.release(a)
	w.events()
	want(t, w.resolveTransfer().Kind, wire.KindFound)
	w.advance(domain.ActivateActorTransfer, 1, "ra")
	w.at(300_000)
	w.expire()
	want(t, w.events(), nil)
	rows, _ = domain.CountRows(w.view())
	want(t, rows, 0)
}

// allStamps are the stamps of all kinds.
func (w *world) allStamps() map[string]wire.Revision {
	w.t.Helper()
	stamps := make(map[string]wire.Revision)
	for _, kind := range wire.StampKind("").Values() {
		stamps[kind] = read(w, domain.GetChangeStamp, &wire.ChangeStampGetRequest{Kind: wire.StampKind(kind)}).Stamp
	}
	return stamps
}

// TestEveryFieldOfATransferIsCompared changes one field at a time. 9
func TestEveryFieldOfATransferIsCompared(t *testing.T) {
	t.Parallel()
	one, other := transferOf(1), transferOf(1)
	n := 0
	walkLeaves(reflect.ValueOf(&other).Elem(), "", "", func(path, _ string) {
		n++
		if domain.SameTransfer(&one, &other) {
			t.Errorf("%s makes no difference", path)
		}
	})
	want(t, n, 17)
	want(t, domain.SameTransfer(&one, &other), true)
}
