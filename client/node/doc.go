// Package node keeps the place of one host in the directory: its owner lease, its descriptors, its rows, its drain.
//
// # Model
//
// A [Runtime] claims the lease of an owner and renews it for as long as it runs. What the host publishes, descriptors and location
// rows, is written under that lease, and written again when the lease had to be claimed anew. Before the host does anything that
// only the owner may do (starts an object, hands it a message or a timer, reserves, commits, moves) it asks [Runtime.Admit].
//
// # Guarantees
//
//   - [Runtime.Admit] says yes only while nobody else can be the owner: the deadline is counted from before the request that gained
//     or renewed the lease, by a clock that also counts the time that the machine or the process stood still, and lies a margin
//     before the end that the service knows. The margin covers what the two clocks drift apart in one time to live.
//   - A failed request never ends a lease. Only its deadline, the service's word that it is over, and Stop do.
//   - A request whose reply is lost costs nothing: a claim keeps its id, and a publication its revision and content, until there is
//     an answer.
//   - Nothing is written without a lease that Admit would accept.
//   - What is written after a fresh claim comes in this order: descriptors, authorities (bound to the new lease), rows.
//
// Not guaranteed: that an object is still the host's under another token than the one that it was bound to. See [Runtime.Admit].
//
// Not guaranteed either: that work which was admitted ends before the deadline. What it writes is refused by the service when the
// lease is not live, whatever the host believes.
//
// # What the rules leave open
//
//   - A descriptor that is published while there is no lease is refused, but remembered: it is published with the next claim. A row
//     is not.
//   - A descriptor that was finally refused is tried again with every heartbeat, since whoever has it may be a crashed
//     predecessor whose lease has not lapsed yet. Ownership-lost is raised once for each loss. What is malformed is not tried again.
//   - What a fresh claim could not bring back is tried again with every heartbeat: rows and authorities whose request failed, and
//     authorities that were locked by a move. An authority of an earlier life of the process is left alone, as nobody may rebind it.
//   - The lease of a claim that nobody has heard an answer to when the host stops is left to lapse; it has no rows.
//   - The event of a renewed lease follows what was brought back under a fresh claim, so that a host which waits for it finds its
//     objects bound. Renewals meanwhile have events of their own.
//
// # Concurrency
//
// Everything may be used from any number of goroutines. Events are told one after another. Writes of one row are made one after
// another, in no particular order.
//
// # Clock
//
// [Options.Clock] must never go back and must count the time that the process stood still; the default does. The time of day does
// not matter.
package node
