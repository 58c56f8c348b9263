// Package load measures workloads against each other on one machine.
//
// # Model
//
// A [Workload] is one kind of operation against one running system. [Run] drives it in a closed loop: every caller
// starts its next operation when the one before has returned, so a system is measured at a fixed number of requests
// in flight and not at a fixed rate. [Compare] runs several workloads in turns (A B A B ...), so that whatever else
// the machine does meets all of them, computes every ratio inside one turn, and reports medians over the turns.
//
// # Limits
//
// A closed loop slows down together with what it measures, so the percentiles say what a caller saw, not what an
// arriving stream of requests would have met. Figures compare systems within one run; they are no absolute promises.
package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies outside of the histogram's range count as its nearest end.
const (
	shortest = 100 * time.Nanosecond
	longest  = time.Minute
	digits   = 3
)

// stallLimit is how long after the end of a run an operation may still return; then its context ends.
const stallLimit = 30 * time.Second

// Workload is one kind of operation against one running system.
type Workload interface {
	// Setup connects and stores what Op expects to find. It is called once, before any Op.
	Setup(ctx context.Context) error
	// Op runs one operation for caller 0, 1, ... It is called concurrently for different callers, never for the same
	// one. An error counts the operation as failed; its duration is then left out of the latencies.
	Op(ctx context.Context, caller int) error
	// Close disconnects. It is called once, after the last Op, also when Setup failed.
	Close() error
}

// Preparer is a [Workload] whose operations use something up. What Prepare takes is in no latency, but it is in the time
// that the throughput is of; so such workloads are compared by their latencies alone.
type Preparer interface {
	Workload
	// Prepare makes what the caller's next Op uses up. It is called right before each Op; an error counts as a failed
	// operation, and the Op is left out.
	Prepare(ctx context.Context, caller int) error
}

// Plan says how a workload is driven.
type Plan struct {
	Callers  int           // concurrent callers, at least 1
	Warmup   time.Duration // driven but not counted; 0 means none
	Duration time.Duration // counted, more than 0
	Rounds   int           // turns of a comparison, at least 1; Run ignores it
}

// Result is what one run of a workload came to.
type Result struct {
	Ops        int64         // operations that succeeded
	Errors     int64         // operations that failed
	FirstError error         // one of the failures; nil when there was none
	Elapsed    time.Duration // from the end of the warm-up to the return of the last operation
	P50        time.Duration // latency percentiles of the operations that succeeded
	P95        time.Duration
	P99        time.Duration
}

// Throughput returns the successful operations per second.
func (r Result) Throughput() float64 {
	return float64(r.Ops) / r.Elapsed.Seconds()
}

// Run drives a workload that was set up. It counts the operations that return after the warm-up, and waits for those
// that are under way at the end, so a system that stalls cannot hide it on either side. It fails when ctx ends or when
// no operation succeeded.
func Run(ctx context.Context, w Workload, p Plan) (Result, error) {
	if p.Callers < 1 || p.Duration <= 0 {
		return Result{}, fmt.Errorf("run workload: want callers and a duration, got %d and %v", p.Callers, p.Duration)
	}
	callers := make([]caller, p.Callers)
	for i := range callers {
		callers[i].latency = newHistogram()
	}
	runtime.GC() // the garbage of an earlier run is not this one's
	start := time.Now().Add(p.Warmup)
	end := start.Add(p.Duration)

	opCtx, cancel := context.WithDeadline(ctx, end.Add(stallLimit))
	defer cancel()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { callers[i].drive(opCtx, w, i, start, end) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("run workload: %w", err)
	}
	return sum(callers, start)
}

// caller is what one closed loop counted.
type caller struct {
	latency  *hdrhistogram.Histogram
	errors   int64
	firstErr error
	last     time.Time // when its last operation returned
}

// drive runs at least one operation.
func (c *caller) drive(ctx context.Context, w Workload, id int, start, end time.Time) {
	for c.last = time.Now(); ; {
		begun, err := prepare(ctx, w, id, c.last)
		if err == nil {
			err = w.Op(ctx, id)
		}
		c.last = time.Now()
		if c.last.After(start) {
			c.count(c.last.Sub(begun), err)
		}
		if !c.last.Before(end) || ctx.Err() != nil {
			return
		}
	}
}

// prepare makes the workload ready for an operation and returns when that begins: where the one before ended, if there
// is nothing to prepare.
func prepare(ctx context.Context, w Workload, id int, ended time.Time) (time.Time, error) {
	p, ok := w.(Preparer)
	if !ok {
		return ended, nil
	}
	err := p.Prepare(ctx, id)
	return time.Now(), err
}

func (c *caller) count(took time.Duration, err error) {
	if err == nil {
		_ = c.latency.RecordValue(int64(min(max(took, shortest), longest))) // clamped, so always in range
		return
	}
	c.errors++
	if c.firstErr == nil {
		c.firstErr = err
	}
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(shortest), int64(longest), digits)
}

func sum(callers []caller, start time.Time) (Result, error) {
	var r Result
	all := newHistogram()
	for _, c := range callers {
		all.Merge(c.latency)
		r.Errors += c.errors
		r.Elapsed = max(r.Elapsed, c.last.Sub(start))
		if r.FirstError == nil {
			r.FirstError = c.firstErr
		}
	}
	r.Ops = all.TotalCount()
	if r.Ops == 0 {
		return r, errors.Join(errors.New("run workload: no operation succeeded"), r.FirstError)
	}
	r.P50 = time.Duration(all.ValueAtPercentile(50))
	r.P95 = time.Duration(all.ValueAtPercentile(95))
	r.P99 = time.Duration(all.ValueAtPercentile(99))
	return r, nil
}
