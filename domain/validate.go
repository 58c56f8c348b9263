package domain

import "github.com/zlink/zlink-nats/wire"

// ValidateLeaseClaim checks a request of lease.claim.
func ValidateLeaseClaim(req *wire.LeaseClaimRequest) error {
	var c checks
	c.identifier("ownerId", req.OwnerID)
	c.duration("leaseTtlMs", req.TTL)
	c.that(len(req.ClaimID) <= maxClaimIDBytes, "claimId", req.ClaimID, "1..64 bytes")
	return c.err
}

// ValidateLeaseRead checks a request of lease.read.
func ValidateLeaseRead(req *wire.LeaseReadRequest) error {
	var c checks
	c.identifier("ownerId", req.OwnerID)
	return c.err
}

// ValidateLeaseRenew checks a request of lease.renew.
func ValidateLeaseRenew(req *wire.LeaseRenewRequest) error {
	var c checks
	c.token("token", req.Token)
	c.duration("leaseTtlMs", req.TTL)
	return c.err
}

// ValidateLeaseRelease checks a request of lease.release.
func ValidateLeaseRelease(req *wire.LeaseReleaseRequest) error {
	var c checks
	c.token("token", req.Token)
	return c.err
}

// ValidateMeshNodeUpdate checks a request of mesh-node.update. Besides
// *wire.InvalidError it returns *wire.TooLargeError for a descriptor that is too
// large when encoded.
func ValidateMeshNodeUpdate(req *wire.MeshNodeUpdateRequest) error {
	var c checks
	c.within("descriptor", checkMeshNode(&req.Descriptor))
	c.intent(req.Intent)
	return c.err
}

// ValidateMeshNodeRemove checks a request of mesh-node.remove.
func ValidateMeshNodeRemove(req *wire.MeshNodeRemoveRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.rid("rid", req.RID)
	c.token("owner", req.Owner)
	return c.err
}

// ValidateMeshNodeList checks a request of mesh-node.list.
func ValidateMeshNodeList(req *wire.MeshNodeListRequest) error {
	var c checks
	c.identifier("meshName", req.MeshName)
	c.page(&req.PageRequest)
	return c.err
}

// ValidateOwnerRemoveAll checks a request of owner.remove-all.
func ValidateOwnerRemoveAll(req *wire.OwnerRemoveAllRequest) error {
	var c checks
	c.token("owner", req.Owner)
	return c.err
}

// ValidateChangeStampGet checks a request of change-stamp.get: a name is allowed
// only for the kinds that have such a scope.
func ValidateChangeStampGet(req *wire.ChangeStampGetRequest) error {
	var c checks
	name, ok := stampNames[req.Kind]
	c.that(ok, "kind", string(req.Kind), "a kind of row that has change stamps")
	c.that(req.MeshName == "" || name == byMesh, "meshName", req.MeshName, "none for the kind "+string(req.Kind))
	c.that(req.ChannelName == "" || name == byChannel, "channelName", req.ChannelName, "none for the kind "+string(req.Kind))
	c.optionalIdentifier("meshName", req.MeshName)
	c.optionalIdentifier("channelName", req.ChannelName)
	return c.err
}

// ValidateTopologyList checks a request of topology.list.
func ValidateTopologyList(req *wire.TopologyListRequest) error {
	var c checks
	c.optionalIdentifier("meshName", req.MeshName)
	if req.NodeRID != "" {
		c.rid("nodeRid", req.NodeRID)
	}
	c.that(req.State == "" || req.State.Valid(), "state", string(req.State), "ready or lost")
	c.page(&req.PageRequest)
	return c.err
}

// ValidateTopologySummary checks a request of topology.summary.
func ValidateTopologySummary(req *wire.TopologySummaryRequest) error {
	var c checks
	c.optionalIdentifier("meshName", req.MeshName)
	c.page(&req.PageRequest)
	return c.err
}
