package domain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// claimRow stores one row of each family for an owner token, by the first segments
// of their keys. It returns the reply and the key.
var claimRow = map[string]func(*world, wire.OwnerToken) (*wire.UpdateReply, kvstore.Key){
	domain.FamilyMeshNode: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		return w.put(wire.IntentNewClaim, node("n1", t)), domain.MeshNodeKey("play", "n1")
	},
	domain.FamilyClientServer: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		req := &wire.ClientServerUpdateRequest{Descriptor: memberOf("n1", t).server(), Intent: wire.IntentNewClaim}
		return write(w, domain.UpdateClientServer, req), domain.ClientServerKey("match", "n1")
	},
	domain.FamilyFanoutPublisher: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		req := &wire.FanoutPublisherUpdateRequest{Descriptor: memberOf("n1", t).publisher(), Intent: wire.IntentNewClaim}
		return write(w, domain.UpdateFanoutPublisher, req), domain.FanoutPublisherKey("match", "n1")
	},
	domain.FamilyPeer: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		p := wire.Peer{
			AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: "n1", Role: wire.PeerRouter, Endpoint: "e", OwnerToken: t,
		}
		key := wire.PeerKey{AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID}
		return write(w, domain.UpdatePeer, &wire.PeerUpdateRequest{Peer: p, Intent: wire.IntentNewClaim}), domain.PeerKey(key)
	},
	domain.FamilySpot: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		s := wire.Spot{
			MeshName: "play", SpotID: "s1", SpotGeneration: 1, SpotType: "room", OwnerNodeRID: "n1", OwnerNodeGeneration: 7,
			SpotKind: wire.SpotKindUser, OwnerToken: t,
		}
		return write(w, domain.UpdateSpot, &wire.SpotUpdateRequest{Spot: s, Intent: wire.IntentNewClaim}), domain.SpotKey("play", "s1")
	},
	domain.FamilyActor: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		a := wire.Actor{
			MeshName: "play", ActorID: "p1", ActorType: "hero",
			ActorRef:     wire.ActorRef{ActorID: "p1", ObjectGeneration: 1, MeshName: "play", NodeRID: "n1"},
			OwnerNodeRID: "n1", OwnerNodeGeneration: 7, SpotKind: wire.SpotKindUser, SpotID: "s1", SpotGeneration: 1, OwnerToken: t,
		}
		return write(w, domain.UpdateActor, &wire.ActorUpdateRequest{Actor: a, Intent: wire.IntentNewClaim}), domain.ActorKey("play", "p1")
	},
	domain.FamilyRoute: func(w *world, t wire.OwnerToken) (*wire.UpdateReply, kvstore.Key) {
		r := wire.Route{RouteKind: wire.RouteSpotName, RouteKey: "k", OwnerNodeRID: "n1", OwnerToken: t, Value: wire.Bytes("v")}
		return write(w, domain.UpdateRoute, &wire.RouteUpdateRequest{Route: r, Intent: wire.IntentNewClaim}), domain.RouteKey(r.RouteKind, "k")
	},
}

// claimRows stores a row of every family, in the order of their names, and returns
// the keys.
func (w *world) claimRows(token wire.OwnerToken) (keys []kvstore.Key) {
	w.t.Helper()
	for _, family := range slices.Sorted(maps.Keys(claimRow)) {
		r, k := claimRow[family](w, token)
		if r.Status != wire.StatusStored || w.view().Row(k) == nil {
			w.t.Fatalf("%s: %+v", family, r)
		}
		keys = append(keys, k)
	}
	return keys
}

func TestEveryOwnedFamilyIsTested(t *testing.T) {
	t.Parallel()
	want(t, slices.Sorted(maps.Keys(claimRow)), domain.OwnedFamilies())
}

func TestRemoveAllTakesRowsOfEveryFamily(t *testing.T) { // O-01
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	keys := w.claimRows(a)
	w.stored(wire.IntentNewClaim, node("n2", b))
	want(t, w.removeAll(a, 100), []int{len(keys)})
	for _, k := range keys {
		want(t, w.view().Row(k) == nil, true)
	}
	want(t, w.readLease("owner-a").Kind, wire.KindFound)
	w.quiet(func() { want(t, w.removeAll(a, 100), []int{0}) })
	want(t, len(w.list()), 1)
}

func TestRemoveAllTakesOlderRowsOfEveryFamily(t *testing.T) { // O-03
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	n := len(w.claimRows(a))
	w.release(a)
	want(t, w.removeAll(w.claim("owner-a"), 100), []int{n})
}

