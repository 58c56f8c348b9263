// Package jetkv is the store engine: a kvstore.Store over a NATS JetStream KV
// bucket. It is the only package that knows of streams, batches, headers and
// error codes. DESIGN.md tells why it is built as it is.
//
// # Model
//
// The bucket's stream is the log; every row is a message on the subject of its
// key. An instance keeps the state that the log adds up to in memory, runs
// closures on it one after another, and publishes what they wrote with the
// condition "only if nothing was stored since N". What arrives while one such
// group is in flight is run on top of it and goes out with the next group.
//
// # Guarantees
//
// Those of package kvstore. In addition: a commit is carried out at most once;
// a lost acknowledgement is decided by the message that the log has in the
// commit's place; foreign writes into the bucket are taken in like any other
// commit; after a reconnect nothing is decided before the log is known to go on
// from the state.
//
// # Concurrency
//
// A Store may be used from many goroutines. Its engine is one goroutine, Run;
// readers take the committed state from an atomic pointer and never wait for it.
//
// # Clock
//
// The clock of the store's server, estimated from its answers.
package jetkv
