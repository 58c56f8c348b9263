package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/wire"
)

// observe makes the figures of an instance known to a meter, which asks for them when
// they are wanted: before there is an instance those of the process, and that its store is not healthy.
func observe(meter metric.Meter, r *running, id string, b build) error {
	f := &figures{meter: meter}
	info := f.gauge("build.info", "Always 1; the labels describe the program and its instance.")
	healthy := f.gauge("store.healthy", "1 when the last attempt to commit or to follow succeeded, else 0.")
	ofProgram := with("version", b.Version, "commit", b.Commit, "go", b.Go, "instance", id)
	parts := []part{requestFigures(f), storeFigures(f), feedFigures(f), directoryFigures(f)}
	if f.err != nil {
		return f.err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(info, 1, ofProgram)
		i := r.instance.Load()
		o.ObserveInt64(healthy, truth(i != nil && i.Store.Status().Healthy))
		if i == nil {
			return nil
		}
		for _, observe := range parts {
			observe(o, i)
		}
		return nil
	}, f.all...)
	return err
}

// part tells the figures of a part of an instance.
type part func(metric.Observer, *process)

// figures makes instruments and remembers them, and what went wrong.
type figures struct {
	meter metric.Meter
	all   []metric.Observable
	err   error
}

func (f *figures) gauge(name, help string) metric.Int64Observable {
	i, err := f.meter.Int64ObservableGauge("zlink."+name, metric.WithDescription(help))
	return keep(f, i, err)
}

func (f *figures) counter(name, help string) metric.Int64Observable {
	i, err := f.meter.Int64ObservableCounter("zlink."+name, metric.WithDescription(help))
	return keep(f, i, err)
}

// seconds is a gauge of a time.
func (f *figures) seconds(name, help string) metric.Float64Observable {
	i, err := f.meter.Float64ObservableGauge("zlink."+name, metric.WithDescription(help), metric.WithUnit("s"))
	return keep(f, i, err)
}

func keep[I metric.Observable](f *figures, i I, err error) I {
	f.all, f.err = append(f.all, i), errors.Join(f.err, err)
	return i
}

// with labels a figure: names and values in turn. Values have to be UTF-8.
func with(labels ...string) metric.ObserveOption {
	set := make([]attribute.KeyValue, 0, len(labels)/2)
	for i := 0; i < len(labels); i += 2 {
		set = append(set, attribute.String(labels[i], labels[i+1]))
	}
	return metric.WithAttributes(set...)
}

func requestFigures(f *figures) part {
	requests := f.counter("requests", "Requests by operation and outcome: ok, forwarded, or the code of the refusal.")
	inFlight := f.gauge("requests.in_flight", "Requests that are being worked on.")
	awaiting := f.gauge("requests.awaiting", "Requests that wait for an object.")
	return func(o metric.Observer, i *process) {
		c := i.Service.Counters()
		o.ObserveInt64(inFlight, int64(c.InFlight))
		o.ObserveInt64(awaiting, int64(c.Awaiting))
		for _, op := range c.Operations {
			observeOutcomes(o, requests, op)
		}
	}
}

// observeOutcomes tells those that occurred, and lost data in any case: one event matters there, and a counter that
// begins with it has not increased for Prometheus.
func observeOutcomes(o metric.Observer, requests metric.Int64Observable, op handlers.OperationCounters) {
	observe := func(outcome string, n uint64) {
		o.ObserveInt64(requests, int64(n), with("operation", string(op.Operation), "outcome", outcome))
	}
	for outcome, n := range op.Outcomes {
		observe(outcome, n)
	}
	if lost := string(wire.CodeDataLost); op.Outcomes[lost] == 0 {
		observe(lost, 0)
	}
}

