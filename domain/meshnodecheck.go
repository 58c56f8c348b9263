package domain

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zlink/zlink-nats/wire"
)

// checkMeshNode checks a mesh-node descriptor. Usage counters and what the
// service stamps are ignored.
func checkMeshNode(d *wire.MeshNodeDescriptor) error {
	var c checks
	c.identifier("meshName", d.MeshName)
	c.rid("rid", d.RID)
	c.generation("lifecycleGeneration", uint64(d.LifecycleGeneration))
	c.generation("descriptorRevision", uint64(d.DescriptorRevision))
	c.endpoint("endpoint", d.Endpoint)
	c.that(d.ObjectRole.Valid(), "objectRole", string(d.ObjectRole), "none, client or server")
	c.optionalIdentifier("entrySpotId", d.EntrySpotID)
	c.that(d.EntrySpotID == "" || d.ObjectRole == wire.RoleServer, "entrySpotId", d.EntrySpotID, "none unless objectRole is server")
	c.uint("placementWeight", d.PlacementWeight, 0, maxWeight)
	c.within("populationCapacity", checkPopulation(&d.PopulationCapacity))
	c.uint("activationConcurrency.limit", d.ActivationConcurrency.Limit, 1, maxLimit)
	c.uint("activationConcurrency.active", d.ActivationConcurrency.Active, 0, d.ActivationConcurrency.Limit)
	c.channelWeights("channelWeights", d.ChannelWeights)
	c.that(d.ApplicationVersion <= maxGeneration, "applicationVersion",
		strconv.FormatUint(uint64(d.ApplicationVersion), 10), "0..9223372036854775807")
	c.spotTypes("spotTypes", d.SpotTypes)
	c.capabilities("objectCapabilities", d)
	c.optionalIdentifier("maintenanceWave", d.MaintenanceWave)
	c.nodeState("state", d.State)
	c.endpoint("securityIdentity", d.SecurityIdentity)
	c.within("", checkToken(d.OwnerToken))
	c.encodedSize(d)
	return c.err
}

func checkPopulation(p *wire.PopulationCapacity) error {
	var c checks
	c.uint("actors.limit", p.Actors.Limit, 0, maxLimit)
	c.uint("spots.limit", p.Spots.Limit, 0, maxLimit)
	c.elements("spotTypes", len(p.SpotTypes))
	seen := make(map[typeKey]bool, len(p.SpotTypes))
	for i := range p.SpotTypes {
		t := &p.SpotTypes[i]
		c.element("spotTypes", i, checkSpotType(t, seen))
	}
	return c.err
}

// typeKey tells types of objects apart.
type typeKey struct {
	kind wire.ObjectKind
	name string
}

func checkSpotType(t *wire.SpotTypeUsage, seen map[typeKey]bool) error {
	var c checks
	c.that(t.ObjectKind.Valid(), "objectKind", string(t.ObjectKind), "userSpot or instanceSpot")
	c.identifier("stableType", t.StableType)
	c.unique(seen, typeKey{wire.ObjectKind(t.ObjectKind), t.StableType})
	c.uint("limit", t.Limit, 0, maxLimit)
	return c.err
}

// unique refuses the second element of a list with the same key.
func (c *checks) unique(seen map[typeKey]bool, k typeKey) {
	c.that(!seen[k], "stableType", k.name, "each type of a kind once")
	seen[k] = true
}

// elements refuses lists that are too long.
func (c *checks) elements(field string, n int) {
	c.that(n <= maxElements, field, fmt.Sprintf("%d elements", n), "at most 1024 elements")
}

func (c *checks) capabilities(field string, d *wire.MeshNodeDescriptor) {
	n := len(d.ObjectCapabilities)
	c.that(n == 0 || d.ObjectRole == wire.RoleServer, field, fmt.Sprintf("%d elements", n), "none unless objectRole is server")
	c.elements(field, n)
	seen := make(map[typeKey]bool, n)
	for i := range d.ObjectCapabilities {
		c.element(field, i, checkCapability(&d.ObjectCapabilities[i], seen))
	}
}

func checkCapability(o *wire.ObjectCapability, seen map[typeKey]bool) error {
	var c checks
	c.that(o.ObjectKind.Valid(), "objectKind", string(o.ObjectKind), "actor, userSpot or instanceSpot")
	c.identifier("stableType", o.StableType)
	c.unique(seen, typeKey{o.ObjectKind, o.StableType})
	c.that(o.Policy.Valid(), "policy", string(o.Policy), "disabled, recreate or snapshot")
	c.that(o.HasSnapshotAdapter == (o.Policy == wire.PolicySnapshot), "hasSnapshotAdapter",
		strconv.FormatBool(o.HasSnapshotAdapter), "true exactly when policy is snapshot")
	if o.ObjectKind == wire.ObjectActor {
		c.that(o.Limit == 0, "limit", strconv.FormatUint(uint64(o.Limit), 10), "0 for actors")
	}
	c.uint("limit", o.Limit, 0, maxLimit)
	return c.err
}

func (c *checks) channelWeights(field string, weights map[string]uint32) {
	var least string
	var first error // of the least name, so that a request always gets the same answer
	for name, weight := range weights {
		if err := checkChannelWeight(name, weight); err != nil && (first == nil || name < least) {
			least, first = name, err
		}
	}
	c.named(field, least, first)
}

func checkChannelWeight(name string, weight uint32) error {
	var c checks
	c.identifier("", name)
	c.uint("", weight, 0, maxWeight)
	return c.err
}

func (c *checks) spotTypes(field string, types []string) {
	seen := make(map[string]bool, len(types))
	for i, t := range types {
		c.element(field, i, checkSpotTypeName(t, seen))
	}
}

func checkSpotTypeName(t string, seen map[string]bool) error {
	var c checks
	c.identifier("", t)
	c.that(!seen[t], "", t, "each spot type once")
	seen[t] = true
	return c.err
}

// encodedSize refuses descriptors that are too large when encoded. Measuring
// costs as much as storing them, so only those with long lists are measured.
func (c *checks) encodedSize(d *wire.MeshNodeDescriptor) {
	const element = maxIdentifierBytes + 128 // bounds what an element of any list takes
	n := len(d.SpotTypes) + len(d.ChannelWeights) + len(d.ObjectCapabilities) + len(d.PopulationCapacity.SpotTypes)
	if c.err != nil || n*element+8*maxEndpointBytes <= maxValueBytes {
		return
	}
	// as it would be stored, with the longest stamps there can be
	b, err := encodeRecord(stampedMeshNode(d, maxGeneration, math.MaxInt64))
	if err != nil {
		c.err = err
		return
	}
	c.size("", len(b), maxValueBytes)
}
