package domain_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

func checkNode(edits ...func(*wire.MeshNodeDescriptor)) error {
	return domain.ValidateMeshNodeUpdate(&wire.MeshNodeUpdateRequest{
		Descriptor: node("n1", wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}, edits...), Intent: wire.IntentRenew,
	})
}

func TestMeshNodeFields(t *testing.T) { // D-08
	t.Parallel()
	type descriptor = wire.MeshNodeDescriptor
	capability := func(c wire.ObjectCapability) func(*descriptor) {
		return func(d *descriptor) { d.ObjectCapabilities = append(d.ObjectCapabilities, c) }
	}
	long := strings.Repeat("x", 1025)
	for name, tt := range map[string]struct {
		edit  func(*descriptor)
		field string // within the descriptor; empty when it is allowed
	}{
		"as it is":                      {func(*descriptor) {}, ""},
		"empty mesh name":               {func(d *descriptor) { d.MeshName = "" }, "meshName"},
		"RID of any bytes":              {func(d *descriptor) { d.RID = "\x00\xff" }, ""},
		"empty RID":                     {func(d *descriptor) { d.RID = "" }, "rid"},
		"lifecycle 0":                   {func(d *descriptor) { d.LifecycleGeneration = 0 }, "lifecycleGeneration"},
		"lifecycle above 63 bits":       {func(d *descriptor) { d.LifecycleGeneration = math.MaxInt64 + 1 }, "lifecycleGeneration"},
		"revision 0":                    {func(d *descriptor) { d.DescriptorRevision = 0 }, "descriptorRevision"},
		"greatest revision":             {func(d *descriptor) { d.DescriptorRevision = math.MaxInt64 }, ""},
		"empty endpoint":                {func(d *descriptor) { d.Endpoint = "" }, "endpoint"},
		"longest endpoint":              {func(d *descriptor) { d.Endpoint = long[1:] }, ""},
		"endpoint too long":             {func(d *descriptor) { d.Endpoint = long }, "endpoint"},
		"NUL in an endpoint":            {func(d *descriptor) { d.Endpoint = "tcp://\x00" }, "endpoint"},
		"no role":                       {func(d *descriptor) { d.ObjectRole = "" }, "objectRole"},
		"entry spot of a server":        {func(d *descriptor) { d.EntrySpotID = "e" }, ""},
		"entry spot of a client":        {func(d *descriptor) { d.EntrySpotID, d.ObjectRole = "e", wire.RoleClient }, "entrySpotId"},
		"entry spot with NUL":           {func(d *descriptor) { d.EntrySpotID = "e\x00" }, "entrySpotId"},
		"greatest weight":               {func(d *descriptor) { d.PlacementWeight = 10_000 }, ""},
		"weight too great":              {func(d *descriptor) { d.PlacementWeight = 10_001 }, "placementWeight"},
		"greatest limits":               {func(d *descriptor) { d.PopulationCapacity.Actors.Limit = math.MaxInt32 }, ""},
		"actor limit too great":         {func(d *descriptor) { d.PopulationCapacity.Actors.Limit = 1 << 31 }, "populationCapacity.actors.limit"},
		"spot limit too great":          {func(d *descriptor) { d.PopulationCapacity.Spots.Limit = 1 << 31 }, "populationCapacity.spots.limit"},
		"counters are ignored":          {func(d *descriptor) { d.PopulationCapacity.Actors.Active = math.MaxUint32 }, ""},
		"spot type limit too great":     {func(d *descriptor) { d.PopulationCapacity.SpotTypes[1].Limit = 1 << 31 }, "populationCapacity.spotTypes[1].limit"},
		"spot type without name":        {func(d *descriptor) { d.PopulationCapacity.SpotTypes[1].StableType = "" }, "populationCapacity.spotTypes[1].stableType"},
		"spot type of no kind":          {func(d *descriptor) { d.PopulationCapacity.SpotTypes[0].ObjectKind = "actor" }, "populationCapacity.spotTypes[0].objectKind"},
		"same name of another kind":     {func(d *descriptor) { d.PopulationCapacity.SpotTypes[1].StableType = "room" }, ""},
		"spot type twice":               {func(d *descriptor) { d.PopulationCapacity.SpotTypes[1] = d.PopulationCapacity.SpotTypes[0] }, "populationCapacity.spotTypes[1].stableType"},
		"1025 capacity types":           {func(d *descriptor) { d.PopulationCapacity.SpotTypes = capacityTypes(1025) }, "populationCapacity.spotTypes"},
		"1024 capacity types":           {func(d *descriptor) { d.PopulationCapacity.SpotTypes = capacityTypes(1024) }, ""},
		"concurrency limit 0":           {func(d *descriptor) { d.ActivationConcurrency.Limit = 0 }, "activationConcurrency.limit"},
		"concurrency limit too great":   {func(d *descriptor) { d.ActivationConcurrency.Limit = 1 << 31 }, "activationConcurrency.limit"},
		"concurrency at its limit":      {func(d *descriptor) { d.ActivationConcurrency.Active = 8 }, ""},
		"concurrency above its limit":   {func(d *descriptor) { d.ActivationConcurrency.Active = 9 }, "activationConcurrency.active"},
		"channel weight too great":      {func(d *descriptor) { d.ChannelWeights["east"] = 10_001 }, "channelWeights.east"},
		"channel without name":          {func(d *descriptor) { d.ChannelWeights[""] = 1 }, `channelWeights[""]`},
		"channel with NUL":              {func(d *descriptor) { d.ChannelWeights["a\x00"] = 1 }, `channelWeights["a\x00"]`},
		"no channels":                   {func(d *descriptor) { d.ChannelWeights = nil }, ""},
		"application version 0":         {func(d *descriptor) { d.ApplicationVersion = 0 }, ""},
		"application version too great": {func(d *descriptor) { d.ApplicationVersion = math.MaxInt64 + 1 }, "applicationVersion"},
		"spot type name too long":       {func(d *descriptor) { d.SpotTypes[1] = long }, "spotTypes[1]"},
		"same spot type twice":          {func(d *descriptor) { d.SpotTypes[1] = d.SpotTypes[0] }, "spotTypes[1]"},
		"capability of a client":        {func(d *descriptor) { capabilities(d); d.ObjectRole = wire.RoleClient }, "objectCapabilities"},
		"capability of nobody":          {func(d *descriptor) { capabilities(d); d.ObjectRole = wire.RoleNone }, "objectCapabilities"},
		"capabilities":                  {capabilities, ""},
		"capability twice":              {func(d *descriptor) { capabilities(d); d.ObjectCapabilities[1] = d.ObjectCapabilities[0] }, "objectCapabilities[1].stableType"},
		"same type, another kind":       {func(d *descriptor) { capabilities(d); d.ObjectCapabilities[1].StableType = "hero" }, ""},
		"capability of no kind":         {capability(wire.ObjectCapability{StableType: "x", Policy: wire.PolicyDisabled}), "objectCapabilities[0].objectKind"},
		"capability without type":       {capability(wire.ObjectCapability{ObjectKind: wire.ObjectActor, Policy: wire.PolicyDisabled}), "objectCapabilities[0].stableType"},
		"capability without policy":     {capability(wire.ObjectCapability{ObjectKind: wire.ObjectActor, StableType: "x"}), "objectCapabilities[0].policy"},
		"snapshot without adapter": {
			capability(wire.ObjectCapability{ObjectKind: wire.ObjectActor, StableType: "x", Policy: wire.PolicySnapshot}),
			"objectCapabilities[0].hasSnapshotAdapter",
		},
		"adapter without snapshot": {
			capability(wire.ObjectCapability{ObjectKind: wire.ObjectActor, StableType: "x", Policy: wire.PolicyRecreate, HasSnapshotAdapter: true}),
			"objectCapabilities[0].hasSnapshotAdapter",
		},
		"actor with a limit": {
			capability(wire.ObjectCapability{ObjectKind: wire.ObjectActor, StableType: "x", Policy: wire.PolicyRecreate, Limit: 1}),
			"objectCapabilities[0].limit",
		},
		"capability limit too great": {
			capability(wire.ObjectCapability{ObjectKind: wire.ObjectUserSpot, StableType: "x", Policy: wire.PolicyRecreate, Limit: 1 << 31}),
			"objectCapabilities[0].limit",
		},
		"1025 capabilities":           {func(d *descriptor) { d.ObjectCapabilities = actorTypes(1025) }, "objectCapabilities"},
		"1024 capabilities":           {func(d *descriptor) { d.ObjectCapabilities = actorTypes(1024) }, ""},
		"maintenance wave":            {func(d *descriptor) { d.MaintenanceWave = "w1" }, ""},
		"maintenance wave too long":   {func(d *descriptor) { d.MaintenanceWave = long }, "maintenanceWave"},
		"no state":                    {func(d *descriptor) { d.State = "" }, "state"},
		"empty security identity":     {func(d *descriptor) { d.SecurityIdentity = "" }, "securityIdentity"},
		"longest security identity":   {func(d *descriptor) { d.SecurityIdentity = long[1:] }, ""},
		"empty owner":                 {func(d *descriptor) { d.OwnerID = "" }, "ownerId"},
		"lease generation 0":          {func(d *descriptor) { d.LeaseGeneration = 0 }, "leaseGeneration"},
		"stamped fields are not read": {func(d *descriptor) { d.Generation, d.UpdatedAt = math.MaxUint64, -1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			field := tt.field
			if field != "" {
				field = "descriptor." + field
			}
			wantInvalid(t, checkNode(tt.edit), field)
		})
	}
}

