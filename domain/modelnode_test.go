package domain_test

import (
	"reflect"
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func descriptorKey(d *wire.MeshNodeDescriptor) wire.DescriptorKey {
	return wire.DescriptorKey{MeshName: d.MeshName, RID: d.RID}
}

// updateNode is 3.2.
func (m *model) updateNode(req *wire.MeshNodeUpdateRequest) (*wire.UpdateReply, error) {
	sent := req.Descriptor
	row, exists := m.nodes[descriptorKey(&sent)]
	refuse := func(s wire.UpdateStatus) (*wire.UpdateReply, error) {
		return &wire.UpdateReply{Status: s, UpdatedAt: m.now}, nil
	}
	renew := req.Intent == wire.IntentRenew
	switch {
	case !m.live(sent.OwnerToken): // row 1
		return refuse(wire.StatusRejectedConflict)
	case exists && sameContent(row.MeshNodeDescriptor, sent): // row 2
		return &wire.UpdateReply{Status: wire.StatusStored, Generation: row.Generation, UpdatedAt: row.UpdatedAt}, nil
	case renew && !exists: // row 3
		return refuse(wire.StatusRejectedConflict)
	case renew && sent.DescriptorRevision > row.DescriptorRevision && sameImmutable(row.MeshNodeDescriptor, sent): // row 4
		return m.storeNode(sent, row.Generation)
	case renew: // row 5
		return refuse(wire.StatusIgnoredStale)
	case req.Intent == wire.IntentNewClaim && exists && m.live(row.OwnerToken): // row 6
		return refuse(wire.StatusIgnoredStale)
	case sent.EntrySpotID != "" && !m.entrySpotFree(&sent): // row 7
		return refuse(wire.StatusRejectedConflict)
	}
	return m.storeNode(sent, 0) // row 8
}

func (m *model) storeNode(sent wire.MeshNodeDescriptor, kept wire.Generation) (*wire.UpdateReply, error) {
	rev, ok := m.take(1)
	if !ok {
		return nil, kvstore.ErrExhausted
	}
	if kept == 0 {
		kept = wire.Generation(rev)
	}
	sent.Generation, sent.UpdatedAt = kept, m.now
	m.nodes[descriptorKey(&sent)] = modelNode{sent, modelVersion(rev)}
	return &wire.UpdateReply{Status: wire.StatusStored, Generation: kept, UpdatedAt: m.now}, nil
}

// sameContent and sameImmutable compare descriptors by 3.1. The lists of the machine
// are always in one order, and the channel names are always the same.
func sameContent(a, b wire.MeshNodeDescriptor) bool {
	b.Generation, b.UpdatedAt = a.Generation, a.UpdatedAt
	return reflect.DeepEqual(a, b)
}

func sameImmutable(a, b wire.MeshNodeDescriptor) bool {
	b.DescriptorRevision, b.PlacementWeight, b.ChannelWeights = a.DescriptorRevision, a.PlacementWeight, a.ChannelWeights
	b.ActivationConcurrency.Active, b.MaintenanceWave, b.State = a.ActivationConcurrency.Active, a.MaintenanceWave, a.State
	return sameContent(a, b)
}

// entrySpotFree is 3.3.
func (m *model) entrySpotFree(d *wire.MeshNodeDescriptor) bool {
	if _, ok := m.objects[modelText(wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: d.EntrySpotID})]; ok {
		return false
	}
	for k, other := range m.nodes {
		if k != descriptorKey(d) && other.EntrySpotID == d.EntrySpotID && m.live(other.OwnerToken) {
			return false
		}
	}
	return true
}

// removeNode is 3.4.
func (m *model) removeNode(req *wire.MeshNodeRemoveRequest) (*wire.RemoveReply, error) {
	k := wire.DescriptorKey{MeshName: req.MeshName, RID: req.RID}
	if row, ok := m.nodes[k]; !ok || row.OwnerToken != req.Owner {
		return &wire.RemoveReply{Status: wire.StatusIgnoredStale}, nil
	}
	if _, ok := m.take(1); !ok {
		return nil, kvstore.ErrExhausted
	}
	delete(m.nodes, k)
	return &wire.RemoveReply{Status: wire.StatusStored}, nil
}