func TestRowsOfEveryFamilyAreCounted(t *testing.T) { // 11
	t.Parallel()
	w := newWorld(t)
	n := len(w.claimRows(w.claim("owner-a")))
	put(w, "k", "v") // an opaque row is none of the service's
	rows, leases := domain.CountRows(w.view())
	want(t, rows, n+1)
	want(t, leases, 1)
}

// whatHappened are the events in short, with their revisions.
func whatHappened(events []domain.Event) (list []string) {
	for _, e := range events {
		list = append(list, string(e.Change)+" "+string(e.Kind)+" "+e.Scope+" "+e.ID+" "+e.Revision.String())
	}
	return list
}

// expiredOf are the events of the rows of claimRows whose owner's lease ended.
func expiredOf(rev string) []string {
	return []string{
		"expired actor play p1 " + rev,
		"expired client-server match n1 " + rev,
		"expired fanout-publisher match n1 " + rev,
		"expired mesh-node play n1 " + rev,
		"expired peer play n1 " + rev,
		"expired route spotName k " + rev,
		"expired spot play s1 " + rev,
	}
}

func TestEndOfLeaseExpiresRowsOfEveryFamily(t *testing.T) { // 13, Z-01
	t.Parallel()
	for name, end := range map[string]struct {
		lease string
		fn    func(*world, wire.OwnerToken)
	}{
		"lapse":   {"expired", func(w *world, _ wire.OwnerToken) { w.at(30_000); w.expire() }},
		"release": {"removed", func(w *world, a wire.OwnerToken) { w.release(a) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.claim("owner-a")
			w.claimRows(a)
			w.events()
			end.fn(w, a)
			rev := w.view().Revision().String()
			want(t, whatHappened(w.events()), append([]string{end.lease + " owner-lease owner owner-a " + rev}, expiredOf(rev)...))
			w.claim("owner-a") // the rows expired already
			want(t, len(w.events()), 1)
		})
	}
}

// TestRowsOfEveryFamilyHaveEvents: stored, removed, and stored anew by an owner who
// came back. 13
func TestRowsOfEveryFamilyHaveEvents(t *testing.T) {
	t.Parallel()
	for family, claim := range claimRow {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.claim("owner-a")
			w.events()
			claim(w, a)
			w.quiet(func() { claim(w, a) }) // a repetition has none
			want(t, changesOf(w.events()), []wire.ChangeType{wire.ChangeUpserted})
			w.release(a)
			a2 := w.claim("owner-a")
			w.events()
			claim(w, a2)
			want(t, changesOf(w.events()), []wire.ChangeType{wire.ChangeUpserted})
			w.removeAll(a2, 10)
			want(t, changesOf(w.events()), []wire.ChangeType{wire.ChangeRemoved})
		})
	}
}

func changesOf(events []domain.Event) (list []wire.ChangeType) {
	for _, e := range events {
		list = append(list, e.Change)
	}
	return list
}

func TestUnreadableRowOfAnyFamilyMayBeAnybodys(t *testing.T) { // 1.5, 10
	t.Parallel()
	for family, claim := range claimRow {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b := w.claim("owner-a"), w.claim("owner-b")
			_, k := claim(w, a)
			w.plant(k, []byte("x"), 0)
			_, err := w.eventsAndDamage()
			wantLost(t, err, k)
			w.quiet(func() {
				wantLost(t, w.update(func(tx *kvstore.Tx) error { return removeAllOnce(tx, b) }), k)
			})
			w.release(b)
			_, err = w.eventsAndDamage()
			wantLost(t, err, k)
		})
	}
}

// TestEntrySpotIDsAreOfMeshNodesAlone: what stands in other rows, legible or not,
// holds none. 3.3
func TestEntrySpotIDsAreOfMeshNodesAlone(t *testing.T) {
	t.Parallel()
	for family, claim := range claimRow {
		if family == domain.FamilyMeshNode {
			continue
		}
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.claim("owner-a")
			_, k := claim(w, a)
			w.plant(k, []byte("x"), 0)
			w.stored(wire.IntentNewClaim, node("n1", a, entrySpot("e1")))
			body := map[string]any{"ownerId": "owner-a", "leaseGeneration": uint64(a.LeaseGeneration), "entrySpotId": "e2"}
			w.plant(k, recordOf(t, body), 0)
			w.stored(wire.IntentNewClaim, node("n2", a, entrySpot("e2")))
		})
	}
}
