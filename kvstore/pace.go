package kvstore

import "time"

const (
	// forgetTime is how long one commit that forgets removed rows should take. It costs the
	// server far more than its size tells (jetkv/DESIGN.md), and an expiry must not have to
	// wait for it.
	forgetTime = 20 * time.Millisecond
	// forgetLeast and forgetMost bound the rows of such a commit.
	forgetLeast, forgetMost = 8, sweepRows / 4
)

// pace sees to it that forgetting, which can wait, leaves the store to others.
type pace struct {
	rows int       // of the next commit
	due  time.Time // when it may be made
}

func newPace() pace { return pace{rows: forgetLeast} }

// took learns from a commit: the next one is larger or smaller so that it takes about
// forgetTime, and comes after a rest as long as that took.
func (p *pace) took(d time.Duration) {
	switch {
	case d < forgetTime:
		p.rows = min(2*p.rows, forgetMost)
	case d > 2*forgetTime:
		p.rows = max(p.rows/2, forgetLeast)
	}
	p.due = time.Now().Add(d)
}
