package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// TestContentAndImmutableFields goes through every field of a descriptor: which
// are content, and which of them a renewal may change. A field that is missing
// here fails TestEveryFieldIsCompared.
func TestContentAndImmutableFields(t *testing.T) {
	t.Parallel()
	type descriptor = wire.MeshNodeDescriptor
	const (
		derived   = iota // no content
		mutable          // content that a renewal may change
		immutable        // content that it may not
	)
	for name, tt := range map[string]struct {
		rule   int
		change func(*descriptor)
	}{
		"meshName":                     {immutable, func(d *descriptor) { d.MeshName = "lab" }},
		"rid":                          {immutable, func(d *descriptor) { d.RID = "n2" }},
		"lifecycleGeneration":          {immutable, func(d *descriptor) { d.LifecycleGeneration++ }},
		"descriptorRevision":           {mutable, func(d *descriptor) { d.DescriptorRevision++ }},
		"endpoint":                     {immutable, func(d *descriptor) { d.Endpoint = "x" }},
		"objectRole":                   {immutable, func(d *descriptor) { d.ObjectRole = wire.RoleClient }},
		"entrySpotId":                  {immutable, func(d *descriptor) { d.EntrySpotID = "e" }},
		"placementWeight":              {mutable, func(d *descriptor) { d.PlacementWeight++ }},
		"actors.limit":                 {immutable, func(d *descriptor) { d.PopulationCapacity.Actors.Limit++ }},
		"actors.active":                {derived, func(d *descriptor) { d.PopulationCapacity.Actors.Active++ }},
		"actors.reserved":              {derived, func(d *descriptor) { d.PopulationCapacity.Actors.Reserved++ }},
		"spots.limit":                  {immutable, func(d *descriptor) { d.PopulationCapacity.Spots.Limit++ }},
		"spots.active":                 {derived, func(d *descriptor) { d.PopulationCapacity.Spots.Active++ }},
		"spots.reserved":               {derived, func(d *descriptor) { d.PopulationCapacity.Spots.Reserved++ }},
		"spot type's objectKind":       {immutable, func(d *descriptor) { d.PopulationCapacity.SpotTypes[0].ObjectKind = wire.SpotInstance }},
		"spot type's stableType":       {immutable, func(d *descriptor) { d.PopulationCapacity.SpotTypes[0].StableType = "x" }},
		"spot type's limit":            {immutable, func(d *descriptor) { d.PopulationCapacity.SpotTypes[0].Limit++ }},
		"spot type's active":           {derived, func(d *descriptor) { d.PopulationCapacity.SpotTypes[0].Active++ }},
		"spot type's reserved":         {derived, func(d *descriptor) { d.PopulationCapacity.SpotTypes[0].Reserved++ }},
		"set of capacity spot types":   {immutable, func(d *descriptor) { d.PopulationCapacity.SpotTypes = d.PopulationCapacity.SpotTypes[1:] }},
		"order of capacity spot types": {derived, reordered},
		"concurrency's active":         {mutable, func(d *descriptor) { d.ActivationConcurrency.Active++ }},
		"concurrency's limit":          {immutable, func(d *descriptor) { d.ActivationConcurrency.Limit++ }},
		"value of a channel weight":    {mutable, func(d *descriptor) { d.ChannelWeights["north"]++ }},
		"one more channel":             {immutable, func(d *descriptor) { d.ChannelWeights["east"] = 1 }},
		"another channel":              {immutable, func(d *descriptor) { delete(d.ChannelWeights, "north"); d.ChannelWeights["east"] = 1 }},
		"applicationVersion":           {immutable, func(d *descriptor) { d.ApplicationVersion++ }},
		"spotTypes":                    {immutable, func(d *descriptor) { d.SpotTypes[0] = "x" }},
		"one spot type less":           {immutable, func(d *descriptor) { d.SpotTypes = d.SpotTypes[1:] }},
		"capability's objectKind":      {immutable, func(d *descriptor) { d.ObjectCapabilities[0].ObjectKind = wire.ObjectUserSpot }},
		"capability's stableType":      {immutable, func(d *descriptor) { d.ObjectCapabilities[0].StableType = "x" }},
		"capability's policy":          {immutable, func(d *descriptor) { d.ObjectCapabilities[0].Policy = wire.PolicyRecreate }},
		"capability's adapter":         {immutable, func(d *descriptor) { d.ObjectCapabilities[0].HasSnapshotAdapter = false }},
		"capability's limit":           {immutable, func(d *descriptor) { d.ObjectCapabilities[0].Limit++ }},
		"one capability less":          {immutable, func(d *descriptor) { d.ObjectCapabilities = d.ObjectCapabilities[1:] }},
		"maintenanceWave":              {mutable, func(d *descriptor) { d.MaintenanceWave = "w" }},
		"state":                        {mutable, func(d *descriptor) { d.State = wire.StateDraining }},
		"securityIdentity":             {immutable, func(d *descriptor) { d.SecurityIdentity = "x" }},
		"ownerId":                      {immutable, func(d *descriptor) { d.OwnerID = "owner-b" }},
		"leaseGeneration":              {immutable, func(d *descriptor) { d.LeaseGeneration++ }},
		"generation":                   {derived, func(d *descriptor) { d.Generation++ }},
		"updatedAt":                    {derived, func(d *descriptor) { d.UpdatedAt++ }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}
			a, b := node("n1", token, capabilities), node("n1", token, capabilities, tt.change)
			if got, want := domain.SameMeshNode(&a, &b), tt.rule == derived; got != want {
				t.Errorf("same content: %t, want %t", got, want)
			}
			if got, want := domain.RenewableMeshNode(&a, &b), tt.rule != immutable; got != want {
				t.Errorf("renewable: %t, want %t", got, want)
			}
		})
	}
}

// TestEveryFieldIsCompared changes each field of a descriptor, whatever fields
// there are: a new one must not be forgotten in the comparison.
func TestEveryFieldIsCompared(t *testing.T) {
	t.Parallel()
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}
	a := node("n1", token, capabilities)
	notContent := map[string]bool{"Generation": true, "UpdatedAt": true, "Active": true, "Reserved": true}
	forEachLeaf(node("n1", token, capabilities), func(path, name string, changed wire.MeshNodeDescriptor) {
		want := notContent[name] && path != "ActivationConcurrency.Active"
		if got := domain.SameMeshNode(&a, &changed); got != want {
			t.Errorf("changed %s: same content is %t, want %t", path, got, want)
		}
	})
}
