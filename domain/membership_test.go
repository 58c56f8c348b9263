package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// joiners are the operations by which an actor of owner-b on n2 may join a spot: each
// tries it on an actor of its own and tells whether it did.
var joiners = map[string]func(w *world, b wire.OwnerToken, in wire.Membership) bool{
	"put": func(w *world, b wire.OwnerToken, in wire.Membership) bool {
		w.t.Helper()
		v := w.ready("a1", "n2", b).StoreVersion
		reply := w.exchange("a1", v, putOf(joining(in)))
		if reply.Kind == wire.KindConflict { // 5.3 row 6
			w.unchanged("a1", v, putOf(joining(in)))
			return false
		}
		want(w.t, reply.Kind, wire.KindStored)
		want(w.t, w.snapshot("a1").Membership, &in)
		return true
	},
	"complete-creation": func(w *world, b wire.OwnerToken, in wire.Membership) bool {
		w.t.Helper()
		r := w.reserved("a2", "n2", b)
		req := r.complete(wire.CompletionCreated, term(uint64(w.view().Revision())), func(req *wire.ObjectCompleteCreationRequest) {
			req.Completion.Membership = &in
		})
		reply := w.complete(req)
		if reply.Kind == wire.KindStale { // 6.5 row 4
			w.quiet(func() { want(w.t, w.complete(req), &wire.ObjectCompleteCreationReply{Kind: wire.KindStale}) })
			return false
		}
		want(w.t, reply.Kind, wire.KindCreated)
		want(w.t, w.snapshot("a2").Membership, &in)
		return true
	},
	"aggregate": func(w *world, b wire.OwnerToken, in wire.Membership) bool {
		w.t.Helper()
		f := wire.Fence{AggregateID: "joins", AggregateGeneration: wire.Generation(w.view().Revision())}
		p := takesPart(w.ready("a3", "n2", b), preserved, into(in))
		req := prepareRequest(f, tgt("n2", b), wire.Capacity{}, []wire.AggregateParticipant{p})
		if w.prepare(req).Kind == wire.KindConflict { // 8.3 row 9
			w.unprepared(req, wire.KindConflict)
			return false
		}
		w.committedNow(f)
		want(w.t, w.snapshot("a3").Membership, &in)
		return true
	},
}

func TestUserSpotAcceptsMembers(t *testing.T) { // 5.4, A-08, A-09, E-12
	t.Parallel()
	for name, tt := range map[string]struct {
		arrange func(w *world, a wire.OwnerToken) wire.Membership
		accepts bool
	}{
		"all conditions hold": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			return w.membershipIn("r1")
		}, true},
		"no such spot": {func(*world, wire.OwnerToken) wire.Membership {
			return wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipUser}
		}, false},
		"an actor of this id": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("a9", "n1", a)
			return w.membershipIn("a9")
		}, false},
		"an instance spot": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("i1", "n1", a)
			return w.membershipIn("i1")
		}, false},
		"reserved": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.reserved("r1", "n1", a)
			return w.membershipIn("r1")
		}, false},
		"an earlier generation": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			in := w.membershipIn("r1")
			in.SpotGeneration--
			return in
		}, false},
		"a later generation": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			in := w.membershipIn("r1")
			in.SpotGeneration++
			return in
		}, false},
		"reincarnated since": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			in := w.membershipIn("r1")
			w.changed("r1", reincarnation())
			return in
		}, false},
		"created anew since": {func(w *world, a wire.OwnerToken) wire.Membership {
			return w.createAnew("r1", a)
		}, false},
		"closing": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.changed("r1", putOf(toPhase(wire.PhaseClosing)))
			return w.membershipIn("r1")
		}, false},
		"recovering": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.changed("r1", putOf(toPhase(wire.PhaseRecovering)))
			return w.membershipIn("r1")
		}, false},
		"steady again": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.changed("r1", putOf(toPhase(wire.PhaseClosing)))
			w.changed("r1", putOf(toPhase(wire.PhaseSteady)))
			return w.membershipIn("r1")
		}, true},
		"owner released": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.release(a)
			return w.membershipIn("r1")
		}, false},
		"owner under its next lease": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.reclaimed(a)
			return w.membershipIn("r1")
		}, false},
		"rebound to the next lease": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.changed("r1", rebindTo(a, w.reclaimed(a)))
			return w.membershipIn("r1")
		}, true},
		"node draining": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.stored(wire.IntentRenew, node("n1", a, revision(2), state(wire.StateDraining)))
			return w.membershipIn("r1")
		}, true},
		"node gone": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.remove("n1", a)
			return w.membershipIn("r1")
		}, true},
		"entry spot that nobody has": {func(*world, wire.OwnerToken) wire.Membership {
			return wire.Membership{SpotID: "e1", SpotGeneration: 1, SpotKind: wire.MembershipEntry}
		}, true},
		"entry spot of a closing spot's id": {func(w *world, a wire.OwnerToken) wire.Membership {
			w.ready("r1", "n1", a)
			w.changed("r1", putOf(toPhase(wire.PhaseClosing)))
			return wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipEntry}
		}, true},
	} {
		for by, join := range joiners {
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Parallel()
				w, a, b := creationWorld(t)
				want(t, join(w, b, tt.arrange(w, a)), tt.accepts)
			})
		}
	}
}

