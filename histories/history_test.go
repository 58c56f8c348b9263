package histories_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func TestHistories(t *testing.T) {
	t.Parallel()
	p := plan{seed: 1, replicas: 1, duration: 5 * time.Second}
	w, rec := p.run(t)
	for op, counts := range rec.tally() {
		t.Log(op, counts)
	}
	w.check(p, rec, t.TempDir())
}

// pictureTime bounds the search for an order of one history.
const searchTime = 20 * time.Second

// check checks a run that has ended.
func (w *world) check(p plan, rec *recorder, dir string) {
	w.t.Helper()
	last := p.caller(callers, w, rec, newBoard())
	events := changes(w.t, last.conn, last.mark())
	for _, err := range attribute(rec.calls, events) {
		w.t.Error(err)
	}
	for _, part := range parts(rec.calls) {
		if err := part.check(searchTime, filepath.Join(dir, p.String())); err != nil {
			w.t.Error(err)
		}
	}
}

// mark makes a last change and returns its revision: whatever was told before has a lower one.
func (c *caller) mark() (revision uint64) {
	c.t.Helper()
	claim := &wire.LeaseClaimRequest{OwnerID: "mark", TTL: leaseTTL, ClaimID: "mark"}
	testenv.Eventually(c.t, patience, func() bool {
		made := c.call(subjects.LeaseClaim, claim)
		revision = made.revision
		return made.outcome == answered
	}, "last change")
	return revision
}
