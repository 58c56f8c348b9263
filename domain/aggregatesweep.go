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
		if !kvstore.Pause(ctx, wait) {
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

// stepsAtOnce bounds the aggregates of one commit.
const stepsAtOnce = 500

// pass does one step about the aggregates that are due, all in one commit as far as that
// has room, so that a large one does not keep others waiting, and many small ones cost
// little. more tells whether there is something left to do.
func (sw *aggregateSweep) pass(ctx context.Context) (more bool) {
	v, err := sw.store.View(ctx, kvstore.ReadOptions{})
	if err != nil {
		return false // the store says what it lacks
	}
	planAhead(v)
	steps := sw.due(ctx, v)
	went, err := sw.work(ctx, steps)
	if errors.Is(err, kvstore.ErrTooLarge) || errors.Is(err, kvstore.ErrTooManyRows) { // because of one of them
		went = sw.apart(ctx, steps)
	} else if err != nil && ctx.Err() == nil {
		sw.log.Warn("work on aggregates", "op", "aggregate-sweep", "err", err)
	}
	for _, s := range went {
		sw.at[s.Fence] = s.At
		more = more || !s.Done
		if s.Err != nil {
			sw.report(ctx, s.Fence, s.Err)
		}
	}
	return more
}

// due lists what is to be done now. Overdue aggregates come first: there is a bound on how
// long they may stay.
func (sw *aggregateSweep) due(ctx context.Context, v kvstore.View) (steps []AggregateStep) {
	before := sw.at
	sw.at = make(map[wire.Fence]Progress)
	var ended []AggregateStep
	for f, err := range AggregateWork(v) {
		if since, ok := sw.failed[f]; ok && time.Since(since) < aggregateRetry {
			continue
		}
		delete(sw.failed, f)
		if err != nil {
			sw.report(ctx, f, err)
			continue
		}
		sw.at[f] = before[f]
		a, err := findAggregate(v, f)
		step := AggregateStep{Fence: f, At: before[f]}
		switch {
		case err != nil || sw.waits(a):
		case a.Deadline != 0:
			steps = append(steps, step)
		case len(ended) < stepsAtOnce:
			ended = append(ended, step)
		}
	}
	steps = append(steps, ended...)
	return steps[:min(len(steps), stepsAtOnce)]
}

// waits tells whether nothing can be done before further events are out.
func (sw *aggregateSweep) waits(a *aggregate) bool {
	return a.unsettled() && sw.at[a.Fence].all && sw.store.Released() < kvstore.Revision(a.Commit)
}

// report logs a failure. Lost data does not come back by itself soon; all else is tried
// again at the next turn.
func (sw *aggregateSweep) report(ctx context.Context, f wire.Fence, err error) {
	if ctx.Err() != nil {
		return // the instance ends
	}
	level := slog.LevelWarn
	if _, lost := errors.AsType[*kvstore.DataLostError](err); lost {
		level, sw.failed[f] = slog.LevelError, time.Now()
	}
	sw.log.Log(ctx, level, "work on an aggregate", "op", "aggregate-sweep", "key", string(AggregateKey(f)), "err", err)
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

// apart does steps in a commit each.
func (sw *aggregateSweep) apart(ctx context.Context, steps []AggregateStep) (went []AggregateStep) {
	for _, s := range steps {
		one, err := sw.work(ctx, []AggregateStep{s})
		if err != nil {
			sw.report(ctx, s.Fence, err)
		}
		went = append(went, one...)
	}
	return went
}

// work does steps, in one commit.
func (sw *aggregateSweep) work(ctx context.Context, steps []AggregateStep) (went []AggregateStep, err error) {
	if len(steps) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, aggregateAllowance)
	defer cancel()
	_, err = sw.store.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
		went, err = WorkOnAggregates(tx, steps, sw.store.Released())
		return err
	})
	if err != nil {
		return nil, err
	}
	return went, nil
}
