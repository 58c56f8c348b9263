package measure_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlink/zlink-nats/measure"
)

// fake is a scenario whose operations take as long as a test says.
type fake struct {
	takes   func(n int64) time.Duration // of the operation n, from 0 on
	err     error
	settle  error
	count   atomic.Int64
	removed bool
}

func (f *fake) Workers(asked int) int         { return asked }
func (f *fake) Prepare(context.Context) error { return nil }
func (f *fake) Settle(context.Context) error  { return f.settle }

func (f *fake) Do(ctx context.Context, _ int, due time.Time, record func(time.Duration)) error {
	select {
	case <-time.After(f.takes(f.count.Add(1) - 1)):
	case <-ctx.Done():
		return ctx.Err()
	}
	record(time.Since(due))
	return f.err
}

func (f *fake) Remove(ctx context.Context) error {
	f.removed = true
	return ctx.Err()
}

func always(d time.Duration) func(int64) time.Duration { return func(int64) time.Duration { return d } }

func TestSaturationFindsTheThroughputAndPacingTakesItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: always(10 * time.Millisecond)}
		r, err := measure.Run(t.Context(), f, measure.Options{Workers: 4, Duration: 30 * time.Second})
		if err != nil || !f.removed {
			t.Fatalf("run: %v, removed %v", err, f.removed)
		}
		if r.Throughput < 399 || r.Throughput > 401 || r.Rate != r.Throughput*0.7 {
			t.Errorf("throughput %v, rate %v; want 400 and 70 percent of it", r.Throughput, r.Rate)
		}
		if r.P50 < 10 || r.P50 > 10.1 || r.Max > 10.1 {
			t.Errorf("p50 %v ms, max %v ms; want 10", r.P50, r.Max)
		}
	})
}

// One operation of a second keeps the only worker busy while a hundred others are due: they waited for up to that second too.
func TestTimeCountsFromWhenAnOperationWasDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: func(n int64) time.Duration {
			if n == 100 {
				return time.Second
			}
			return time.Millisecond
		}}
		r, err := measure.Run(t.Context(), f, measure.Options{Workers: 1, Duration: 10 * time.Second, Rate: 100})
		if err != nil {
			t.Fatal(err)
		}
		// Of 1,000 operations, about 111 are late, evenly by 0 to 1 s: the slowest twentieth begins at about 550 ms.
		if r.P95 < 450 || r.P95 > 650 || r.P50 > 1.1 || r.Samples < 995 || r.Samples > 1001 {
			t.Errorf("p50 %v ms, p95 %v ms of %d; want 1, about 550, of 1000", r.P50, r.P95, r.Samples)
		}
	})
}

func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	broken := errors.New("it broke")
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: always(time.Millisecond), err: broken}
		r, err := measure.Run(t.Context(), f, measure.Options{Workers: 1, Duration: time.Second})
		if !errors.Is(err, measure.ErrNothingDone) || r.Failed != r.Done || r.Failed == 0 || r.Failure != broken.Error() {
			t.Errorf("got %+v, %v; want %v", r, err, measure.ErrNothingDone)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: always(time.Millisecond), settle: broken}
		r, err := measure.Run(t.Context(), f, measure.Options{Workers: 1, Duration: time.Second, Rate: 10})
		if err != nil || r.Failed != 1 || r.Failure != broken.Error() {
			t.Errorf("got %+v, %v; want one failure: %v", r, err, broken)
		}
	})
}

func TestStoppedRunRemovesWhatItMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := &fake{takes: always(time.Hour)}
		_, err := measure.Run(ctx, f, measure.Options{Workers: 3, Duration: time.Minute, Rate: 10})
		if !errors.Is(err, context.DeadlineExceeded) || !f.removed {
			t.Errorf("got %v, removed %v; want the end of the context, and true", err, f.removed)
		}
	})
}

func TestProgressIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []measure.Progress
		f := &fake{takes: always(100 * time.Millisecond)}
		_, err := measure.Run(t.Context(), f, measure.Options{
			Workers: 1, Duration: 9500 * time.Millisecond, Progress: func(p measure.Progress) { told = append(told, p) },
		})
		if err != nil || len(told) != 9 {
			t.Fatalf("told %d times, %v; want 9", len(told), err)
		}
		if first, last := told[0], told[8]; first.Phase != measure.Saturation || last.Phase != measure.Pacing || first.Done < 9 {
			t.Errorf("told %+v first and %+v last", first, last)
		}
	})
}
