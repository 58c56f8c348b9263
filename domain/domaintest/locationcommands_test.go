package domaintest_test

import (
	"slices"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// weighed is an operation of a client and how often it is asked for.
type weighed struct {
	weight int
	make   func(*client) command
}

// locationCommands are the operations on location rows.
var locationCommands = []weighed{
	{3, (*client).updatePeer},
	{1, (*client).removePeer},
	{1, (*client).listPeers},
	{3, (*client).updateSpot},
	{1, (*client).removeSpot},
	{1, (*client).resolveSpot},
	{1, (*client).listSpots},
	{3, (*client).updateActor},
	{1, (*client).removeActor},
	{1, (*client).resolveActor},
	{1, (*client).listActors},
	{3, (*client).updateRoute},
	{1, (*client).removeRoute},
	{1, (*client).resolveRoute},
	{1, (*client).listRoutes},
}

// storeCommands are the other operations.
var storeCommands = []weighed{
	{6, (*client).writeOpaque},
	{2, (*client).readOpaque},
	{1, (*client).scanOpaque},
	{3, (*client).getStamp},
	{1, (*client).countRows},
	{1, (*client).removeAll},
	sweepCommand,
}

// sweepCommand takes away what has expired.
var sweepCommand = weighed{3, func(c *client) command { return sweeping(1 + c.roll(3)) }}

// directoryCommands are the operations on all that has owners, and on the store.
var directoryCommands = slices.Concat(objectCommands, descriptorCommands, locationCommands, storeCommands)

// commands are all operations.
var commands = slices.Concat(directoryCommands, transferCommands, groupCommands)

// next makes up a request.
func (c *client) next() command {
	total := 0
	for _, w := range c.asks {
		total += w.weight
	}
	n := c.roll(total)
	for _, w := range c.asks {
		if n -= w.weight; n < 0 {
			return w.make(c)
		}
	}
	panic("weights that do not add up")
}

func (c *client) peerKey() wire.PeerKey {
	return pick(c,
		wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, NodeRID: "n1"},
		wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerRouter, NodeRID: "n\x00"},
		wire.PeerKey{AutoConnectType: wire.ConnectFanout, MeshName: "lab", Role: wire.PeerPub, Endpoint: "tcp://p:1"})
}

func (c *client) updatePeer() command {
	k := c.peerKey()
	if k.Endpoint == "" {
		k.Endpoint = pick(c, "tcp://q:1", "tcp://q:2")
	}
	return changing("peer.update", domain.ValidatePeerUpdate, domain.UpdatePeer, &wire.PeerUpdateRequest{
		Peer: wire.Peer{
			AutoConnectType: k.AutoConnectType, MeshName: k.MeshName, NodeRID: k.NodeRID, Role: k.Role, Endpoint: k.Endpoint,
			Weight: 1, Draining: c.once(2), Metadata: pick(c, nil, map[string]string{"zone": "a"}), OwnerToken: c.token(),
		},
		Intent: c.intent(),
	})
}

func (c *client) removePeer() command {
	k := c.peerKey()
	return changing("peer.remove", domain.ValidatePeerRemove, domain.RemovePeer,
		&wire.PeerRemoveRequest{Key: k, Owner: c.holder(domain.PeerKey(k))})
}

func (c *client) listPeers() command {
	return listing("peer.list", domain.ValidatePeerList, domain.ListPeers, &wire.PeerListRequest{
		Filter: pick(c, nil, &wire.PeerFilter{MeshName: "play"}, &wire.PeerFilter{Role: wire.PeerPub}), PageRequest: c.page(),
	}, c.size())
}

func (c *client) updateSpot() command {
	return changing("spot.update", domain.ValidateSpotUpdate, domain.UpdateSpot, &wire.SpotUpdateRequest{
		Spot: wire.Spot{
			MeshName: pick(c, meshes...), SpotID: pick(c, "r1", "r2"), SpotGeneration: 1, SpotType: pick(c, "room", "hall"),
			OwnerNodeRID: "n1", OwnerNodeGeneration: 7, SpotKind: wire.SpotKindUser, OwnerToken: c.token(),
		},
		Intent: c.intent(),
	})
}

