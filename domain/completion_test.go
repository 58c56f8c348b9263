package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// completions are the three ways in which a creation ends.
var completions = []wire.CompletionKind{wire.CompletionCreated, wire.CompletionRejected, wire.CompletionFailed}

// recordOfTerm is the terminal record of a creation that ended with term(k).
func recordOfTerm(r reservation, kind wire.CompletionKind, t wire.Terminal, now wire.Instant) *wire.TerminalRecord {
	return &wire.TerminalRecord{
		State: kind, Operation: t.Operation, ReservationID: r.id, ObjectKind: wire.ObjectActor,
		TerminalEnvelope: t.TerminalEnvelope, TerminalEnvelopeSHA256: t.TerminalEnvelopeSHA256,
		ExpiresAt: t.OperationDeadline + 300_000, StoreNow: now,
	}
}

func (w *world) readTerminal(o wire.OperationKey) *wire.ObjectReadTerminalReply {
	w.t.Helper()
	return read(w, domain.ReadTerminal, &wire.ObjectReadTerminalRequest{Operation: o})
}

func (w *world) staleCompletion(req *wire.ObjectCompleteCreationRequest) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.complete(req), &wire.ObjectCompleteCreationReply{Kind: wire.KindStale})
	})
}

func TestCompletionMakesTheActorActive(t *testing.T) { // 6.5 row 6, C-09
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n2", b)
	in := w.membershipIn("r1")
	r := w.reserved("a1", "n1", a)
	w.at(1000)
	before := w.view().Revision()
	reply := w.complete(r.complete(wire.CompletionCreated, term(1), func(req *wire.ObjectCompleteCreationRequest) {
		req.Completion.Membership = &in
	}))
	want(t, w.view().Revision(), before+2) // in one commit
	ready := *r.creating
	allocation := *ready.Allocation
	allocation.State = wire.AllocationActive
	ready.Allocation, ready.PendingCreation, ready.Payload = &allocation, nil, wire.Bytes("ready")
	ready.Membership, ready.StoreNow = &in, t0+1000
	ready.StoreVersion = wire.Version((before + 1).String())
	want(t, reply, &wire.ObjectCompleteCreationReply{
		Kind: wire.KindCreated, Ready: &ready, Terminal: recordOfTerm(r, wire.CompletionCreated, term(1), t0+1000),
	})
	ready.Kind = wire.KindSnapshot
	want(t, w.snapshot("a1"), &ready)
	want(t, w.usage("n1").Actors, use{1, 0})
}

func TestCompletionOfCreationThatDidNotSucceed(t *testing.T) { // 6.5 row 7
	t.Parallel()
	for _, kind := range completions[1:] {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			r := w.reserved("a1", "n1", a)
			before := w.view().Revision()
			want(t, w.complete(r.complete(kind, term(1))), &wire.ObjectCompleteCreationReply{
				Kind: wire.Kind(kind), Terminal: recordOfTerm(r, kind, term(1), t0),
			})
			want(t, w.view().Revision(), before+2)
			want(t, w.snapshot("a1").Kind, wire.KindMissing)
			want(t, w.usage("n1"), usage{})
			w.reserved("a1", "n1", a)
		})
	}
}

func TestOperationIsCompletedOnce(t *testing.T) { // 6.5 row 1
	t.Parallel()
	for _, kind := range completions {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			r, other := w.reserved("a1", "n1", a), w.reserved("a2", "n1", a)
			w.complete(r.complete(kind, term(1)))
			w.at(1000)
			done := &wire.ObjectCompleteCreationReply{
				Kind: wire.KindAlreadyCompleted, Terminal: recordOfTerm(r, kind, term(1), t0+1000),
			}
			for _, again := range completions { // whatever reservation, object or outcome
				w.quiet(func() {
					want(t, w.complete(r.complete(again, term(1))), done)
					want(t, w.complete(other.complete(again, term(1))), done) // before row 6
				})
			}
			differs := term(1)
			differs.OperationDeadline += 5
			w.quiet(func() { want(t, w.complete(other.complete(kind, differs)), done) })
			w.release(a)
			w.quiet(func() { want(t, w.complete(other.complete(kind, term(1))), done) }) // before row 3
		})
	}
}

