package histories_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// event is one change as the stream of changes tells it.
type event struct {
	revision uint64
	index    uint64
	kind     wire.EventKind
	change   wire.ChangeType
	key      string // text form of the object, RID of the node, owner of the lease

	object *wire.Authority          // upserted: the one of the kind
	node   *wire.MeshNodeDescriptor // upserted
	lease  *wire.OwnerLease         // upserted
	spot   *wire.Spot               // upserted

	// told is the request of a call that was told of this very change; nil when nobody was.
	told any
}

// row is what the event is about.
func (e *event) row() row { return row{e.kind, e.key} }

// String tells of the event in one line.
func (e *event) String() string {
	value := ""
	switch {
	case e.object != nil:
		value = text(e.object)
	case e.node != nil:
		value = text(e.node)
	case e.lease != nil:
		value = text(e.lease)
	case e.spot != nil:
		value = text(e.spot)
	}
	return fmt.Sprintf("@%d.%d %s %q %s %s", e.revision, e.index, e.kind, e.key, e.change, value)
}

// changes reads the stream from its beginning until it has an event of the revision or a later one.
func changes(t *testing.T, nc *nats.Conn, upTo uint64) []*event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := js.OrderedConsumer(ctx, subjects.ChangesStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	var all []*event
	for len(all) == 0 || all[len(all)-1].revision < upTo {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			t.Fatalf("changes up to %d: %v", upTo, err)
		}
		e, err := newEvent(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func newEvent(m jetstream.Msg) (*event, error) {
	e := &event{}
	var err error
	if e.revision, err = strconv.ParseUint(m.Headers().Get(wire.HeaderRevision), 10, 63); err != nil {
		return nil, err
	}
	if e.index, err = strconv.ParseUint(m.Headers().Get("Zlink-Index"), 10, 63); err != nil {
		return nil, err
	}
	if want := fmt.Sprintf("%d-%d", e.revision, e.index); m.Headers().Get(nats.MsgIdHdr) != want {
		return nil, fmt.Errorf("event %q, want id %s", m.Headers(), want)
	}
	change, err := subjects.DefaultPrefix.ParseChange(m.Subject())
	if err != nil {
		return nil, err
	}
	if e.kind, err = wire.EventKind(change.Kind), e.decode(wire.EventKind(change.Kind), m.Data()); err != nil {
		return nil, fmt.Errorf("%s: %w", m.Data(), err)
	}
	return e, nil
}

func (e *event) decode(kind wire.EventKind, data []byte) error {
	var head wire.EventHead
	switch kind {
	case wire.EventAuthority:
		var v wire.AuthorityEvent
		if err := wire.Unmarshal(wire.JSON, data, &v); err != nil {
			return err
		}
		head, e.key, e.object = v.EventHead, v.Key, v.Value
	case wire.EventMeshNode:
		var v wire.MeshNodeEvent
		if err := wire.Unmarshal(wire.JSON, data, &v); err != nil {
			return err
		}
		head, e.key, e.node = v.EventHead, string(v.RID), v.Value
	case wire.EventSpot:
		var v wire.SpotEvent
		if err := wire.Unmarshal(wire.JSON, data, &v); err != nil {
			return err
		}
		head, e.key, e.spot = v.EventHead, v.SpotID, v.Value
	case wire.EventOwnerLease:
		var v wire.OwnerLeaseEvent
		if err := wire.Unmarshal(wire.JSON, data, &v); err != nil {
			return err
		}
		head, e.key, e.lease = v.EventHead, v.OwnerID, v.Value
	default:
		return fmt.Errorf("kind %q of which nothing was written", kind)
	}
	if uint64(head.Revision) != e.revision || head.Kind != kind {
		return fmt.Errorf("payload says %+v", head)
	}
	e.change = head.Change
	return nil
}