func TestLapsedSpotAcceptsNobody(t *testing.T) { // 5.4, E-12: 1 ms is enough
	t.Parallel()
	for by, join := range joiners {
		for at, accepts := range map[int64]bool{29_999: true, 30_000: false, 30_001: false} {
			w, a, b := creationWorld(t)
			w.ready("r1", "n1", a)
			w.at(29_000)
			w.renew(b)
			w.at(at)
			if got := join(w, b, w.membershipIn("r1")); got != accepts {
				t.Errorf("%s at %d: joined %t, want %t", by, at, got, accepts)
			}
		}
	}
}

// createAnew creates a user spot twice and returns a membership in the first one.
func (w *world) createAnew(id string, owner wire.OwnerToken) wire.Membership {
	w.t.Helper()
	w.ready(id, "n1", owner)
	in := w.membershipIn(id)
	want(w.t, w.exchange(id, w.snapshot(id).StoreVersion, removal()).Kind, wire.KindDeleted)
	w.ready(id, "n1", owner)
	return in
}

func TestRepeatedMembershipNeedsNothing(t *testing.T) { // 5.4, A-08
	t.Parallel()
	for name, end := range map[string]func(w *world, a wire.OwnerToken){
		"nothing changed": func(*world, wire.OwnerToken) {},
		"spot closing":    func(w *world, _ wire.OwnerToken) { w.changed("r1", putOf(toPhase(wire.PhaseClosing))) },
		"spot deleted": func(w *world, _ wire.OwnerToken) {
			w.exchange("r1", w.snapshot("r1").StoreVersion, removal())
		},
		"spot reincarnated":    func(w *world, _ wire.OwnerToken) { w.changed("r1", reincarnation()) },
		"spot's owner is gone": func(w *world, a wire.OwnerToken) { w.release(a) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.ready("r1", "n1", a)
			in := w.membershipIn("r1")
			w.member("a1", "r1", "n2", b)
			end(w, a)
			want(t, w.changed("a1", putOf(joining(in))).Membership, &in)
			want(t, w.changed("a1", putOf()).Membership, &in) // left out, it stays
		})
	}
}

func TestEveryPartOfAMembershipCounts(t *testing.T) { // 5.4: id, generation or kind differ
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	w.ready("r2", "n1", a)
	in := w.membershipIn("r1")
	w.member("a1", "r1", "n2", b)
	w.changed("r1", putOf(toPhase(wire.PhaseClosing)))
	w.changed("r2", putOf(toPhase(wire.PhaseClosing)))
	v := w.snapshot("a1").StoreVersion
	for name, edit := range map[string]func(*wire.Membership){
		"id":         func(m *wire.Membership) { m.SpotID = "r2"; m.SpotGeneration = w.membershipIn("r2").SpotGeneration },
		"generation": func(m *wire.Membership) { m.SpotGeneration++ },
	} {
		t.Log(name)
		other := in
		edit(&other)
		w.unchanged("a1", v, putOf(joining(other)))
	}
	entry := in
	entry.SpotKind = wire.MembershipEntry
	v = w.changed("a1", putOf(joining(entry))).StoreVersion // of the kind entry it needs nothing,
	w.unchanged("a1", v, putOf(joining(in)))                // but to come back it does
	w.changed("r1", putOf(toPhase(wire.PhaseSteady)))
	want(t, w.changed("a1", putOf(joining(in))).Membership, &in)
}

func TestMemberMovesOnToTheSpotCreatedAnew(t *testing.T) { // 5.4
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n2", b)
	old := w.membershipIn("r1")
	w.exchange("r1", w.snapshot("r1").StoreVersion, removal())
	w.ready("r1", "n1", a)
	now := w.membershipIn("r1")
	if now == old {
		t.Fatalf("membership %+v in both incarnations", now)
	}
	want(t, w.changed("a1", putOf(joining(old))).Membership, &old) // it has it still
	v := w.changed("a1", putOf(joining(now))).StoreVersion
	w.unchanged("a1", v, putOf(joining(old))) // there is no way back
}

func TestMembershipComesAfterTheOwner(t *testing.T) { // 5.3 rows 4 and 5 before row 6: any of them conflicts
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	w.ready("a1", "n2", b)
	in := w.membershipIn("r1")
	w.unchanged("a1", "1", putOf(joining(in)))
	w.release(b)
	w.unchanged("a1", w.snapshot("a1").StoreVersion, putOf(joining(in)))
}

func TestDamagedSpotOfAMembershipIsLost(t *testing.T) { // 1.5, 5.4
	t.Parallel()
	w, a, b := creationWorld(t)
	w.ready("r1", "n1", a)
	in := w.membershipIn("r1")
	w.member("a1", "r1", "n2", b)
	v := w.ready("a2", "n2", b).StoreVersion
	k := authorityKey("r1")
	w.plant(k, unreadable["no record"](nil), 0)
	w.quiet(func() {
		_, err := try(w, domain.CompareExchangeAuthority, &wire.AuthorityCompareExchangeRequest{
			Key: keyOf("a2"), ExpectedStoreVersion: v, Mutation: putOf(joining(in)),
		})
		wantLost(t, err, k)
	})
	w.changed("a1", putOf(joining(in))) // repeats its own
}
