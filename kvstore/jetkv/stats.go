package jetkv

import "sync/atomic"

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
}

type counters struct {
	commits, refusals, groups, messages, conflicts, unknown, rebuilds, blocked, overloaded atomic.Uint64
}

// Stats returns the counts. It may be called at any time.
func (s *Store) Stats() Stats {
	c := &s.stats
	return Stats{
		Commits: c.commits.Load(), Refusals: c.refusals.Load(),
		Groups: c.groups.Load(), Messages: c.messages.Load(), Conflicts: c.conflicts.Load(),
		Unknown: c.unknown.Load(), Rebuilds: c.rebuilds.Load(), Blocked: c.blocked.Load(),
		Overloaded: c.overloaded.Load(), Queue: len(s.queue),
	}
}
