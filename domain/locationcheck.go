package domain

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zlink/zlink-nats/wire"
)

// What the rows of section 4 must be like. What the service stamps is ignored.

func checkPeer(p *wire.Peer) error {
	var c checks
	c.within("", checkPeerPlace(p.AutoConnectType, p.MeshName, p.Role))
	c.optionalRID("nodeRid", p.NodeRID)
	c.endpoint("endpoint", p.Endpoint)
	c.uint("weight", p.Weight, 0, maxWeight)
	c.metadata("metadata", p.Metadata)
	for i, name := range p.Capabilities {
		c.identifier(fmt.Sprintf("capabilities[%d]", i), name)
	}
	c.within("", checkToken(p.OwnerToken))
	bytes := 0
	for name, value := range p.Metadata {
		bytes += elementHeads + len(name) + len(value)
	}
	for _, name := range p.Capabilities {
		bytes += elementHeads + len(name)
	}
	c.record(bytes, stampedPeer(p, maxGeneration, math.MaxInt64))
	return c.err
}

// checkPeerPlace checks what every key of a peer begins with.
func checkPeerPlace(t wire.AutoConnectType, meshName string, role wire.PeerRole) error {
	var c checks
	c.that(t.Valid(), "autoConnectType", string(t), "routeMesh or fanout")
	c.identifier("meshName", meshName)
	c.that(role.Valid(), "role", string(role), "spot, router, dealer, pub or sub")
	return c.err
}

// metadata refuses names that are no identifiers; values are any text.
func (c *checks) metadata(field string, m map[string]string) {
	var least string
	var first error // of the least name, so that a request always gets the same answer
	for name := range m {
		var of checks
		of.identifier("", name)
		if of.err != nil && (first == nil || name < least) {
			least, first = name, of.err
		}
	}
	c.named(field, least, first)
}

func checkPeerKey(k *wire.PeerKey) error {
	var c checks
	c.within("", checkPeerPlace(k.AutoConnectType, k.MeshName, k.Role))
	c.that(k.NodeRID != "" || k.Endpoint != "", "nodeRid", "", "nodeRid or endpoint")
	c.optionalRID("nodeRid", k.NodeRID)
	c.optionalEndpoint("endpoint", k.Endpoint)
	return c.err
}

func checkSpot(s *wire.Spot) error {
	var c checks
	c.identifier("meshName", s.MeshName)
	c.identifier("spotId", s.SpotID)
	c.generation("spotGeneration", uint64(s.SpotGeneration))
	c.identifier("spotType", s.SpotType)
	c.rid("ownerNodeRid", s.OwnerNodeRID)
	c.generation("ownerNodeGeneration", uint64(s.OwnerNodeGeneration))
	c.spotKind("spotKind", s.SpotKind)
	c.within("", checkToken(s.OwnerToken))
	return c.err
}

func checkActor(a *wire.Actor) error {
	var c checks
	c.identifier("meshName", a.MeshName)
	c.identifier("actorId", a.ActorID)
	c.identifier("actorType", a.ActorType)
	c.within("actorRef", checkActorRef(&a.ActorRef))
	c.that(a.ActorRef.ActorID == a.ActorID, "actorRef.actorId", a.ActorRef.ActorID, "the actorId of the row")
	c.that(a.ActorRef.MeshName == a.MeshName, "actorRef.meshName", a.ActorRef.MeshName, "the meshName of the row")
	c.rid("ownerNodeRid", a.OwnerNodeRID)
	c.generation("ownerNodeGeneration", uint64(a.OwnerNodeGeneration))
	c.spotKind("spotKind", a.SpotKind)
	c.identifier("spotId", a.SpotID)
	c.generation("spotGeneration", uint64(a.SpotGeneration))
	c.that(a.MembershipEpoch <= maxGeneration, "membershipEpoch",
		strconv.FormatUint(uint64(a.MembershipEpoch), 10), "0..9223372036854775807")
	c.within("", checkToken(a.OwnerToken))
	return c.err
}

func checkActorRef(r *wire.ActorRef) error {
	var c checks
	c.identifier("actorId", r.ActorID)
	c.generation("objectGeneration", uint64(r.ObjectGeneration))
	c.identifier("meshName", r.MeshName)
	c.rid("nodeRid", r.NodeRID)
	return c.err
}

func checkRoute(r *wire.Route) error {
	var c checks
	c.routeKind("routeKind", r.RouteKind)
	c.identifier("routeKey", r.RouteKey)
	c.rid("ownerNodeRid", r.OwnerNodeRID)
	c.within("", checkToken(r.OwnerToken))
	c.size("value", len(r.Value), maxValueBytes)
	c.record(len(r.Value), stampedRoute(r, maxGeneration, math.MaxInt64))
	return c.err
}

const (
	// elementHeads bounds what a name and a value take besides their bytes.
	elementHeads = 10
	// fixedBytes bounds what a row takes besides its value, metadata and capabilities.
	fixedBytes = 4096
)

// record refuses rows that are too large when encoded, with the longest stamps there
// can be. Measuring costs as much as storing, so only those are measured that have
// many bytes in what is not bounded otherwise.
func (c *checks) record(bytes int, row any) {
	if c.err != nil || bytes+fixedBytes <= maxValueBytes {
		return
	}
	b, err := encodeRecord(row)
	if err != nil {
		c.err = err
		return
	}
	c.size("", len(b), maxValueBytes)
}

func (c *checks) optionalRID(field string, r wire.RID) {
	if r != "" {
		c.rid(field, r)
	}
}

func (c *checks) optionalEndpoint(field, s string) {
	if s != "" {
		c.endpoint(field, s)
	}
}

func (c *checks) spotKind(field string, k wire.SpotKind) {
	c.that(k.Valid(), field, string(k), "entry, user or instance")
}

func (c *checks) optionalSpotKind(field string, k wire.SpotKind) {
	if k != "" {
		c.spotKind(field, k)
	}
}

func (c *checks) routeKind(field string, k wire.RouteKind) {
	c.that(k.Valid(), field, string(k), "actorSession, spotName or frameworkRoute")
}
