package domain

import (
	"math/rand/v2"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Seed makes a choice repeatable: the same seed in the same state chooses the same
// node. Every request has a random one of its own.
type Seed [2]uint64

// placement is what is to be placed.
type placement struct {
	meshName   string
	kind       wire.ObjectKind
	stableType string
	capacity   wire.Capacity
	exclude    map[wire.Incarnation]bool
	returned   map[wire.DescriptorKey]vector // what the commit gives back
}

// filter numbers the filters in their order: a node fails the first that it does not
// pass.
type filter uint8

const (
	failsNode filter = iota
	failsCapability
	failsExclude
	failsRoom
	passes
)

var filterReasons = [...]wire.Reason{
	failsNode: wire.ReasonNoNode, failsCapability: wire.ReasonNoCapability,
	failsExclude: wire.ReasonExcluded, failsRoom: wire.ReasonCapacity,
}

// choose draws a node for a placement among those that qualify, each with a
// probability in proportion to its weight; else it tells why there is none.
//
// Nodes are drawn before they are looked at closely, and drawn again without the
// ones that turned out not to qualify. That gives each qualifying node the same
// probability as a draw among these alone, and in a large mesh costs a fraction.
//
// Reads: the descriptors of the mesh, the leases of their owners, their usage.
func (p *placement) choose(v kvstore.View, seed Seed) (*wire.MeshNodeDescriptor, wire.Reason, error) {
	nodes, err := weighedNodes(v, p.meshName)
	if err != nil {
		return nil, "", err
	}
	rnd := rand.New(rand.NewPCG(seed[0], seed[1]))
	furthest := failsNode
	for total := totalWeight(nodes); total > 0; {
		i := drawn(nodes, rnd.Uint64N(total))
		d := nodes[i]
		passed, err := p.test(v, d)
		if err != nil {
			return nil, "", err
		}
		if passed == passes {
			return d, "", nil
		}
		furthest = max(furthest, passed)
		total -= uint64(d.PlacementWeight)
		nodes[i] = nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
	}
	return nil, filterReasons[furthest], nil
}

// weighedNodes lists the serving nodes of a mesh that have a weight.
func weighedNodes(v kvstore.View, meshName string) ([]*wire.MeshNodeDescriptor, error) {
	var nodes []*wire.MeshNodeDescriptor
	for r := range meshNodeRows(v, meshName, "") {
		d, err := decodeMeshNode(r)
		if err != nil {
			return nil, err
		}
		if d.ObjectRole == wire.RoleServer && d.State == wire.StateServing && d.PlacementWeight > 0 {
			nodes = append(nodes, d)
		}
	}
	return nodes, nil
}

func totalWeight(nodes []*wire.MeshNodeDescriptor) (total uint64) {
	for _, d := range nodes {
		total += uint64(d.PlacementWeight)
	}
	return total
}

// drawn is the index of the node into whose share of the weights a number falls.
func drawn(nodes []*wire.MeshNodeDescriptor, n uint64) int {
	i := 0
	for ; n >= uint64(nodes[i].PlacementWeight); i++ {
		n -= uint64(nodes[i].PlacementWeight)
	}
	return i
}

// test tells which filter a serving node with a weight fails.
func (p *placement) test(v kvstore.View, d *wire.MeshNodeDescriptor) (filter, error) {
	live, err := isLive(v, d.OwnerToken)
	switch {
	case err != nil:
		return 0, err
	case !live:
		return failsNode, nil
	case !canHost(d, p.kind, p.stableType):
		return failsCapability, nil
	case p.exclude[wire.Incarnation{RID: d.RID, LifecycleGeneration: d.LifecycleGeneration}]:
		return failsExclude, nil
	}
	room, err := hasRoom(v, d, p.capacity, p.returned[wire.DescriptorKey{MeshName: d.MeshName, RID: d.RID}])
	if err != nil || !room {
		return failsRoom, err
	}
	return passes, nil
}

// canHost tells whether a node can have objects of a type. A node that lists no
// capability can have any.
func canHost(d *wire.MeshNodeDescriptor, kind wire.ObjectKind, stableType string) bool {
	for i := range d.ObjectCapabilities {
		if c := &d.ObjectCapabilities[i]; c.ObjectKind == kind && c.StableType == stableType {
			return true
		}
	}
	return len(d.ObjectCapabilities) == 0
}

func setOf(nodes []wire.Incarnation) map[wire.Incarnation]bool {
	set := make(map[wire.Incarnation]bool, len(nodes))
	for _, n := range nodes {
		set[n] = true
	}
	return set
}

// SelectPlacement chooses a node and reserves nothing.
//
// Reads: the descriptors of the mesh, the leases of their owners, their usage.
// Answers selected, or none with the reason. Errors: *kvstore.DataLostError.
func SelectPlacement(v kvstore.View, req *wire.PlacementSelectRequest, seed Seed) (*wire.PlacementSelectReply, error) {
	p := &placement{
		meshName: req.MeshName, kind: req.ObjectKind, stableType: req.StableType,
		capacity: req.Capacity, exclude: setOf(req.Exclude),
	}
	d, reason, err := p.choose(v, seed)
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return &wire.PlacementSelectReply{Kind: wire.KindNone, Reason: reason}, nil
	}
	target := targetOf(d)
	return &wire.PlacementSelectReply{Kind: wire.KindSelected, Target: &target}, nil
}

// PlaceObject chooses a node and reserves the object on it, in one commit. The
// request has a reservation id, the caller's or a new one.
//
// Reads: what object.reserve reads, and the descriptors of the mesh with leases and
// usage. Writes: as object.reserve. Answers as object.reserve, or noTarget. Errors: *kvstore.DataLostError and those of
// tx.Put.
func PlaceObject(tx *kvstore.Tx, req *wire.ObjectPlaceRequest, seed Seed) (*wire.ObjectReserveReply, error) {
	c := &creation{
		key: req.Key, intent: &req.Intent, creatingPayload: req.CreatingPayload, capacity: req.Capacity,
		reservationID: req.ReservationID, endedOwner: req.EndedOwner,
		replays: func(a *authority) bool { return a.Allocation.Descriptor.MeshName == req.MeshName },
	}
	d, err := c.examine(tx)
	switch {
	case err != nil:
		return nil, err
	case d.replayed != nil:
		target := d.replayed.target()
		d.reply.Target = &target
		return d.reply, nil
	case d.reply != nil:
		return d.reply, nil
	}
	p := &placement{
		meshName: req.MeshName, kind: req.Key.Kind, stableType: req.Intent.StableType,
		capacity: req.Capacity, exclude: setOf(req.Exclude), returned: d.returned(),
	}
	node, reason, err := p.choose(tx.View, seed)
	switch {
	case err != nil:
		return nil, err
	case node == nil && reason == wire.ReasonCapacity:
		return &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted}, nil
	case node == nil:
		return &wire.ObjectReserveReply{Kind: wire.KindNoTarget}, nil
	}
	reply, err := c.reserve(tx, &d, node)
	if err == nil && reply.Kind == wire.KindReserved {
		target := targetOf(node)
		reply.Target = &target
	}
	return reply, err
}