func storeFigures(f *figures) part {
	transactions := f.counter("store.transactions", "Transactions by result: committed, or unchanged when nothing was written, or overloaded.")
	expired := f.counter("store.expired_rows", "Rows whose expiry came, by family, whichever instance removed them.")
	counters := []struct {
		figure metric.Int64Observable
		of     func(*jetkv.Stats) uint64
	}{
		{f.counter("store.groups", "Commits sent to the NATS server, each of one transaction or several."), func(s *jetkv.Stats) uint64 { return s.Groups }},
		{f.counter("store.group_messages", "Messages in those commits; divided by them, the size of a group."), func(s *jetkv.Stats) uint64 { return s.Messages }},
		{f.counter("store.conflicts", "Groups that another instance was faster than."), func(s *jetkv.Stats) uint64 { return s.Conflicts }},
		{f.counter("store.unknown", "Acknowledgements that were lost and settled from the log."), func(s *jetkv.Stats) uint64 { return s.Unknown }},
		{f.counter("store.rebuilds", "Times that the local view was built anew."), func(s *jetkv.Stats) uint64 { return s.Rebuilds }},
		{f.counter("store.blocked", "Runs of a transaction that had to wait for the change feed."), func(s *jetkv.Stats) uint64 { return s.Blocked }},
	}
	queue := f.gauge("store.queue_depth", "Transactions that wait.")
	revision := f.gauge("store.revision", "Revision of the local view.")
	lag := f.gauge("store.lag_revisions", "How far the local view is behind what the stream leader last told of.")
	return func(o metric.Observer, i *process) {
		s, r := i.Store.Stats(), i.Store.Status().Revision
		o.ObserveInt64(transactions, int64(s.Commits), with("result", "committed"))
		o.ObserveInt64(transactions, int64(s.Refusals), with("result", "unchanged"))
		o.ObserveInt64(transactions, int64(s.Overloaded), with("result", "overloaded"))
		if s.Expired[domain.FamilyLease] == 0 { // so that the first ones are an increase
			o.ObserveInt64(expired, 0, with("family", domain.FamilyLease))
		}
		for family, n := range s.Expired {
			o.ObserveInt64(expired, int64(n), with("family", family))
		}
		for _, c := range counters {
			o.ObserveInt64(c.figure, int64(c.of(&s)))
		}
		o.ObserveInt64(queue, int64(s.Queue))
		o.ObserveInt64(revision, int64(r))
		o.ObserveInt64(lag, int64(behind(r, s.Leader)))
	}
}

// behind is how far a revision is behind another, which may be known from an earlier time.
func behind(r, other kvstore.Revision) kvstore.Revision { return other - min(r, other) }

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func feedFigures(f *figures) part {
	revision := f.gauge("feed.revision", "Revision up to which all changes are pushed.")
	lag := f.gauge("feed.lag_revisions", "How far the pushed changes are behind the local view.")
	seconds := f.seconds("feed.lag", "Age of the oldest commit whose changes are not known to be pushed; 0 when there is none.")
	waiting := f.gauge("feed.waiting_events", "Events that are not known to be pushed.")
	events := f.counter("feed.events", "Events that this instance has pushed.")
	appends := f.counter("feed.appends", "Appends to the stream of changes by result: stored, conflict, failed.")
	return func(o metric.Observer, i *process) {
		s, committed := i.Feed.Stats(), i.Store.Status().Revision
		o.ObserveInt64(revision, int64(s.Revision))
		o.ObserveInt64(lag, int64(behind(s.Revision, committed)))
		o.ObserveFloat64(seconds, lagSeconds(i.Store, s))
		o.ObserveInt64(waiting, int64(s.Waiting))
		o.ObserveInt64(events, int64(s.Events))
		o.ObserveInt64(appends, int64(s.Appends), with("result", "stored"))
		o.ObserveInt64(appends, int64(s.Conflicts), with("result", "conflict"))
		o.ObserveInt64(appends, int64(s.Failures), with("result", "failed"))
	}
}

// lagSeconds is how long ago the first commit was made that the feed has not pushed, by
// the store's clock. A history that was cut off has no such commit.
func lagSeconds(store *jetkv.Store, s feed.Stats) float64 {
	w, err := store.Watch(s.Revision)
	if err != nil {
		return 0
	}
	waiting := w.Ready()
	if len(waiting) == 0 {
		return 0
	}
	return max(0, float64(store.Clock().Now()-waiting[0].Time)/1000)
}
