package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func TestMutationOfMissingObject(t *testing.T) { // 5.3 row 1
	t.Parallel()
	w, a, b := creationWorld(t)
	for kind, m := range mutations(a, wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: b.LeaseGeneration}) {
		t.Log(kind)
		w.quiet(func() {
			want(t, w.exchange("r1", "1", m), &wire.AuthorityCompareExchangeReply{
				Authority: wire.Authority{Kind: wire.KindConflict}, Current: &wire.Authority{Kind: wire.KindMissing, StoreNow: t0},
			})
		})
	}
}

func TestMutationOfReservedObject(t *testing.T) { // 5.3 row 3, A-02
	t.Parallel()
	w, a, _ := creationWorld(t)
	spot, actor := w.reserved("r1", "n1", a), w.reserved("a1", "n1", a)
	for kind, m := range mutations(a, a) {
		if kind != "rebindOwnerLease" {
			t.Log(kind)
			w.unchanged("r1", spot.version, m)
			w.unchanged("a1", actor.version, m)
		}
	}
	next := w.reclaimed(a)
	w.unchanged("r1", spot.version, rebindTo(a, next))
	w.unchanged("r1", spot.version, restoreOf(a))
}

func TestMutationOfAnotherVersion(t *testing.T) { // 5.3 row 4, A-01
	t.Parallel()
	w, a, _ := creationWorld(t)
	before := w.ready("r1", "n1", a).StoreVersion
	v := w.changed("r1", putOf()).StoreVersion
	for _, wrong := range []wire.Version{before, "0" + v, "+" + v, v + " ", "1", "18446744073709551616", "x", "\x00"} {
		for kind, m := range mutations(a, a) {
			if kind != "rebindOwnerLease" {
				w.unchanged("r1", wrong, m)
			}
		}
	}
	next := w.reclaimed(a)
	w.unchanged("r1", before, rebindTo(a, next))
	want(t, w.exchange("r1", v, rebindTo(a, next)).Kind, wire.KindStored)
}

func TestMutationOfObjectWhoseOwnerIsNotLive(t *testing.T) { // 5.3 row 5, A-03
	t.Parallel()
	for name, end := range map[string]func(w *world, a, b wire.OwnerToken){
		"lapsed":             func(w *world, _, b wire.OwnerToken) { w.lapse(b) },
		"released":           func(w *world, a, _ wire.OwnerToken) { w.release(a) },
		"has its next lease": func(w *world, a, _ wire.OwnerToken) { w.reclaimed(a) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			v := w.ready("r1", "n1", a).StoreVersion
			end(w, a, b)
			w.unchanged("r1", v, putOf())
			w.unchanged("r1", v, reincarnation())
			w.unchanged("r1", v, removal())
			w.unchanged("r1", v, restoreOf(wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: a.LeaseGeneration + 1})) // row 9
			want(t, w.exchange("r1", v, restoreOf(a, toPhase(wire.PhaseSteady))).Kind, wire.KindStored)
		})
	}
}

func TestOnlyTheLeaseFencesAnOwner(t *testing.T) { // 5.3: its descriptor may drain or be gone
	t.Parallel()
	for name, end := range map[string]func(w *world, a, b wire.OwnerToken){
		"draining": func(w *world, a, _ wire.OwnerToken) {
			w.stored(wire.IntentRenew, node("n1", a, revision(2), state(wire.StateDraining)))
		},
		"removed":        func(w *world, a, _ wire.OwnerToken) { want(w.t, w.remove("n1", a), wire.StatusStored) },
		"taken by other": func(w *world, _, b wire.OwnerToken) { w.stored(wire.IntentTakeover, node("n1", b, lifecycle(8))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := creationWorld(t)
			w.ready("r1", "n1", a)
			end(w, a, b)
			w.changed("r1", putOf())
			w.changed("r1", restoreOf(a))
			w.changed("r1", reincarnation())
			want(t, w.exchange("r1", w.snapshot("r1").StoreVersion, removal()).Kind, wire.KindDeleted)
		})
	}
}

