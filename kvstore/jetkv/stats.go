package jetkv

import (
	"sync/atomic"

	"github.com/zlink/zlink-nats/kvstore"
)

// Stats count what the store did since it was opened.
type Stats struct {
	Commits    uint64 // transactions that wrote something
	Refusals   uint64 // transactions that wrote nothing
	Groups     uint64 // commits sent to the server, each of one or more transactions
	Messages   uint64 // messages in them
	Conflicts  uint64 // groups that another instance was faster than
	Unknown    uint64 // acknowledgements that had to be settled from the log
	Rebuilds   uint64 // states built anew
	Blocked    uint64 // runs that had to wait for the change feed
	Overloaded uint64 // transactions refused because too many wait
	Queue      int    // transactions that wait now
	// Leader is the last revision that the stream leader told of; 0 when it is not known.
	// It is asked every two seconds, and when a race was lost.
	Leader kvstore.Revision
	// Expired counts the rows whose expiry came, by the first segment of their keys, in the
	// commits that this store has seen, whoever made them.
	Expired map[string]uint64
}

type counters struct {
	commits, refusals, groups, messages, conflicts, unknown, rebuilds, blocked, overloaded atomic.Uint64

	leader atomic.Uint64
}

// Stats returns the counts. It may be called at any time.
func (s *Store) Stats() Stats {
	c := &s.stats
	return Stats{
		Commits: c.commits.Load(), Refusals: c.refusals.Load(),
		Groups: c.groups.Load(), Messages: c.messages.Load(), Conflicts: c.conflicts.Load(),
		Unknown: c.unknown.Load(), Rebuilds: c.rebuilds.Load(), Blocked: c.blocked.Load(),
		Overloaded: c.overloaded.Load(), Queue: len(s.queue),
		Leader: kvstore.Revision(c.leader.Load()), Expired: s.history.Expired(),
	}
}
