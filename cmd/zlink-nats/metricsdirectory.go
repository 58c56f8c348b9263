package main

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// directoryFigures are about what the directory holds. They cost the number of nodes and
// of aggregates under way, not that of the objects.
func directoryFigures(f *figures) part {
	rows := f.gauge("store.rows", "Live rows by family, those of the opaque store and of the store itself included.")
	leases := f.gauge("leases", "Owner leases by state: live, or expired and not removed yet.")
	nodes := f.gauge("nodes", "Mesh nodes by mesh and state: ready, error, or lost when the owner's lease is over.")
	capacity := f.gauge("node.capacity", "Objects by node, resource (actors, spots, or a type of spots) and state: active, reserved, limit; without limit there is none.")
	aggregates := f.gauge("aggregates", "Aggregates that are not done with, by state: collecting, prepared, overdue, settling, unreadable.")
	return func(o metric.Observer, i *process) {
		v, err := i.Store.View(context.Background(), kvstore.ReadOptions{}) // the one at hand: it does not wait
		if err != nil {
			return // closed
		}
		families := v.Families()
		for family, n := range families {
			o.ObserveInt64(rows, int64(n.Live), with("family", family))
		}
		o.ObserveInt64(leases, int64(families[domain.FamilyLease].Live), with("state", "live"))
		o.ObserveInt64(leases, int64(families[domain.FamilyLease].Expired), with("state", "expired"))
		observeNodes(o, nodes, capacity, v)
		a := domain.AggregatesUnderWay(v)
		for state, n := range map[string]uint32{
			"collecting": a.Collecting, "prepared": a.Prepared, "overdue": a.Overdue, "settling": a.Settling, "unreadable": a.Unreadable,
		} {
			o.ObserveInt64(aggregates, int64(n), with("state", state))
		}
	}
}

func observeNodes(o metric.Observer, nodes, capacity metric.Int64Observable, v kvstore.View) {
	type group struct{ mesh, state string }
	counts := make(map[group]int64)
	for n := range domain.Nodes(v) {
		mesh, rid := shown(n.MeshName), shown(n.RID)
		for _, state := range []string{"ready", "error", "lost"} {
			counts[group{mesh, state}] += truth(state == nodeState(n))
		}
		usage := func(resource string, u wire.Usage) {
			of := func(state string) metric.ObserveOption {
				return with("mesh", mesh, "node", rid, "resource", resource, "state", state)
			}
			o.ObserveInt64(capacity, int64(u.Active), of("active"))
			o.ObserveInt64(capacity, int64(u.Reserved), of("reserved"))
			if u.Limit > 0 {
				o.ObserveInt64(capacity, int64(u.Limit), of("limit"))
			}
		}
		usage("actors", n.Capacity.Actors)
		usage("spots", n.Capacity.Spots)
		for _, t := range n.Capacity.SpotTypes {
			usage(string(t.ObjectKind)+"/"+shown(t.StableType), t.Usage)
		}
	}
	for g, n := range counts {
		o.ObserveInt64(nodes, n, with("mesh", g.mesh, "state", g.state))
	}
}

// nodeState is how a node counts in the summary of its mesh.
func nodeState(n domain.NodeFigures) string {
	switch {
	case !n.Live:
		return "lost"
	case n.State == wire.StateError:
		return "error"
	default:
		return "ready"
	}
}