func TestRebindByAnotherOwner(t *testing.T) { // 5.3 row 7
	t.Parallel()
	w := newWorld(t)
	b := w.hosts("n2", "owner-b")
	a := w.hosts("n1", "owner-a")
	v := w.ready("r1", "n1", a).StoreVersion
	next := w.reclaimed(a)
	for name, expected := range map[string]wire.OwnerToken{
		"an older token": {OwnerID: a.OwnerID, LeaseGeneration: a.LeaseGeneration - 1},
		"a later token":  {OwnerID: a.OwnerID, LeaseGeneration: a.LeaseGeneration + 1},
	} {
		t.Log(name)
		w.unchanged("r1", v, rebindTo(expected, next))
	}
	w.stored(wire.IntentTakeover, node("n1", b))
	w.unchanged("r1", v, rebindTo(wire.OwnerToken{OwnerID: b.OwnerID, LeaseGeneration: b.LeaseGeneration + 1}, b))
}

func TestRebindNeedsLiveTarget(t *testing.T) { // 5.3 row 8, A-04
	t.Parallel()
	for name, tt := range map[string]struct {
		publish func(w *world, next wire.OwnerToken)
		kind    wire.Kind
	}{
		"no descriptor": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next))
			want(w.t, w.remove("n1", next), wire.StatusStored)
		}, wire.KindConflict},
		"descriptor of the old token": {func(*world, wire.OwnerToken) {}, wire.KindConflict},
		"another lifecycle": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next, lifecycle(8)))
		}, wire.KindConflict},
		"another node": {func(w *world, next wire.OwnerToken) { w.stored(wire.IntentNewClaim, node("n3", next)) }, wire.KindConflict},
		"another mesh": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentNewClaim, node("n1", next, inMesh("lab")))
		}, wire.KindConflict},
		"client": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next, func(d *wire.MeshNodeDescriptor) { d.ObjectRole = wire.RoleClient }))
		}, wire.KindConflict},
		"draining": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next, state(wire.StateDraining)))
		}, wire.KindConflict},
		"preparing": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next, state(wire.StatePreparing)))
		}, wire.KindConflict},
		"token released": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next))
			w.release(next)
		}, wire.KindConflict},
		"token lapsed": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next))
			w.at(30_000)
		}, wire.KindConflict},
		"serving": {func(w *world, next wire.OwnerToken) { w.stored(wire.IntentTakeover, node("n1", next)) }, wire.KindStored},
		"serving with no weight and other capabilities": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next, weight(0), capabilities))
		}, wire.KindStored},
		"serving with less room": {func(w *world, next wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n1", next, typeLimits(1, 1)))
		}, wire.KindStored},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			w.ready("r2", "n1", a)
			v := w.ready("r1", "n1", a).StoreVersion
			w.release(a)
			next := w.claim(a.OwnerID)
			tt.publish(w, next)
			if tt.kind == wire.KindConflict {
				w.unchanged("r1", v, rebindTo(a, next))
				return
			}
			want(t, w.exchange("r1", v, rebindTo(a, next)).Kind, tt.kind)
		})
	}
}

func TestRebindBackToAnOlderToken(t *testing.T) { // 5.3 row 8: such a token is not live
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.ready("r1", "n1", a)
	next := w.reclaimed(a)
	v := w.changed("r1", rebindTo(a, next)).StoreVersion
	w.unchanged("r1", v, rebindTo(next, a))
}

func TestMutationWithoutRevision(t *testing.T) { // 5.3 row 10, A-07
	t.Parallel()
	const writes = 9 // of what comes before
	for kind := range mutations(wire.OwnerToken{}, wire.OwnerToken{}) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorldAt(t, kvstore.MaxRevision-writes)
			a := w.hosts("n1", "owner-a")
			before := w.ready("r1", "n1", a)
			next := a
			if kind == "rebindOwnerLease" {
				next = w.reclaimed(a)
			}
			for w.view().Revision() < kvstore.MaxRevision {
				put(w, "filler", "x")
			}
			m := mutations(a, next)[kind]
			w.quiet(func() {
				want(t, w.exchange("r1", before.StoreVersion, m), &wire.AuthorityCompareExchangeReply{
					Authority: wire.Authority{Kind: wire.KindGenerationExhausted},
				})
			})
			w.unchanged("r1", "1", m) // the rows before come first
			w.unchanged("r2", "1", m)
			want(t, w.snapshot("r1").StoreVersion, before.StoreVersion)
		})
	}
}
