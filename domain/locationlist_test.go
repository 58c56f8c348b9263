package domain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func (w *world) storeSpot(s wire.Spot) {
	w.t.Helper()
	storedBy(w, domain.ValidateSpotUpdate, domain.UpdateSpot, &wire.SpotUpdateRequest{Spot: s, Intent: wire.IntentNewClaim})
}

func (w *world) storeActor(a wire.Actor) {
	w.t.Helper()
	storedBy(w, domain.ValidateActorUpdate, domain.UpdateActor, &wire.ActorUpdateRequest{Actor: a, Intent: wire.IntentNewClaim})
}

func (w *world) storeRoute(r wire.Route) {
	w.t.Helper()
	storedBy(w, domain.ValidateRouteUpdate, domain.UpdateRoute, &wire.RouteUpdateRequest{Route: r, Intent: wire.IntentNewClaim})
}

func storedBy[Q any](w *world, validate func(*Q) error, rule func(*kvstore.Tx, *Q) (*wire.UpdateReply, error), req *Q) {
	w.t.Helper()
	if r, err := tryValid(w, validate, rule, req); err != nil || r.Status != wire.StatusStored {
		w.t.Fatalf("%+v: %+v, %v, want stored", req, r, err)
	}
}

// names lists rows page by page.
func names[Q, I any](
	w *world, list func(kvstore.View, *Q, kvstore.Key, domain.Page) ([]I, kvstore.Key, error), req *Q, name func(I) string,
) string {
	w.t.Helper()
	var all []string
	for _, page := range pages(w, list, req, 2) {
		for _, item := range page {
			all = append(all, name(item))
		}
	}
	return strings.Join(all, " ")
}

func (w *world) spotsBy(f *wire.SpotFilter) string {
	w.t.Helper()
	return names(w, domain.ListSpots, &wire.SpotListRequest{Filter: f}, func(s wire.SpotItem) string { return s.MeshName + "/" + s.SpotID })
}

func (w *world) actorsBy(f *wire.ActorFilter) string {
	w.t.Helper()
	return names(w, domain.ListActors, &wire.ActorListRequest{Filter: f}, func(a wire.ActorItem) string { return a.MeshName + "/" + a.ActorID })
}

func (w *world) routesBy(f *wire.RouteFilter) string {
	w.t.Helper()
	return names(w, domain.ListRoutes, &wire.RouteListRequest{Filter: f}, func(r wire.RouteItem) string {
		return string(r.RouteKind) + "/" + r.RouteKey
	})
}

func TestSpotFilters(t *testing.T) { // 4 list
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storeSpot(spot("r1", a))
	w.storeSpot(spot("r2", a, func(s *wire.Spot) { s.SpotType = "hall" }))
	w.storeSpot(spot("r3", a, func(s *wire.Spot) { s.OwnerNodeRID = "\x00\xff" }))
	w.storeSpot(spot("r4", a, func(s *wire.Spot) { s.SpotKind = wire.SpotKindEntry }))
	w.storeSpot(spot("r1", a, func(s *wire.Spot) { s.MeshName = "lab" }))
	for name, tt := range map[string]struct {
		filter *wire.SpotFilter
		want   string
	}{
		"none given": {nil, "lab/r1 play/r1 play/r2 play/r3 play/r4"},
		"none":       {&wire.SpotFilter{}, "lab/r1 play/r1 play/r2 play/r3 play/r4"},
		"mesh":       {&wire.SpotFilter{MeshName: "play"}, "play/r1 play/r2 play/r3 play/r4"},
		"type":       {&wire.SpotFilter{SpotType: "room"}, "lab/r1 play/r1 play/r3 play/r4"},
		"node":       {&wire.SpotFilter{NodeRID: "\x00\xff"}, "play/r3"},
		"kind":       {&wire.SpotFilter{SpotKind: wire.SpotKindEntry}, "play/r4"},
		"all":        {&wire.SpotFilter{MeshName: "play", SpotType: "room", NodeRID: "n1", SpotKind: wire.SpotKindUser}, "play/r1"},
		"no match":   {&wire.SpotFilter{MeshName: "lab", SpotKind: wire.SpotKindInstance}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, w.spotsBy(tt.filter), tt.want)
		})
	}
}

func TestActorFilters(t *testing.T) { // 4 list
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storeActor(actor("a1", a))
	w.storeActor(actor("a2", a, func(a *wire.Actor) { a.ActorType = "npc" }))
	w.storeActor(actor("a3", a, func(a *wire.Actor) { a.OwnerNodeRID = "n2" })) // not the node of its actorRef
	w.storeActor(actor("a4", a, func(a *wire.Actor) { a.SpotID = "r2" }))
	w.storeActor(actor("a5", a, func(a *wire.Actor) { a.SpotKind = wire.SpotKindEntry }))
	w.storeActor(actor("a1", a, func(a *wire.Actor) { a.MeshName, a.ActorRef.MeshName = "lab", "lab" }))
	for name, tt := range map[string]struct {
		filter *wire.ActorFilter
		want   string
	}{
		"none given": {nil, "lab/a1 play/a1 play/a2 play/a3 play/a4 play/a5"},
		"mesh":       {&wire.ActorFilter{MeshName: "lab"}, "lab/a1"},
		"type":       {&wire.ActorFilter{ActorType: "npc"}, "play/a2"},
		"node":       {&wire.ActorFilter{NodeRID: "n2"}, "play/a3"},
		"spot":       {&wire.ActorFilter{SpotID: "r2"}, "play/a4"},
		"kind":       {&wire.ActorFilter{SpotKind: wire.SpotKindEntry}, "play/a5"},
		"all": {
			&wire.ActorFilter{MeshName: "play", ActorType: "hero", NodeRID: "n1", SpotID: "r1", SpotKind: wire.SpotKindUser}, "play/a1",
		},
		"no match": {&wire.ActorFilter{SpotID: "r2", SpotKind: wire.SpotKindEntry}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, w.actorsBy(tt.filter), tt.want)
		})
	}
}

