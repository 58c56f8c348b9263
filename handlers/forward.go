package handlers

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/telemetry"
	"github.com/zlink/zlink-nats/wire"
)

// writerFor names the instance that a write goes to as it is, not even decoded: whoever carries a request out looks at it anyway.
// It is empty when the request is for this instance to look at.
func (s *Service) writerFor(e *endpoint, r *request) string {
	if !e.writes() || r.direct || r.late() {
		return ""
	}
	return s.store.Writer()
}

// commit carries out a write here, or names the instance that wins the race for the next revision.
func (s *Service) commit(ctx context.Context, e *endpoint, r *request) (result, error) {
	if r.direct {
		return e.local(ctx, s, r, kvstore.UpdateOptions{Request: r.id})
	}
	res, err := e.local(ctx, s, r, kvstore.UpdateOptions{Yield: true})
	if contended, ok := errors.AsType[*kvstore.ContendedError](err); ok {
		return result{writer: contended.Writer}, nil
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

// handedOn are the headers of a request that another instance gets as they are. A client's other headers stay here: the server
// acts on some of them, such as Nats-Trace-Dest, with the rights of whoever publishes them.
var handedOn = []string{
	wire.HeaderContentType, wire.HeaderMinRevision, wire.HeaderConsistency, telemetry.HeaderTraceParent, telemetry.HeaderTraceState,
}

// forwarded is the message that has another instance answer a request. The id is empty for a read.
func (s *Service) forwarded(instance string, op subjects.Operation, r *request, id string) *nats.Msg {
	deadline := forwardDeadline(s.store.Clock().Now(), r.deadline)
	header := nats.Header{wire.HeaderDeadline: {strconv.FormatInt(int64(deadline), 10)}}
	for _, name := range handedOn {
		if values := r.header[name]; len(values) > 0 {
			header[name] = values
		}
	}
	telemetry.Inject(r.within(s.base), header)
	if id != "" {
		header[headerRequest] = []string{id}
	}
	return &nats.Msg{Subject: r.sender.subject(s.prefix.InstancePrefix(instance), op), Header: header, Data: r.data}
}

// forward sends a read to one instance and returns its reply. It returns kvstore.ErrDeadline when the reply did not come before
// the context ended, and any other error when the request certainly was not taken.
func (s *Service) forward(ctx context.Context, instance string, op subjects.Operation, r *request) (*nats.Msg, error) {
	reply, err := s.conn.RequestMsgWithContext(ctx, s.forwarded(instance, op, r, ""))
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: no reply from instance %q: %w", kvstore.ErrDeadline, instance, ctx.Err())
	} else if err != nil {
		err = notTaken(instance, err)
	}
	return reply, err
}

// notTaken says that another instance certainly did not take a request.
func notTaken(instance string, cause error) error {
	return fmt.Errorf("%w: ask instance %q: %w", kvstore.ErrUnavailable, instance, cause)
}
