package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// uncommitted requires that a commit is refused and changes nothing.
func (w *world) uncommitted(f wire.Fence, kind wire.Kind) {
	w.t.Helper()
	objects, nodes := w.snapshots(), w.list()
	w.quiet(func() { want(w.t, w.commitAggregate(f), kind) })
	want(w.t, w.snapshots(), objects)
	want(w.t, w.list(), nodes)
}

func TestCommitWithoutAPreparedAggregate(t *testing.T) { // 8.6 row 1, G-10
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.uncommitted(fence("f"), wire.KindStale)
	w.stage(fence("f"), 0, all)
	w.uncommitted(fence("f"), wire.KindStale)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	w.uncommitted(wire.Fence{AggregateID: "f", AggregateGeneration: 2}, wire.KindStale)
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	w.uncommitted(fence("f"), wire.KindStale)
	w.work()
	w.uncommitted(fence("f"), wire.KindStale)
}

func TestCommitAgain(t *testing.T) { // 8.6 row 2; G-13 is in TestWriteToAParticipantSettlesIt
	t.Parallel()
	w, a, b, _ := twoMoved(t)
	again := func() { w.uncommitted(fence("f"), wire.KindAlreadyCommitted) }
	again()
	w.release(b)
	w.remove("n2", b)
	again()
	w.work()
	again()
	w.lapse(a)
	again()
}

// preparedMove is a room r1 that moves from n1 to n2, a room r2 of owner-c's node n3 that
// stays, and an actor a1 that moves and joins the room r3 of owner-d's node n4.
func preparedMove(t tb) (w *world, tokens map[string]wire.OwnerToken) {
	t.Helper()
	w, a, b := aggregateWorld(t)
	c, d := w.hosts("n3", "owner-c"), w.hosts("n4", "owner-d")
	w.ready("r3", "n4", d)
	all := inKeyOrder(
		takesPart(w.ready("a1", "n1", a), into(w.membershipIn("r3"))), takesPart(w.ready("r1", "n1", a)), takesPart(w.ready("r2", "n3", c), preserved),
	)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), sumOf(all), all))
	return w, map[string]wire.OwnerToken{"a": a, "b": b, "c": c, "d": d}
}

func TestCommitDependsOnWhatPrepareSaw(t *testing.T) { // 8.6 rows 4, 5 and 6, G-09, E-12
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil, mend func(w *world, tokens map[string]wire.OwnerToken) // mend is nil when nothing can
	}{
		"row 4, target drains": {func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentRenew, node("n2", tokens["b"], revision(2), state(wire.StateDraining)))
		}, func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentRenew, node("n2", tokens["b"], revision(3)))
		}},
		"row 4, target is gone": {func(w *world, tokens map[string]wire.OwnerToken) {
			w.remove("n2", tokens["b"])
		}, func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentNewClaim, node("n2", tokens["b"]))
		}},
		"row 4, target's next life": {func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n2", tokens["b"], lifecycle(8)))
		}, func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n2", tokens["b"]))
		}},
		"row 4, target is a client": {func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n2", tokens["b"], role(wire.RoleClient)))
		}, nil},
		"row 4, target's lease ended":   {func(w *world, tokens map[string]wire.OwnerToken) { w.release(tokens["b"]) }, nil},
		"row 4, target's next lease":    {func(w *world, tokens map[string]wire.OwnerToken) { w.released(tokens["b"], "n2") }, nil},
		"row 5, preserve owner ended":   {func(w *world, tokens map[string]wire.OwnerToken) { w.release(tokens["c"]) }, nil},
		"row 5, preserve owner is anew": {func(w *world, tokens map[string]wire.OwnerToken) { w.released(tokens["c"], "n3") }, nil},
		"row 6, spot closes": {func(w *world, _ map[string]wire.OwnerToken) {
			w.changed("r3", putOf(toPhase(wire.PhaseClosing)))
		}, func(w *world, _ map[string]wire.OwnerToken) {
			w.changed("r3", putOf(toPhase(wire.PhaseSteady)))
		}},
		"row 6, spot is locked": {func(w *world, tokens map[string]wire.OwnerToken) {
			w.lockedBy("other", tgt("n1", tokens["a"]), takesPart(w.snapshot("r3")))
		}, func(w *world, _ map[string]wire.OwnerToken) {
			want(w.t, w.abortAggregate(fence("other")), wire.KindAborted)
		}},
		"row 6, spot is gone": {func(w *world, _ map[string]wire.OwnerToken) {
			want(w.t, w.exchange("r3", w.snapshot("r3").StoreVersion, removal()).Kind, wire.KindDeleted)
		}, nil},
		"row 6, spot is another":     {func(w *world, _ map[string]wire.OwnerToken) { w.changed("r3", reincarnation()) }, nil},
		"row 6, spot's owner ended":  {func(w *world, tokens map[string]wire.OwnerToken) { w.release(tokens["d"]) }, nil},
		"row 6, E-12: 1 ms ago":      {func(w *world, tokens map[string]wire.OwnerToken) { w.lapseBut(30_001, tokens, "d") }, nil},
		"row 5, lapsed this instant": {func(w *world, tokens map[string]wire.OwnerToken) { w.lapseBut(30_000, tokens, "c") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tokens := preparedMove(t)
			tt.spoil(w, tokens)
			w.uncommitted(fence("f"), wire.KindStale)
			want(t, w.partOf("r1").Kind, wire.KindFound) // still locked
			if tt.mend != nil {
				tt.mend(w, tokens)
				w.committedNow(fence("f")) // 8.6: it can be committed later
				return
			}
			want(t, w.abortAggregate(fence("f")), wire.KindAborted) // or aborted
			w.unlocked("r1", "r2", "a1")
		})
	}
}