func TestEveryPartOfAnOperationCounts(t *testing.T) { // 6.5
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.complete(w.reserved("a0", "n1", a).complete(wire.CompletionRejected, term(1)))
	for name, change := range map[string]func(*wire.OperationKey){
		"sourceNodeRid":        func(o *wire.OperationKey) { o.SourceNodeRID = "\x00\xff" },
		"sourceNodeGeneration": func(o *wire.OperationKey) { o.SourceNodeGeneration = 2 },
		"high":                 func(o *wire.OperationKey) { o.OperationID.High = 1<<64 - 1 },
		"low":                  func(o *wire.OperationKey) { o.OperationID.Low = 2 },
	} {
		other := term(1)
		change(&other.Operation)
		want(t, w.readTerminal(other.Operation), &wire.ObjectReadTerminalReply{Kind: wire.KindMissing, StoreNow: t0})
		r := w.reserved("a1", "n1", a)
		if reply := w.complete(r.complete(wire.CompletionFailed, other)); reply.Kind != wire.KindFailed {
			t.Errorf("another %s: %s, want failed", name, reply.Kind)
		}
		want(t, w.readTerminal(other.Operation), &wire.ObjectReadTerminalReply{
			Kind: wire.KindFound, Record: recordOfTerm(r, wire.CompletionFailed, other, t0),
		})
	}
	want(t, w.readTerminal(term(1).Operation).Record.State, wire.CompletionRejected)
}

func TestTerminalIsKeptUntilItExpires(t *testing.T) { // 6.5, C-09
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("a1", "n1", a)
	w.complete(r.complete(wire.CompletionCreated, term(1)))
	w.at(309_999)
	want(t, w.readTerminal(term(1).Operation), &wire.ObjectReadTerminalReply{
		Kind: wire.KindFound, Record: recordOfTerm(r, wire.CompletionCreated, term(1), t0+309_999),
	})
	w.at(310_000)
	want(t, w.readTerminal(term(1).Operation), &wire.ObjectReadTerminalReply{Kind: wire.KindMissing, StoreNow: t0 + 310_000})
	w.stored(wire.IntentTakeover, node("n1", w.claim("owner-a"))) // the operation can be completed again
	late := term(1)
	late.OperationDeadline = t0 + 310_000
	again := w.reserved("a2", "n1", w.list()[0].OwnerToken)
	want(t, w.complete(again.complete(wire.CompletionFailed, late)).Kind, wire.KindFailed)
	want(t, w.readTerminal(late.Operation).Record.ReservationID, again.id)
}

func TestTerminalOfLongAgoIsInvalid(t *testing.T) { // 6.5, C-10
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("a1", "n1", a)
	old := term(1)
	for _, deadline := range []wire.Instant{t0 - 300_000, t0 - 300_001, 0} {
		old.OperationDeadline = deadline
		w.quiet(func() {
			_, err := try(w, domain.CompleteCreation, r.complete(wire.CompletionFailed, old))
			wantInvalid(t, err, "completion.terminal.operationDeadline")
		})
	}
	old.OperationDeadline = t0 - 299_999
	want(t, w.complete(r.complete(wire.CompletionFailed, old)).Terminal.ExpiresAt, t0+1)
	w.quiet(func() { // though the operation is completed, validation comes first
		w.at(1)
		_, err := try(w, domain.CompleteCreation, r.complete(wire.CompletionFailed, old))
		wantInvalid(t, err, "completion.terminal.operationDeadline")
	})
}

func TestCompletionOfAnotherReservationIsStale(t *testing.T) { // 6.5 row 2
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.stored(wire.IntentNewClaim, node("n3", a))
	r := w.reserved("a1", "n1", a)
	for _, kind := range completions {
		for name, change := range notTheReservation {
			t.Log(kind, name)
			w.staleCompletion(r.complete(kind, term(1), func(req *wire.ObjectCompleteCreationRequest) {
				change(&req.ReservationID, &req.ExpectedStoreVersion, &req.Target)
			}))
		}
		absent := r.complete(kind, term(1))
		absent.Key.GlobalID = "a2"
		w.staleCompletion(absent)
	}
	want(t, w.readTerminal(term(1).Operation).Kind, wire.KindMissing)
	w.makeReady(r)
	w.staleCompletion(r.complete(wire.CompletionCreated, term(1))) // the row is active
	w.staleCompletion(r.complete(wire.CompletionFailed, term(1), func(req *wire.ObjectCompleteCreationRequest) {
		req.ExpectedStoreVersion = w.snapshot("a1").StoreVersion
	}))
}