func TestRouteFilters(t *testing.T) { // 4 list
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.storeRoute(route("k1", a))
	w.storeRoute(route("k2", b))
	w.storeRoute(route("k3", a, func(r *wire.Route) { r.OwnerNodeRID = "n2" }))
	w.storeRoute(route("k1", a, func(r *wire.Route) { r.RouteKind = wire.RouteSpotName }))
	w.storeRoute(route("k1", a, func(r *wire.Route) { r.RouteKind = wire.RouteFramework }))
	for name, tt := range map[string]struct {
		filter *wire.RouteFilter
		want   string
	}{
		"none given": {nil, "actorSession/k1 actorSession/k2 actorSession/k3 frameworkRoute/k1 spotName/k1"},
		"kind":       {&wire.RouteFilter{RouteKind: wire.RouteSpotName}, "spotName/k1"},
		"node":       {&wire.RouteFilter{OwnerNodeRID: "n2"}, "actorSession/k3"},
		"owner":      {&wire.RouteFilter{OwnerID: "owner-b"}, "actorSession/k2"},
		"all":        {&wire.RouteFilter{RouteKind: wire.RouteActorSession, OwnerNodeRID: "n1", OwnerID: "owner-a"}, "actorSession/k1"},
		"no match":   {&wire.RouteFilter{OwnerNodeRID: "n2", OwnerID: "owner-b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, w.routesBy(tt.filter), tt.want)
		})
	}
}

func TestLocationListsAreInByteOrder(t *testing.T) { // 1.9
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	ids := []string{"\x01", "A", "a", "a\x01", "a ", "aa", "b", "\u00e9", "\uffff"}
	var sorted []string
	for _, mesh := range []string{"m", "m\x01", "mm"} {
		for _, id := range ids {
			sorted = append(sorted, mesh+"/"+id)
		}
	}
	for _, name := range slices.Backward(sorted) {
		mesh, id, _ := strings.Cut(name, "/")
		w.storeSpot(spot(id, a, func(s *wire.Spot) { s.MeshName = mesh }))
		w.storeActor(actor(id, a, func(a *wire.Actor) { a.MeshName, a.ActorRef.MeshName = mesh, mesh }))
	}
	for _, id := range slices.Backward(ids) {
		w.storeRoute(route(id, a))
	}
	want(t, w.spotsBy(nil), strings.Join(sorted, " "))
	want(t, w.actorsBy(nil), strings.Join(sorted, " "))
	want(t, w.routesBy(nil), "actorSession/"+strings.Join(ids, " actorSession/"))
}

func TestLiveSpotsAreToldFromOthers(t *testing.T) { // P-03, P-05
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.storeSpot(spot("r1", a))
	w.storeSpot(spot("r2", a))
	w.storeSpot(spot("r3", b))
	w.release(a)
	var live []bool
	got := pages(w, domain.ListSpots, &wire.SpotListRequest{}, 1)
	for _, page := range got {
		want(t, len(page), 1)
		live = append(live, page[0].Live)
	}
	want(t, live, []bool{false, false, true})
	got = pages(w, domain.ListSpots, &wire.SpotListRequest{PageRequest: wire.PageRequest{LiveOnly: true}}, 1)
	want(t, len(got), 1)
	want(t, got[0][0].SpotID, "r3")
}

// TestMeshesScanTheirRowsOnly: rows of others may be lost. 1.5.
func TestMeshesScanTheirRowsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.storeSpot(spot("x", a))
	w.storeActor(actor("x", a))
	w.storeRoute(route("x", a))
	for _, k := range []kvstore.Key{
		domain.SpotKey("lab", "x"), domain.ActorKey("pla", "x"), domain.ActorKey("playa", "x"), domain.RouteKey(wire.RouteSpotName, "x"),
	} {
		w.plant(k, []byte("x"), 0)
	}
	want(t, w.spotsBy(&wire.SpotFilter{MeshName: "play"}), "play/x")
	want(t, w.actorsBy(&wire.ActorFilter{MeshName: "play"}), "play/x")
	want(t, w.routesBy(&wire.RouteFilter{RouteKind: wire.RouteActorSession}), "actorSession/x")
	_, _, err := domain.ListSpots(w.view(), &wire.SpotListRequest{}, "", domain.Page{})
	wantLost(t, err, domain.SpotKey("lab", "x"))
}
