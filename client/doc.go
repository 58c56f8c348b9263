// Package client calls a zlink-nats service from Go programs.
//
// # Model
//
// A [Client] has a field for each group of operations of the protocol and a method for each operation. Requests and replies are
// the types of package wire. What the domain decided, wanted or not, is the Kind or Status of a reply; an error means that the
// request was not carried out, or that nobody knows ([ErrOutcomeUnknown]).
//
// # Guarantees
//
//   - A call tries again, with growing random pauses, for as long as its context allows, when the service was overloaded, out of
//     reach, or did not answer in time. A write whose reply was lost is repeated only when that cannot change the outcome: ids that
//     make requests repeatable are set by default, and an operation that is fenced by a version is asked again for a proof. Where
//     there is none, the error is [ErrOutcomeUnknown] and nothing else.
//   - Every try tells the service when nobody waits for it any more, in the service's own time: the clock of this machine may be
//     wrong or jump. A try that was given up does not take effect later.
//   - A read never shows less than what a reply to this client has shown, on whichever instance. [Client.Leader] reads what was
//     acknowledged to anybody.
//   - A watch, such as [MeshNodes.Watch], lists rows and then tells each of their changes once and in order, whatever happens to
//     connections, servers and instances; what it could not tell, because the service does not keep it any more or the receiver was
//     too slow, it says, and lists again. [Client.Changes] are the changes alone.
//   - A [Cache] never returns an answer that is older than a change it was told of, nor one beyond its age.
//   - Replies of later versions of the service are understood; fields that this version does not know are dropped.
//
// # Concurrency
//
// Everything here may be used from any number of goroutines, except where a type says otherwise.
//
// # Clock
//
// Only the monotonic clock of the machine is used, for timeouts and pauses.
package client
