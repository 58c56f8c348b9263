package histories_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

var (
	seeds    = flag.Int("seeds", 0, "runs of TestSoak")
	seed     = flag.Uint64("seed", 1, "seed of the first run of TestSoak; the others count on")
	replicas = flag.Int("replicas", 0, "servers of each run of TestSoak; 0 alternates between 1 and 3")
	duration = flag.Duration("duration", 20*time.Second, "how long the callers of each run of TestSoak call")
	pictures = flag.String("pictures", filepath.Join(os.TempDir(), "zlink-histories"), "directory for the pictures of histories that fail")
)

// searchTime bounds the search for an order of one history.
const searchTime = 30 * time.Second

// TestHistories are a few short runs.
func TestHistories(t *testing.T) {
	t.Parallel()
	for _, p := range []plan{
		{seed: 1, replicas: 1, duration: 4 * time.Second},
		{seed: 2, replicas: 1, duration: 4 * time.Second},
		{seed: 3, replicas: 3, duration: 6 * time.Second},
	} {
		t.Run(p.String(), func(t *testing.T) {
			if p.replicas > 1 && testing.Short() {
				t.Skip("starts three servers")
			}
			t.Parallel()
			p.test(t)
		})
	}
}

// TestSoak are as many runs, one after the other, as the flags say.
func TestSoak(t *testing.T) {
	if *seeds == 0 {
		t.Skip("runs with -seeds")
	}
	for n := range *seeds {
		p := plan{seed: *seed + uint64(n), replicas: *replicas, duration: *duration}
		if p.replicas == 0 {
			p.replicas = []int{3, 1}[p.seed%2]
		}
		t.Run(p.String(), p.test)
	}
}

// test runs a plan and checks what came of it.
func (p plan) test(t *testing.T) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: go test -race -count=1 ./histories -run TestSoak -seeds=1 -seed=%d -replicas=%d -duration=%v",
				p.seed, p.replicas, p.duration)
		}
	})
	w, rec := p.run(t)
	for op, counts := range rec.tally() {
		t.Log(op, counts)
	}
	last := p.caller(callers, w, rec, newBoard())
	last.mark()
	last.look(w)
	events := changes(t, last.conn, last.mark())
	for _, err := range examine(rec.calls, events, searchTime, filepath.Join(*pictures, p.String())) {
		t.Error(err)
	}
	if errs := w.log.String(); errs != "" {
		t.Errorf("errors were logged:\n%s", errs)
	}
}

// examine checks a history in all ways, and returns what is wrong with it.
func examine(calls []*call, events []*event, patience time.Duration, dir string) []error {
	faults := slices.Concat(most(inOrder(events)), most(inTime(calls)), most(attribute(calls, events)), most(retrace(calls, events)))
	newHorizon(calls).draw(calls, events)
	for _, p := range parts(calls) {
		if err := p.check(patience, dir); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// mostFaults is how many faults of one sort are shown: what is wrong once is often wrong a thousand times.
const mostFaults = 8

func most(faults []error) []error {
	if n := len(faults) - mostFaults; n > 0 {
		return append(faults[:mostFaults], fmt.Errorf("and %d more", n))
	}
	return faults
}

// mark makes a last change and returns its revision: whatever was told before has a lower one.
func (c *caller) mark() (revision uint64) {
	c.t.Helper()
	testenv.Eventually(c.t, patience, func() bool {
		made := c.call(subjects.LeaseClaim, &wire.LeaseClaimRequest{OwnerID: fmt.Sprint("mark", c.id()), TTL: leaseTTL})
		revision = made.revision
		return made.outcome == answered
	}, "last change")
	return revision
}
