package domain

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// aggregateTick is how often an instance looks for aggregates to work on: well below
	// the 5 s within which an overdue one has to be aborted.
	aggregateTick = 500 * time.Millisecond
	// aggregateStandby is how long an instance that is not writing leaves the work to
	// the one that is.
	aggregateStandby = time.Second
	// aggregateRetry is how long one on which work failed is left alone.
	aggregateRetry = 10 * time.Second
)

// SweepAggregates aborts overdue aggregates, and settles and cleans up those that have
// ended, until the context ends. Every instance runs it; whoever is first does the work,
// and nothing but the age of what is left depends on it. It returns the context's error.
//
// It uses the machine's clock for its own rhythm alone; what is due is judged by the
// store's.
func SweepAggregates(ctx context.Context, s kvstore.Store, log *slog.Logger) error {
	sw := &aggregateSweep{store: s, log: log, failed: make(map[wire.Fence]time.Time)}
	for {
		wait := aggregateTick
		if s.Writer() != "" {
			wait += aggregateStandby
		}
		if !pause(ctx, wait/2+rand.N(wait)) {
			return ctx.Err()
		}
		sw.pass(ctx)
	}
}

type aggregateSweep struct {
	store kvstore.Store
	log   *slog.Logger
	// failed is when work on an aggregate failed; the zero fence is of those that nobody
	// can read.
	failed map[wire.Fence]time.Time
}

// pass works on everything that there is to be done.
func (sw *aggregateSweep) pass(ctx context.Context) {
	v, err := sw.store.View(ctx, kvstore.ReadOptions{})
	if err != nil {
		return // the store says what it lacks
	}
	planAhead(v)
	for f, err := range AggregateWork(v) {
		if since, ok := sw.failed[f]; ok && time.Since(since) < aggregateRetry {
			continue
		}
		delete(sw.failed, f)
		if err == nil {
			err = sw.work(ctx, f)
		}
		if err != nil && ctx.Err() == nil {
			sw.failed[f] = time.Now()
			sw.log.Error("work on an aggregate", "op", "aggregate-sweep", "key", string(AggregateKey(f)), "err", err)
		}
	}
}

// planAhead makes the plans of prepared aggregates that have none, as in an instance that
// did not prepare them: when the commit is followed there is no time for that.
func planAhead(v kvstore.View) {
	for r := range v.IndexPrefix(indexWork, "") {
		a, err := kvstore.Decoded(r, decodeAggregate)
		if err == nil && a.is(wire.AggregatePrepared) && a.plan.Load() == nil {
			_, _ = a.planIn(v) // what is wrong is told by the commit
		}
	}
}

// work does all steps about one aggregate. It rests after each as long as that took, so
// that callers come first.
func (sw *aggregateSweep) work(ctx context.Context, f wire.Fence) error {
	for at := (Progress{}); ; {
		began := time.Now()
		var next Progress
		var done bool
		_, err := sw.store.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
			next, done, err = WorkOnAggregate(tx, f, at, sw.store.Released())
			return err
		})
		if err != nil {
			return err
		}
		if at = next; done {
			return nil
		}
		if !pause(ctx, time.Since(began)) {
			return ctx.Err()
		}
	}
}

// pause waits; false when the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
