package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func peer(rid wire.RID, token wire.OwnerToken, edits ...func(*wire.Peer)) wire.Peer {
	p := wire.Peer{
		AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: rid, Role: wire.PeerRouter,
		Endpoint: "tcp://peer:7001", Weight: 100, Value: 1,
		Metadata: map[string]string{"zone": "a", "rack": ""}, Capabilities: []string{"chat", "match"}, OwnerToken: token,
	}
	return edited(p, edits)
}

func spot(id string, token wire.OwnerToken, edits ...func(*wire.Spot)) wire.Spot {
	return edited(wire.Spot{
		MeshName: "play", SpotID: id, SpotGeneration: 1, SpotType: "room", OwnerNodeRID: "n1", OwnerNodeGeneration: 7,
		SpotKind: wire.SpotKindUser, OwnerToken: token,
	}, edits)
}

func actor(id string, token wire.OwnerToken, edits ...func(*wire.Actor)) wire.Actor {
	return edited(wire.Actor{
		MeshName: "play", ActorID: id, ActorType: "hero",
		ActorRef:     wire.ActorRef{ActorID: id, ObjectGeneration: 3, MeshName: "play", NodeRID: "n1"},
		OwnerNodeRID: "n1", OwnerNodeGeneration: 7, SpotKind: wire.SpotKindUser, SpotID: "r1", SpotGeneration: 2, OwnerToken: token,
	}, edits)
}

func route(key string, token wire.OwnerToken, edits ...func(*wire.Route)) wire.Route {
	return edited(wire.Route{
		RouteKind: wire.RouteActorSession, RouteKey: key, OwnerNodeRID: "n1", OwnerToken: token, Value: wire.Bytes("v"),
	}, edits)
}

func edited[R any](row R, edits []func(*R)) R {
	for _, edit := range edits {
		edit(&row)
	}
	return row
}

// locationRow is what the one rule of location rows is about.
type locationRow struct {
	token      wire.OwnerToken
	content    uint64
	generation wire.Generation
	updatedAt  wire.Instant
	wire.RowState
}

// locations are the rules of one family over one row, whose content is a number.
type locations struct {
	key   kvstore.Key
	stamp wire.StampKind
	event wire.EventKind
	// update sends the row, with stamps that are to be ignored.
	update func(w *world, intent wire.Intent, token wire.OwnerToken, content uint64) (*wire.UpdateReply, error)
	remove func(w *world, owner wire.OwnerToken) (*wire.RemoveReply, error)
	rows   func(v kvstore.View, liveOnly bool) ([]locationRow, error)
	// resolve returns nil for missing; it is nil for peers, which nobody resolves.
	resolve func(v kvstore.View) (*locationRow, error)
}

const anyStamp = 999 // what a caller sends in fields that the service stamps

