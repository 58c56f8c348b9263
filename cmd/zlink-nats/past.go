package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// pastChange is a change that was pushed.
type pastChange struct {
	wire.EventHead
	What string `json:"what"` // what it was about, in words
}

const (
	ownChanges   = 5 // of the object to be told
	otherChanges = 2 // of each thing that it depends on
	// changesPatience is how long an explanation waits for the stream, which it can
	// do without.
	changesPatience = 5 * time.Second
)

// recall reads the last changes of the object, of its row, of its owner's lease and of
// its node.
func (e *evidence) recall(c *caller) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(changesPatience, c.config.Timeout))
	defer cancel()
	js, err := c.jetStream()
	if err != nil {
		return err
	}
	stream, err := js.Stream(ctx, subjects.ChangesStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("there is no stream %s at %s", subjects.ChangesStream, c.ConnectedUrlRedacted())
	}
	if err != nil {
		return c.explainJetStream(err)
	}
	prefix := subjects.Prefix(c.config.Prefix)
	var found []*jetstream.RawStreamMsg
	for subject, count := range e.subjects(prefix) {
		messages, err := history{stream}.last(ctx, subject, count)
		if err != nil {
			return c.explainJetStream(err)
		}
		found = append(found, messages...)
	}
	slices.SortFunc(found, func(a, b *jetstream.RawStreamMsg) int { return cmp.Compare(a.Sequence, b.Sequence) })
	for _, m := range found {
		change, err := readChange(prefix, m)
		if err != nil {
			return err
		}
		e.Changes = append(e.Changes, *change)
	}
	return nil
}

// subjects are those of the changes to tell, with how many of each.
func (e *evidence) subjects(prefix subjects.Prefix) map[string]int {
	all := map[string]int{prefix.Change(subjects.ChangeAuthority, string(e.Kind), e.GlobalID): ownChanges}
	row := subjects.ChangeSpot
	if e.Kind == wire.LookupActor {
		row = subjects.ChangeActor
	}
	for _, r := range e.Rows {
		all[prefix.Change(row, r.MeshName, e.GlobalID)] = otherChanges
	}
	if a := e.Authority; a != nil {
		d := a.Allocation.Descriptor
		all[prefix.Change(subjects.ChangeOwnerLease, subjects.OwnerScope, a.OwnerID)] = otherChanges
		all[prefix.Change(subjects.ChangeMeshNode, d.MeshName, string(d.RID))] = otherChanges
	}
	return all
}

// history looks changes up in their stream.
type history struct{ stream jetstream.Stream }

// last returns the last changes on a subject, newest first.
func (h history) last(ctx context.Context, subject string, count int) (found []*jetstream.RawStreamMsg, err error) {
	m, err := h.stream.GetLastMsgForSubject(ctx, subject)
	for err == nil {
		if found = append(found, m); len(found) == count {
			return found, nil
		}
		m, err = h.before(ctx, subject, m.Sequence)
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	return found, err
}

// before is the last change on a subject before a sequence, found by halving: the
// server finds the next message on a subject, but not the one before.
func (h history) before(ctx context.Context, subject string, seq uint64) (found *jetstream.RawStreamMsg, err error) {
	low, high := max(h.stream.CachedInfo().State.FirstSeq, 1), seq
	for low < high {
		middle := low + (high-low)/2
		m, err := h.stream.GetMsg(ctx, middle, jetstream.WithGetMsgSubject(subject))
		switch {
		case err != nil:
			return nil, err
		case m.Sequence >= seq:
			high = middle
		default:
			found, low = m, m.Sequence+1
		}
	}
	if found == nil {
		return nil, jetstream.ErrMsgNotFound
	}
	return found, nil
}

// readChange reads a change as it was pushed.
func readChange(prefix subjects.Prefix, m *jetstream.RawStreamMsg) (*pastChange, error) {
	change, err := prefix.ParseChange(m.Subject)
	if err != nil {
		return nil, err
	}
	event, err := client.ReadEvent(change.Kind, m.Header, m.Data)
	if err != nil {
		return nil, fmt.Errorf("message %d of the stream is not understood: %w", m.Sequence, err)
	}
	head, what := told(event)
	return &pastChange{EventHead: head, What: what}, nil
}

// told is an event in words.
func told(event any) (head wire.EventHead, what string) {
	switch e := event.(type) {
	case *wire.AuthorityEvent:
		head, what = e.EventHead, "authority"
		if v := e.Value; v != nil && v.Allocation != nil {
			what += fmt.Sprintf(": %s, %s, node %s of mesh %s, owner %s, lease %d", v.Allocation.State, v.Phase,
				shown(v.Allocation.Descriptor.RID), shown(v.Allocation.Descriptor.MeshName), shown(v.OwnerID), v.OwnerLeaseGeneration)
		}
	case *wire.OwnerLeaseEvent:
		head, what = e.EventHead, "lease of owner "+shown(e.OwnerID)
		if v := e.Value; v != nil {
			what += fmt.Sprintf(": lease %d", v.LeaseGeneration)
		}
	case *wire.MeshNodeEvent:
		head, what = e.EventHead, "node "+shown(e.RID)
		if v := e.Value; v != nil {
			what += fmt.Sprintf(": %s, life %d, owner %s, lease %d", v.State, v.LifecycleGeneration, shown(v.OwnerID), v.LeaseGeneration)
		}
	case *wire.ActorEvent:
		head, what = e.EventHead, "row in mesh "+shown(e.MeshName)
		if v := e.Value; v != nil {
			what += fmt.Sprintf(": node %s, owner %s, lease %d", shown(v.OwnerNodeRID), shown(v.OwnerID), v.LeaseGeneration)
		}
	case *wire.SpotEvent:
		head, what = e.EventHead, "row in mesh "+shown(e.MeshName)
		if v := e.Value; v != nil {
			what += fmt.Sprintf(": node %s, owner %s, lease %d", shown(v.OwnerNodeRID), shown(v.OwnerID), v.LeaseGeneration)
		}
	}
	return head, what
}
