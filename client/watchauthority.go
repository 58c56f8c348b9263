package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// AuthorityWatchRequest says which authorities are watched.
type AuthorityWatchRequest struct {
	Kind     wire.LookupKind // actors or spots
	GlobalID string          // one object; empty is all of the kind
}

// prefix is what the text form of the keys begins with.
func (r AuthorityWatchRequest) prefix() string {
	key := wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: r.GlobalID}
	kind := "a:"
	if r.Kind == wire.LookupSpot {
		key.Kind, kind = wire.ObjectUserSpot, "s:"
	}
	if r.GlobalID != "" {
		return key.Text()
	}
	return wire.KeyTextPrefix + kind
}

// Watch lists the records of the objects and then tells their changes; see [MeshNodes.Watch]. The key is the text form of the
// object's key.
//
// The end of a lease is no change of the records under it, of which there can be many: where all of a kind are watched, one event
// of the type [EventExpired] with the OwnerID tells of all of them.
func (g Authorities) Watch(ctx context.Context, request AuthorityWatchRequest) iter.Seq2[Event[string, wire.Authority], error] {
	if !request.Kind.Valid() {
		return func(yield func(Event[string, wire.Authority], error) bool) {
			yield(Event[string, wire.Authority]{}, &Error{
				Op: string(subjects.AuthorityList), Code: wire.CodeInvalidArgument, Field: "kind", Message: fmt.Sprintf("unknown kind %q", request.Kind),
			})
		}
	}
	w := authorityWatch{request: request}
	return watch(ctx, g.c, source[string, wire.Authority]{
		filters: []string{
			g.c.prefix.ChangesWildcard(subjects.ChangeAuthority, string(request.Kind), request.GlobalID),
			g.c.prefix.ChangesWildcard(subjects.ChangeOwnerLease, "", ""),
		},
		list: w.list, listed: w.listed, changed: w.changed,
	})
}

// authorityWatch knows which leases have ended. A record can be written that is not live, but only under a lease of which the watch
// has learnt that it has ended: from a record in the list, or from an event.
type authorityWatch struct {
	request AuthorityWatchRequest
	owner   string                     // of the one object
	ended   map[string]wire.Generation // by owner: every lease below this one has ended
}

// maxEnded bounds what is remembered of leases that have ended; a new list begins without.
const maxEnded = 1 << 16

func (w *authorityWatch) list(ctx context.Context, c *Client, token string) (page[wire.Authority], error) {
	if token == "" {
		w.owner, w.ended = "", make(map[string]wire.Generation)
	}
	request := wire.AuthorityListRequest{Prefix: w.request.prefix(), Limit: pageItems, Cursor: token}
	reply, revision, err := callAt[wire.AuthorityListReply](ctx, c, subjects.AuthorityList, operations[subjects.AuthorityList], &request)
	switch {
	case err != nil:
		return page[wire.Authority]{}, err
	case reply.Kind == wire.KindScanExpired:
		return page[wire.Authority]{}, expired(subjects.AuthorityList)
	}
	p := page[wire.Authority]{next: reply.NextCursor, revision: revision}
	for _, item := range reply.Items {
		p.rows = append(p.rows, item.Snapshot)
	}
	return p, nil
}

func (w *authorityWatch) listed(a *wire.Authority) Event[string, wire.Authority] {
	live := a.Live != nil && *a.Live
	if !live {
		w.end(a.OwnerID, a.OwnerLeaseGeneration+1)
	}
	w.owner = a.OwnerID
	return Event[string, wire.Authority]{Key: a.Key, Row: a, Live: live}
}

func (w *authorityWatch) end(owner string, before wire.Generation) {
	w.ended[owner] = max(w.ended[owner], before)
}

func (w *authorityWatch) changed(change *Change) (Event[string, wire.Authority], bool, error) {
	switch e := change.Event.(type) {
	case *wire.OwnerLeaseEvent:
		return w.lease(change, e)
	case *wire.AuthorityEvent:
		if e.Value == nil {
			w.owner = ""
			return Event[string, wire.Authority]{Type: EventRemoved, Key: e.Key}, true, nil
		}
		live := e.Value.OwnerLeaseGeneration >= w.ended[e.Value.OwnerID]
		w.owner, e.Value.Live = e.Value.OwnerID, &live
		return Event[string, wire.Authority]{Type: EventUpserted, Key: e.Key, Row: e.Value, Live: live}, true, nil
	}
	return Event[string, wire.Authority]{}, false, nil
}

// lease makes the event of the end of a lease. A lease that begins in the same commit has the revision as its generation.
func (w *authorityWatch) lease(change *Change, e *wire.OwnerLeaseEvent) (event Event[string, wire.Authority], wanted bool, err error) {
	if change.Type == wire.ChangeUpserted {
		return event, false, nil
	}
	w.end(e.OwnerID, wire.Generation(change.Revision))
	if len(w.ended) > maxEnded {
		return event, false, errAgain
	}
	event.Type = EventExpired
	if w.request.GlobalID == "" {
		event.OwnerID = e.OwnerID
		return event, true, nil
	}
	event.Key = w.request.prefix()
	return event, w.owner == e.OwnerID, nil
}

// Watch looks up the lease of an owner and then tells its changes; see [MeshNodes.Watch]. The key is the owner's id. Renewals are
// no changes: the expiry in the row is that of the claim or the look.
func (g Leases) Watch(ctx context.Context, request wire.LeaseReadRequest) iter.Seq2[Event[string, wire.OwnerLease], error] {
	return watch(ctx, g.c, source[string, wire.OwnerLease]{
		filters: []string{g.c.prefix.Change(subjects.ChangeOwnerLease, subjects.OwnerScope, request.OwnerID)},
		list: func(ctx context.Context, c *Client, _ string) (page[wire.OwnerLease], error) {
			reply, revision, err := callAt[wire.LeaseReadReply](ctx, c, subjects.LeaseRead, operations[subjects.LeaseRead], &request)
			p := page[wire.OwnerLease]{revision: revision}
			if err == nil && reply.Token != nil {
				p.rows = []wire.OwnerLease{{OwnerToken: *reply.Token, LeaseExpiresAt: reply.LeaseExpiresAt}}
			}
			return p, err
		},
		listed: func(l *wire.OwnerLease) Event[string, wire.OwnerLease] {
			return Event[string, wire.OwnerLease]{Key: l.OwnerID, Row: l, Live: true}
		},
		changed: func(change *Change) (Event[string, wire.OwnerLease], bool, error) {
			e := Event[string, wire.OwnerLease]{Key: request.OwnerID}
			switch change.Type {
			case wire.ChangeUpserted:
				e.Type, e.Row, e.Live = EventUpserted, change.Event.(*wire.OwnerLeaseEvent).Value, true
			case wire.ChangeExpired:
				e.Type = EventExpired
			default:
				e.Type = EventRemoved
			}
			return e, true, nil
		},
	})
}