// released lets an owner come back under its next lease, with its node.
func (w *world) released(token wire.OwnerToken, rid wire.RID) {
	w.t.Helper()
	w.release(token)
	w.stored(wire.IntentTakeover, node(rid, w.claim(token.OwnerID)))
}

// lapseBut moves to an instant at which the lease of one owner has ended and no other.
func (w *world) lapseBut(ms int64, tokens map[string]wire.OwnerToken, lapsed string) {
	w.t.Helper()
	w.at(29_999)
	for name, token := range tokens {
		if name != lapsed {
			w.renew(token)
		}
	}
	w.at(ms)
}

func TestCommitIsNotHinderedByRenewals(t *testing.T) { // 8.6: no reason for stale
	t.Parallel()
	for name, change := range map[string]func(w *world, tokens map[string]wire.OwnerToken){
		"nothing": func(*world, map[string]wire.OwnerToken) {},
		"leases renewed": func(w *world, tokens map[string]wire.OwnerToken) {
			for _, token := range tokens {
				w.renew(token)
			}
		},
		"descriptors renewed": func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentRenew, node("n2", tokens["b"], revision(2), weight(0)))
			w.stored(wire.IntentRenew, node("n3", tokens["c"], revision(2), state(wire.StateDraining)))
		},
		"counters changed": func(w *world, tokens map[string]wire.OwnerToken) {
			w.ready("r8", "n2", tokens["b"])
			w.ready("r9", "n1", tokens["a"])
		},
		"limits lowered": func(w *world, tokens map[string]wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n2", tokens["b"], limits(1, 1), typeLimits(1, 1)))
			w.ready("r8", "n3", tokens["c"])
		},
		"source ended": func(w *world, tokens map[string]wire.OwnerToken) {
			w.release(tokens["a"])
			w.remove("n1", tokens["a"])
		},
		"node of those who stay is gone": func(w *world, tokens map[string]wire.OwnerToken) { w.remove("n3", tokens["c"]) },
		"spot joined by another": func(w *world, tokens map[string]wire.OwnerToken) {
			w.member("a9", "r3", "n1", tokens["a"])
		},
		"spot changed": func(w *world, _ map[string]wire.OwnerToken) { w.changed("r3", putOf()) },
		"deadline passed": func(w *world, tokens map[string]wire.OwnerToken) { // 8.1: it ends nothing by itself
			for ms := int64(20_000); ms <= 100_000; ms += 20_000 {
				w.at(ms)
				for _, token := range tokens {
					w.renew(token)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tokens := preparedMove(t)
			change(w, tokens)
			w.committedNow(fence("f"))
			want(t, w.snapshot("r1").OwnerID, "owner-b")
			want(t, w.snapshot("r2").OwnerID, "owner-c")
		})
	}
}

