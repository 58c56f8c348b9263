package domain_test

import (
	"maps"
	"reflect"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// locationVectors are location rows by the names of their files, as the rules store
// them.
func locationVectors(t *testing.T) map[string]*kvstore.Row {
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storePeer(peer("\x00\xff", a, func(p *wire.Peer) { p.Draining, p.Value = true, 1<<64-1 }))
	w.storePeer(peer("", a, nameless("tcp://é:1"), fanout, asRole(wire.PeerPub), func(p *wire.Peer) { p.Metadata, p.Capabilities = nil, nil }))
	w.storeSpot(spot("r1", a))
	w.storeActor(actor("a\x01é", a))
	w.storeRoute(route("k1", a, func(r *wire.Route) { r.Value = wire.Bytes{} }))
	v := w.view()
	return map[string]*kvstore.Row{
		"peer-raw-rid": v.Row("peer\x00routeMesh\x00play\x00router\x00\x00\xff\xff\x00r"),
		"peer-by-endpoint": v.Row(domain.PeerKey(wire.PeerKey{
			AutoConnectType: wire.ConnectFanout, MeshName: "play", Role: wire.PeerPub, Endpoint: "tcp://é:1",
		})),
		"spot":  v.Row(domain.SpotKey("play", "r1")),
		"actor": v.Row(domain.ActorKey("play", "a\x01é")),
		"route": v.Row(domain.RouteKey(wire.RouteActorSession, "k1")),
	}
}

func TestDamagedLocationRecords(t *testing.T) { // 1.5
	t.Parallel()
	rows := locationVectors(t)
	type edit = func(map[string]any)
	set := func(name string, value any) edit { return func(b map[string]any) { b[name] = value } }
	without := func(name string) edit { return func(b map[string]any) { delete(b, name) } }
	for name, tt := range map[string]struct {
		row  string
		body edit
	}{
		"peer of another type":            {"peer-raw-rid", set("autoConnectType", "fanout")},
		"peer of another mesh":            {"peer-raw-rid", set("meshName", "lab")},
		"peer of another role":            {"peer-raw-rid", set("role", "dealer")},
		"peer of another RID":             {"peer-raw-rid", set("nodeRid", "n1")},
		"peer without its RID":            {"peer-raw-rid", without("nodeRid")},
		"peer of an unknown role":         {"peer-raw-rid", set("role", "king")},
		"peer without draining":           {"peer-raw-rid", without("draining")},
		"peer of another endpoint":        {"peer-by-endpoint", set("endpoint", "tcp://e:1")},
		"peer by endpoint with a RID":     {"peer-by-endpoint", set("nodeRid", "tcp://é:1")},
		"peer from the future":            {"peer-raw-rid", set("generation", 99)},
		"spot of another mesh":            {"spot", set("meshName", "lab")},
		"spot of another id":              {"spot", set("spotId", "r2")},
		"spot of an unknown kind":         {"spot", set("spotKind", "user spot")},
		"spot without generation":         {"spot", without("generation")},
		"spot without updatedAt":          {"spot", without("updatedAt")},
		"spot with something else":        {"spot", set("entrySpotId", "e")},
		"actor of another mesh":           {"actor", set("meshName", "lab")},
		"actor of another id":             {"actor", set("actorId", "a2")},
		"actor without actorRef":          {"actor", without("actorRef")},
		"actor without owner":             {"actor", without("ownerId")},
		"actor from the future":           {"actor", set("generation", 99)},
		"route of another kind":           {"route", set("routeKind", "spotName")},
		"route of another key":            {"route", set("routeKey", "k2")},
		"route of an unknown kind":        {"route", set("routeKind", "other")},
		"route without value":             {"route", without("value")},
		"route with a value that is text": {"route", set("value", "v")},
		"route from the future":           {"route", set("generation", 99)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := maps.Clone(bodyOf(t, rows[tt.row].Value))
			tt.body(body)
			row := &kvstore.Row{Key: rows[tt.row].Key, Revision: rows[tt.row].Revision, Value: recordOf(t, body)}
			_, err := decodeRow(row)
			wantLost(t, err, row.Key)
		})
	}
}

// TestEveryFieldOfLocationRowsIsContent changes each field, whatever fields there
// are, but for those that the service stamps. 4.
func TestEveryFieldOfLocationRowsIsContent(t *testing.T) {
	t.Parallel()
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}
	eachLeafIsContent(t, "peer", peer("x", token), peer("x", token), domain.SamePeer)
	eachLeafIsContent(t, "nameless peer", peer("", token, nameless("e")), peer("", token, nameless("e")), domain.SamePeer)
	eachLeafIsContent(t, "spot", spot("x", token), spot("x", token), domain.SameSpot)
	eachLeafIsContent(t, "actor", actor("x", token), actor("x", token), domain.SameActor)
	eachLeafIsContent(t, "route", route("x", token), route("x", token), domain.SameRoute)
	a, b := peer("x", token), peer("x", token)
	b.Capabilities = []string{"match", "chat"} // in another order
	want(t, domain.SamePeer(&a, &b), false)
	b.Capabilities, b.Metadata = a.Capabilities, map[string]string{"zone": "a"}
	want(t, domain.SamePeer(&a, &b), false)
	a.Metadata, a.Capabilities = nil, nil
	b.Metadata, b.Capabilities = map[string]string{}, []string{}
	want(t, domain.SamePeer(&a, &b), true)
}

// eachLeafIsContent compares a row with a twin that is changed field by field.
func eachLeafIsContent[R any](t *testing.T, what string, row, twin R, same func(a, b *R) bool) {
	t.Helper()
	if !same(&row, &twin) {
		t.Errorf("%s: not the same content as its twin", what)
	}
	leaves := 0
	walkLeaves(reflect.ValueOf(&twin).Elem(), "", "", func(path, name string) {
		leaves++
		stamped := name == "Generation" || name == "UpdatedAt"
		if got := same(&row, &twin); got != stamped {
			t.Errorf("%s: changed %s: same content is %t, want %t", what, path, got, stamped)
		}
	})
	if leaves < 7 {
		t.Errorf("%s: only %d fields", what, leaves)
	}
}
