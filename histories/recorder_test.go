package histories_test

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlink/zlink-nats/subjects"
)

// recorder keeps the calls of a run.
type recorder struct {
	start time.Time
	ids   atomic.Uint64 // given out, for what has to be different in every request
	done  atomic.Int64  // calls that returned

	mu    sync.Mutex
	calls []*call // guarded by mu
}

func (r *recorder) since() time.Duration { return time.Since(r.start) }

func (r *recorder) add(c *call) {
	r.done.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// tally counts the calls by operation and answer, for people.
func (r *recorder) tally() map[subjects.Operation]map[string]int {
	counts := make(map[subjects.Operation]map[string]int)
	for _, c := range r.calls {
		if counts[c.op] == nil {
			counts[c.op] = make(map[string]int)
		}
		counts[c.op][c.said()]++
	}
	return counts
}
