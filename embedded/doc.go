// Package embedded runs a NATS server with JetStream inside the process, set
// up so that the whole contract of the service holds: messages that carry a
// value of 1 MiB with its headers, and atomic batches that hold a transaction
// of 2,048 keys.
//
// # Guarantees
//
// A server that [Start] returns accepts connections and has JetStream on. One
// data directory belongs to one server at a time, also across processes (on
// systems with flock). The server never touches the signals of the process and
// never ends it.
//
// In a cluster JetStream answers only when the cluster has elected a leader;
// Start does not wait for the other members.
//
// # Concurrency
//
// All methods of [Server] may be called at any time from any goroutine.
package embedded