func TestCompletionNeedsLiveTarget(t *testing.T) { // 6.5 row 3
	t.Parallel()
	for _, ends := range []map[string]func(w *world, a, b wire.OwnerToken){deadTargets, endings} {
		for name, end := range ends {
			for _, kind := range completions {
				t.Run(name+", "+string(kind), func(t *testing.T) {
					t.Parallel()
					w, a, b := creationWorld(t)
					r := w.reserved("a1", "n1", a)
					end(w, a, b)
					in := w.now(term(1))
					w.staleCompletion(r.complete(kind, in))
				})
			}
		}
	}
}

// now is a terminal whose deadline is to come.
func (w *world) now(t wire.Terminal) wire.Terminal {
	t.OperationDeadline = wire.Instant(w.clock.Now()) + 10_000
	return t
}

func TestCompletionDoesNotLookAtWeightAndLimits(t *testing.T) { // 6.5 as 6.3
	t.Parallel()
	w, a, _ := creationWorld(t)
	r1, r2 := w.reserved("a1", "n1", a), w.reserved("a2", "n1", a)
	w.stored(wire.IntentTakeover, node("n1", a, limits(1, 1), weight(0)))
	w.makeReady(r1)
	w.makeReady(r2)
	want(t, w.usage("n1").Actors, use{2, 0})
}

func TestCreatedActorNeedsItsSpotToAccept(t *testing.T) { // 5.4, 6.5 row 4, E-12
	t.Parallel()
	for name, tt := range map[string]struct {
		given func(w *world, a, b wire.OwnerToken, m *wire.Membership)
		kind  wire.Kind
	}{
		"it accepts":                {func(*world, wire.OwnerToken, wire.OwnerToken, *wire.Membership) {}, wire.KindCreated},
		"it is another incarnation": {func(_ *world, _, _ wire.OwnerToken, m *wire.Membership) { m.SpotGeneration++ }, wire.KindStale},
		"there is none":             {func(_ *world, _, _ wire.OwnerToken, m *wire.Membership) { m.SpotID = "r9" }, wire.KindStale},
		"it is closing": {func(w *world, _, _ wire.OwnerToken, _ *wire.Membership) {
			w.changed("r1", putOf(toPhase(wire.PhaseClosing)))
		}, wire.KindStale},
		"its owner lapsed": {func(w *world, a, _ wire.OwnerToken, _ *wire.Membership) { w.lapse(a) }, wire.KindStale},
		"it is reserved": {func(w *world, _, b wire.OwnerToken, m *wire.Membership) {
			r := w.reserved("r2", "n2", b)
			m.SpotID, m.SpotGeneration = "r2", r.creating.ObjectGeneration
		}, wire.KindStale},
		"it is an instance spot": {func(w *world, _, b wire.OwnerToken, m *wire.Membership) {
			m.SpotID, m.SpotGeneration = "i1", w.ready("i1", "n2", b).ObjectGeneration
		}, wire.KindStale},
		"it is an entry spot, which needs nothing": {func(_ *world, _, _ wire.OwnerToken, m *wire.Membership) {
			*m = wire.Membership{SpotID: "e1", SpotGeneration: 1, SpotKind: wire.MembershipEntry}
		}, wire.KindCreated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.ready("r1", "n2", b)
			m := w.membershipIn("r1")
			r := w.reserved("a1", "n1", a)
			tt.given(w, a, b, &m)
			req := r.complete(wire.CompletionCreated, w.now(term(1)), func(req *wire.ObjectCompleteCreationRequest) {
				req.Completion.Membership = &m
			})
			if tt.kind == wire.KindStale {
				w.staleCompletion(req)
				want(t, w.readTerminal(term(1).Operation).Kind, wire.KindMissing)
				return
			}
			want(t, w.complete(req).Ready.Membership, &m)
		})
	}
}

func TestTerminalsAndMarksAreNotListed(t *testing.T) { // 13: no events, and no authorities
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.makeReady(w.reserved("a1", "n1", a))
	r := w.reserved("r1", "n1", a)
	w.events()
	want(t, w.abort(r.abort()), wire.KindAborted)
	want(t, len(w.events()), 1) // of the authority
	want(t, len(w.snapshots()), 1)
	rows, _ := domain.CountRows(w.view())
	want(t, kvstore.Revision(rows), 2+2+1+1+1) // leases, nodes, the actor, its terminal, the mark
}
