// Package domain decides what every operation of the service does.
//
// # Model
//
// The package is rules over the rows of a store. A write rule is a function of a
// transaction, a read rule one of a view; both read, decide, and say what to
// write and to answer, and do nothing else. The caller runs them inside
// kvstore.Store.Update, as often as that takes. Validate functions check a request
// before its rule runs; they read nothing, and rules rely on them.
//
// A rule that answers a refusal returns it as a reply with its kind or status.
// Errors are requests that could not be carried out.
//
// Rows are records: a version and a body in CBOR. A row that cannot be understood
// is a *kvstore.DataLostError in every rule that meets it, never an answer. A list
// meets it in the page that would contain it: a page with its full number of items
// before the row is answered, and the next one is not. A row that is damaged so far
// that its owner cannot be told might hold any entry spot id and be anybody's: it is
// met by every claim of an entry spot id and by every removal of an owner's rows.
// Facts that follow from rows are not stored: whether a row is live, who holds an
// entry spot id, which rows an owner has. [Schema] declares the indexes that make
// them cheap.
//
// # Guarantees
//
//   - A rule uses one view and one instant, that of the view, for everything it
//     reads and answers.
//   - A generation is the revision of the write that begins it.
//   - Rules never change the request.
//   - [Events] depends on the commit alone: every instance derives the same events,
//     but for their store times.
//
// Not guaranteed: anything about requests that were not validated; that a page of a
// single item keeps to [MaxPageBytes].
//
// # Concurrency
//
// All functions are pure and may be called from many goroutines.
//
// # Clock
//
// The package has none: store time comes with the view.
package domain
