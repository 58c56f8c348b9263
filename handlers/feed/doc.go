// Package feed pushes the committed changes of a store to subscribers: the change feed.
//
// # Model
//
// The feed is derived from the store's log and from nothing else. Every instance of the service
// runs one. It follows the commits, turns each into events, and appends those to the JetStream
// stream [subjects.ChangesStream]. The stream republishes what it has stored, so that plain NATS
// subscribers receive the same messages:
//
//	store's log ──> events ──> <prefix>.feed.changes.<kind>.<scope>.<id>   append, fenced
//	                             │
//	                           ZLINK_CHANGES, where the subject is <prefix>.changes.<kind>.<scope>.<id>
//	                             │
//	                             └──> <prefix>.changes.<kind>.<scope>.<id>  to plain subscribers
//
// Appending on a subject of its own is what keeps appends that the stream refuses, and batches that
// never complete, away from plain subscribers. Nobody but the service needs the permission to
// publish on <prefix>.feed.> or <prefix>.changes.>.
//
// # Messages
//
//	Zlink-Revision  revision of the event, in decimal
//	Zlink-Index     place among the events of that revision, from 0
//	Zlink-Change    upserted, removed, expired
//	Content-Type    encoding of the payload
//	Nats-Msg-Id     <revision>-<index>
//
// Revision and index of the stream's last message are the feed's position; it is stored nowhere
// else. An append says which sequence it expects to be the stream's last, and one append is in
// flight at a time. So whatever an instance believes, it can only continue what is really there,
// and any instance can continue at any event, also between the events of one revision.
//
// # Who appends
//
// The instance that made a commit appends its events at once, and those of other commits before it.
// The others look after a short delay whether that happened, and do it when the stream did not move
// meanwhile; only then do they derive the events. An instance that comes second leaves everything to the first in the same way. That is a
// habit which saves work; the fence alone decides.
//
// # Guarantees
//
//   - In the stream, each event of a committed change stands exactly once, and the events are in
//     the order of revision and index, whichever instance dies at whatever moment.
//   - A plain subscriber receives them in the same order. It receives events a second time when the
//     acknowledgement of their append was lost, and it misses what is sent while it is disconnected.
//   - The store is told ([kvstore.Store.Release]) up to where everything is out.
//
// Not guaranteed: events of commits that the store has forgotten, because the stream was emptied
// or because store and stream were restored from copies of different age. The feed then logs what
// happened and goes on with the next commit.
//
// # Retention
//
// The stream has no age limit, since the server would then remove the last message as well, and
// with it the position. Instead every instance removes what is older than the retention once a
// minute, and always leaves the last event in place.
package feed
