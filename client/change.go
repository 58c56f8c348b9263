package client

import (
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Change is one committed change as it was pushed. (Revision, Index) orders all changes and names each.
type Change struct {
	// Kind, Scope and ID name what changed; see [subjects.ChangeKind].
	Kind      subjects.ChangeKind
	Scope, ID string
	// Revision is that of the row, or of the commit that the change follows from.
	Revision wire.Revision
	// Index counts the changes of one revision from 0.
	Index uint64
	// Type says what happened.
	Type wire.ChangeType
	// Event is the message: a pointer to the event type of the kind, such as a [*wire.MeshNodeEvent].
	Event any
}

// place orders changes.
type place struct {
	revision wire.Revision
	index    uint64
}

func (p place) after(o place) bool {
	return p.revision > o.revision || p.revision == o.revision && p.index > o.index
}

// placeOf reads the place of a change from the headers of its message.
func placeOf(h nats.Header) (place, error) {
	revision, err := strconv.ParseUint(h.Get(wire.HeaderRevision), 10, 63)
	if err != nil {
		return place{}, fmt.Errorf("message without a revision: %w", err)
	}
	index, err := strconv.ParseUint(h.Get(wire.HeaderIndex), 10, 63)
	if err != nil {
		return place{}, fmt.Errorf("message without an index: %w", err)
	}
	return place{wire.Revision(revision), index}, nil
}

// readChange reads the message of a change; nil is one of a kind that this version does not know.
func (c *Client) readChange(subject string, h nats.Header, data []byte) (*Change, error) {
	what, err := c.prefix.ParseChange(subject)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // documented above
	}
	p, err := placeOf(h)
	if err != nil {
		return nil, err
	}
	event, err := ReadEvent(what.Kind, h, data)
	if err != nil {
		return nil, err
	}
	return &Change{
		Kind: what.Kind, Scope: what.Scope, ID: what.ID, Revision: p.revision, Index: p.index,
		Type: wire.ChangeType(h.Get(wire.HeaderChange)), Event: event,
	}, nil
}

// ReadEvent reads the message of a change of a kind: headers h and payload data. It returns a pointer to the event type of the
// kind; fields of later versions are dropped. The errors are for a kind that this version does not know and for a message that is
// malformed.
func ReadEvent(kind subjects.ChangeKind, h nats.Header, data []byte) (any, error) {
	event, err := newEvent(kind)
	if err != nil {
		return nil, err
	}
	encoding, err := wire.DetectEncoding(h.Get(wire.HeaderContentType), data)
	if err == nil {
		err = wire.UnmarshalLenient(encoding, data, event)
	}
	if err != nil {
		return nil, fmt.Errorf("event of the kind %s: %w", kind, err)
	}
	return event, nil
}

// newEvent is an empty event of a kind.
func newEvent(kind subjects.ChangeKind) (any, error) {
	switch kind {
	case subjects.ChangeMeshNode:
		return new(wire.MeshNodeEvent), nil
	case subjects.ChangeClientServer:
		return new(wire.ClientServerEvent), nil
	case subjects.ChangeFanoutPublisher:
		return new(wire.FanoutPublisherEvent), nil
	case subjects.ChangePeer:
		return new(wire.PeerEvent), nil
	case subjects.ChangeSpot:
		return new(wire.SpotEvent), nil
	case subjects.ChangeActor:
		return new(wire.ActorEvent), nil
	case subjects.ChangeRoute:
		return new(wire.RouteEvent), nil
	case subjects.ChangeAuthority:
		return new(wire.AuthorityEvent), nil
	case subjects.ChangeOwnerLease:
		return new(wire.OwnerLeaseEvent), nil
	default:
		return nil, fmt.Errorf("this version cannot read changes of the kind %q", kind)
	}
}
