package client

import (
	"context"
	"errors"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// EventType says what an [Event] of a watch tells.
type EventType string

// The values of [EventType].
const (
	// EventListed: the row was there when the watch began, or began anew.
	EventListed EventType = "listed"
	// EventSynced: all rows were listed; what follows are changes, in their order.
	EventSynced EventType = "synced"
	// EventUpserted: the row was created or replaced.
	EventUpserted EventType = "upserted"
	// EventRemoved: the row is gone, or is none that the watch is about, any more or at all.
	EventRemoved EventType = "removed"
	// EventExpired: the owner's lease has ended. The row is stored, but not live. An owner lease itself is gone.
	EventExpired EventType = "expired"
	// EventResync: changes were missed, so the rows are listed again up to the next EventSynced. What is not listed then is gone.
	EventResync EventType = "resync"
)

// Event is what a watch tells. Events about keys that the receiver does not know mean nothing to it.
type Event[Key comparable, Row any] struct {
	Type EventType
	// Revision of the change, or of the list; 0 for EventResync.
	Revision wire.Revision
	// Key names the row; zero for EventSynced, EventResync, and where OwnerID is set.
	Key Key
	// Row is what is stored, for EventListed and EventUpserted; else nil. It belongs to the receiver.
	Row *Row
	// Live tells whether the row's owner is live, as far as this event tells.
	Live bool
	// OwnerID, where not empty, is the owner whose lease has ended: the event is about all its rows of the watch. Only watches of
	// authorities have such events, of the type EventExpired.
	OwnerID string
}

// source is what a watch has to know of its rows.
type source[Key comparable, Row any] struct {
	filters []string // subjects of the changes
	// list returns a page and the token of the next one; c reads what the list has to show.
	list func(ctx context.Context, c *Client, token string) (page[Row], error)
	// listed makes the event of a listed row.
	listed func(*Row) Event[Key, Row]
	// changed makes the event of a change; false if it is none for the watch.
	changed func(*Change) (Event[Key, Row], bool, error)
}

// page is a part of a list.
type page[Row any] struct {
	rows     []Row
	next     string // token of the next page; empty on the last one
	revision wire.Revision
}

// watch lists rows and then tells their changes, until ctx ends, the receiver has enough, or an error comes that does not pass.
func watch[Key comparable, Row any](ctx context.Context, c *Client, s source[Key, Row]) iter.Seq2[Event[Key, Row], error] {
	return func(yield func(Event[Key, Row], error) bool) {
		w := watcher[Key, Row]{c: c, source: s, yield: yield}
		if err := w.run(ctx); !errors.Is(err, errEnough) {
			yield(Event[Key, Row]{}, err)
		}
	}
}

// errEnough: the receiver of the events wants no more. errAgain: the watch has to begin anew.
var (
	errEnough = errors.New("no more events are wanted")
	errAgain  = errors.New("list again")
)

// watcher is a watch that is under way.
type watcher[Key comparable, Row any] struct {
	c      *Client
	source source[Key, Row]
	yield  func(Event[Key, Row], error) bool
	told   bool // the receiver has had an event
	found  bool // there was a stream of changes
}

func (w *watcher[Key, Row]) run(ctx context.Context) error {
	for {
		err := w.round(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errAgain), errors.Is(err, ErrHistoryGone), errors.Is(err, ErrScanExpired):
			if err := w.resync(); err != nil {
				return err
			}
		case !w.passing(err):
			return err
		}
		w.c.interrupted(err)
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// resync tells that a new list follows, unless it is the first.
func (w *watcher[Key, Row]) resync() error {
	if !w.told {
		return nil
	}
	return w.tell(Event[Key, Row]{Type: EventResync})
}

func (w *watcher[Key, Row]) tell(e Event[Key, Row]) error {
	w.told = true
	if !w.yield(e, nil) {
		return errEnough
	}
	return nil
}

// passing tells whether a round that ended in an error is worth another one.
func (w *watcher[Key, Row]) passing(err error) bool {
	if errors.Is(err, errEnough) || lasting(err) {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code == wire.CodeUnavailable || e.Code == wire.CodeOverloaded || e.Code == wire.CodeDeadlineExceeded
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return w.found // it may be on its way back
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return false
	}
	return true
}

// round lists the rows, and tells the changes after the list.
//
// The end of the stream is looked up first, and the list is then read with all that was acknowledged by anybody. So it shows
// every change that was in the stream; those that come after the end and that it shows as well are known by their revision.
func (w *watcher[Key, Row]) round(ctx context.Context) error {
	stream, err := w.c.changesStream(ctx)
	if err != nil {
		return err
	}
	w.found = true
	revision, err := w.list(ctx)
	if err != nil {
		return err
	}
	if err := w.tell(Event[Key, Row]{Type: EventSynced, Revision: revision}); err != nil {
		return err
	}
	x := w.c.changesAt(w.source.filters, stream, stream.CachedInfo().State.LastSeq+1)
	x.from = through(revision)
	defer x.Close()
	for {
		change, err := x.Next(ctx)
		if err != nil {
			return err
		}
		event, wanted, err := w.source.changed(change)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		event.Revision = change.Revision
		if err := w.tell(event); err != nil {
			return err
		}
	}
}

// list tells all rows. A page that cannot be had is asked for again for as long as the service remembers the list.
func (w *watcher[Key, Row]) list(ctx context.Context) (wire.Revision, error) {
	leader := w.c.Leader()
	for token, told := "", false; ; {
		p, err := w.source.list(ctx, leader, token)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case !told || !w.passing(err):
			return 0, err
		default:
			w.c.interrupted(err)
			if err := pause(ctx); err != nil {
				return 0, err
			}
			continue
		}
		for i := range p.rows {
			e := w.source.listed(&p.rows[i])
			e.Type, e.Revision, told = EventListed, p.revision, true
			if err := w.tell(e); err != nil {
				return 0, err
			}
		}
		if token = p.next; token == "" {
			return p.revision, nil
		}
	}
}

// listOf reads the pages of a list operation. The request is changed by set, which puts a token into it.
func listOf[Reply, Row any](op subjects.Operation, request any, set *string, rows func(*Reply) ([]Row, string)) func(context.Context, *Client, string) (page[Row], error) {
	return func(ctx context.Context, c *Client, token string) (page[Row], error) {
		*set = token
		reply, revision, err := callAt[Reply](ctx, c, op, operations[op], request)
		if err != nil {
			return page[Row]{}, err
		}
		items, next := rows(reply)
		return page[Row]{items, next, revision}, nil
	}
}
