// Package handlers is the service as clients see it: a NATS micro service whose endpoints decode a request, make one domain
// call, and encode the answer. It decides nothing and retries nothing.
//
// # Model
//
// An endpoint is an operation, a validation and a rule. A read rule gets a view of the store; a write rule runs inside one
// transaction, possibly several times; a list rule gets a view and the key to go on after. Everything else (headers, deadlines,
// errors, admission, forwarding, continuation tokens, figures) is the same for all of them.
//
// The framework runs an endpoint strictly in series, so its handlers return at once: a read that has nothing to wait for is
// answered where it arrives, since that costs microseconds; everything else gets a goroutine of its own, at most
// [Options.MaxPending] of them, and beyond that the caller hears "overloaded". A wait for an object keeps no goroutine: it is parked, and one
// that follows the store's commits answers all that are. Nor does a write that waits for the answer of another instance, although it
// keeps its place among those in flight. Replies are published by this package, not
// through the framework's request, whose statistics must not be touched from elsewhere; our own figures stand in the data of
// $SRV.STATS and in [Service.Counters].
//
// # Several instances
//
// Every instance answers on the operations' subjects, as members of one queue group, and on a subject of its own. A write goes
// to the instance that is writing when the store says that there is one, or that the race for the next revision was lost again
// and again; it is carried out here when that one does not answer. Where the store says so beforehand, the payload goes there as
// it arrived: whoever carries it out decodes it. Of the headers only those of the protocol do. Both then use one request id, which the store lets through
// once. A continuation token goes to the instance that keeps the snapshot. A request that was forwarded is never forwarded again.
//
// # Owners
//
// Every operation is also taken on the subjects of owners, where a request may act for that owner only; with
// [Options.OwnerSubjects] it may act for an owner nowhere else. Package domain says for whom a request acts: by what it says,
// before anything is read, or by the row that it is about, inside the transaction. A request that is handed to another instance
// goes to the same owner's subject of that instance.
//
// # Guarantees
//
//   - A refused request wrote nothing, except as its code says (outcomeUnknown).
//   - A request that arrived before [Service.Stop] is answered, unless the context of Stop ends first.
//
// Not guaranteed: an answer to a request whose connection is lost meanwhile, and any order between two requests in flight.
//
// # Concurrency
//
// A [Service] may be used from any goroutine.
//
// # Clock
//
// Deadlines are instants of the store's clock; what is left of them at arrival is waited for by the machine's. A request that is
// forwarded gets a deadline that is a little earlier, so that what the other instance says at it is still heard.
package handlers
