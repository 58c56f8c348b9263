package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func (w *world) find(kind wire.LookupKind, id string) *wire.ObjectFindReply {
	w.t.Helper()
	req := &wire.ObjectFindRequest{Kind: kind, GlobalID: id}
	if err := domain.ValidateObjectFind(req); err != nil {
		w.t.Fatal(err)
	}
	return read(w, domain.FindObject, req)
}

func TestFindShowsHowFarAnObjectIs(t *testing.T) { // 6.8, C-14
	t.Parallel()
	for id, kind := range map[string]wire.LookupKind{"r1": wire.LookupSpot, "i1": wire.LookupSpot, "a1": wire.LookupActor} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			missing := &wire.ObjectFindReply{Kind: wire.KindMissing, StoreNow: t0}
			want(t, w.find(kind, id), missing)
			r := w.reserved(id, "n1", a)
			stableType, _ := sortOf(r.key)
			found := func(s wire.EntryState) *wire.ObjectFindReply {
				return &wire.ObjectFindReply{Kind: wire.KindFound, Entry: &wire.ObjectEntry{
					GlobalID: id, ObjectGeneration: r.creating.ObjectGeneration, MeshName: "play", NodeRID: "n1",
					State: s, StableType: stableType,
				}}
			}
			want(t, w.find(kind, id), found(wire.EntryCreating))
			other := map[wire.LookupKind]wire.LookupKind{wire.LookupActor: wire.LookupSpot, wire.LookupSpot: wire.LookupActor}
			want(t, w.find(other[kind], id), missing)
			w.makeReady(r)
			want(t, w.find(kind, id), found(wire.EntryReady))
			w.changed(id, putOf(toPhase(wire.PhaseClosing))) // any phase
			want(t, w.find(kind, id), found(wire.EntryReady))
			w.release(a)
			want(t, w.find(kind, id), found(wire.EntryUnavailable))
			want(t, w.snapshot(id).Kind, wire.KindSnapshot) // the row is still there
		})
	}
}

func TestReservedObjectIsBeingCreatedWhoeverIsLive(t *testing.T) { // 6.8
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.reserved("r1", "n1", a)
	w.release(a)
	want(t, w.find(wire.LookupSpot, "r1").Entry.State, wire.EntryCreating)
}

func (w *world) awaits(id string, until wire.AwaitCondition, since wire.Version) *wire.Authority {
	w.t.Helper()
	reply, err := domain.AwaitAuthority(w.view(), &wire.ObjectAwaitRequest{Key: keyOf(id), Until: until, SinceVersion: since})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

func TestAwaitSettled(t *testing.T) { // 6.8, C-13
	t.Parallel()
	w, a, _ := creationWorld(t)
	want(t, w.awaits("r1", wire.AwaitSettled, ""), &wire.Authority{Kind: wire.KindMissing, StoreNow: t0})
	r := w.reserved("r1", "n1", a)
	want(t, w.awaits("r1", wire.AwaitSettled, ""), nil)
	w.release(a) // the end of a lease does not end a wait
	want(t, w.awaits("r1", wire.AwaitSettled, ""), nil)
	want(t, w.releaseEnded("r1", r.version), wire.KindReleased)
	want(t, w.awaits("r1", wire.AwaitSettled, "").Kind, wire.KindMissing)
	b := w.list()[1].OwnerToken
	w.ready("r1", "n2", b)
	want(t, w.awaits("r1", wire.AwaitSettled, ""), w.snapshot("r1"))
	w.changed("r1", putOf(toPhase(wire.PhaseRecovering)))
	w.release(b)
	want(t, w.awaits("r1", wire.AwaitSettled, ""), w.snapshot("r1"))
}

func TestAwaitChanged(t *testing.T) { // 6.8
	t.Parallel()
	w, a, _ := creationWorld(t)
	want(t, w.awaits("r1", wire.AwaitChanged, ""), nil) // until it exists
	want(t, w.awaits("r1", wire.AwaitChanged, "5"), &wire.Authority{Kind: wire.KindMissing, StoreNow: t0})
	r := w.reserved("r1", "n1", a)
	want(t, w.awaits("r1", wire.AwaitChanged, ""), w.snapshot("r1"))
	want(t, w.awaits("r1", wire.AwaitChanged, r.version), nil)
	for _, other := range []wire.Version{"0" + r.version, "x", r.version + "0"} {
		want(t, w.awaits("r1", wire.AwaitChanged, other), w.snapshot("r1"))
	}
	want(t, w.commit(r.commit()).Kind, wire.KindCommitted)
	want(t, w.awaits("r1", wire.AwaitChanged, r.version), w.snapshot("r1"))
	v := w.snapshot("r1").StoreVersion
	w.release(a)
	want(t, w.awaits("r1", wire.AwaitChanged, v), nil)
}
