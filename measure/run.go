package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Scenario is one kind of work.
type Scenario interface {
	// Workers is how many workers do it when so many were asked for. It is called once, before Prepare.
	Workers(asked int) int
	// Prepare makes what the work needs.
	Prepare(ctx context.Context) error
	// Do does one operation for a worker, whose number is 0 or greater and which does one at a time. The operation was due at due;
	// record takes the times from then on, once or several times, during Do or later.
	Do(ctx context.Context, worker int, due time.Time, record func(time.Duration)) error
	// Settle returns when what Do left under way has come to its end, and says what did not.
	Settle(ctx context.Context) error
	// Remove removes what Prepare and Do made.
	Remove(ctx context.Context) error
}

// Options of a run.
type Options struct {
	// Workers is how many operations are under way at a time at most; at least 1.
	Workers int
	// Duration of all phases together; greater than 0.
	Duration time.Duration
	// Rate is how many operations are due in a second; 0 finds out how many are possible, and takes 70 % of that.
	Rate float64
	// Progress, if not nil, is called about once in a second.
	Progress func(Progress)
}

// Phase is a part of a run.
type Phase string

// The phases of a run.
const (
	Saturation Phase = "saturation" // as fast as the workers can
	Pacing     Phase = "pacing"     // at a fixed rate
)

// Progress is how a run is going.
type Progress struct {
	Phase  Phase
	Passed time.Duration // since the phase began
	Whole  time.Duration // that it takes
	Done   int64         // operations of this phase
	Failed int64         // of these
}

// Report is what a run found out.
type Report struct {
	Workers    int     `json:"workers"`              // that did the work
	Throughput float64 `json:"throughput,omitempty"` // operations in a second, as fast as the workers can; 0 when a rate was given
	Rate       float64 `json:"rate"`                 // operations in a second that were due for the latencies
	Achieved   float64 `json:"achieved"`             // operations in a second that were done then
	Samples    int64   `json:"samples"`              // times that the latencies are made of
	P50        float64 `json:"p50Ms"`                // milliseconds that half of them took at most
	P95        float64 `json:"p95Ms"`                // milliseconds
	P99        float64 `json:"p99Ms"`                // milliseconds
	Max        float64 `json:"maxMs"`                // milliseconds
	Done       int64   `json:"done"`                 // operations of both phases
	Failed     int64   `json:"failed"`               // of these
	Failure    string  `json:"failure,omitempty"`    // the first one's text
}

const (
	// saturationShare is the part of a run that finds out what is possible.
	saturationShare = 3
	// pace is the part of what is possible at which latencies are taken: busy, but not overloaded.
	pace = 0.7
	// removal bounds the clean-up.
	removal = 30 * time.Second
	// tick is how often progress is told.
	tick = time.Second
)

// ErrNothingDone says that no operation succeeded, so that there is no throughput to pace by.
var ErrNothingDone = errors.New("no operation succeeded")

// Run measures a scenario. When ctx ends it removes what was made, and returns the error of ctx.
func Run(ctx context.Context, s Scenario, o Options) (report Report, err error) {
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
		defer cancel()
		if failure := s.Remove(removing); failure != nil {
			err = errors.Join(err, fmt.Errorf("remove what was made: %w", failure))
		}
	}()
	report.Workers, report.Rate = s.Workers(o.Workers), o.Rate
	if err := s.Prepare(ctx); err != nil {
		return report, fmt.Errorf("prepare: %w", err)
	}
	left := o.Duration
	if o.Rate == 0 {
		p := newPhase(s, o, Saturation, report.Workers, left/saturationShare)
		took := p.run(ctx)
		report.add(p)
		report.Throughput = float64(p.done.Load()-p.failed.Load()) / took.Seconds()
		report.Rate, left = report.Throughput*pace, left-left/saturationShare
	}
	switch {
	case ctx.Err() != nil:
		return report, ctx.Err()
	case report.Rate <= 0:
		return report, fmt.Errorf("%w: %s", ErrNothingDone, report.Failure)
	}
	p := newPhase(s, o, Pacing, report.Workers, left)
	p.interval = time.Duration(float64(time.Second) / report.Rate)
	took := p.run(ctx)
	report.add(p)
	report.Achieved = float64(p.done.Load()) / took.Seconds()
	report.latencies(p.times.merged())
	return report, ctx.Err()
}

func (r *Report) add(p *phase) {
	r.Done += p.done.Load()
	r.Failed += p.failed.Load()
	if first := p.failure.Load(); first != nil && r.Failure == "" {
		r.Failure = *first
	}
}

func (r *Report) latencies(h *hdrhistogram.Histogram) {
	at := func(percentile float64) float64 { return float64(h.ValueAtQuantile(percentile)) / 1000 }
	r.Samples, r.P50, r.P95, r.P99, r.Max = h.TotalCount(), at(50), at(95), at(99), float64(h.Max())/1000
}

// phase is one phase of a run.
type phase struct {
	scenario Scenario
	options  Options
	name     Phase
	workers  int
	whole    time.Duration
	interval time.Duration // from one instant at which an operation is due to the next; 0: as fast as possible
	times    times

	next    atomic.Int64 // number of the next operation
	done    atomic.Int64
	failed  atomic.Int64
	failure atomic.Pointer[string]
}

func newPhase(s Scenario, o Options, name Phase, workers int, whole time.Duration) *phase {
	return &phase{scenario: s, options: o, name: name, workers: workers, whole: whole, times: newTimes(workers)}
}

// run returns when the phase is over, and how long it was.
func (p *phase) run(ctx context.Context) time.Duration {
	start := time.Now()
	ending, cancel := context.WithTimeout(ctx, p.whole)
	defer cancel()
	var working, telling sync.WaitGroup
	for w := range p.workers {
		working.Go(func() { p.work(ctx, ending, w, start) })
	}
	telling.Go(func() { p.tell(ending, start) })
	working.Wait()
	took := time.Since(start)
	cancel()
	telling.Wait()
	if err := p.scenario.Settle(ctx); err != nil && ctx.Err() == nil {
		p.fail(err)
	}
	return took
}

func (p *phase) fail(err error) {
	p.failed.Add(1)
	text := err.Error()
	p.failure.CompareAndSwap(nil, &text)
}

// work does operations until the phase ends; the last one is finished, unless the whole run ends.
func (p *phase) work(ctx, ending context.Context, worker int, start time.Time) {
	record := p.times.recorder(worker)
	for ending.Err() == nil {
		due := time.Now()
		if p.interval > 0 {
			if due = start.Add(time.Duration(p.next.Add(1)-1) * p.interval); !until(ending, due) {
				return
			}
		}
		err := p.scenario.Do(ctx, worker, due, record)
		if ctx.Err() != nil {
			return
		}
		p.done.Add(1)
		if err != nil {
			p.fail(err)
		}
	}
}

// until waits for an instant, and returns false when the context ends before.
func until(ctx context.Context, at time.Time) bool {
	left := time.Until(at)
	if left <= 0 {
		return true
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tell reports progress until the phase ends.
func (p *phase) tell(ending context.Context, start time.Time) {
	if p.options.Progress == nil {
		return
	}
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.options.Progress(Progress{p.name, time.Since(start), p.whole, p.done.Load(), p.failed.Load()})
		case <-ending.Done():
			return
		}
	}
}
