package wire_test

import "github.com/zlink/zlink-nats/wire"

// locationSamples has every message about peers, spots, actors and routes.
func locationSamples() []sample {
	const now = wire.Instant(1783036800000)
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42}
	page := wire.Page{ContinuationToken: "t", Revision: 44, StoreNow: now}
	asked := wire.PageRequest{PageSize: 1000, ContinuationToken: "t", LiveOnly: true}
	live := wire.RowState{Live: true, Version: "43"}
	head := func(kind wire.EventKind, change wire.ChangeType) wire.EventHead {
		return wire.EventHead{Revision: 43, Kind: kind, Change: change, StoreTime: now}
	}
	peer := wire.Peer{
		AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: "\x00\xff", Role: wire.PeerRouter,
		Endpoint: "tcp://n1.play.example:7001", Weight: 100, Draining: true, Value: 1<<64 - 1,
		Metadata: map[string]string{"zone": "eu", "": ""}, Capabilities: []string{"match", "chat"},
		OwnerToken: token, Generation: 43, UpdatedAt: now,
	}
	nameless := wire.Peer{
		AutoConnectType: wire.ConnectFanout, MeshName: "m", Role: wire.PeerSub, Endpoint: "e", OwnerToken: token,
		Metadata: map[string]string{}, Capabilities: []string{},
	}
	spot := wire.Spot{
		MeshName: "play", SpotID: "room:é", SpotGeneration: 1<<63 - 1, SpotType: "room", OwnerNodeRID: "n1", OwnerNodeGeneration: 7,
		SpotKind: wire.SpotKindUser, OwnerToken: token, Generation: 43, UpdatedAt: now,
	}
	actor := wire.Actor{
		MeshName: "play", ActorID: "user:42", ActorType: "hero",
		ActorRef:     wire.ActorRef{ActorID: "user:42", ObjectGeneration: 41, MeshName: "play", NodeRID: "n1"},
		OwnerNodeRID: "\xff", OwnerNodeGeneration: 7, SpotKind: wire.SpotKindEntry, SpotID: "lobby", SpotGeneration: 5,
		OwnerToken: token, Generation: 43, UpdatedAt: now,
	}
	route := wire.Route{
		RouteKind: wire.RouteActorSession, RouteKey: "user:42", OwnerNodeRID: "n1", OwnerToken: token,
		Value: wire.Bytes("\x00v"), Generation: 43, UpdatedAt: now,
	}
	return []sample{
		{"peer.update", &wire.PeerUpdateRequest{Peer: peer, Intent: wire.IntentNewClaim}},
		{"peer.update-least", &wire.PeerUpdateRequest{
			Peer:   wire.Peer{AutoConnectType: wire.ConnectFanout, MeshName: "m", Role: wire.PeerPub, Endpoint: "e", OwnerToken: token},
			Intent: wire.IntentRenew,
		}},
		{"peer.remove", &wire.PeerRemoveRequest{
			Key: wire.PeerKey{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerSpot, NodeRID: "n1", Endpoint: "e",
			},
			Owner: token,
		}},
		{"peer.remove-by-endpoint", &wire.PeerRemoveRequest{
			Key:   wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerDealer, Endpoint: "e"},
			Owner: token,
		}},
		{"peer.list", &wire.PeerListRequest{
			Filter: &wire.PeerFilter{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, NodeRID: "\x00", Endpoint: "e",
			},
			PageRequest: asked,
		}},
		{"peer.list-all", &wire.PeerListRequest{Filter: &wire.PeerFilter{}}},
		{"peer.list-least", &wire.PeerListRequest{}},
		{"peer.list.reply", &wire.PeerListReply{Items: []wire.PeerItem{{Peer: peer, RowState: live}, {Peer: nameless}}, Page: page}},
		{"spot.update", &wire.SpotUpdateRequest{Spot: spot, Intent: wire.IntentTakeover}},
		{"spot.remove", &wire.SpotRemoveRequest{MeshName: "play", SpotID: "r1", Owner: token}},
		{"spot.resolve", &wire.SpotResolveRequest{MeshName: "play", SpotID: "r1"}},
		{"spot.resolve.found", &wire.SpotResolveReply{Kind: wire.KindFound, Spot: &wire.SpotItem{Spot: spot, RowState: live}}},
		{"spot.resolve.missing", &wire.SpotResolveReply{Kind: wire.KindMissing, StoreNow: now}},
		{"spot.list", &wire.SpotListRequest{
			Filter:      &wire.SpotFilter{MeshName: "play", SpotType: "room", NodeRID: "n1", SpotKind: wire.SpotKindInstance},
			PageRequest: asked,
		}},
		{"spot.list-all", &wire.SpotListRequest{Filter: &wire.SpotFilter{}}},
		{"spot.list-least", &wire.SpotListRequest{}},
		{"spot.list.reply", &wire.SpotListReply{Items: []wire.SpotItem{{Spot: spot, RowState: live}}, Page: page}},
		{"actor.update", &wire.ActorUpdateRequest{Actor: actor, Intent: wire.IntentRenew}},
		{"actor.remove", &wire.ActorRemoveRequest{MeshName: "play", ActorID: "user:42", Owner: token}},
		{"actor.resolve", &wire.ActorResolveRequest{MeshName: "play", ActorID: "user:42"}},
		{"actor.resolve.found", &wire.ActorResolveReply{Kind: wire.KindFound, Actor: &wire.ActorItem{Actor: actor, RowState: live}}},
		{"actor.resolve.missing", &wire.ActorResolveReply{Kind: wire.KindMissing, StoreNow: now}},
		{"actor.list", &wire.ActorListRequest{
			Filter: &wire.ActorFilter{
				MeshName: "play", ActorType: "hero", NodeRID: "n1", SpotID: "r1", SpotKind: wire.SpotKindUser,
			},
			PageRequest: asked,
		}},
		{"actor.list-all", &wire.ActorListRequest{Filter: &wire.ActorFilter{}}},
		{"actor.list-least", &wire.ActorListRequest{}},
		{"actor.list.reply", &wire.ActorListReply{Items: []wire.ActorItem{{Actor: actor, RowState: live}}, Page: page}},
		{"route.update", &wire.RouteUpdateRequest{Route: route, Intent: wire.IntentNewClaim}},
		{"route.remove", &wire.RouteRemoveRequest{RouteKind: wire.RouteSpotName, RouteKey: "lobby", Owner: token}},
		{"route.resolve", &wire.RouteResolveRequest{RouteKind: wire.RouteFramework, RouteKey: "r"}},
		{"route.resolve.found", &wire.RouteResolveReply{Kind: wire.KindFound, Route: &wire.RouteItem{Route: route, RowState: live}}},
		{"route.resolve.missing", &wire.RouteResolveReply{Kind: wire.KindMissing, StoreNow: now}},
		{"route.list", &wire.RouteListRequest{
			Filter:      &wire.RouteFilter{RouteKind: wire.RouteActorSession, OwnerNodeRID: "n1", OwnerID: "owner-a"},
			PageRequest: asked,
		}},
		{"route.list-all", &wire.RouteListRequest{Filter: &wire.RouteFilter{}}},
		{"route.list-least", &wire.RouteListRequest{}},
		{"route.list.reply", &wire.RouteListReply{Items: []wire.RouteItem{{Route: route, RowState: live}}, Page: page}},
		{"event.peer", &wire.PeerEvent{
			EventHead: head(wire.EventPeer, wire.ChangeUpserted), Value: &peer,
			PeerKey: wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, NodeRID: "\x00\xff"},
		}},
		{"event.peer-by-endpoint", &wire.PeerEvent{
			EventHead: head(wire.EventPeer, wire.ChangeExpired),
			PeerKey:   wire.PeerKey{AutoConnectType: wire.ConnectFanout, MeshName: "play", Role: wire.PeerPub, Endpoint: "e"},
		}},
		{"event.spot", &wire.SpotEvent{EventHead: head(wire.EventSpot, wire.ChangeUpserted), MeshName: "play", SpotID: "room:é", Value: &spot}},
		{"event.spot-removed", &wire.SpotEvent{EventHead: head(wire.EventSpot, wire.ChangeRemoved), MeshName: "play", SpotID: "r1"}},
		{"event.actor", &wire.ActorEvent{
			EventHead: head(wire.EventActor, wire.ChangeUpserted), MeshName: "play", ActorID: "user:42", Value: &actor,
		}},
		{"event.actor-expired", &wire.ActorEvent{EventHead: head(wire.EventActor, wire.ChangeExpired), MeshName: "play", ActorID: "user:42"}},
		{"event.route", &wire.RouteEvent{
			EventHead: head(wire.EventRoute, wire.ChangeUpserted), RouteKind: wire.RouteActorSession, RouteKey: "user:42", Value: &route,
		}},
		{"event.route-removed", &wire.RouteEvent{
			EventHead: head(wire.EventRoute, wire.ChangeRemoved), RouteKind: wire.RouteSpotName, RouteKey: "lobby",
		}},
	}
}
