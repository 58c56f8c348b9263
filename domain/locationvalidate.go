package domain

import "github.com/zlink/zlink-nats/wire"

// ValidatePeerUpdate checks a request of peer.update. Besides *wire.InvalidError it
// returns *wire.TooLargeError for a row that is too large when encoded.
func ValidatePeerUpdate(req *wire.PeerUpdateRequest) error {
	var c checks
	c.within("peer", checkPeer(&req.Peer))
	c.intent(req.Intent)
	return c.err
}

// ValidatePeerRemove checks a request of peer.remove: its key must name a peer.
func ValidatePeerRemove(req *wire.PeerRemoveRequest) error {
	var c checks
	c.within("key", checkPeerKey(&req.Key))
	c.token("owner", req.Owner)
	return c.err
}

// ValidatePeerList checks a request of peer.list.
func ValidatePeerList(req *wire.PeerListRequest) error {
	var c checks
	f := filterOf(req.Filter)
	c.that(f.AutoConnectType == "" || f.AutoConnectType.Valid(), "filter.autoConnectType", string(f.AutoConnectType), "routeMesh or fanout")
	c.optionalIdentifier("filter.meshName", f.MeshName)
	c.that(f.Role == "" || f.Role.Valid(), "filter.role", string(f.Role), "spot, router, dealer, pub or sub")
	c.optionalRID("filter.nodeRid", f.NodeRID)
	c.optionalEndpoint("filter.endpoint", f.Endpoint)
	c.page(&req.PageRequest)
	return c.err
}

// ValidateSpotUpdate checks a request of spot.update.
func ValidateSpotUpdate(req *wire.SpotUpdateRequest) error {
	var c checks
	c.within("spot", checkSpot(&req.Spot))
	c.intent(req.Intent)
	return c.err
}

// ValidateSpotRemove checks a request of spot.remove.
func ValidateSpotRemove(req *wire.SpotRemoveRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.identifier("spotId", req.SpotID)
	c.token("owner", req.Owner)
	return c.err
}

// ValidateSpotResolve checks a request of spot.resolve.
func ValidateSpotResolve(req *wire.SpotResolveRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.identifier("spotId", req.SpotID)
	return c.err
}

// ValidateSpotList checks a request of spot.list.
func ValidateSpotList(req *wire.SpotListRequest) error {
	var c checks
	f := filterOf(req.Filter)
	c.optionalIdentifier("filter.meshName", f.MeshName)
	c.optionalIdentifier("filter.spotType", f.SpotType)
	c.optionalRID("filter.nodeRid", f.NodeRID)
	c.optionalSpotKind("filter.spotKind", f.SpotKind)
	c.page(&req.PageRequest)
	return c.err
}

// ValidateActorUpdate checks a request of actor.update.
func ValidateActorUpdate(req *wire.ActorUpdateRequest) error {
	var c checks
	c.within("actor", checkActor(&req.Actor))
	c.intent(req.Intent)
	return c.err
}

// ValidateActorRemove checks a request of actor.remove.
func ValidateActorRemove(req *wire.ActorRemoveRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.identifier("actorId", req.ActorID)
	c.token("owner", req.Owner)
	return c.err
}

// ValidateActorResolve checks a request of actor.resolve.
func ValidateActorResolve(req *wire.ActorResolveRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.identifier("actorId", req.ActorID)
	return c.err
}

// ValidateActorList checks a request of actor.list.
func ValidateActorList(req *wire.ActorListRequest) error {
	var c checks
	f := filterOf(req.Filter)
	c.optionalIdentifier("filter.meshName", f.MeshName)
	c.optionalIdentifier("filter.actorType", f.ActorType)
	c.optionalRID("filter.nodeRid", f.NodeRID)
	c.optionalIdentifier("filter.spotId", f.SpotID)
	c.optionalSpotKind("filter.spotKind", f.SpotKind)
	c.page(&req.PageRequest)
	return c.err
}

// ValidateRouteUpdate checks a request of route.update. Besides *wire.InvalidError
// it returns *wire.TooLargeError for a value or an encoded row that is too large.
func ValidateRouteUpdate(req *wire.RouteUpdateRequest) error {
	var c checks
	c.within("route", checkRoute(&req.Route))
	c.intent(req.Intent)
	return c.err
}

// ValidateRouteRemove checks a request of route.remove.
func ValidateRouteRemove(req *wire.RouteRemoveRequest) error {
	var c checks
	c.routeKind("routeKind", req.RouteKind)
	c.identifier("routeKey", req.RouteKey)
	c.token("owner", req.Owner)
	return c.err
}

// ValidateRouteResolve checks a request of route.resolve.
func ValidateRouteResolve(req *wire.RouteResolveRequest) error {
	var c checks
	c.routeKind("routeKind", req.RouteKind)
	c.identifier("routeKey", req.RouteKey)
	return c.err
}

// ValidateRouteList checks a request of route.list.
func ValidateRouteList(req *wire.RouteListRequest) error {
	var c checks
	f := filterOf(req.Filter)
	if f.RouteKind != "" {
		c.routeKind("filter.routeKind", f.RouteKind)
	}
	c.optionalRID("filter.ownerNodeRid", f.OwnerNodeRID)
	c.optionalIdentifier("filter.ownerId", f.OwnerID)
	c.page(&req.PageRequest)
	return c.err
}
