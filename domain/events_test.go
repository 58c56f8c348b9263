package domain_test

import (
	"errors"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// leaseEvent is an event of an owner lease, at t0 unless edited.
func leaseEvent(rev wire.Revision, change wire.ChangeType, owner string, value *wire.OwnerLease) domain.Event {
	return domain.Event{
		Revision: kvstore.Revision(rev), Kind: wire.EventOwnerLease, Scope: "owner", ID: owner, Change: change,
		Value: &wire.OwnerLeaseEvent{
			EventHead: wire.EventHead{Revision: rev, Kind: wire.EventOwnerLease, Change: change, StoreTime: t0},
			OwnerID:   owner, Value: value,
		},
	}
}

// nodeEvent is an event of a node, at t0 unless edited.
func nodeEvent(rev wire.Revision, change wire.ChangeType, mesh string, rid wire.RID, value *wire.MeshNodeDescriptor) domain.Event {
	return domain.Event{
		Revision: kvstore.Revision(rev), Kind: wire.EventMeshNode, Scope: mesh, ID: string(rid), Change: change,
		Value: &wire.MeshNodeEvent{
			EventHead: wire.EventHead{Revision: rev, Kind: wire.EventMeshNode, Change: change, StoreTime: t0},
			MeshName:  mesh, RID: rid, Value: value,
		},
	}
}

// later moves the store time of events.
func later(ms wire.Instant, events ...domain.Event) []domain.Event {
	for _, e := range events {
		switch v := e.Value.(type) {
		case *wire.OwnerLeaseEvent:
			v.StoreTime += ms
		case *wire.MeshNodeEvent:
			v.StoreTime += ms
		}
	}
	return events
}

func leaseOf(t wire.OwnerToken, expires wire.Instant) *wire.OwnerLease {
	return &wire.OwnerLease{OwnerToken: t, LeaseExpiresAt: expires}
}

func TestLeaseEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	want(t, w.events(), []domain.Event{leaseEvent(1, wire.ChangeUpserted, "owner-a", leaseOf(a, t0+30_000))})
	w.renew(a)
	w.renew(a)
	want(t, w.events(), nil)
	w.release(a)
	want(t, w.events(), []domain.Event{leaseEvent(4, wire.ChangeRemoved, "owner-a", nil)})
}

func TestNodeEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.events()
	stored := node("n1", a)
	g := w.stored(wire.IntentNewClaim, stored)
	stored.Generation, stored.UpdatedAt = g, t0
	want(t, w.events(), []domain.Event{nodeEvent(2, wire.ChangeUpserted, "play", "n1", &stored)})
	w.put(wire.IntentNewClaim, node("n1", a))            // a repetition
	w.put(wire.IntentNewClaim, node("n1", a, weight(1))) // a refusal
	want(t, w.events(), nil)
	w.remove("n1", a)
	want(t, w.events(), []domain.Event{nodeEvent(3, wire.ChangeRemoved, "play", "n1", nil)})
}

// holdersWorld has owner-a with two nodes, among others that are none of its.
func holdersWorld(t *testing.T) (w *world, a wire.OwnerToken) {
	w = newWorld(t)
	old := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("old", old))
	w.release(old)
	a = w.claim("owner-a")
	b := write(w, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: "owner-b", TTL: 2 * ttl}).Token
	w.stored(wire.IntentNewClaim, node("n2", a))
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("n3", *b))
	w.stored(wire.IntentNewClaim, node("gone", a))
	w.remove("gone", a)
	w.stored(wire.IntentNewClaim, node("taken", a))
	w.stored(wire.IntentTakeover, node("taken", *b))
	w.events()
	return w, a
}

func TestLapseTakesLivenessOfExactlyItsRows(t *testing.T) { // Z-01
	t.Parallel()
	w, a := holdersWorld(t)
	w.at(30_000)
	w.expire()
	rev := w.revision()
	want(t, w.events(), later(30_000,
		leaseEvent(rev, wire.ChangeExpired, "owner-a", nil),
		nodeEvent(rev, wire.ChangeExpired, "play", "n1", nil),
		nodeEvent(rev, wire.ChangeExpired, "play", "n2", nil),
	))
	w.expire() // no second time
	want(t, w.events(), nil)
	want(t, w.remove("n1", a), wire.StatusStored)
	want(t, len(w.events()), 1)
}

func TestReleaseTakesLivenessOfItsRows(t *testing.T) {
	t.Parallel()
	w, a := holdersWorld(t)
	w.release(a)
	rev := w.revision()
	want(t, w.events(), []domain.Event{
		leaseEvent(rev, wire.ChangeRemoved, "owner-a", nil),
		nodeEvent(rev, wire.ChangeExpired, "play", "n1", nil),
		nodeEvent(rev, wire.ChangeExpired, "play", "n2", nil),
	})
	w.claim("owner-a") // the rows expired already
	want(t, len(w.events()), 1)
}