// listNodes is 3.4, in order of routing ids.
func (m *model) listNodes(mesh string) (items []wire.MeshNodeItem) {
	for k, d := range m.nodes {
		if k.MeshName != mesh {
			continue
		}
		item := wire.MeshNodeItem{
			MeshNodeDescriptor: d.MeshNodeDescriptor,
			RowState:           wire.RowState{Live: m.live(d.OwnerToken), Version: d.version},
		}
		p := &item.PopulationCapacity
		p.SpotTypes = slices.Clone(p.SpotTypes)
		active, reserved := m.usage(k, wire.AllocationActive, nil), m.usage(k, wire.AllocationReserved, nil)
		p.Actors.Active, p.Actors.Reserved = active.Actors, reserved.Actors
		p.Spots.Active, p.Spots.Reserved = active.Spots, reserved.Spots
		for i, t := range p.SpotTypes {
			p.SpotTypes[i].Active = active.types[spotName(t.ObjectKind, t.StableType)]
			p.SpotTypes[i].Reserved = reserved.types[spotName(t.ObjectKind, t.StableType)]
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b wire.MeshNodeItem) int { return strings.Compare(string(a.RID), string(b.RID)) })
	return items
}

// modelUsage is a sum of capacity vectors.
type modelUsage struct {
	wire.Capacity
	types map[string]uint32 // by spotName
}

func spotName(kind wire.SpotObjectKind, stableType string) string {
	return string(kind) + " " + stableType
}

func (u *modelUsage) add(c wire.Capacity) {
	u.Actors += c.Actors
	u.Spots += c.Spots
	if c.SpotType != nil {
		u.types[spotName(c.SpotType.ObjectKind, c.SpotType.StableType)] += c.SpotType.Count
	}
}

// usage is 1.10: what the authorities of a state take at a node, without some of them, and
// the aggregates that are prepared for it.
func (m *model) usage(node wire.DescriptorKey, state wire.AllocationState, without []string) modelUsage {
	u := modelUsage{types: make(map[string]uint32)}
	for text, o := range m.objects {
		if o.Allocation.Descriptor == node && o.Allocation.State == state && !slices.Contains(without, text) {
			u.add(o.Allocation.Capacity)
		}
	}
	if state == wire.AllocationReserved {
		m.addHeadroom(&u, node)
	}
	return u
}

// room is 1.10, after some authorities are gone.
func (m *model) room(d *wire.MeshNodeDescriptor, c wire.Capacity, gone []string) bool {
	used := m.usage(descriptorKey(d), wire.AllocationActive, gone)
	reserved := m.usage(descriptorKey(d), wire.AllocationReserved, gone)
	fits := func(limit, active, reserved, requested uint32) bool {
		return requested == 0 || limit == 0 || active+reserved+requested <= limit
	}
	p := &d.PopulationCapacity
	if !fits(p.Actors.Limit, used.Actors, reserved.Actors, c.Actors) || !fits(p.Spots.Limit, used.Spots, reserved.Spots, c.Spots) {
		return false
	}
	if c.SpotType == nil {
		return true
	}
	name := spotName(c.SpotType.ObjectKind, c.SpotType.StableType)
	for _, t := range p.SpotTypes {
		if spotName(t.ObjectKind, t.StableType) == name {
			return fits(t.Limit, used.types[name], reserved.types[name], c.SpotType.Count)
		}
	}
	return false
}

// candidates is 7.1: the nodes that stay, or why none does.
func (m *model) candidates(req *wire.PlacementSelectRequest, gone []string) (nodes []wire.Target, reason wire.Reason) {
	passes := []struct {
		reason wire.Reason
		test   func(*wire.MeshNodeDescriptor) bool
	}{
		{wire.ReasonNoNode, func(d *wire.MeshNodeDescriptor) bool {
			return d.MeshName == req.MeshName && d.ObjectRole == wire.RoleServer && d.State == wire.StateServing &&
				m.live(d.OwnerToken) && d.PlacementWeight > 0
		}},
		{wire.ReasonNoCapability, func(d *wire.MeshNodeDescriptor) bool {
			return len(d.ObjectCapabilities) == 0 || slices.ContainsFunc(d.ObjectCapabilities, func(c wire.ObjectCapability) bool {
				return c.ObjectKind == req.ObjectKind && c.StableType == req.StableType
			})
		}},
		{wire.ReasonExcluded, func(d *wire.MeshNodeDescriptor) bool {
			return !slices.Contains(req.Exclude, wire.Incarnation{RID: d.RID, LifecycleGeneration: d.LifecycleGeneration})
		}},
		{wire.ReasonCapacity, func(d *wire.MeshNodeDescriptor) bool { return m.room(d, req.Capacity, gone) }},
	}
	var left []wire.MeshNodeDescriptor
	for _, n := range m.nodes {
		left = append(left, n.MeshNodeDescriptor)
	}
	for _, p := range passes {
		left = slices.DeleteFunc(left, func(d wire.MeshNodeDescriptor) bool { return !p.test(&d) })
		if len(left) == 0 {
			return nil, p.reason
		}
	}
	for _, d := range left {
		nodes = append(nodes, wire.Target{
			MeshName: d.MeshName, NodeRID: d.RID, NodeLifecycleGeneration: d.LifecycleGeneration, Owner: d.OwnerToken,
		})
	}
	return nodes, ""
}