func TestMeshNodeIntent(t *testing.T) {
	t.Parallel()
	req := &wire.MeshNodeUpdateRequest{Descriptor: node("n1", wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1})}
	wantInvalid(t, domain.ValidateMeshNodeUpdate(req), "intent")
}

func capacityTypes(n int) (types []wire.SpotTypeUsage) {
	for i := range n {
		types = append(types, wire.SpotTypeUsage{ObjectKind: wire.SpotUser, StableType: fmt.Sprint(i)})
	}
	return types
}

func actorTypes(n int) (types []wire.ObjectCapability) {
	for i := range n {
		types = append(types, wire.ObjectCapability{ObjectKind: wire.ObjectActor, StableType: fmt.Sprint(i), Policy: wire.PolicyRecreate})
	}
	return types
}

func TestEncodedDescriptorIsAtMostOneMiB(t *testing.T) {
	t.Parallel()
	// spotTypes grows the record by exactly its bytes.
	grown := func(names int, rest string) func(*wire.MeshNodeDescriptor) {
		return func(d *wire.MeshNodeDescriptor) {
			d.SpotTypes = []string{rest}
			for i := range names {
				d.SpotTypes = append(d.SpotTypes, fmt.Sprintf("%0255d", i))
			}
		}
	}
	encoded := func(edit func(*wire.MeshNodeDescriptor)) int {
		d := node("n1", wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}, edit)
		d.Generation, d.UpdatedAt = math.MaxInt64, math.MaxInt64
		b, err := domain.EncodeRecord(&d)
		if err != nil {
			t.Fatal(err)
		}
		return len(b)
	}
	const names, limit = 4077, 1 << 20
	fill := limit - encoded(grown(names, "")) - 1 // its length takes a second byte
	rest := strings.Repeat("x", fill)
	if n := encoded(grown(names, rest)); fill < 24 || fill > 254 || n != limit {
		t.Fatalf("%d bytes with %d, want %d: change names", n, fill, limit)
	}
	wantInvalid(t, checkNode(grown(names, rest)), "")
	wantTooLarge(t, checkNode(grown(names, rest+"x")), "descriptor", limit, limit+1)
}

// TestBadChannelWeightIsNamedAlike: the names are in a map, which has no order.
func TestBadChannelWeightIsNamedAlike(t *testing.T) {
	t.Parallel()
	for range 50 {
		wantInvalid(t, checkNode(func(d *wire.MeshNodeDescriptor) {
			d.ChannelWeights = map[string]uint32{"d": 10_001, "a": 1, "c": 10_002, "b": 10_001}
		}), "descriptor.channelWeights.b")
	}
}
