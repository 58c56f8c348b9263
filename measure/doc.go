// Package measure finds out how fast a deployment is.
//
// # Model
//
// A [Scenario] is one kind of work; [Run] has a number of workers do it in two phases:
//
//   - Saturation: every worker does one operation after the other. This tells the throughput, and nothing about latency: a
//     worker that waits for a slow answer does not ask meanwhile, so that slow moments are hardly seen.
//   - Pacing: operations are due at fixed instants, at 70 % of that throughput or at a rate that was asked for. An operation's
//     time counts from the instant at which it was due, whether or not a worker was free: what a caller would have waited is not
//     left out.
//
// # Guarantees
//
// A scenario works in a mesh and with owners of its own, under random names, and removes what it made. What a process leaves that
// was killed is its owners' leases, which lapse, at most one object for each worker, and the rows of its fleet.
//
// # Concurrency
//
// A [Scenario] is for one [Run].
package measure
