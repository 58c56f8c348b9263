package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
)

// metricsHandler answers with the figures of an instance, read when they are asked
// for, and with those of the process before there is one.
func metricsHandler(r *running, id string) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&metrics{running: r, id: id, build: ownBuild()},
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
}

// metrics is a [prometheus.Collector] of an instance.
type metrics struct {
	running *running
	id      string
	build   build
}

func figure(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zlink_"+name, help, labels, nil)
}

var (
	descBuild = figure("build_info", "Always 1; the labels describe the program and its instance.", "version", "commit", "go", "instance")

	descRequests = figure("requests_total", "Requests by operation and outcome: ok, forwarded, or the code of the refusal.", "operation", "outcome")
	descSeconds  = figure("request_seconds_total", "Time from arrival to reply, added up.", "operation")
	descInFlight = figure("requests_in_flight", "Requests that are being worked on.")
	descAwaiting = figure("requests_awaiting", "Requests that wait for an object.")

	descTransactions = figure("store_transactions_total", "Transactions by result: committed, or unchanged when nothing was written, or overloaded.", "result")
	descGroups       = figure("store_groups_total", "Commits sent to the NATS server, each of one transaction or several.")
	descMessages     = figure("store_group_messages_total", "Messages in those commits; divided by them, the size of a group.")
	descConflicts    = figure("store_conflicts_total", "Groups that another instance was faster than.")
	descUnknown      = figure("store_unknown_total", "Acknowledgements that were lost and settled from the log.")
	descRebuilds     = figure("store_rebuilds_total", "Times that the local view was built anew.")
	descBlocked      = figure("store_blocked_total", "Runs of a transaction that had to wait for the change feed.")
	descQueue        = figure("store_queue_depth", "Transactions that wait.")
	descRevision     = figure("store_revision", "Revision of the local view.")
	descRows         = figure("store_rows", "Rows of the service, without those of the opaque store.")
	descLeases       = figure("live_leases", "Owner leases that are live.")

	descFeedRevision = figure("feed_revision", "Revision up to which all changes are pushed.")
	descFeedLag      = figure("feed_lag_revisions", "How far the pushed changes are behind the local view.")
	descFeedWaiting  = figure("feed_waiting_events", "Events that are not known to be pushed.")
	descFeedEvents   = figure("feed_events_total", "Events that this instance has pushed.")
	descFeedAppends  = figure("feed_appends_total", "Appends to the stream of changes by result.", "result")
)

// Describe implements [prometheus.Collector]: what there is depends on what happened.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	emit(out).gauge(descBuild, 1, m.build.Version, m.build.Commit, m.build.Go, m.id)
	i := m.running.instance.Load()
	if i == nil {
		return
	}
	collectRequests(emit(out), i.service.Counters())
	collectStore(emit(out), i.store)
	collectFeed(emit(out), i.feed.Stats(), i.store.Status().Revision)
}

func collectRequests(e emit, c handlers.Counters) {
	e.gauge(descInFlight, float64(c.InFlight))
	e.gauge(descAwaiting, float64(c.Awaiting))
	for _, op := range c.Operations {
		for outcome, n := range op.Outcomes {
			e.counter(descRequests, n, string(op.Operation), outcome)
		}
		e <- prometheus.MustNewConstMetric(descSeconds, prometheus.CounterValue, op.Duration.Seconds(), string(op.Operation))
	}
}

func collectStore(e emit, store *jetkv.Store) {
	s := store.Stats()
	e.counter(descTransactions, s.Commits, "committed")
	e.counter(descTransactions, s.Refusals, "unchanged")
	e.counter(descTransactions, s.Overloaded, "overloaded")
	e.counter(descGroups, s.Groups)
	e.counter(descMessages, s.Messages)
	e.counter(descConflicts, s.Conflicts)
	e.counter(descUnknown, s.Unknown)
	e.counter(descRebuilds, s.Rebuilds)
	e.counter(descBlocked, s.Blocked)
	e.gauge(descQueue, float64(s.Queue))
	view, err := store.View(context.Background(), kvstore.ReadOptions{}) // the one at hand: it does not wait
	if err != nil {
		return // closed
	}
	rows, leases := domain.CountRows(view)
	e.gauge(descRows, float64(rows))
	e.gauge(descLeases, float64(leases))
}

func collectFeed(e emit, f feed.Stats, committed kvstore.Revision) {
	e.gauge(descRevision, float64(committed))
	e.gauge(descFeedRevision, float64(f.Revision))
	e.gauge(descFeedLag, float64(committed-min(f.Revision, committed)))
	e.gauge(descFeedWaiting, float64(f.Waiting))
	e.counter(descFeedEvents, f.Events)
	e.counter(descFeedAppends, f.Appends, "stored")
	e.counter(descFeedAppends, f.Conflicts, "conflict")
	e.counter(descFeedAppends, f.Failures, "failed")
}

// emit is where metrics go.
type emit chan<- prometheus.Metric

func (e emit) gauge(d *prometheus.Desc, value float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (e emit) counter(d *prometheus.Desc, value uint64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}
