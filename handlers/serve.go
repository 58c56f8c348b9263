package handlers

import (
	"context"
	"time"

	"github.com/zlink/zlink-nats/kvstore"
)

// maxWait bounds how long a request can hold a place, whatever its deadline.
const maxWait = time.Minute

// accept takes a request over on the goroutine of its subscription, which must not be held up.
func (s *Service) accept(base context.Context, e *endpoint, m message) {
	r := &request{message: m, start: time.Now()}
	ctx := s.observe(base, e, r)
	timeout := s.requestTimeout
	if e.parks {
		timeout = s.awaitTimeout
	}
	err := r.readHeaders(s.store.Clock().Now(), kvstore.Instant(timeout.Milliseconds()))
	if err != nil {
		s.finish(e, r, result{}, err)
		return
	}
	waits := !e.writes() && s.waits(ctx, r)
	if e.inline && !waits {
		res, err := s.run(ctx, e, r)
		s.finish(e, r, res, err)
		return
	}
	place := ticket{bytes: len(m.data), waits: waits}
	if err := s.gate.enter(place); err != nil {
		s.finish(e, r, result{}, err)
		return
	}
	if writer := s.writerFor(e, r); writer != "" {
		s.relay(e, r, place, writer)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, r.patience(maxWait))
		defer cancel()
		res, err := s.run(ctx, e, r)
		if err == nil && res.writer != "" {
			s.relay(e, r, place, res.writer)
			return
		}
		defer s.gate.leave(place)
		s.finish(e, r, res, err)
	}()
}

// waits tells whether a read has to wait for a revision or for the leader.
func (s *Service) waits(ctx context.Context, r *request) bool {
	if r.leader {
		return true
	}
	if r.min == 0 {
		return false
	}
	v, err := s.store.View(ctx, kvstore.ReadOptions{})
	return err == nil && v.Revision() < r.min
}

// run answers a request, whatever happens.
func (s *Service) run(ctx context.Context, e *endpoint, r *request) (res result, err error) {
	defer recovered(&err)
	if e.writes() {
		return s.commit(ctx, e, r)
	}
	return e.serve(ctx, s, r)
}

func (s *Service) finish(e *endpoint, r *request, res result, err error) {
	if err == nil && res.parked {
		return
	}
	s.ended(e, r, s.answer(e, r, res, err), err)
}