func (c *client) removeSpot() command {
	mesh, id := pick(c, meshes...), pick(c, "r1", "r2")
	return changing("spot.remove", domain.ValidateSpotRemove, domain.RemoveSpot,
		&wire.SpotRemoveRequest{MeshName: mesh, SpotID: id, Owner: c.holder(domain.SpotKey(mesh, id))})
}

func (c *client) resolveSpot() command {
	return asking("spot.resolve", domain.ValidateSpotResolve, domain.ResolveSpot,
		&wire.SpotResolveRequest{MeshName: pick(c, meshes...), SpotID: pick(c, "r1", "r2")})
}

func (c *client) listSpots() command {
	return listing("spot.list", domain.ValidateSpotList, domain.ListSpots, &wire.SpotListRequest{
		Filter: pick(c, nil, &wire.SpotFilter{MeshName: "play"}, &wire.SpotFilter{SpotType: "hall"}), PageRequest: c.page(),
	}, c.size())
}

func (c *client) updateActor() command {
	mesh, id := pick(c, meshes...), pick(c, "a1", "a2")
	return changing("actor.update", domain.ValidateActorUpdate, domain.UpdateActor, &wire.ActorUpdateRequest{
		Actor: wire.Actor{
			MeshName: mesh, ActorID: id, ActorType: "hero",
			ActorRef:     wire.ActorRef{ActorID: id, ObjectGeneration: 1, MeshName: mesh, NodeRID: "n1"},
			OwnerNodeRID: "n1", OwnerNodeGeneration: 7, SpotKind: wire.SpotKindUser, SpotID: pick(c, "r1", "r2"), SpotGeneration: 1,
			OwnerToken: c.token(),
		},
		Intent: c.intent(),
	})
}

func (c *client) removeActor() command {
	mesh, id := pick(c, meshes...), pick(c, "a1", "a2")
	return changing("actor.remove", domain.ValidateActorRemove, domain.RemoveActor,
		&wire.ActorRemoveRequest{MeshName: mesh, ActorID: id, Owner: c.holder(domain.ActorKey(mesh, id))})
}

func (c *client) resolveActor() command {
	return asking("actor.resolve", domain.ValidateActorResolve, domain.ResolveActor,
		&wire.ActorResolveRequest{MeshName: pick(c, meshes...), ActorID: pick(c, "a1", "a2")})
}

func (c *client) listActors() command {
	return listing("actor.list", domain.ValidateActorList, domain.ListActors, &wire.ActorListRequest{
		Filter: pick(c, nil, &wire.ActorFilter{MeshName: "play"}, &wire.ActorFilter{SpotID: "r2"}), PageRequest: c.page(),
	}, c.size())
}

func (c *client) updateRoute() command {
	return changing("route.update", domain.ValidateRouteUpdate, domain.UpdateRoute, &wire.RouteUpdateRequest{
		Route: wire.Route{
			RouteKind: pick(c, wire.RouteSpotName, wire.RouteActorSession), RouteKey: pick(c, "k1", "k2"), OwnerNodeRID: "n1",
			OwnerToken: c.token(), Value: c.payload(),
		},
		Intent: c.intent(),
	})
}

func (c *client) removeRoute() command {
	kind, key := wire.RouteSpotName, pick(c, "k1", "k2")
	return changing("route.remove", domain.ValidateRouteRemove, domain.RemoveRoute,
		&wire.RouteRemoveRequest{RouteKind: kind, RouteKey: key, Owner: c.holder(domain.RouteKey(kind, key))})
}