func TestClaimOverLapsedLeaseFirstExpiresIt(t *testing.T) {
	t.Parallel()
	w, _ := holdersWorld(t)
	w.at(30_000)
	a2 := w.claim("owner-a")
	rev := w.revision()
	want(t, w.events(), later(30_000,
		leaseEvent(rev, wire.ChangeExpired, "owner-a", nil),
		nodeEvent(rev, wire.ChangeExpired, "play", "n1", nil),
		nodeEvent(rev, wire.ChangeExpired, "play", "n2", nil),
		leaseEvent(rev, wire.ChangeUpserted, "owner-a", leaseOf(a2, t0+60_000)),
	))
}

func TestEventsOfOneCommitAreInRevisionOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("n2", b))
	w.stored(wire.IntentNewClaim, node("n3", b))
	w.events()
	// One commit writes rows of both owners and ends both leases.
	moved := node("n1", b)
	moved.Generation, moved.UpdatedAt = 1, t0
	value, err := wire.Marshal(wire.CBOR, &moved)
	if err != nil {
		t.Fatal(err)
	}
	err = w.update(func(tx *kvstore.Tx) error {
		_, e1 := tx.Put(domain.MeshNodeKey("play", "n1"), append([]byte{0x82, 1}, value...), 0)
		_, e2 := tx.Delete(domain.MeshNodeKey("play", "n3"))
		_, e3 := tx.Delete(domain.LeaseKey("owner-a"))
		_, e4 := tx.Delete(domain.LeaseKey("owner-b"))
		return errors.Join(e1, e2, e3, e4)
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, w.events(), []domain.Event{
		nodeEvent(6, wire.ChangeUpserted, "play", "n1", &moved),
		nodeEvent(7, wire.ChangeRemoved, "play", "n3", nil),
		leaseEvent(8, wire.ChangeRemoved, "owner-a", nil), // n1 has moved to b
		leaseEvent(9, wire.ChangeRemoved, "owner-b", nil),
		nodeEvent(9, wire.ChangeExpired, "play", "n1", nil),
		nodeEvent(9, wire.ChangeExpired, "play", "n2", nil),
	})
}

func TestEventsWithoutPriorVersions(t *testing.T) {
	t.Parallel()
	lease := func(g, rev kvstore.Revision) *kvstore.Row {
		return &kvstore.Row{
			Key: domain.LeaseKey("owner-a"), Revision: rev, Expiry: kvstore.Instant(t0 + 1),
			Value: recordOf(t, map[string]any{"ownerId": "owner-a", "leaseGeneration": uint64(g)}),
		}
	}
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 5}
	for name, tt := range map[string]struct {
		entry kvstore.Entry
		want  []domain.Event
	}{
		"claim":   {kvstore.Entry{Revision: 5, Row: lease(5, 5)}, []domain.Event{leaseEvent(5, wire.ChangeUpserted, "owner-a", leaseOf(token, t0+1))}},
		"renewal": {kvstore.Entry{Revision: 9, Row: lease(5, 9)}, nil},
		"release": {kvstore.Entry{Revision: 9}, []domain.Event{leaseEvent(9, wire.ChangeRemoved, "owner-a", nil)}},
		"lapse":   {kvstore.Entry{Revision: 9, Expired: true}, []domain.Event{leaseEvent(9, wire.ChangeExpired, "owner-a", nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.entry.Key = domain.LeaseKey("owner-a")
			before := kvstore.NewState(domain.Schema())
			got, err := domain.Events(&kvstore.Commit{
				Revision: tt.entry.Revision, Time: kvstore.Instant(t0), Gap: true,
				Entries: []kvstore.Entry{tt.entry}, Before: before, After: before,
			})
			if err != nil {
				t.Fatal(err)
			}
			want(t, got, tt.want)
		})
	}
}

func TestOpaqueRowsHaveNoEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put(w, "mesh-node\x00play\x00n1", "x")
	w.plant("unknown\x00family", []byte("x"), 0)
	w.plant("mesh-node\x00play", []byte("x"), 0)
	want(t, w.events(), nil)
}

func TestDamagedRowsHideNoOtherEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := domain.LeaseKey("owner-a")
	w.plant(k, []byte("x"), 0)
	w.plant(domain.MeshNodeKey("play", "n1"), []byte("x"), 0)
	b := w.claim("owner-b")
	events, err := w.eventsAndDamage()
	want(t, events, []domain.Event{leaseEvent(3, wire.ChangeUpserted, "owner-b", leaseOf(b, t0+30_000))})
	wantLost(t, err, k)
	err = w.update(func(tx *kvstore.Tx) error {
		_, err := tx.Delete(k)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err = w.eventsAndDamage()
	want(t, events, []domain.Event{leaseEvent(4, wire.ChangeRemoved, "owner-a", nil)})
	wantLost(t, err, k)
}
