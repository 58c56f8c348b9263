package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// allRows stores a row of every family of location rows.
func (w *world) allRows(token wire.OwnerToken) {
	w.t.Helper()
	w.storePeer(peer("x", token))
	w.storeSpot(spot("x", token))
	w.storeActor(actor("x", token))
	w.storeRoute(route("x", token))
}

// rowEvent is an event of a location row, at t0 unless edited.
func rowEvent(rev wire.Revision, change wire.ChangeType, kind wire.EventKind, scope, id string, value any) domain.Event {
	return domain.Event{Revision: kvstore.Revision(rev), Kind: kind, Scope: scope, ID: id, Change: change, Value: value}
}

func eventHead(rev wire.Revision, change wire.ChangeType, kind wire.EventKind, at wire.Instant) wire.EventHead {
	return wire.EventHead{Revision: rev, Kind: kind, Change: change, StoreTime: at}
}

// eventsWithout lists the events of the rows of allRows that show no row, in key
// order; their revisions are rev and rise by step.
func eventsWithout(change wire.ChangeType, at wire.Instant, rev, step wire.Revision) []domain.Event {
	revs := [4]wire.Revision{rev, rev + step, rev + 2*step, rev + 3*step}
	return []domain.Event{
		rowEvent(revs[0], change, wire.EventActor, "play", "x", &wire.ActorEvent{
			EventHead: eventHead(revs[0], change, wire.EventActor, at), MeshName: "play", ActorID: "x",
		}),
		rowEvent(revs[1], change, wire.EventPeer, "play", "x", &wire.PeerEvent{
			EventHead: eventHead(revs[1], change, wire.EventPeer, at),
			PeerKey:   wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, NodeRID: "x"},
		}),
		rowEvent(revs[2], change, wire.EventRoute, "actorSession", "x", &wire.RouteEvent{
			EventHead: eventHead(revs[2], change, wire.EventRoute, at), RouteKind: wire.RouteActorSession, RouteKey: "x",
		}),
		rowEvent(revs[3], change, wire.EventSpot, "play", "x", &wire.SpotEvent{
			EventHead: eventHead(revs[3], change, wire.EventSpot, at), MeshName: "play", SpotID: "x",
		}),
	}
}

func TestLapseExpiresLocationRows(t *testing.T) { // Z-01, 13
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.allRows(a)
	w.events()
	w.at(30_000)
	w.expire()
	rev := w.revision()
	want(t, w.events()[1:], eventsWithout(wire.ChangeExpired, t0+30_000, rev, 0))
	w.expire() // no second time
	want(t, w.events(), nil)
	a2 := w.claim("owner-a")
	want(t, len(w.events()), 1)
	w.allRows(a2) // upserted when it is written again
	want(t, len(w.events()), 4)
}

func TestReleaseExpiresLocationRows(t *testing.T) { // 13
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.allRows(a)
	w.events()
	w.release(a)
	want(t, w.events()[1:], eventsWithout(wire.ChangeExpired, t0, w.revision(), 0))
}

func TestLocationRowsArePushedAsStored(t *testing.T) { // 13
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.events()
	p, s, ac, r := peer("", a, nameless("e1")), spot("s1", a), actor("a1", a), route("k1", a)
	w.storePeer(p)
	w.storeSpot(s)
	w.storeActor(ac)
	w.storeRoute(r)
	p.Generation, p.UpdatedAt = 2, t0
	s.Generation, s.UpdatedAt = 3, t0
	ac.Generation, ac.UpdatedAt = 4, t0
	r.Generation, r.UpdatedAt = 5, t0
	const upserted = wire.ChangeUpserted
	want(t, w.events(), []domain.Event{
		rowEvent(2, upserted, wire.EventPeer, "play", "e1", &wire.PeerEvent{
			EventHead: eventHead(2, upserted, wire.EventPeer, t0), Value: &p,
			PeerKey: wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, Endpoint: "e1"},
		}),
		rowEvent(3, upserted, wire.EventSpot, "play", "s1", &wire.SpotEvent{
			EventHead: eventHead(3, upserted, wire.EventSpot, t0), MeshName: "play", SpotID: "s1", Value: &s,
		}),
		rowEvent(4, upserted, wire.EventActor, "play", "a1", &wire.ActorEvent{
			EventHead: eventHead(4, upserted, wire.EventActor, t0), MeshName: "play", ActorID: "a1", Value: &ac,
		}),
		rowEvent(5, upserted, wire.EventRoute, "actorSession", "k1", &wire.RouteEvent{
			EventHead: eventHead(5, upserted, wire.EventRoute, t0), RouteKind: wire.RouteActorSession, RouteKey: "k1", Value: &r,
		}),
	})
}

