package domain_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// past is what a machine knows of the state before its last command.
type past struct {
	revision    kvstore.Revision
	now         wire.Instant
	generations map[string]wire.Generation // the latest of each object, also of removed ones
	nodes       map[wire.DescriptorKey]nodeUse
}

// nodeUse is what is in use at a node, by what is counted.
type nodeUse struct {
	generation wire.Generation // of the descriptor
	counts     map[string]count
}

type count struct {
	used, limit uint32
	listed      bool // there is room at all
}

// check compares the whole state with the model's, and requires what always holds. A
// state that did not change is not compared again.
func (c *machine) check() {
	c.t.Helper()
	c.same("revision", c.view().Revision(), c.m.revision)
	if c.last.revision == c.m.revision && c.last.now == c.m.now {
		return
	}
	items := slices.Concat(pages(c.world, domain.ListAuthorities, &wire.AuthorityListRequest{Limit: 1000}, 4)...)
	c.checkObjects(items)
	nodes := make(map[wire.DescriptorKey]nodeUse)
	for _, mesh := range []string{"play", "lab"} {
		listed := slices.Concat(pages(c.world, domain.ListMeshNodes, &wire.MeshNodeListRequest{MeshName: mesh}, 2)...)
		c.same(mesh, listed, c.m.listNodes(mesh))
		for i := range listed {
			nodes[descriptorKey(&listed[i].MeshNodeDescriptor)] = c.checkNode(&listed[i], items)
		}
	}
	c.checkRoom(nodes)
	if c.m.revision%16 == 0 {
		c.world.once = c.derived
		c.checkDerived()
		c.world.once = nil
	}
	c.last.revision, c.last.now, c.last.nodes = c.m.revision, c.m.now, nodes
}

func (c *machine) checkObjects(items []wire.AuthorityItem) {
	c.t.Helper()
	var listed []wire.AuthorityItem
	for _, o := range c.m.sorted() {
		listed = append(listed, wire.AuthorityItem{Key: o.Key, Snapshot: *c.m.snapshot(o)})
	}
	c.same("authorities", items, listed)
	for i := range items {
		if i > 0 && items[i-1].Key >= items[i].Key {
			c.t.Fatalf("%s after %s: want one authority of each identity, in order", items[i].Key, items[i-1].Key)
		}
		c.checkObject(&items[i].Snapshot)
	}
}

func (c *machine) checkObject(s *wire.Authority) {
	c.t.Helper()
	if before := c.last.generations[s.Key]; s.ObjectGeneration < before || s.AuthorityOwnerGeneration < s.ObjectGeneration {
		c.t.Fatalf("%s: generations %d and %d of %s, which had %d before: want them to grow",
			c.op, s.ObjectGeneration, s.AuthorityOwnerGeneration, s.Key, before)
	}
	c.last.generations[s.Key] = s.ObjectGeneration
	if c.isNew(s.StoreVersion) && !*s.Live && c.op != "authority.compare-exchange restore" {
		c.t.Fatalf("%s stored %s for an owner that is not live", c.op, s.Key)
	}
}

// isNew tells whether a row was stored by the last command.
func (c *machine) isNew(v wire.Version) bool {
	rev, err := strconv.ParseUint(string(v), 10, 63)
	if err != nil {
		c.t.Fatal(err)
	}
	return kvstore.Revision(rev) > c.last.revision
}

// checkNode compares the counters of a node with the objects, and returns them.
func (c *machine) checkNode(n *wire.MeshNodeItem, items []wire.AuthorityItem) nodeUse {
	c.t.Helper()
	if c.isNew(n.Version) && !n.Live {
		c.t.Fatalf("%s stored node %q for an owner that is not live", c.op, n.RID)
	}
	sum := modelUsage{types: make(map[string]uint32)}
	for _, item := range items {
		if item.Snapshot.Allocation.Descriptor == descriptorKey(&n.MeshNodeDescriptor) {
			sum.add(item.Snapshot.Allocation.Capacity)
		}
	}
	p := &n.PopulationCapacity
	c.m.addHeadroom(&sum, descriptorKey(&n.MeshNodeDescriptor))
	use := nodeUse{n.Generation, map[string]count{
		"actors": {p.Actors.Active + p.Actors.Reserved, p.Actors.Limit, true},
		"spots":  {p.Spots.Active + p.Spots.Reserved, p.Spots.Limit, true},
	}}
	c.same("actors", use.counts["actors"].used, sum.Actors)
	c.same("spots", use.counts["spots"].used, sum.Spots)
	for name, used := range sum.types {
		use.counts[name] = count{used: used} // unless it is listed
	}
	for _, t := range p.SpotTypes {
		name := spotName(t.ObjectKind, t.StableType)
		use.counts[name] = count{t.Active + t.Reserved, t.Limit, true}
		c.same(name, use.counts[name].used, sum.types[name])
	}
	return use
}

// checkRoom requires that nothing grows beyond a limit. It may be beyond already, when
// a new generation of the descriptor has lowered it.
func (c *machine) checkRoom(nodes map[wire.DescriptorKey]nodeUse) {
	c.t.Helper()
	for k, now := range nodes {
		before := c.last.nodes[k]
		if before.generation != now.generation {
			continue
		}
		for name, n := range now.counts {
			full := !n.listed || (n.limit != 0 && n.used > n.limit)
			if full && n.used > before.counts[name].used {
				c.t.Fatalf("%s: %d %s on %q, before %d, limit %d", c.op, n.used, name, k.RID, before.counts[name].used, n.limit)
			}
		}
	}
}

// rapidDice lets rapid choose, which then finds the shortest history that fails.
type rapidDice struct{ *rapid.T }

