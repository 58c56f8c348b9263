package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/telemetry"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// firstPause and longestPause bound the pauses between tries, which double and have a random part.
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// longFactor is how much more time an operation has by default that takes as long as it needs, as object.await in the protocol.
	longFactor = 3
	// longTry is how long the first try of such an operation takes: an instance that died in the middle of it is noticed at its end.
	longTry = 10 * time.Second
	// answerShare is the part of a try that is kept free for the answer to travel: a request that the service gives up in time
	// is answered with certainty, one that the client gives up is not. maxAnswer bounds it.
	answerShare = 10
	maxAnswer   = 200 * time.Millisecond
)

// call carries out one operation and returns its reply.
func call[Reply any](ctx context.Context, c *Client, op subjects.Operation, request any) (*Reply, error) {
	return callAs[Reply](ctx, c, op, operations[op], request)
}

// callAs is call for an operation of which the request tells how it may be repeated.
func callAs[Reply any](ctx context.Context, c *Client, op subjects.Operation, h how, request any) (*Reply, error) {
	reply, _, err := callAt[Reply](ctx, c, op, h, request)
	return reply, err
}

// callAt is callAs that also returns the revision which the reply reflects.
func callAt[Reply any](ctx context.Context, c *Client, op subjects.Operation, h how, request any) (*Reply, wire.Revision, error) {
	data, err := wire.Marshal(wire.CBOR, request)
	if err != nil {
		return nil, 0, &Error{Op: string(op), Code: wire.CodeInvalidArgument, Message: err.Error(), Cause: err}
	}
	timeout := c.opts.Timeout
	if h.long {
		timeout *= longFactor
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	k := attempts{c: c, op: op, how: h, data: data}
	ctx, span := k.begin(ctx)
	defer span.End()
	reply, err := run[Reply](ctx, &k)
	k.conclude(span, err)
	return reply, k.revision, err
}

// attempts is one call: a try, and as many further ones as it takes.
type attempts struct {
	c    *Client
	op   subjects.Operation
	how  how
	data []byte

	tries    int
	revision wire.Revision // that the reply reflects
	doubt    *Error        // not nil: an earlier try may have been carried out, and this is why nobody knows
	late     bool          // the service gave the last try up: it may have waited for a revision that does not come
}

func run[Reply any](ctx context.Context, k *attempts) (*Reply, error) {
	for {
		reply := new(Reply)
		err := k.try(ctx, reply)
		switch {
		case err == nil && k.doubt != nil && k.how.repeat == fenced && !succeeded(reply):
			return nil, k.verdict(&Error{Op: string(k.op), Message: fmt.Sprintf("tried again: %+v", reply)})
		case err == nil:
			return reply, nil
		case k.inDoubt(err):
			k.doubt = err
		}
		if !k.retries(err) || !k.pause(ctx) {
			return nil, k.verdict(err)
		}
	}
}

// try sends the request once.
func (k *attempts) try(ctx context.Context, reply any) *Error {
	end, _ := ctx.Deadline()
	limit := min(time.Until(end), k.patience())
	k.tries++
	m := k.c.message(k.op, k.data)
	telemetry.Inject(ctx, m.Header)
	if now, ok := k.c.storeNow(ctx); ok {
		work := limit - min(limit/answerShare, maxAnswer)
		m.Header[wire.HeaderDeadline] = []string{strconv.FormatInt(int64(now)+work.Milliseconds(), 10)}
	}
	if k.how.repeat == read {
		if k.late {
			k.c.lookBack(ctx)
		}
		k.c.readHeaders(m.Header)
	}
	if ctx.Err() != nil {
		return k.over(ctx, false)
	}
	trying, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := k.c.conn.RequestMsgWithContext(trying, m)
	switch {
	case err == nil:
		err := k.c.understand(k.op, answer, reply)
		k.revision = revisionOf(answer)
		return err
	case ctx.Err() != nil:
		return k.over(ctx, true)
	}
	return k.lost(err)
}

// patience is how long the next try may take.
func (k *attempts) patience() time.Duration {
	first := k.c.opts.TryTimeout
	switch {
	case k.how.repeat == never:
		return forever
	case k.how.long:
		first = max(first, longTry)
	}
	if doubled := first << min(k.tries, 16); doubled > first {
		return doubled
	}
	return first
}

// forever is longer than any context.
const forever = time.Duration(math.MaxInt64)

// message is a request without the headers that belong to one try.
func (c *Client) message(op subjects.Operation, data []byte) *nats.Msg {
	return &nats.Msg{
		Subject: c.subject(op), Data: data,
		Header: nats.Header{wire.HeaderContentType: {wire.CBOR.ContentType()}},
	}
}

// subject is where requests for an operation go: with an owner all of them, since any may be sent there.
func (c *Client) subject(op subjects.Operation) string {
	if c.opts.OwnerID != "" {
		return c.prefix.As(c.opts.OwnerID, op)
	}
	return c.prefix.Operation(op)
}

// readHeaders asks for what a read must show.
func (c *Client) readHeaders(h nats.Header) {
	if c.leader {
		h[wire.HeaderConsistency] = []string{wire.ConsistencyLeader}
	}
	if seen := c.shared.seen.Load(); seen > 0 && !c.opts.AnyRevision {
		h[wire.HeaderMinRevision] = []string{strconv.FormatUint(seen, 10)}
	}
}

// understand reads a reply, or makes an error of a refusal.
func (c *Client) understand(op subjects.Operation, m *nats.Msg, reply any) *Error {
	encoding, err := wire.DetectEncoding(m.Header.Get(wire.HeaderContentType), m.Data)
	if err != nil {
		return garbled(op, err)
	}
	if len(m.Header[wire.HeaderErrorCode]) > 0 {
		var body wire.ErrorBody
		if err := wire.UnmarshalLenient(encoding, m.Data, &body); err != nil {
			return garbled(op, err)
		}
		return &Error{Op: string(op), Code: body.Error.Code, Message: body.Error.Message, Field: body.Error.Field}
	}
	if err := wire.UnmarshalLenient(encoding, m.Data, reply); err != nil {
		return garbled(op, err)
	}
	c.saw(revisionOf(m))
	return nil
}

// revisionOf is the revision that a reply reflects, 0 when it does not say.
func revisionOf(m *nats.Msg) wire.Revision {
	revision, err := strconv.ParseUint(m.Header.Get(wire.HeaderRevision), 10, 63)
	if err != nil {
		return 0
	}
	return wire.Revision(revision)
}

func garbled(op subjects.Operation, err error) *Error {
	return &Error{Op: string(op), Code: wire.CodeInternal, Message: "reply is not understood: " + err.Error(), Cause: err, sent: true}
}

// over is the error of a call whose context ended.
func (k *attempts) over(ctx context.Context, sent bool) *Error {
	return &Error{
		Op: string(k.op), Code: wire.CodeDeadlineExceeded, Message: "no reply: " + context.Cause(ctx).Error(), Cause: ctx.Err(), sent: sent,
	}
}

// notSent lists the errors of the connection with which a request has certainly reached nobody. A closed connection is none of them:
// it may have been closed while the reply was on its way.
var notSent = []error{
	nats.ErrNoResponders, nats.ErrMaxPayload, nats.ErrConnectionDraining, nats.ErrReconnectBufExceeded, nats.ErrInvalidConnection,
	nats.ErrBadSubject, nats.ErrHeadersNotSupported,
}

// lost makes an error of a request that got no reply.
func (k *attempts) lost(err error) *Error {
	e := &Error{Op: string(k.op), Code: wire.CodeUnavailable, Message: "no reply: " + err.Error(), Cause: err, sent: true}
	for _, certain := range notSent {
		if errors.Is(err, certain) {
			e.sent = false
		}
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		e.Code, e.Message = wire.CodeTooLarge, fmt.Sprintf("request of %d bytes and its headers: %v", len(k.data), err)
	case errors.Is(err, nats.ErrNoResponders):
		e.Message = "nobody serves " + k.c.subject(k.op)
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		e.Message = "no reply in time"
	}
	return e
}

// inDoubt tells whether a try that failed may have been carried out all the same.
func (k *attempts) inDoubt(err *Error) bool {
	return k.how.repeat != read && (err.sent || err.Code == wire.CodeOutcomeUnknown)
}

// retries tells whether the same request is worth another try.
func (k *attempts) retries(err *Error) bool {
	k.late = err.Code == wire.CodeDeadlineExceeded && err.Cause == nil
	switch err.Code {
	case wire.CodeOverloaded:
		return true
	case wire.CodeDeadlineExceeded:
		if k.late {
			k.c.shared.clock.forget() // if there is time left, the estimate may be to blame
		}
		return k.late
	case wire.CodeUnavailable, wire.CodeOutcomeUnknown:
		final := errors.Is(err.Cause, nats.ErrConnectionClosed) || errors.Is(err.Cause, nats.ErrInvalidConnection)
		return !final && (k.doubt == nil || k.how.repeat != never)
	}
	return false
}

// pause waits before the next try, and tells whether there is time for one.
func (k *attempts) pause(ctx context.Context) bool {
	longest := min(firstPause<<min(k.tries, 16), longestPause)
	d := longest/2 + rand.N(longest/2)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	return sleep(ctx, d) == nil
}

// sleep waits; the error is that of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verdict is the error of the call as a whole: as long as any try may have been carried out, nobody knows. The causes of the
// tries stay reachable, their codes, which promise more, do not.
func (k *attempts) verdict(err *Error) error {
	if k.doubt == nil {
		return err
	}
	message := k.doubt.Message
	if err != k.doubt {
		message += "; then: " + err.Message
	}
	return &Error{Op: string(k.op), Code: wire.CodeOutcomeUnknown, Message: message, Cause: cmp.Or(err.Cause, k.doubt.Cause)}
}