func TestSpotsInTheAggregateAreAccepted(t *testing.T) { // 8.6 row 6, 5.4: not locked, and the target owner's
	t.Parallel()
	w, a, b := aggregateWorld(t)
	spot := takesPart(w.ready("r1", "n1", a))
	actor := takesPart(w.ready("a1", "n1", a), into(w.membershipIn("r1")))
	all := inKeyOrder(spot, actor)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), sumOf(all), all))
	w.release(a)
	w.committedNow(fence("f"))
	want(t, w.snapshot("a1").Membership, actor.Membership)
}

func TestNoRevisionLeftToCommitAnAggregate(t *testing.T) { // 8.6 row 7, 1.3
	t.Parallel()
	for left, kind := range map[kvstore.Revision]wire.Kind{0: wire.KindGenerationExhausted, 1: wire.KindCommitted} {
		var b wire.OwnerToken
		w := worldThatEnds(t, left, func(w *world) {
			b = w.hosts("n2", "owner-b")
			p := takesPart(w.ready("r1", "n1", w.hosts("n1", "owner-a")))
			w.lockedBy("f", tgt("n2", b), p)
		})
		before := w.snapshot("r1")
		want(t, w.commitAggregate(fence("f")), kind)
		if left == 1 {
			want(t, w.snapshot("r1"), movedTo(before, kvstore.MaxRevision, tgt("n2", b)))
			continue
		}
		want(t, w.snapshot("r1"), before)
		w.at(30_000)
		want(t, w.commitAggregate(fence("f")), wire.KindStale) // row 4 comes first
		_, err := tryValid(w, domain.ValidateAggregateAbort, domain.AbortAggregate, &wire.AggregateAbortRequest{Fence: fence("f")})
		if err == nil { // 1.3: 503
			t.Error("aborted without a revision")
		}
	}
}

func TestAbortWhatIsNotThereOrCommitted(t *testing.T) { // 8.7 row 1, G-10
	t.Parallel()
	w, _, _, _ := twoMoved(t)
	w.quiet(func() {
		want(t, w.abortAggregate(fence("g")), wire.KindStale)
		want(t, w.abortAggregate(wire.Fence{AggregateID: "f", AggregateGeneration: 2}), wire.KindStale)
		want(t, w.abortAggregate(fence("f")), wire.KindStale)
	})
	w.work()
	w.quiet(func() { want(t, w.abortAggregate(fence("f")), wire.KindStale) })
}

func TestAbortTwice(t *testing.T) { // 8.7 row 2, G-10
	t.Parallel()
	for _, prepare := range []bool{false, true} {
		w, _, b, all := twoRooms(t)
		w.stage(fence("f"), 0, all)
		if prepare {
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), nil, counted(2)))
		}
		want(t, w.abortAggregate(fence("f")), wire.KindAborted)
		w.quiet(func() { want(t, w.abortAggregate(fence("f")), wire.KindAlreadyAborted) })
		w.work()
		w.quiet(func() { want(t, w.abortAggregate(fence("f")), wire.KindAlreadyAborted) })
	}
}

func TestAbortUnlocks(t *testing.T) { // 8.7 row 3
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.stored(wire.IntentTakeover, node("n2", b, limits(0, 2)))
	before, stamp := w.takingPart(all), w.stamp(wire.StampAuthority, "")
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	w.events()
	at := w.view().Revision()
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	want(t, w.view().Revision(), at+1) // writes: the aggregate
	w.unlocked("r1", "r2")
	want(t, w.takingPart(all), before)
	want(t, w.usage("n2"), usage{}) // at once
	want(t, w.events(), nil)
	want(t, w.stamp(wire.StampAuthority, ""), stamp)
	w.prepared(prepareRequest(fence("g"), tgt("n2", b), rooms(2), all)) // with the original versions
	w.committedNow(fence("g"))
	w.work() // also of what was aborted
	want(t, w.stagedRows(), 0)
}
