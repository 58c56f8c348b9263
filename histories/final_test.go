package histories_test

import (
	"fmt"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// wholeList asks for all objects; there are few.
var wholeList = &wire.AuthorityListRequest{Limit: 1000}

// look lists everything by both instances, when all faults are mended. What the lists show is judged with all other answers; here
// they are compared with each other: there is one object of an identity, and the counters of the nodes are sums over the objects.
func (c *caller) look(w *world) {
	c.t.Helper()
	c.endGroups(w)
	for _, i := range w.instances {
		c.instance = i.id
		var objects, nodes *call
		testenv.Eventually(c.t, patience, func() bool {
			objects, nodes = c.call(subjects.AuthorityList, wholeList), c.call(subjects.MeshNodeList, &wire.MeshNodeListRequest{MeshName: mesh})
			return objects.outcome == answered && nodes.outcome == answered && objects.revision == nodes.revision
		}, "lists of one revision from", i.id)
		if err := addUp(objects.reply.(*wire.AuthorityListReply), nodes.reply.(*wire.MeshNodeListReply)); err != nil {
			c.t.Errorf("%s: %v: %v, %v", i.id, err, objects, nodes)
		}
	}
	c.instance = ""
}

// endGroups aborts the aggregates that are still prepared, save those that the service has to abort, and waits until nothing is
// locked; then it ends what was only staged, and waits until nothing is staged any more.
func (c *caller) endGroups(w *world) {
	c.t.Helper()
	groups := groupsOf(c.rec.calls)
	for _, g := range groups {
		c.board.groups.all[g.fence] = g
		if !g.short {
			c.abort(g)
		}
	}
	for _, k := range objects {
		testenv.Eventually(c.t, patience, func() bool {
			return c.call(subjects.AggregateFind, &wire.AggregateFindRequest{Key: k}).said() == string(wire.KindMissing)
		}, "no lock on", k.GlobalID)
	}
	for _, g := range groups {
		c.abort(g)
	}
	testenv.Eventually(c.t, patience, func() bool {
		v, err := w.instances[0].Store.View(c.t.Context(), kvstore.ReadOptions{Leader: true})
		return err == nil && v.Count(domain.FamilyInventory)+v.Count(domain.FamilyParticipant) == 0
	}, "nothing staged")
}

// abort aborts an aggregate, unless it has ended.
func (c *caller) abort(g *group) {
	c.t.Helper()
	testenv.Eventually(c.t, patience, func() bool {
		return c.call(subjects.AggregateAbort, &wire.AggregateAbortRequest{Fence: g.fence}).outcome == answered
	}, "end of", g.fence.AggregateID)
}

// addUp compares the usage of the nodes with the sums over the objects.
func addUp(objects *wire.AuthorityListReply, nodes *wire.MeshNodeListReply) error {
	seen := make(map[string]bool)
	sums := make(map[wire.RID]*wire.PopulationCapacity)
	for _, o := range objects.Items {
		if seen[o.Key] {
			return fmt.Errorf("%s has two owners", o.Key)
		}
		seen[o.Key] = true
		rid := o.Snapshot.Allocation.Descriptor.RID
		if sums[rid] == nil {
			sums[rid] = new(wire.PopulationCapacity)
		}
		takes := o.Snapshot.Allocation.Capacity
		if o.Snapshot.Allocation.State == wire.AllocationActive {
			sums[rid].Actors.Active += takes.Actors
			sums[rid].Spots.Active += takes.Spots
		} else {
			sums[rid].Actors.Reserved += takes.Actors
			sums[rid].Spots.Reserved += takes.Spots
		}
	}
	for _, n := range nodes.Items {
		sum := sums[n.RID]
		if sum == nil {
			sum = new(wire.PopulationCapacity)
		}
		got := n.PopulationCapacity
		got.Actors.Limit, got.Spots.Limit = 0, 0
		if got.Actors != sum.Actors || got.Spots != sum.Spots {
			return fmt.Errorf("%s has %+v and %+v, the sums are %+v and %+v", n.RID, got.Actors, got.Spots, sum.Actors, sum.Spots)
		}
	}
	return nil
}
