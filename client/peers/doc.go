// Package peers keeps a host connected to its peers: the hosts that the directory shows in the same mesh.
//
// # Model
//
// A [Set] belongs to one row of a host, the [Own]. It lists the live peers of the same type and mesh, decides which of them the
// host has to dial, so that there is one connection between two, and has connections made and ended until they are those. The
// host brings the connections, by [Dial] and [Connection]; the Set knows the rules (domain 15.9):
//
//   - In a mesh of routers the lower routing id dials, or the lower endpoint where ids are unknown; in a fan-out the subscribers
//     dial the publishers. A peer that drains keeps the connection that it has and gets no new one.
//   - A peer that has another endpoint, owner or generation than the one connected to is another target. The old connection is
//     ended first; the new one is made when it is gone.
//   - A connection that dropped is made again when the next listing shows the peer; a refused dial is tried again after a polling
//     interval.
//   - While listings fail, nothing is disconnected, and for a grace time the targets known before are dialled as usual. When they
//     succeed again, those targets have the time of a lease to show up. A listing that succeeds and is empty is believed.
//
// The directory is looked at once per polling interval, and listed when its change stamps tell that a row of the mesh or the set
// of live owners has changed. A host that receives change events says so with [Set.Watching] and hands them to [Set.Changed]:
// then it is looked at after events, and every 30 polling intervals as a safety net.
//
// The host's row is written by somebody else, who is told by Options.Republish when a listing does not show it.
//
// # Guarantees
//
//   - There is at most one connection to a peer at a time, and no dial to it before the last one is gone.
//   - One look at the directory at a time, and at least 50 ms between two.
//   - Pauses are never shorter than told; they are as long as told after what they follow has ended.
//
// It is not guaranteed that both sides agree at every instant: each has its own listing. A host that cannot tell connections of
// the same peer apart must be ready for a new one that comes in before the old one has ended on its side.
//
// # Concurrency
//
// Run is called once. Everything else may be used from any number of goroutines. Dial and the connections are used from a
// goroutine for each peer; OnChange, NodeOf and Republish are each called by one goroutine at a time.
//
// # Clock
//
// Only the monotonic clock of the machine is used. Whether a peer is live is decided by the service.
package peers
