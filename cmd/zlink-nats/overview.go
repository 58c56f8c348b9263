package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zlink/zlink-nats/dashboard"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// overviewFor is how long an overview is shown to whoever asks: it may cost a look at
	// every node.
	overviewFor = time.Second
	// overviewNodes and overviewMeshes bound what a page shows.
	overviewNodes, overviewMeshes = 200, 50
)

// observer makes overviews of the instance that runs.
type observer struct {
	running *running
	ready   *readiness

	mu        sync.Mutex                   // guards the rest, and lets those who ask at once wait for one overview
	last      *dashboard.Overview          // of lastAt
	lastAt    time.Time                    // zero before the first
	asked     map[subjects.Operation]tally // at countedAt
	countedAt time.Time                    // when asked was counted; at first the start of the instance
}

// tally adds up the requests of an operation.
type tally struct {
	requests, errors uint64
	took             time.Duration
}

// overview is a [dashboard.Source].
func (o *observer) overview(ctx context.Context) *dashboard.Overview {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil || time.Since(o.lastAt) > overviewFor {
		o.last = o.observe(context.WithoutCancel(ctx)) // it is for others as well
		o.lastAt = time.Now()
	}
	return o.last
}

// observe makes an overview. mu is held.
func (o *observer) observe(ctx context.Context) *dashboard.Overview {
	all := &dashboard.Overview{Level: dashboard.LevelOK, Instance: o.running.id, Version: ownBuild().Version, Time: time.Now()}
	if err := o.ready.check(ctx); err != nil {
		report(all, dashboard.LevelBad, err.Error())
	}
	i := o.running.instance.Load()
	if i == nil || o.running.stopping.Load() {
		return all
	}
	view, err := i.Store.View(ctx, kvstore.ReadOptions{}) // the one at hand: it does not wait
	if err != nil {
		report(all, dashboard.LevelBad, err.Error())
		return all
	}
	s := handlers.StatusOf(i.Store, view)
	survey := domain.SurveyNodes(view, overviewNodes)
	reportStatus(all, s)
	reportNodes(all, &survey)
	all.Directory = &dashboard.Directory{Facts: i.facts(s, view), Rows: rowsOf(view)}
	showNodes(all.Directory, &survey)
	o.showOperations(all.Directory, i.Service.Counters())
	return all
}

// report adds a problem; those that are worse come first.
func report(o *dashboard.Overview, level dashboard.Level, text string) {
	o.Problems = append(o.Problems, dashboard.Problem{Level: level, Text: text})
	slices.SortStableFunc(o.Problems, func(a, b dashboard.Problem) int { return cmp.Compare(a.Level, b.Level) }) // "bad" < "warn"
	o.Level = o.Problems[0].Level
}

// reportStatus reports what doctor would find in a status.
func reportStatus(o *dashboard.Overview, s *wire.StatusGetReply) {
	if s.LastError != "" {
		level := dashboard.LevelWarn
		if !s.StoreHealthy {
			level = dashboard.LevelBad
		}
		report(o, level, "store: "+s.LastError)
	}
	for _, f := range []finding{checkRows(s), checkAggregates(s), checkPushed(s)} {
		level := dashboard.LevelWarn
		switch f.State {
		case stateOK:
			continue
		case stateFail:
			level = dashboard.LevelBad
		}
		report(o, level, fmt.Sprintf("%s: %s: %s", f.Name, f.Detail, f.Mend))
	}
}

// reportNodes reports nodes that are lost, damaged or full.
func reportNodes(o *dashboard.Overview, s *domain.Survey) {
	for _, p := range []struct {
		n     int
		level dashboard.Level
		what  string
	}{
		{s.Unreadable, dashboard.LevelBad, "with a descriptor that cannot be read: the log names the keys (dataLost), placement in their meshes fails"},
		{s.Lost, dashboard.LevelBad, "lost: the lease of the owner is over, its objects are unavailable"},
		{s.InError, dashboard.LevelBad, "in state error"},
		{s.Full, dashboard.LevelWarn, "full: nothing more is placed there"},
	} {
		if p.n > 0 {
			report(o, p.level, plural(p.n, "node")+" "+p.what)
		}
	}
}