var locationFamilies = map[string]locations{
	"peer": {
		key: "peer\x00routeMesh\x00play\x00router\x00x\x00r", stamp: wire.StampPeer, event: wire.EventPeer,
		update: func(w *world, intent wire.Intent, token wire.OwnerToken, content uint64) (*wire.UpdateReply, error) {
			req := &wire.PeerUpdateRequest{Intent: intent, Peer: peer("x", token, func(p *wire.Peer) {
				p.Weight, p.Generation, p.UpdatedAt = uint32(content), anyStamp, anyStamp
			})}
			return tryValid(w, domain.ValidatePeerUpdate, domain.UpdatePeer, req)
		},
		remove: func(w *world, owner wire.OwnerToken) (*wire.RemoveReply, error) {
			req := &wire.PeerRemoveRequest{Owner: owner, Key: wire.PeerKey{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, NodeRID: "x",
			}}
			return tryValid(w, domain.ValidatePeerRemove, domain.RemovePeer, req)
		},
		rows: listAs(domain.ListPeers, func(liveOnly bool) *wire.PeerListRequest {
			return &wire.PeerListRequest{PageRequest: wire.PageRequest{LiveOnly: liveOnly}}
		}, func(p wire.PeerItem) locationRow {
			return locationRow{p.OwnerToken, uint64(p.Weight), p.Generation, p.UpdatedAt, p.RowState}
		}),
	},
	"spot": {
		key: "spot\x00play\x00x", stamp: wire.StampSpot, event: wire.EventSpot,
		update: func(w *world, intent wire.Intent, token wire.OwnerToken, content uint64) (*wire.UpdateReply, error) {
			req := &wire.SpotUpdateRequest{Intent: intent, Spot: spot("x", token, func(s *wire.Spot) {
				s.SpotGeneration, s.Generation, s.UpdatedAt = wire.Generation(content), anyStamp, anyStamp
			})}
			return tryValid(w, domain.ValidateSpotUpdate, domain.UpdateSpot, req)
		},
		remove: func(w *world, owner wire.OwnerToken) (*wire.RemoveReply, error) {
			return tryValid(w, domain.ValidateSpotRemove, domain.RemoveSpot, &wire.SpotRemoveRequest{MeshName: "play", SpotID: "x", Owner: owner})
		},
		rows: listAs(domain.ListSpots, func(liveOnly bool) *wire.SpotListRequest {
			return &wire.SpotListRequest{PageRequest: wire.PageRequest{LiveOnly: liveOnly}}
		}, spotRow),
		resolve: func(v kvstore.View) (*locationRow, error) {
			r, err := domain.ResolveSpot(v, &wire.SpotResolveRequest{MeshName: "play", SpotID: "x"})
			if err != nil {
				return nil, err
			}
			return resolvedAs(r.Kind, r.Spot, spotRow, r.StoreNow)
		},
	},
	"actor": {
		key: "actor\x00play\x00x", stamp: wire.StampActor, event: wire.EventActor,
		update: func(w *world, intent wire.Intent, token wire.OwnerToken, content uint64) (*wire.UpdateReply, error) {
			req := &wire.ActorUpdateRequest{Intent: intent, Actor: actor("x", token, func(a *wire.Actor) {
				a.MembershipEpoch, a.Generation, a.UpdatedAt = wire.U64(content), anyStamp, anyStamp
			})}
			return tryValid(w, domain.ValidateActorUpdate, domain.UpdateActor, req)
		},
		remove: func(w *world, owner wire.OwnerToken) (*wire.RemoveReply, error) {
			return tryValid(w, domain.ValidateActorRemove, domain.RemoveActor, &wire.ActorRemoveRequest{MeshName: "play", ActorID: "x", Owner: owner})
		},
		rows: listAs(domain.ListActors, func(liveOnly bool) *wire.ActorListRequest {
			return &wire.ActorListRequest{PageRequest: wire.PageRequest{LiveOnly: liveOnly}}
		}, actorRow),
		resolve: func(v kvstore.View) (*locationRow, error) {
			r, err := domain.ResolveActor(v, &wire.ActorResolveRequest{MeshName: "play", ActorID: "x"})
			if err != nil {
				return nil, err
			}
			return resolvedAs(r.Kind, r.Actor, actorRow, r.StoreNow)
		},
	},
	"route": {
		key: "route\x00actorSession\x00x", stamp: wire.StampRoute, event: wire.EventRoute,
		update: func(w *world, intent wire.Intent, token wire.OwnerToken, content uint64) (*wire.UpdateReply, error) {
			req := &wire.RouteUpdateRequest{Intent: intent, Route: route("x", token, func(r *wire.Route) {
				r.Value, r.Generation, r.UpdatedAt = wire.Bytes{byte(content)}, anyStamp, anyStamp
			})}
			return tryValid(w, domain.ValidateRouteUpdate, domain.UpdateRoute, req)
		},
		remove: func(w *world, owner wire.OwnerToken) (*wire.RemoveReply, error) {
			return tryValid(w, domain.ValidateRouteRemove, domain.RemoveRoute,
				&wire.RouteRemoveRequest{RouteKind: wire.RouteActorSession, RouteKey: "x", Owner: owner})
		},
		rows: listAs(domain.ListRoutes, func(liveOnly bool) *wire.RouteListRequest {
			return &wire.RouteListRequest{PageRequest: wire.PageRequest{LiveOnly: liveOnly}}
		}, routeRow),
		resolve: func(v kvstore.View) (*locationRow, error) {
			r, err := domain.ResolveRoute(v, &wire.RouteResolveRequest{RouteKind: wire.RouteActorSession, RouteKey: "x"})
			if err != nil {
				return nil, err
			}
			return resolvedAs(r.Kind, r.Route, routeRow, r.StoreNow)
		},
	},
}

func spotRow(s wire.SpotItem) locationRow {
	return locationRow{s.OwnerToken, uint64(s.SpotGeneration), s.Generation, s.UpdatedAt, s.RowState}
}

func actorRow(a wire.ActorItem) locationRow {
	return locationRow{a.OwnerToken, uint64(a.MembershipEpoch), a.Generation, a.UpdatedAt, a.RowState}
}

func routeRow(r wire.RouteItem) locationRow {
	return locationRow{r.OwnerToken, uint64(r.Value[0]), r.Generation, r.UpdatedAt, r.RowState}
}

// eachLocation runs a test for each family of location rows in a world of its own.
func eachLocation(t *testing.T, test func(t *testing.T, w *locationWorld)) {
	for name, f := range locationFamilies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &locationWorld{newWorld(t), f})
		})
	}
}
