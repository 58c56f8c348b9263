package domain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zlink/zlink-nats/wire"
)

// withoutUse returns a copy without usage counters: they follow from other rows,
// are ignored in what callers send, and are never stored.
func withoutUse(p wire.PopulationCapacity) wire.PopulationCapacity {
	p.Actors.Active, p.Actors.Reserved = 0, 0
	p.Spots.Active, p.Spots.Reserved = 0, 0
	p.SpotTypes = slices.Clone(p.SpotTypes)
	for i := range p.SpotTypes {
		p.SpotTypes[i].Active, p.SpotTypes[i].Reserved = 0, 0
	}
	return p
}

// sameMeshNode compares contents: everything that callers send. Usage counters,
// the generation and updatedAt are none of it.
func sameMeshNode(a, b *wire.MeshNodeDescriptor) bool {
	return renewableMeshNode(a, b) &&
		a.DescriptorRevision == b.DescriptorRevision &&
		a.PlacementWeight == b.PlacementWeight &&
		a.ActivationConcurrency.Active == b.ActivationConcurrency.Active &&
		maps.Equal(a.ChannelWeights, b.ChannelWeights) &&
		a.MaintenanceWave == b.MaintenanceWave &&
		a.State == b.State
}

// renewableMeshNode compares what a renewal must not change. Cheap comparisons
// come first.
func renewableMeshNode(a, b *wire.MeshNodeDescriptor) bool {
	return a.OwnerToken == b.OwnerToken &&
		a.LifecycleGeneration == b.LifecycleGeneration &&
		a.MeshName == b.MeshName && a.RID == b.RID &&
		a.Endpoint == b.Endpoint &&
		a.ObjectRole == b.ObjectRole &&
		a.EntrySpotID == b.EntrySpotID &&
		a.ApplicationVersion == b.ApplicationVersion &&
		a.SecurityIdentity == b.SecurityIdentity &&
		a.ActivationConcurrency.Limit == b.ActivationConcurrency.Limit &&
		sameLimits(a.PopulationCapacity, b.PopulationCapacity) &&
		sameNames(a.ChannelWeights, b.ChannelWeights) &&
		sameSet(a.SpotTypes, b.SpotTypes, equal, cmp.Compare) &&
		sameCapabilities(a.ObjectCapabilities, b.ObjectCapabilities)
}

func sameNames(a, b map[string]uint32) bool {
	return maps.EqualFunc(a, b, func(uint32, uint32) bool { return true })
}

func sameLimits(a, b wire.PopulationCapacity) bool {
	return a.Actors.Limit == b.Actors.Limit && a.Spots.Limit == b.Spots.Limit &&
		sameSet(a.SpotTypes, b.SpotTypes, sameLimit, func(a, b wire.SpotTypeUsage) int {
			return cmp.Or(cmp.Compare(a.ObjectKind, b.ObjectKind), cmp.Compare(a.StableType, b.StableType))
		})
}

func sameLimit(a, b wire.SpotTypeUsage) bool {
	return a.ObjectKind == b.ObjectKind && a.StableType == b.StableType && a.Limit == b.Limit
}

func sameCapabilities(a, b []wire.ObjectCapability) bool {
	return sameSet(a, b, equal, func(a, b wire.ObjectCapability) int {
		return cmp.Or(cmp.Compare(a.ObjectKind, b.ObjectKind), cmp.Compare(a.StableType, b.StableType))
	})
}

func equal[T comparable](a, b T) bool { return a == b }

// sameSet compares lists whose order does not matter; elements that are the same
// must have one place in the given order, as each type of a kind is there once.
// Writers seldom reorder a list, so it is first compared as it is.
func sameSet[T any](a, b []T, same func(a, b T) bool, order func(a, b T) int) bool {
	if len(a) != len(b) || slices.EqualFunc(a, b, same) {
		return len(a) == len(b)
	}
	return slices.EqualFunc(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order), same)
}