func TestLocationEventsOfOneRow(t *testing.T) { // 13
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.events()
		changes := func() (all []wire.ChangeType) {
			for _, e := range w.events() {
				want(t, e.Kind, w.f.event)
				all = append(all, e.Change)
			}
			return all
		}
		w.stored(wire.IntentNewClaim, a, 1)
		want(t, changes(), []wire.ChangeType{wire.ChangeUpserted})
		w.put(wire.IntentNewClaim, a, 1) // a repetition
		w.put(wire.IntentNewClaim, b, 2) // a refusal
		w.renew(a)
		want(t, changes(), nil)
		w.stored(wire.IntentTakeover, b, 1)
		w.remove(b)
		want(t, changes(), []wire.ChangeType{wire.ChangeUpserted, wire.ChangeRemoved})
	})
}

func TestRemoveAllTakesLocationRows(t *testing.T) { // O-01, O-03, 10
	t.Parallel()
	w := newWorld(t)
	old := w.claim("owner-a")
	w.storePeer(peer("old", old))
	w.storeSpot(spot("old", old))
	w.storeActor(actor("old", old))
	w.storeRoute(route("old", old))
	w.release(old)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.allRows(a)
	w.storeSpot(spot("b", b))
	rows, leases := domain.CountRows(w.view())
	want(t, []int{rows, leases}, []int{2 + 9, 2})
	want(t, w.removeAll(a, 5), []int{5, 3})
	want(t, w.spotsBy(nil), "play/b")
	want(t, w.peersBy(nil)+w.actorsBy(nil)+w.routesBy(nil), "")
	rows, _ = domain.CountRows(w.view())
	want(t, rows, 3)
	w.events()
	w.allRows(a)
	w.events()
	rev := w.revision()
	w.removeAll(a, 10)
	want(t, w.events(), eventsWithout(wire.ChangeRemoved, t0, rev+1, 1))
}

func TestLocationStamps(t *testing.T) { // P-01, P-02, 11
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		mesh := "play"
		if w.f.stamp == wire.StampRoute {
			mesh = "" // it has no scope but the kind
		}
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, a, 1)
		want(t, w.stamp(w.f.stamp, ""), 0)
		w.stored(wire.IntentNewClaim, a, 1)
		stored := w.revision()
		w.put(wire.IntentNewClaim, a, 1)
		w.put(wire.IntentNewClaim, b, 1)
		w.put(wire.IntentRenew, b, 2)
		w.remove(b)
		w.renew(a)
		want(t, w.stamp(w.f.stamp, ""), stored)
		want(t, w.stamp(w.f.stamp, mesh), stored)
		w.remove(a)
		want(t, w.stamp(w.f.stamp, ""), w.revision())
		want(t, w.stamp(w.f.stamp, mesh), w.revision())
		want(t, w.stamp(wire.StampMeshNode, ""), 0)
	})
}

func TestPeerStampsOfMeshes(t *testing.T) { // P-01
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storePeer(peer("n1", a))
	w.storePeer(peer("", a, nameless("e1")))
	play := w.revision()
	w.storePeer(peer("n1", a, peerInMesh("lab")))
	want(t, w.stamp(wire.StampPeer, "play"), play)
	want(t, w.stamp(wire.StampPeer, "lab"), w.revision())
	want(t, w.stamp(wire.StampPeer, ""), w.revision())
	want(t, w.stamp(wire.StampPeer, "router"), 0)
}

func TestRoutesHaveOneStamp(t *testing.T) { // 11
	t.Parallel()
	w := newWorld(t)
	w.storeRoute(route("x", w.claim("owner-a")))
	stamps := domain.Schema().Stamp(kvstore.Entry{Key: domain.RouteKey(wire.RouteActorSession, "x"), Revision: 2})
	want(t, stamps, []kvstore.Stamp{{Scope: string(wire.StampRoute)}})
}

// TestLostLocationRowHidesNoEntrySpot: only mesh nodes may hold one. 3.3, 1.5.
func TestLostLocationRowHidesNoEntrySpot(t *testing.T) {
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		w.plant(w.f.key, []byte("x"), 0)
		want(t, w.world.put(wire.IntentNewClaim, node("n1", a, entrySpot("e1"))).Status, wire.StatusStored)
		err := w.update(func(tx *kvstore.Tx) error { return removeAllOnce(tx, a) })
		wantLost(t, err, w.f.key) // it may be the owner's
	})
}
