package kvstore

import "time"

// Pace is how fast removed rows are forgotten.
type Pace struct{ pace }

// NewPace returns the pace at the beginning.
func NewPace() *Pace { return &Pace{newPace()} }

// Took learns from a commit.
func (p *Pace) Took(d time.Duration) { p.took(d) }

// Rows is the size of the next commit.
func (p *Pace) Rows() int { return p.rows }

// Rest is how long there is until the next commit.
func (p *Pace) Rest() time.Duration { return time.Until(p.due) }
