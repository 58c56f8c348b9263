package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// print prints a change as one line of JSON, if it is one of those asked for.
func (c *watchCmd) print(m jetstream.Msg) error {
	revision, err := strconv.ParseUint(m.Headers().Get(wire.HeaderRevision), 10, 64)
	if err != nil {
		return fmt.Errorf("message on %s without a revision: %w", m.Subject(), err)
	}
	if c.Since != nil && revision <= *c.Since {
		return nil
	}
	line, err := eventJSON(subjects.Prefix(c.Prefix), m)
	if err != nil {
		return fmt.Errorf("change on %s at revision %d: %w", m.Subject(), revision, err)
	}
	return writeJSON(os.Stdout, line)
}

// eventJSON is an event in JSON, whatever it was pushed in.
func eventJSON(prefix subjects.Prefix, m jetstream.Msg) ([]byte, error) {
	encoding, err := wire.DetectEncoding(m.Headers().Get(wire.HeaderContentType), m.Data())
	if err != nil || encoding == wire.JSON {
		return m.Data(), err
	}
	change, err := prefix.ParseChange(m.Subject())
	if err != nil {
		return nil, err
	}
	event, err := newEvent(change.Kind)
	if err != nil {
		return nil, err
	}
	if err := wire.Unmarshal(encoding, m.Data(), event); err != nil {
		return nil, err
	}
	return wire.Marshal(wire.JSON, event)
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
		return nil, fmt.Errorf("this version cannot show changes of the kind %q", kind)
	}
}
