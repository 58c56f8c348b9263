package feed

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
)

// item is an event that is not known to be in the stream.
type item struct {
	position
	domain.Event
	own bool // of a commit of this instance
	// done is the store revision up to which everything is out once this event is; 0 when more
	// events of the same commit follow.
	done kvstore.Revision
}

// queue holds items in the order of their positions, and behind them commits that are left to another
// instance: as a rule that one pushes them, and what their events are is never asked here.
type queue struct {
	items []item
	own   int // how many of them are own
	left  []*kvstore.Commit
}

// len counts what waits; a commit that is left to another instance counts as one.
func (q *queue) len() int { return len(q.items) + len(q.left) }

// foreign tells whether what waits last is of another instance.
func (q *queue) foreign() bool {
	return len(q.left) > 0 || len(q.items) > 0 && !q.items[len(q.items)-1].own
}

// leave adds a commit of another instance.
func (q *queue) leave(c *kvstore.Commit) { q.left = append(q.left, c) }

// take removes the first commit that was left.
func (q *queue) take() *kvstore.Commit {
	c := q.left[0]
	q.left[0] = nil // let go of its states
	if q.left = q.left[1:]; len(q.left) == 0 {
		q.left = nil
	}
	return c
}

// push adds the events of a commit that are behind a position. It returns the commit's revision when
// that leaves nothing to wait for, else 0.
func (q *queue) push(events []domain.Event, after position, revision kvstore.Revision, own bool) kvstore.Revision {
	index := 0
	for i, e := range events {
		if i > 0 && events[i-1].Revision != e.Revision {
			index = 0
		}
		if p := (position{e.Revision, index}); !after.covers(p) {
			q.items = append(q.items, item{position: p, Event: e, own: own})
			if own {
				q.own++
			}
		}
		index++
	}
	if len(q.items) == 0 {
		return revision
	}
	// Also right for a commit without events: it is done with the event before it.
	q.items[len(q.items)-1].done = revision
	return 0
}

// pass removes what is up to a position and returns the store revision that is then done; 0 when it is
// not known to have moved. A commit that was left stays while its last revision may have more events.
func (q *queue) pass(p position) kvstore.Revision {
	n := 0
	for n < len(q.items) && p.covers(q.items[n].position) {
		n++
	}
	done := q.drop(n)
	for len(q.items) == 0 && len(q.left) > 0 && q.left[0].Revision < p.revision {
		done = q.take().Revision
	}
	return done
}

// drop removes the first n items and returns what [queue.pass] does.
func (q *queue) drop(n int) (done kvstore.Revision) {
	for _, it := range q.items[:n] {
		done = max(done, it.done)
		if it.own {
			q.own--
		}
	}
	clear(q.items[:n]) // let go of the events
	if q.items = q.items[n:]; len(q.items) == 0 {
		q.items = nil
	}
	return done
}
