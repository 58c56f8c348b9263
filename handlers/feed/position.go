package feed

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// whole is the index after all events of a revision.
const whole = math.MaxInt

// position is a place in the order of all events.
type position struct {
	revision kvstore.Revision
	index    int // among the events of the revision, from 0; or whole
}

// covers tells whether q is at p or before it.
func (p position) covers(q position) bool {
	return cmp.Or(cmp.Compare(p.revision, q.revision), cmp.Compare(p.index, q.index)) >= 0
}

// needs is the revision after which commits may hold events behind p.
func (p position) needs() kvstore.Revision {
	if p.revision == 0 || p.index == whole {
		return p.revision
	}
	return p.revision - 1
}

// id is the message id of the event at p.
func (p position) id() string { return fmt.Sprintf("%d-%d", p.revision, p.index) }

// mark says how far the stream is.
type mark struct {
	position        // of the last event; zero when there is none
	event    uint64 // sequence of that event; 0 when there is none
	last     uint64 // sequence of the last message, somebody else's included: what an append expects
}

// positionOf reads the position of the event with these headers; false when it is not an event.
func positionOf(h nats.Header) (position, bool) {
	rev, err := strconv.ParseUint(h.Get(wire.HeaderRevision), 10, 63)
	if err != nil || rev == 0 {
		return position{}, false
	}
	index, err := strconv.Atoi(h.Get(wire.HeaderIndex))
	if err != nil || index < 0 {
		return position{}, false
	}
	return position{kvstore.Revision(rev), index}, true
}
