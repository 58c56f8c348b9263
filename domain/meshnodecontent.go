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
		sameSet(a.SpotTypes, b.SpotTypes, cmp.Compare) &&
		sameSet(a.ObjectCapabilities, b.ObjectCapabilities, compareCapabilities)
}

func sameNames(a, b map[string]uint32) bool {
	return maps.EqualFunc(a, b, func(uint32, uint32) bool { return true })
}

func sameLimits(a, b wire.PopulationCapacity) bool {
	a, b = withoutUse(a), withoutUse(b)
	return a.Actors == b.Actors && a.Spots == b.Spots && sameSet(a.SpotTypes, b.SpotTypes, compareSpotTypes)
}

// sameSet compares lists whose order does not matter. Writers seldom change it,
// so the lists are compared as they are first.
func sameSet[T comparable](a, b []T, compare func(T, T) int) bool {
	return slices.Equal(a, b) || len(a) == len(b) &&
		slices.Equal(slices.SortedFunc(slices.Values(a), compare), slices.SortedFunc(slices.Values(b), compare))
}

// Capabilities and spot types have their kind and stable type once in a list.

func compareCapabilities(a, b wire.ObjectCapability) int {
	return cmp.Or(cmp.Compare(a.ObjectKind, b.ObjectKind), cmp.Compare(a.StableType, b.StableType))
}

func compareSpotTypes(a, b wire.SpotTypeUsage) int {
	return cmp.Or(cmp.Compare(a.ObjectKind, b.ObjectKind), cmp.Compare(a.StableType, b.StableType))
}
