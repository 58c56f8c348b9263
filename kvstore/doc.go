// Package kvstore is the contract of the directory's store: one ordered log of
// commits, and the rows that the log adds up to.
//
// # Model
//
// The store is a log. Every written row gets the next number of the log, its
// [Revision]; revisions only grow and are never used twice. The [State] is what
// the log says up to some revision: rows in key order, the indexes that the
// [Schema] declares, and stamps (the last change of a scope). States are
// immutable once they are published: a [View] is a state and one instant.
//
// A write is a closure over a [Tx]. It reads the state, decides, and writes;
// the engine makes what it wrote the exact successor of what it read, or runs
// it again on a newer state. A closure therefore must be repeatable: no side
// effects, no own clock, no randomness that it was not given. Since the
// position in the log is the fence, nothing that a closure read can have
// changed: no row, no absence, no index, no sum.
//
// One write can change what any number of other rows read as, at its revision and
// without a write of theirs: the [Schema] may answer it with an [Overlay], rows that
// take the place of stored ones in the state, its indexes and its sums. A row that was
// overlaid and is written again is as it was written. The overlay is a function of
// the log alone, so every instance has the same, whenever it started.
//
// # Guarantees
//
//   - Commits are serializable in the order of their revisions, and a commit
//     that was acknowledged before another was requested comes before it.
//   - The revision of a row is known to the closure that writes it ([Tx.Next]),
//     so a generation can be the revision of the commit that begins it.
//   - A closure that writes nothing is answered only when its state is known to
//     be no older than the last commit at the time of the call.
//   - [Store.Watch] delivers whole commits in order, or says that history is
//     gone ([ErrResync]).
//
// Not guaranteed: that a commit whose fate could not be established happened or
// did not happen ([ErrUnknown]).
//
// # Concurrency
//
// Everything here may be used from many goroutines, except [Tx], which belongs
// to the closure that received it, and [State], which is built by one goroutine.
//
// # Clock
//
// Expiry is judged by the store's [Clock] in milliseconds. A row whose expiry
// has come is absent in every view, removed or not; [Sweep] removes it.
package kvstore
