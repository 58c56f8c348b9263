package histories_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/subjects"
)

// plan is what a run is made of. The same plan draws the same requests and faults; what they meet differs from run to run.
type plan struct {
	seed     uint64
	replicas int
	duration time.Duration
}

func (p plan) dice(n uint64) *rand.Rand { return rand.New(rand.NewPCG(p.seed, n)) }

// run lets callers call while faults happen, and returns what it was like when everything works again.
func (p plan) run(t *testing.T) (*world, *recorder) {
	t.Helper()
	w := newWorld(t, p.replicas)
	rec := &recorder{start: time.Now()}
	b := newBoard()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	defer stop()
	for n := range callers {
		c := p.caller(n, w, rec, b)
		wg.Go(func() { c.run(ctx) })
	}
	w.disturb(p.dice(0), rec, p.duration)
	stop()
	return w, rec
}

// caller is the n-th caller.
func (p plan) caller(n int, w *world, rec *recorder, b *board) *caller {
	return &caller{
		Rand: p.dice(uint64(n) + 1), t: w.t, n: n, conn: w.ways[n%len(w.ways)].connect(w.t, n), rec: rec, board: b,
		latest: make(map[subjects.Operation]any),
	}
}

// String names the plan.
func (p plan) String() string { return fmt.Sprintf("seed%d-R%d-%v", p.seed, p.replicas, p.duration) }
