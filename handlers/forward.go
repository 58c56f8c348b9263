package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// commit carries out a write: on the instance that is winning the race for the next revision when there is one, and else, or
// when that one does not answer within the patience, here.
func (s *Service) commit(ctx context.Context, patience time.Duration, op subjects.Operation, r *request,
	local func(kvstore.UpdateOptions) (result, error),
) (result, error) {
	if r.direct {
		return local(kvstore.UpdateOptions{Request: r.id})
	}
	writer := s.store.Writer()
	if writer == "" {
		res, err := local(kvstore.UpdateOptions{Yield: true})
		contended, ok := errors.AsType[*kvstore.ContendedError](err)
		if !ok {
			return res, err
		}
		writer = contended.Writer
	}
	return s.commitElsewhere(ctx, patience, writer, op, r, local)
}

// answer is what another instance said, or why it did not.
type answer struct {
	reply *nats.Msg
	err   error
}

// commitElsewhere has another instance carry out a write, and does it here when that one does not answer within the patience. When
// it turns out that it was done there, its answer is waited for all the same: nobody else knows the result.
func (s *Service) commitElsewhere(ctx context.Context, patience time.Duration, writer string, op subjects.Operation, r *request,
	local func(kvstore.UpdateOptions) (result, error),
) (result, error) {
	id := nuid.Next()
	asking, cancel := context.WithCancel(ctx)
	answers := make(chan answer, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		reply, err := s.forward(asking, writer, op, r, id)
		answers <- answer{reply, err}
	})
	defer wg.Wait()
	defer cancel()
	refused := kvstore.ErrDeadline
	select {
	case a := <-answers:
		if a.err == nil {
			return result{relayed: a.reply}, nil
		}
		refused, answers = a.err, nil
	case <-time.After(patience):
	}
	res, err := local(kvstore.UpdateOptions{Request: id})
	if errors.Is(err, kvstore.ErrCarriedOut) && answers != nil {
		if a := <-answers; a.err == nil {
			return result{relayed: a.reply}, nil
		}
	}
	if errors.Is(refused, kvstore.ErrDeadline) {
		err = inDoubt(err)
	}
	return res, err
}

// What another instance answers at its deadline (that nothing was written, or how much was) has to be here before ours: it gets
// one forwardShare-th of the time less, at most forwardMargin.
const (
	forwardShare  = 10
	forwardMargin = kvstore.Instant(200) // milliseconds
)

// forwardDeadline is the deadline of a request that another instance is to answer from now on.
func forwardDeadline(now, deadline kvstore.Instant) kvstore.Instant {
	return deadline - max(1, min((deadline-now)/forwardShare, forwardMargin))
}

// forward sends a request to one instance and returns its reply. It returns kvstore.ErrDeadline when the reply did not come
// before the context ended, and any other error when the request certainly was not taken.
func (s *Service) forward(ctx context.Context, instance string, op subjects.Operation, r *request, id string) (*nats.Msg, error) {
	header := maps.Clone(r.header)
	if header == nil {
		header = nats.Header{}
	}
	deadline := forwardDeadline(s.store.Clock().Now(), r.deadline)
	header[wire.HeaderDeadline] = []string{strconv.FormatInt(int64(deadline), 10)}
	delete(header, headerRequest)
	if id != "" {
		header[headerRequest] = []string{id}
	}
	reply, err := s.conn.RequestMsgWithContext(ctx, &nats.Msg{
		Subject: s.prefix.Instance(instance, op), Header: header, Data: r.data,
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: no reply from instance %q: %w", kvstore.ErrDeadline, instance, ctx.Err())
	} else if err != nil {
		err = fmt.Errorf("%w: ask instance %q: %w", kvstore.ErrUnavailable, instance, err)
	}
	return reply, err
}
