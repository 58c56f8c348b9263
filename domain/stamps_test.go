package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func (w *world) stamp(kind wire.StampKind, mesh string) wire.Revision {
	w.t.Helper()
	return read(w, domain.GetChangeStamp, &wire.ChangeStampGetRequest{Kind: kind, MeshName: mesh}).Stamp
}

func (w *world) revision() wire.Revision { return wire.Revision(w.view().Revision()) }

func TestStampIsTheLastChangeOfItsScope(t *testing.T) { // P-01
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	want(t, w.stamp(wire.StampMeshNode, ""), 0)
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("n2", a))
	play := w.revision()
	w.stored(wire.IntentNewClaim, node("n1", a, inMesh("lab")))
	lab := w.revision()
	want(t, w.stamp(wire.StampMeshNode, "play"), play)
	want(t, w.stamp(wire.StampMeshNode, "lab"), lab)
	want(t, w.stamp(wire.StampMeshNode, ""), lab)
	want(t, w.stamp(wire.StampMeshNode, "pla"), 0)
	w.remove("n1", a)
	want(t, w.stamp(wire.StampMeshNode, "play"), w.revision())
	want(t, w.stamp(wire.StampMeshNode, "lab"), lab)
	want(t, w.stamp(wire.StampMeshNode, ""), w.revision())
}

func TestRefusalsMoveNoStamp(t *testing.T) { // P-02
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a))
	before := w.stamp(wire.StampMeshNode, "play")
	w.put(wire.IntentNewClaim, node("n1", b))
	w.put(wire.IntentNewClaim, node("n1", a))
	w.put(wire.IntentRenew, node("n1", b, revision(2)))
	w.renew(a)
	want(t, w.stamp(wire.StampMeshNode, "play"), before)
	want(t, w.stamp(wire.StampRoute, ""), 0)
}

func TestLeaseStampPassesOverRenewals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	claimed := w.revision()
	w.renew(a)
	w.renew(a)
	want(t, w.stamp(wire.StampOwnerLease, ""), claimed)
	w.release(a)
	want(t, w.stamp(wire.StampOwnerLease, ""), w.revision())
	w.claim("owner-b")
	w.at(30_000)
	w.expire()
	want(t, w.stamp(wire.StampOwnerLease, ""), w.revision())
}

func TestOpaqueRowsMoveNoStamp(t *testing.T) {
	t.Parallel()
	schema := domain.Schema()
	for _, k := range []kvstore.Key{domain.OpaqueKey([]byte("mesh-node\x00play\x00n1")), "lease", "mesh-node\x00play", "x"} {
		e := kvstore.Entry{Key: k, Revision: 1}
		if got := schema.Stamp(e); got != nil {
			t.Errorf("removal of %q moves %v", k, got)
		}
		e.Row = &kvstore.Row{Key: k, Value: recordOf(t, map[string]any{"ownerId": "a", "leaseGeneration": 1})}
		if got := schema.Stamp(e); got != nil {
			t.Errorf("%q moves %v", k, got)
		}
		if got := schema.Derive(e.Row).Index; got != nil {
			t.Errorf("%q is in the indexes %v", k, got)
		}
	}
}

// expire takes away all rows whose expiry has come, as the store's sweep does.
func (w *world) expire() {
	w.t.Helper()
	err := w.update(func(tx *kvstore.Tx) error {
		for r := range tx.Expired() {
			if _, err := tx.Expire(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestStampOfWhatNeverChangedIsZero(t *testing.T) { // P-01
	t.Parallel()
	w := newWorld(t)
	put(w, "k", "v")
	for _, kind := range wire.StampKind("").Values() {
		want(t, w.stamp(wire.StampKind(kind), ""), 0)
	}
}
