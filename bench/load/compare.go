package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Subject is one side of a comparison.
type Subject struct {
	Name string
	// New makes the workload for a number of callers.
	New func(callers int) Workload
	// Missing says why the subject cannot run here, such as "not installed"; its row then says so and New is not called.
	Missing string
}

// Comparison is what the subjects came to at one number of callers.
type Comparison struct {
	Callers int
	Rows    []Row // one per subject, in their order; the first that is not missing is the baseline
}

// Row is one subject of a comparison. Every figure is the median over the rounds, except the errors.
type Row struct {
	Subject    string
	Missing    string  // why there are no figures; empty when there are
	Throughput float64 // operations per second
	P50        time.Duration
	P95        time.Duration
	P99        time.Duration
	Errors     int64 // sum over the rounds
	FirstError error // one of the failures; nil when there was none
	// Ratios to the same figure of the baseline, taken in each round. The baseline's own are 1.
	ThroughputRatio float64
	P50Ratio        float64
	P99Ratio        float64
}

// Compare sets all subjects up, drives them in turns for the plan's rounds, and closes them.
func Compare(ctx context.Context, subjects []Subject, p Plan) (c Comparison, err error) {
	if p.Rounds < 1 {
		return Comparison{}, fmt.Errorf("compare: want at least 1 round, got %d", p.Rounds)
	}
	runs := make([]subjectRun, len(subjects))
	defer func() {
		for _, r := range runs {
			if r.workload != nil {
				err = errors.Join(err, r.workload.Close())
			}
		}
	}()
	for i, s := range subjects {
		if err := runs[i].setup(ctx, s, p.Callers); err != nil {
			return Comparison{}, err
		}
	}
	for range p.Rounds {
		for i := range runs {
			if err := runs[i].round(ctx, p); err != nil {
				return Comparison{}, err
			}
		}
	}
	return Comparison{Callers: p.Callers, Rows: rows(runs)}, nil
}

// subjectRun is a subject with its results, one per round.
type subjectRun struct {
	Subject
	workload Workload // nil while not set up, and for a missing subject
	results  []Result
}

func (r *subjectRun) setup(ctx context.Context, s Subject, callers int) error {
	r.Subject = s
	if s.Missing != "" {
		return nil
	}
	r.workload = s.New(callers)
	if err := r.workload.Setup(ctx); err != nil {
		return fmt.Errorf("set up %s for %d callers: %w", s.Name, callers, err)
	}
	return nil
}

func (r *subjectRun) round(ctx context.Context, p Plan) error {
	if r.workload == nil {
		return nil
	}
	res, err := Run(ctx, r.workload, p)
	if err != nil {
		return fmt.Errorf("%s with %d callers: %w", r.Name, p.Callers, err)
	}
	r.results = append(r.results, res)
	return nil
}

func rows(runs []subjectRun) []Row {
	var base []Result
	out := make([]Row, 0, len(runs))
	for _, r := range runs {
		if base == nil {
			base = r.results
		}
		out = append(out, r.row(base))
	}
	return out
}

func (r *subjectRun) row(base []Result) Row {
	row := Row{Subject: r.Name, Missing: r.Missing}
	if row.Missing != "" {
		return row
	}
	row.Throughput = medianOf(r.results, Result.Throughput)
	row.P50 = medianOf(r.results, func(r Result) time.Duration { return r.P50 })
	row.P95 = medianOf(r.results, func(r Result) time.Duration { return r.P95 })
	row.P99 = medianOf(r.results, func(r Result) time.Duration { return r.P99 })
	var throughput, p50, p99 []float64
	for i, res := range r.results {
		throughput = append(throughput, res.Throughput()/base[i].Throughput())
		p50 = append(p50, float64(res.P50)/float64(base[i].P50))
		p99 = append(p99, float64(res.P99)/float64(base[i].P99))
		row.Errors += res.Errors
		row.FirstError = cmp.Or(row.FirstError, res.FirstError)
	}
	row.ThroughputRatio, row.P50Ratio, row.P99Ratio = median(throughput), median(p50), median(p99)
	return row
}

func medianOf[T float64 | time.Duration](results []Result, figure func(Result) T) T {
	values := make([]T, 0, len(results))
	for _, r := range results {
		values = append(values, figure(r))
	}
	return median(values)
}

// median returns the middle value, or the mean of the two in the middle. values must not be empty; it is reordered.
func median[T float64 | time.Duration](values []T) T {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
