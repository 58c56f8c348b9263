package measure

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of the histograms in microseconds, and the number of digits that are exact.
const (
	leastMicros = 1
	mostMicros  = int64(5 * time.Minute / time.Microsecond)
	digits      = 3
)

// times are the latencies of a phase, one histogram for each worker, so that workers do not wait for each other.
type times []*histogram

type histogram struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram // guarded by mu
}

func newTimes(workers int) times {
	all := make(times, workers)
	for i := range all {
		all[i] = &histogram{h: hdrhistogram.New(leastMicros, mostMicros, digits)}
	}
	return all
}

// recorder returns what takes the times of a worker.
func (t times) recorder(worker int) func(time.Duration) {
	h := t[worker]
	return func(d time.Duration) {
		h.mu.Lock()
		defer h.mu.Unlock()
		_ = h.h.RecordValue(min(max(d.Microseconds(), leastMicros), mostMicros)) // within the range
	}
}

func (t times) merged() *hdrhistogram.Histogram {
	all := hdrhistogram.New(leastMicros, mostMicros, digits)
	for _, h := range t {
		h.mu.Lock()
		all.Merge(h.h)
		h.mu.Unlock()
	}
	return all
}