// roll takes a rest, since rapid prefers small numbers.
func (d rapidDice) roll(n int) int { return rapid.IntRange(0, 1<<30).Draw(d.T, "roll") % n }

// TestRulesAgreeWithTheirModel compares random histories of everything that is about
// objects with the model.
func TestRulesAgreeWithTheirModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d := rapidDice{r}
		c := newMachine(r, d, pick(d, 0, nearTheEnd), pick(d, modelRows, modelMoveRows, modelMoveRows), make(map[string]int))
		c.revive()
		c.check()
		r.Repeat(map[string]func(*rapid.T){"steps": func(*rapid.T) {
			for range 5 {
				c.step()
			}
		}})
	})
}

// seededDice makes histories that are always the same.
type seededDice struct{ *rand.Rand }

func (d seededDice) roll(n int) int { return d.IntN(n) }

// TestModelMeetsEveryReply requires that histories lead to every reply there is, so
// that the comparison with the model says something about each.
func TestModelMeetsEveryReply(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	history := func(seed uint64, start kvstore.Revision, rows, steps int) {
		c := newMachine(t, seededDice{rand.New(rand.NewPCG(seed, 1))}, start, rows, seen)
		for range steps {
			c.step()
		}
	}
	for seed := range uint64(30) {
		for _, rows := range []int{modelRows, modelMoveRows} {
			history(seed, 0, rows, 1000)
			history(seed, nearTheEnd, rows, 400)
		}
	}
	for _, name := range modelReplies {
		if seen[name] == 0 {
			t.Errorf("no history led to %q", name)
		}
		delete(seen, name)
	}
	if len(seen) > 0 {
		t.Errorf("replies that nobody expects: %v", seen)
	}
}

// modelReplies are the replies of all commands, with their reasons.
var modelReplies = []string{
	"lease.claim claimed", "lease.claim conflict", "lease.claim generationExhausted",
	"lease.renew renewed", "lease.renew stale", "lease.renew exhausted",
	"lease.release released", "lease.release stale", "lease.release exhausted",
	"lease.read found", "lease.read missing",
	"mesh-node.update stored", "mesh-node.update ignoredStale", "mesh-node.update rejectedConflict", "mesh-node.update exhausted",
	"mesh-node.remove stored", "mesh-node.remove ignoredStale", "mesh-node.remove exhausted",
	"owner.remove-all none", "owner.remove-all some",
	"object.reserve reserved", "object.reserve alreadyExists", "object.reserve typeMismatch",
	"object.reserve conflict targetUnavailable", "object.reserve conflict entrySpot", "object.reserve conflict reserved",
	"object.reserve unavailable notSteady", "object.reserve unavailable memberLive", "object.reserve unavailable memberNotSteady",
	"object.reserve unavailable tooManyRows",
	"object.reserve placementCapacityExhausted", "object.reserve generationExhausted",
	"object.place reserved", "object.place alreadyExists", "object.place typeMismatch",
	"object.place conflict entrySpot", "object.place conflict reserved",
	"object.place unavailable notSteady", "object.place unavailable memberLive", "object.place unavailable memberNotSteady",
	"object.place unavailable tooManyRows", "object.place noTarget",
	"object.place placementCapacityExhausted", "object.place generationExhausted",
	"object.commit committed", "object.commit alreadyCommitted", "object.commit stale", "object.commit generationExhausted",
	"object.abort aborted", "object.abort alreadyAborted", "object.abort stale", "object.abort exhausted",
	"object.complete-creation created", "object.complete-creation rejected", "object.complete-creation failed",
	"object.complete-creation alreadyCompleted", "object.complete-creation stale", "object.complete-creation invalid",
	"object.complete-creation generationExhausted",
	"object.read-terminal found", "object.read-terminal missing",
	"object.release-ended released", "object.release-ended stale", "object.release-ended exhausted",
	"authority.compare-exchange put stored", "authority.compare-exchange put conflict",
	"authority.compare-exchange put generationExhausted",
	"authority.compare-exchange rebindOwnerLease stored", "authority.compare-exchange rebindOwnerLease conflict",
	"authority.compare-exchange rebindOwnerLease generationExhausted",
	"authority.compare-exchange restore stored", "authority.compare-exchange restore conflict",
	"authority.compare-exchange restore generationExhausted",
	"authority.compare-exchange reincarnate stored", "authority.compare-exchange reincarnate conflict",
	"authority.compare-exchange reincarnate generationExhausted",
	"authority.compare-exchange delete deleted", "authority.compare-exchange delete conflict",
	"authority.compare-exchange delete generationExhausted",
	"object.find creating", "object.find ready", "object.find unavailable", "object.find missing",
	"object.list none", "object.list some",
	"object.await settled snapshot", "object.await settled missing", "object.await settled waits",
	"object.await changed snapshot", "object.await changed missing", "object.await changed waits",
	"placement.select selected", "placement.select none noNode", "placement.select none noCapability",
	"placement.select none excluded", "placement.select none capacity",
	"object.reserve unavailable inAggregate", "object.place unavailable inAggregate",
	"aggregate.stage staged", "aggregate.stage conflict",
	"aggregate.prepare prepared", "aggregate.prepare alreadyPrepared", "aggregate.prepare conflict", "aggregate.prepare stale",
	"aggregate.prepare generationExhausted",
	"aggregate.commit committed", "aggregate.commit alreadyCommitted", "aggregate.commit stale", "aggregate.commit generationExhausted",
	"aggregate.abort aborted", "aggregate.abort alreadyAborted", "aggregate.abort stale", "aggregate.abort exhausted",
	"aggregate.find prepared", "aggregate.find committed", "aggregate.find missing",
	"work on aggregates all", "work on aggregates in part",
}
