package domain

import (
	"context"
	"errors"
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
	// aggregateRetry is how long one whose data is lost is left alone.
	aggregateRetry = 10 * time.Second
	// aggregateAllowance bounds one step.
	aggregateAllowance = 5 * time.Second
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
		began := time.Now()
		more := sw.pass(ctx)
		wait := time.Since(began) // as long as that took, so that callers come first
		if !more {
			wait = aggregateTick/2 + rand.N(aggregateTick)
		}
		if s.Writer() != "" {
			wait += aggregateStandby
		}
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

type aggregateSweep struct {
	store kvstore.Store
	log   *slog.Logger
	// at is how far the work on each aggregate is.
	at map[wire.Fence]Progress
	// failed is when the data of an aggregate turned out to be lost; the zero fence is of
	// those that nobody can read.
	failed map[wire.Fence]time.Time
}

// pass does one step about every aggregate that is due, so that a large one does not keep
// others waiting. more tells whether there was something to do.
func (sw *aggregateSweep) pass(ctx context.Context) (more bool) {
	v, err := sw.store.View(ctx, kvstore.ReadOptions{})
	if err != nil {
		return false // the store says what it lacks
	}
	planAhead(v)
	before := sw.at
	sw.at = make(map[wire.Fence]Progress)
	for f, err := range AggregateWork(v) {
		if since, ok := sw.failed[f]; ok && time.Since(since) < aggregateRetry {
			continue
		}
		delete(sw.failed, f)
		sw.at[f] = before[f]
		done := true
		if err == nil && !sw.waits(v, f) {
			done, err = sw.step(ctx, f)
		}
		if err != nil && ctx.Err() == nil {
			sw.report(f, err)
		}
		more = more || !done
	}
	return more
}

// waits tells whether nothing can be done before further events are out.
func (sw *aggregateSweep) waits(v kvstore.View, f wire.Fence) bool {
	a, err := findAggregate(v, f)
	return err == nil && a.unsettled() && sw.at[f].all && sw.store.Released() < kvstore.Revision(a.Commit)
}

// report logs a failure. Lost data does not come back by itself soon; all else is tried
// again at the next turn.
func (sw *aggregateSweep) report(f wire.Fence, err error) {
	level := slog.LevelWarn
	if _, lost := errors.AsType[*kvstore.DataLostError](err); lost {
		level, sw.failed[f] = slog.LevelError, time.Now()
	}
	sw.log.Log(context.Background(), level, "work on an aggregate", "op", "aggregate-sweep", "key", string(AggregateKey(f)), "err", err)
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

// step does the next step about one aggregate; done says that nothing is left for now.
func (sw *aggregateSweep) step(ctx context.Context, f wire.Fence) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, aggregateAllowance)
	defer cancel()
	var next Progress
	at := sw.at[f]
	_, err = sw.store.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
		next, done, err = WorkOnAggregate(tx, f, at, sw.store.Released())
		return err
	})
	if err != nil {
		return true, err
	}
	sw.at[f] = next
	return done, nil
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