// facts are the figures of the store and of the instance.
func (i *process) facts(s *wire.StatusGetReply, v kvstore.View) []dashboard.Fact {
	leases := v.Families()[domain.FamilyLease]
	counters, stats := i.Service.Counters(), i.Store.Stats()
	return []dashboard.Fact{
		{Name: "revision", Value: strconv.FormatUint(uint64(s.Revision), 10)},
		{Name: "pushed", Value: pushedText(s)},
		{Name: "clock", Value: clockText(s.StoreNow, time.Now())},
		{Name: "live leases", Value: strconv.Itoa(leases.Live)},
		{Name: "expired leases still stored", Value: strconv.Itoa(leases.Expired)},
		{Name: "aggregates", Value: aggregatesText(s)},
		{Name: "NATS server", Value: fmt.Sprintf("%s, version %s", shown(s.Server.Name), s.Server.Version)},
		{Name: "replicas", Value: strconv.Itoa(int(s.Server.Replicas))},
		{Name: "consumers", Value: consumersText(s)},
		{Name: "requests in flight", Value: strconv.Itoa(counters.InFlight)},
		{Name: "waiting for objects", Value: strconv.Itoa(counters.Awaiting)},
		{Name: "transactions waiting", Value: strconv.Itoa(stats.Queue)},
	}
}

func rowsOf(v kvstore.View) (rows []dashboard.Count) {
	families := v.Families()
	for _, name := range slices.Sorted(maps.Keys(families)) {
		rows = append(rows, dashboard.Count{Name: name, N: families[name].Live})
	}
	return rows
}

func showNodes(d *dashboard.Directory, s *domain.Survey) {
	d.MoreNodes = s.Total - len(s.Nodes)
	d.MoreMeshes = max(0, len(s.Meshes)-overviewMeshes)
	for _, m := range s.Meshes[:len(s.Meshes)-d.MoreMeshes] {
		d.Meshes = append(d.Meshes, dashboard.Mesh{Name: shown(m.MeshName), Ready: m.ReadyCount, Error: m.ErrorCount, Lost: m.StoppedCount, Total: m.TotalCount})
	}
	for i := range s.Nodes {
		d.Nodes = append(d.Nodes, showNode(&s.Nodes[i]))
	}
}

func showNode(n *wire.MeshNodeItem) dashboard.Node {
	use := func(u wire.Usage) dashboard.Usage {
		return dashboard.Usage{Used: uint64(u.Active) + uint64(u.Reserved), Limit: u.Limit}
	}
	d := dashboard.Node{
		Mesh: shown(n.MeshName), RID: shown(n.RID), Endpoint: shown(n.Endpoint), Owner: shown(n.OwnerID), State: string(n.State),
		Level: dashboard.LevelOK, Actors: use(n.PopulationCapacity.Actors), Spots: use(n.PopulationCapacity.Spots),
	}
	switch {
	case !n.Live:
		d.State, d.Level = "lost, was "+d.State, dashboard.LevelBad
	case n.State == wire.StateError:
		d.Level = dashboard.LevelBad
	case n.State != wire.StateServing, d.Actors.Full(), d.Spots.Full():
		d.Level = dashboard.LevelWarn
	}
	return d
}

// showOperations compares the counters with those of the overview before. mu is held.
func (o *observer) showOperations(d *dashboard.Directory, c handlers.Counters) {
	now := time.Now()
	d.Window = max(now.Sub(o.countedAt).Seconds(), 0.001)
	asked := make(map[subjects.Operation]tally, len(c.Operations))
	for _, op := range c.Operations {
		t := tally{took: op.Duration}
		for outcome, n := range op.Outcomes {
			t.requests += n
			if outcome != handlers.OutcomeOK && outcome != handlers.OutcomeForwarded {
				t.errors += n
			}
		}
		asked[op.Operation] = t
		if t.requests == 0 {
			continue
		}
		before := o.asked[op.Operation]
		show := dashboard.Operation{
			Name: string(op.Operation), PerSecond: float64(t.requests-before.requests) / d.Window,
			Errors: t.errors - before.errors, AllErrors: t.errors,
		}
		if n := t.requests - before.requests; n > 0 {
			show.MeanMs = (t.took - before.took).Seconds() * 1000 / float64(n)
		}
		d.Operations = append(d.Operations, show)
	}
	slices.SortStableFunc(d.Operations, func(a, b dashboard.Operation) int { return -cmp.Compare(a.PerSecond, b.PerSecond) })
	o.asked, o.countedAt = asked, now
}