func (c *client) resolveRoute() command {
	return asking("route.resolve", domain.ValidateRouteResolve, domain.ResolveRoute,
		&wire.RouteResolveRequest{RouteKind: wire.RouteSpotName, RouteKey: pick(c, "k1", "k2")})
}

func (c *client) listRoutes() command {
	return listing("route.list", domain.ValidateRouteList, domain.ListRoutes, &wire.RouteListRequest{
		Filter: pick(c, nil, &wire.RouteFilter{OwnerID: "owner-a"}, &wire.RouteFilter{RouteKind: wire.RouteSpotName}), PageRequest: c.page(),
	}, c.size())
}

func (c *client) opaqueKey() wire.Bytes { return wire.Bytes(pick(c, opaqueKeys...)) }

// writeOpaque has each key in one condition and in one mutation at most.
func (c *client) writeOpaque() command {
	req := &wire.StoreWriteRequest{}
	for _, key := range opaqueKeys {
		k := wire.Bytes(key)
		switch c.roll(8) {
		case 0:
			req.Conditions = append(req.Conditions, wire.StoreCondition{Kind: wire.ConditionMissing, Key: k})
		case 1:
			if r := c.view.Row(domain.OpaqueKey(k)); r != nil {
				expected := wire.Version(r.Revision.String())
				req.Conditions = append(req.Conditions, wire.StoreCondition{Kind: wire.ConditionVersion, Key: k, Expected: expected})
			}
		}
		switch c.roll(4) {
		case 0:
			req.Mutations = append(req.Mutations, wire.StoreMutation{
				Kind: wire.MutationPut, Key: k, Bytes: c.payload(), Retention: pick(c, wire.Millis(0), 0, 50, 5_000),
			})
		case 1:
			req.Mutations = append(req.Mutations, wire.StoreMutation{Kind: wire.MutationDelete, Key: k})
		}
	}
	if len(req.Conditions)+len(req.Mutations) == 0 {
		req.Mutations = []wire.StoreMutation{{Kind: wire.MutationPut, Key: c.opaqueKey(), Bytes: c.payload()}}
	}
	return changing("store.write", func(req *wire.StoreWriteRequest) error {
		return domain.ValidateStoreWrite(req, kvstore.DefaultCommitRows)
	}, domain.WriteOpaque, req)
}

func (c *client) readOpaque() command {
	return asking("store.read", domain.ValidateStoreRead, domain.ReadOpaque, &wire.StoreReadRequest{Key: c.opaqueKey()})
}

func (c *client) scanOpaque() command {
	return listing("store.scan", domain.ValidateStoreScan, domain.ScanOpaque,
		&wire.StoreScanRequest{Prefix: wire.Bytes(pick(c, "", "k")), Limit: 1000}, c.size())
}

func (c *client) getStamp() command {
	req := &wire.ChangeStampGetRequest{Kind: wire.StampKind(pick(c, wire.StampKind("").Values()...))}
	switch {
	case c.once(2): // of the whole kind
	case req.Kind == wire.StampClientServer || req.Kind == wire.StampFanoutPublisher:
		req.ChannelName = pick(c, channels...)
	case req.Kind != wire.StampRoute && req.Kind != wire.StampAuthority && req.Kind != wire.StampOwnerLease:
		req.MeshName = pick(c, meshes...)
	}
	return asking("change-stamp.get", domain.ValidateChangeStampGet, domain.GetChangeStamp, req)
}

// countRows asks for what status.get tells of the rows.
func (c *client) countRows() command {
	return asking("status.get", func(*wire.StatusGetRequest) error { return nil },
		func(v kvstore.View, _ *wire.StatusGetRequest) (*wire.StatusGetReply, error) {
			rows, leases := domain.CountRows(v)
			return &wire.StatusGetReply{Revision: wire.Revision(v.Revision()), Rows: uint32(rows), Leases: uint32(leases)}, nil
		}, &wire.StatusGetRequest{})
}

func (c *client) removeAll() command { return removing(c.token(), 1+c.roll(3)) }
