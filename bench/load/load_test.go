package load_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/bench/load"
)

// script is a workload whose operations take and answer what the test says.
type script struct {
	op       func(ctx context.Context, caller int) error
	setupErr error
	closed   *int // counts calls of Close; may be nil
}

func (s script) Setup(context.Context) error              { return s.setupErr }
func (s script) Op(ctx context.Context, caller int) error { return s.op(ctx, caller) }
func (s script) Close() error {
	if s.closed != nil {
		*s.closed++
	}
	return nil
}

// takes is an operation that lasts d.
func takes(d time.Duration) func(context.Context, int) error {
	return func(context.Context, int) error {
		time.Sleep(d)
		return nil
	}
}

var errRefused = errors.New("refused")

func TestRunCountsOperationsOfTheCountedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, err := load.Run(t.Context(), script{op: takes(10 * time.Millisecond)},
			load.Plan{Callers: 3, Warmup: 100 * time.Millisecond, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got.Ops != 300 || got.Elapsed != time.Second || got.Throughput() != 300 {
			t.Errorf("got %d operations in %v, want 300 in 1s", got.Ops, got.Elapsed)
		}
		for _, p := range []time.Duration{got.P50, got.P95, got.P99} {
			if p.Round(100*time.Microsecond) != 10*time.Millisecond {
				t.Errorf("got percentile %v, want 10ms", p)
			}
		}
	})
}

func TestRunWaitsForAStalledOperation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got, err := load.Run(t.Context(), script{op: takes(5 * time.Second)}, load.Plan{Callers: 1, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got.Ops != 1 || got.Elapsed != 5*time.Second {
			t.Errorf("got %d operations in %v, want 1 in 5s: the stall must show", got.Ops, got.Elapsed)
		}
	})
}

func TestRunCountsAStallThatBeganInTheWarmup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		op := func(ctx context.Context, caller int) error {
			if time.Since(begun) == 0 {
				return takes(900*time.Millisecond)(ctx, caller)
			}
			return takes(100*time.Millisecond)(ctx, caller)
		}
		got, err := load.Run(t.Context(), script{op: op},
			load.Plan{Callers: 1, Warmup: 500 * time.Millisecond, Duration: 600 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if got.Ops != 3 || got.P99 < 900*time.Millisecond {
			t.Errorf("got %d operations with p99 %v, want 3 and the 900ms of the first", got.Ops, got.P99)
		}
	})
}

func TestRunKeepsFailuresOutOfLatencies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		op := func(ctx context.Context, caller int) error {
			if caller == 1 {
				time.Sleep(100 * time.Millisecond)
				return errRefused
			}
			return takes(time.Millisecond)(ctx, caller)
		}
		got, err := load.Run(t.Context(), script{op: op}, load.Plan{Callers: 2, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got.Ops != 1000 || got.Errors != 10 || !errors.Is(got.FirstError, errRefused) {
			t.Errorf("got %d operations and %d errors (%v), want 1000 and 10", got.Ops, got.Errors, got.FirstError)
		}
		if got.P99 > 2*time.Millisecond {
			t.Errorf("got p99 %v, want that of the successful operations, 1ms", got.P99)
		}
	})
}

// restocked is a workload that has to be prepared for every operation.
type restocked struct {
	script
	prepare func(ctx context.Context, caller int) error
}

func (r restocked) Prepare(ctx context.Context, caller int) error { return r.prepare(ctx, caller) }

func TestRunKeepsPreparationOutOfLatencies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := restocked{script{op: takes(10 * time.Millisecond)}, takes(90 * time.Millisecond)}
		got, err := load.Run(t.Context(), w, load.Plan{Callers: 1, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got.Ops != 10 || got.P99.Round(100*time.Microsecond) != 10*time.Millisecond {
			t.Errorf("got %d operations with p99 %v, want 10 with the 10ms of the operation alone", got.Ops, got.P99)
		}
	})
}

func TestRunLeavesOutOperationsThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		prepared, ran := 0, 0
		prepare := func(ctx context.Context, caller int) error {
			if prepared++; prepared%2 == 0 {
				return errRefused
			}
			return nil
		}
		op := func(ctx context.Context, caller int) error {
			ran++
			return takes(100*time.Millisecond)(ctx, caller)
		}
		got, err := load.Run(t.Context(), restocked{script{op: op}, prepare}, load.Plan{Callers: 1, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if ran != 10 || got.Ops != 10 || got.Errors != 9 || !errors.Is(got.FirstError, errRefused) {
			t.Errorf("ran %d, got %d operations and %d errors (%v), want 10, 10 and 9", ran, got.Ops, got.Errors, got.FirstError)
		}
	})
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	fails := func(context.Context, int) error {
		time.Sleep(time.Millisecond)
		return errRefused
	}
	hangs := func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	}
	ok := takes(time.Millisecond)
	for _, tt := range []struct {
		name string
		op   func(context.Context, int) error
		plan load.Plan
		want error // nil means any
	}{
		{"no callers: nothing would run", ok, load.Plan{Duration: time.Second}, nil},
		{"no duration: nothing would be counted", ok, load.Plan{Callers: 1}, nil},
		{"every operation fails: there is no latency", fails, load.Plan{Callers: 1, Duration: time.Second}, errRefused},
		{"operation never returns: its context ends", hangs, load.Plan{Callers: 1, Duration: time.Second}, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, err := load.Run(t.Context(), script{op: tt.op}, tt.plan)
				if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) {
					t.Errorf("got error %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := load.Run(ctx, script{op: takes(time.Millisecond)}, load.Plan{Callers: 1, Duration: time.Hour})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// subject is one whose operation lasts d.
func subject(name string, d time.Duration, closed *int) load.Subject {
	return load.Subject{Name: name, New: func(int) load.Workload { return script{op: takes(d), closed: closed} }}
}

func TestCompareTakesRatiosToTheFirstThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		got, err := load.Compare(t.Context(), []load.Subject{
			{Name: "absent", Missing: "not installed"},
			subject("slow", 10*time.Millisecond, &closed),
			subject("fast", 5*time.Millisecond, &closed),
		}, load.Plan{Callers: 2, Duration: time.Second, Rounds: 3})
		if err != nil {
			t.Fatal(err)
		}
		type ratio struct {
			Missing                   string
			Throughput, Ops, P50, P99 float64
		}
		var ratios []ratio
		for _, r := range got.Rows {
			ratios = append(ratios, ratio{r.Missing, r.Throughput, r.ThroughputRatio, round(r.P50Ratio), round(r.P99Ratio)})
		}
		want := []ratio{{Missing: "not installed"}, {"", 200, 1, 1, 1}, {"", 400, 2, 0.5, 0.5}}
		if diff := cmp.Diff(ratios, want); diff != "" {
			t.Errorf("got (-) and want (+) differ:\n%s", diff)
		}
		if got.Callers != 2 || closed != 2 {
			t.Errorf("got %d callers and %d closed workloads, want 2 and 2", got.Callers, closed)
		}
	})
}

// round drops what the histogram's precision leaves.
func round(f float64) float64 { return float64(int(f*100+0.5)) / 100 }

func TestCompareReportsTheMedianRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		// In the first of three turns operations last a tenth as long as in the others.
		op := func(ctx context.Context, caller int) error {
			if time.Since(start) < time.Second {
				return takes(time.Millisecond)(ctx, caller)
			}
			return takes(10*time.Millisecond)(ctx, caller)
		}
		got, err := load.Compare(t.Context(), []load.Subject{{Name: "s", New: func(int) load.Workload { return script{op: op} }}},
			load.Plan{Callers: 1, Duration: time.Second, Rounds: 3})
		if err != nil {
			t.Fatal(err)
		}
		if got.Rows[0].Throughput != 100 {
			t.Errorf("got %v operations a second, want the median 100", got.Rows[0].Throughput)
		}
	})
}

func TestCompareRunsSubjectsInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns []string
		record := func(name string) load.Subject {
			op := func(context.Context, int) error {
				turns = append(turns, name)
				time.Sleep(time.Second)
				return nil
			}
			return load.Subject{Name: name, New: func(int) load.Workload { return script{op: op} }}
		}
		_, err := load.Compare(t.Context(), []load.Subject{record("a"), record("b")},
			load.Plan{Callers: 1, Duration: time.Second, Rounds: 2})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(turns, []string{"a", "b", "a", "b"}); diff != "" {
			t.Errorf("got (-) and want (+) differ:\n%s", diff)
		}
	})
}

func TestCompareClosesAfterAFailedSetup(t *testing.T) {
	t.Parallel()
	closed := 0
	broken := load.Subject{Name: "broken", New: func(int) load.Workload { return script{setupErr: errRefused, closed: &closed} }}
	_, err := load.Compare(t.Context(), []load.Subject{subject("sound", 0, &closed), broken},
		load.Plan{Callers: 1, Duration: time.Second, Rounds: 1})
	if !errors.Is(err, errRefused) || closed != 2 {
		t.Errorf("got error %v and %d closed workloads, want %v and 2", err, closed, errRefused)
	}
}

func TestCompareRefusesNoRounds(t *testing.T) {
	t.Parallel()
	if _, err := load.Compare(t.Context(), nil, load.Plan{Callers: 1, Duration: time.Second}); err == nil {
		t.Error("got no error for 0 rounds: there would be no median")
	}
}
