package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// watch is the scenario [Watch]: one worker rewrites the row of a spot, and the subscribers hear of it.
type watch struct {
	*fleet
	conns  []*nats.Conn
	prefix subjects.Prefix

	subscribers int
	subs        []*nats.Subscription
	generation  wire.Generation // of the latest write; used by the only worker

	mu      sync.Mutex
	written map[wire.Generation]written // guarded by mu; what not everybody has heard of
	missed  int                         // guarded by mu; changes that were given up
	quiet   chan struct{}               // guarded by mu; closed once everybody has heard of everything; nil: nobody asks
}

// written is a write whose change is on its way.
type written struct {
	due    time.Time
	record func(time.Duration)
	left   int // subscribers that have not heard of it
}

// keptWritten bounds how many writes are waited for: beyond it the oldest count as missed.
const keptWritten = 1 << 16

// Workers is one: the others are the subscribers.
func (s *watch) Workers(asked int) int {
	s.subscribers = asked
	return 1
}

func (s *watch) Prepare(ctx context.Context) error {
	s.written = make(map[wire.Generation]written)
	if err := s.open(ctx); err != nil {
		return err
	}
	subject := s.prefix.Change(subjects.ChangeSpot, s.name, s.name)
	for i := range s.subscribers {
		sub, err := s.conns[i%len(s.conns)].Subscribe(subject, s.heard)
		if err != nil {
			return err
		}
		s.subs = append(s.subs, sub)
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for _, nc := range s.conns {
		if err := nc.FlushWithContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// heard takes a change that a subscriber received.
func (s *watch) heard(m *nats.Msg) {
	now := time.Now()
	var e wire.SpotEvent
	encoding, err := wire.DetectEncoding(m.Header.Get(wire.HeaderContentType), m.Data)
	if err != nil || wire.UnmarshalLenient(encoding, m.Data, &e) != nil || e.Value == nil {
		return
	}
	s.mu.Lock()
	w, ok := s.written[e.Value.SpotGeneration]
	if w.left--; w.left == 0 {
		delete(s.written, e.Value.SpotGeneration)
	} else if ok {
		s.written[e.Value.SpotGeneration] = w
	}
	if ok {
		w.record(now.Sub(w.due))
	}
	if len(s.written) == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
	s.mu.Unlock()
}

// settling bounds the wait for changes on their way.
const settling = 10 * time.Second

// Settle waits until everybody has heard of everything, and says how many changes did not arrive.
func (s *watch) Settle(ctx context.Context) error {
	quiet := make(chan struct{})
	s.mu.Lock()
	s.quiet = quiet
	if len(s.written) == 0 {
		close(quiet)
		s.quiet = nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	missed := s.missed
	for generation, w := range s.written {
		missed += w.left
		delete(s.written, generation)
	}
	if s.missed = 0; missed > 0 {
		return fmt.Errorf("%d changes did not arrive within %v", missed, settling)
	}
	return nil
}

func (s *watch) Do(ctx context.Context, _ int, due time.Time, record func(time.Duration)) error {
	intent := wire.IntentRenew
	if s.generation++; s.generation == 1 {
		intent = wire.IntentNewClaim
	}
	s.expect(due, record)
	r, err := s.client(0).Spots.Update(ctx, wire.SpotUpdateRequest{Intent: intent, Spot: wire.Spot{
		MeshName: s.name, SpotID: s.name, SpotGeneration: s.generation, SpotType: roomType, OwnerNodeRID: "node-0",
		OwnerNodeGeneration: s.token.LeaseGeneration, SpotKind: wire.SpotKindUser, OwnerToken: s.token,
	}})
	switch {
	case err != nil:
		s.giveUp()
		return err
	case r.Status != wire.StatusStored:
		s.giveUp()
		return fmt.Errorf("update: %s", r.Status)
	}
	return nil
}

// giveUp expects nothing of the latest write, which failed.
func (s *watch) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, s.generation)
}

func (s *watch) expect(due time.Time, record func(time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if oldest, ok := s.written[s.generation-keptWritten]; ok {
		s.missed += oldest.left
		delete(s.written, s.generation-keptWritten)
	}
	s.written[s.generation] = written{due, record, s.subscribers}
}

func (s *watch) Remove(ctx context.Context) error {
	for _, sub := range s.subs {
		if err := sub.Unsubscribe(); err != nil {
			return err
		}
	}
	return s.fleet.Remove(ctx)
}
