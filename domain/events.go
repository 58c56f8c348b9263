package domain

import (
	"cmp"
	"errors"
	"slices"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// Event is one change that is pushed.
type Event struct {
	// Revision is that of the row, or of the lease that ended and took the row's
	// liveness with it.
	Revision kvstore.Revision
	Kind     wire.EventKind
	// Scope and ID name what changed, as raw strings that the subject encodes.
	Scope, ID string
	Change    wire.ChangeType
	// Value is the message: a pointer to the event type of the kind, such as a
	// *wire.MeshNodeEvent.
	Value any
}

// leaseScope is the scope of all events of owner leases.
const leaseScope = "owner"

// Events derives the events of a commit, in the order in which they are pushed.
// It is a pure function of the commit, so that every instance derives the same,
// but for their store times: [kvstore.Commit.Time] is the server's in the instances
// that followed the commit, and the writer's estimate of it in the one that made it.
//
// A row that cannot be decoded yields no event: the error, which may join several
// *kvstore.DataLostError, says which; the events are complete but for them. A row
// whose owner cannot be told is named whenever a lease ends, since its liveness may
// end as well.
func Events(c *kvstore.Commit) ([]Event, error) {
	b := eventBuilder{commit: c}
	for _, e := range c.Entries {
		k, owned := splitOwned(e.Key)
		switch {
		case owned:
			b.ownedRow(k, e)
		case e.Key.HasPrefix(kvstore.Prefix(FamilyLease)):
			b.lease(e)
		case isAuthority(e.Key):
			b.authority(e)
		case e.Key.HasPrefix(aggregatePrefix):
			b.moved(e)
		}
	}
	return b.events, errors.Join(b.damaged...)
}

type eventBuilder struct {
	commit  *kvstore.Commit
	events  []Event
	damaged []error
	// written holds the owned rows that the commit wrote so far; nil for removed.
	written map[kvstore.Key]*kvstore.Row
	// searched is true once the unreadable rows before the commit are in damaged.
	searched bool
}

func (b *eventBuilder) head(rev kvstore.Revision, kind wire.EventKind, change wire.ChangeType) wire.EventHead {
	return wire.EventHead{
		Revision: wire.Revision(rev), Kind: kind, Change: change, StoreTime: wire.Instant(b.commit.Time),
	}
}

func (b *eventBuilder) ownedRow(k ownedKey, e kvstore.Entry) {
	if b.written == nil {
		b.written = make(map[kvstore.Key]*kvstore.Row)
	}
	b.written[e.Key] = e.Row
	change := wire.ChangeUpserted
	if e.Row == nil {
		change = wire.ChangeRemoved
	}
	b.owned(k, e.Revision, change, e.Row)
}

// owned adds an event of an owned row.
func (b *eventBuilder) owned(k ownedKey, rev kvstore.Revision, change wire.ChangeType, r *kvstore.Row) {
	value, err := k.value(b.head(rev, k.event, change), k, r)
	if err != nil {
		b.damaged = append(b.damaged, err)
		return
	}
	b.events = append(b.events, Event{
		Revision: rev, Kind: k.event, Scope: k.scope, ID: k.id, Change: change, Value: value,
	})
}

// moved adds the events of the participants of an aggregate that is committed: all are
// of its revision.
func (b *eventBuilder) moved(e kvstore.Entry) {
	for _, r := range e.Overlaid {
		if p, ok := r.Over.(*projection); ok && p.move.commit == e.Revision {
			b.authority(kvstore.Entry{Key: r.Key, Revision: e.Revision, Row: r})
		}
	}
}

// authority adds the event of an authority, unless it was only settled.
func (b *eventBuilder) authority(e kvstore.Entry) {
	text := authorityText(e.Key)
	k, err := wire.ParseObjectKey(text)
	if err != nil { // not a key that a rule wrote
		b.damaged = append(b.damaged, &kvstore.DataLostError{Key: e.Key, Cause: err})
		return
	}
	scope := wire.LookupActor
	if k.IsSpot() {
		scope = wire.LookupSpot
	}
	change := wire.ChangeRemoved
	value := &wire.AuthorityEvent{Key: text}
	if e.Row != nil {
		change = wire.ChangeUpserted
		a, err := decodeAuthority(e.Row)
		if err != nil {
			b.damaged = append(b.damaged, err)
			return
		}
		if a.VisibleRevision != 0 {
			return
		}
		value.Value = a.value()
	}
	value.EventHead = b.head(e.Revision, wire.EventAuthority, change)
	b.events = append(b.events, Event{
		Revision: e.Revision, Kind: wire.EventAuthority, Scope: string(scope), ID: k.GlobalID, Change: change, Value: value,
	})
}

// lease adds the events of a lease row. A renewal is told by its record alone,
// because the version before may be missing in a commit.
func (b *eventBuilder) lease(e kvstore.Entry) {
	if e.Row == nil {
		change := wire.ChangeRemoved
		if e.Expired {
			change = wire.ChangeExpired
		}
		b.leaseEnd(e, change)
		return
	}
	l, err := decodeLease(e.Row)
	if err != nil {
		b.damaged = append(b.damaged, err)
		return
	}
	if !l.claimedBy(e.Revision) {
		return
	}
	if e.Prior != nil { // it had lapsed, or there had been no claim
		b.leaseEnd(e, wire.ChangeExpired)
	}
	b.ownerLease(e, wire.ChangeUpserted, &wire.OwnerLease{OwnerToken: l.OwnerToken, LeaseExpiresAt: l.expiresAt()})
}

// leaseEnd adds the end of the lease before the entry and of the liveness of its
// owner's rows.
func (b *eventBuilder) leaseEnd(e kvstore.Entry, change wire.ChangeType) {
	b.ownerLease(e, change, nil)
	if e.Prior == nil {
		return
	}
	l, err := decodeLease(e.Prior)
	if err != nil {
		b.damaged = append(b.damaged, err)
		return
	}
	b.unreadable()
	for _, r := range b.holders(l.OwnerToken) {
		k, _ := splitOwned(r.Key) // only owned rows carry tokens
		b.owned(k, e.Revision, wire.ChangeExpired, nil)
	}
}

func (b *eventBuilder) ownerLease(e kvstore.Entry, change wire.ChangeType, value *wire.OwnerLease) {
	owner := string(e.Key[len(kvstore.Prefix(FamilyLease)):])
	b.events = append(b.events, Event{
		Revision: e.Revision, Kind: wire.EventOwnerLease, Scope: leaseScope, ID: owner, Change: change,
		Value: &wire.OwnerLeaseEvent{
			EventHead: b.head(e.Revision, wire.EventOwnerLease, change), OwnerID: owner, Value: value,
		},
	})
}

// unreadable notes the rows before the commit that may carry any token. Those that
// the commit writes are noted as it comes to them.
func (b *eventBuilder) unreadable() {
	if b.searched {
		return
	}
	b.searched = true
	for r := range b.commit.Before.View(0).Index(indexOwner, unreadableValue) {
		if _, ok := b.written[r.Key]; ok {
			continue
		}
		_, err := headOf(r)
		b.damaged = append(b.damaged, err)
	}
}

// holders lists the rows that carry a token at this point of the commit, in key
// order.
func (b *eventBuilder) holders(t wire.OwnerToken) []*kvstore.Row {
	var rows []*kvstore.Row
	for r := range b.commit.Before.View(0).Index(indexOwner, ownerValue(t)) {
		if _, ok := b.written[r.Key]; !ok {
			rows = append(rows, r)
		}
	}
	for _, r := range b.written {
		if r == nil {
			continue
		}
		if h, err := headOf(r); err == nil && h.token == t {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *kvstore.Row) int { return cmp.Compare(a.Key, b.Key) })
	return rows
}
