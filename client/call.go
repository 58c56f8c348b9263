package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// firstPause and longestPause bound the pauses between tries, which double and have a random part.
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// awaitFactor is how much more time a wait for an object has by default, as in the protocol.
	awaitFactor = 3
	// awaitTry is how long one try of a wait takes: an instance that died in the middle of it is noticed at its end.
	awaitTry = 10 * time.Second
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
	data, err := wire.Marshal(wire.CBOR, request)
	if err != nil {
		return nil, &Error{Op: string(op), Code: wire.CodeInvalidArgument, Message: err.Error(), Cause: err}
	}
	timeout := c.opts.Timeout
	if op == subjects.ObjectAwait {
		timeout *= awaitFactor
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	k := attempts{c: c, op: op, how: h, data: data}
	return run[Reply](ctx, &k)
}

// attempts is one call: a try, and as many further ones as it takes.
type attempts struct {
	c    *Client
	op   subjects.Operation
	how  how
	data []byte

	tries int
	doubt error // not nil: an earlier try may have been carried out, and this is why nobody knows
	last  error // of the latest try
}

func run[Reply any](ctx context.Context, k *attempts) (*Reply, error) {
	for {
		reply := new(Reply)
		err := k.try(ctx, reply)
		if err == nil {
			if k.doubt != nil && k.how.repeat == fenced && !succeeded(reply) {
				return nil, k.unknown(fmt.Errorf("tried again: %+v", reply))
			}
			return reply, nil
		}
		k.last = err
		if k.inDoubt(ctx, err) {
			k.doubt = err
		}
		if !k.retries(err) {
			return nil, k.verdict(err)
		}
		if err := k.pause(ctx); err != nil {
			return nil, k.verdict(err)
		}
	}
}

// try sends the request once. Its errors are [*Error], from the service or from the connection.
func (k *attempts) try(ctx context.Context, reply any) error {
	left, _ := ctx.Deadline()
	limit := min(time.Until(left), k.patience())
	k.tries++
	m := k.c.message(k.op, k.data)
	if now, ok := k.c.storeNow(ctx); ok {
		work := limit - min(limit/answerShare, maxAnswer)
		m.Header[wire.HeaderDeadline] = []string{strconv.FormatInt(int64(now)+work.Milliseconds(), 10)}
	}
	if k.how.repeat == read {
		k.c.readHeaders(m.Header)
	}
	trying, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := k.c.conn.RequestMsgWithContext(trying, m)
	if err != nil {
		return k.lost(ctx, err)
	}
	return k.c.understand(k.op, answer, reply)
}

// patience is how long the next try may take.
func (k *attempts) patience() time.Duration {
	switch {
	case k.op == subjects.ObjectAwait:
		return max(awaitTry, k.c.opts.TryTimeout)
	case k.how.long, k.how.repeat == never:
		return time.Duration(1<<63 - 1)
	}
	return k.c.opts.TryTimeout << min(k.tries, 16)
}

// message is a request without the headers that belong to one try.
func (c *Client) message(op subjects.Operation, data []byte) *nats.Msg {
	return &nats.Msg{
		Subject: c.prefix.Operation(op), Data: data,
		Header: nats.Header{wire.HeaderContentType: {wire.CBOR.ContentType()}},
	}
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
func (c *Client) understand(op subjects.Operation, m *nats.Msg, reply any) error {
	garbled := func(err error) error {
		return &Error{Op: string(op), Code: wire.CodeInternal, Message: "reply is not understood: " + err.Error(), Cause: err}
	}
	encoding, err := wire.DetectEncoding(m.Header.Get(wire.HeaderContentType), m.Data)
	if err != nil {
		return garbled(err)
	}
	if len(m.Header[wire.HeaderErrorCode]) > 0 {
		var body wire.ErrorBody
		if err := wire.Unmarshal(encoding, m.Data, &body); err != nil {
			return garbled(err)
		}
		return &Error{Op: string(op), Code: body.Error.Code, Message: body.Error.Message, Field: body.Error.Field}
	}
	if err := wire.Unmarshal(encoding, m.Data, reply); err != nil {
		return garbled(err)
	}
	if revision, err := strconv.ParseUint(m.Header.Get(wire.HeaderRevision), 10, 63); err == nil {
		c.saw(revision)
	}
	return nil
}

// lost makes an error of a request that got no reply.
func (k *attempts) lost(ctx context.Context, err error) error {
	e := &Error{Op: string(k.op), Code: wire.CodeUnavailable, Cause: err}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		e.Code, e.Message = wire.CodeTooLarge, fmt.Sprintf("request of %d bytes and its headers: %v", len(k.data), err)
	case errors.Is(err, nats.ErrNoResponders):
		e.Message = "nobody serves " + string(k.c.prefix)
	case ctx.Err() != nil:
		e.Message, e.Cause = "no reply: "+ctx.Err().Error(), ctx.Err()
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		e.Message = "no reply in time"
	}
	return e
}

// notSent lists the errors of the connection with which a request has certainly reached nobody.
var notSent = []error{
	nats.ErrNoResponders, nats.ErrMaxPayload, nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrReconnectBufExceeded,
	nats.ErrInvalidConnection, nats.ErrBadSubject, nats.ErrHeadersNotSupported,
}

// inDoubt tells whether a try that failed may have been carried out all the same.
func (k *attempts) inDoubt(ctx context.Context, err error) bool {
	if k.how.repeat == read {
		return false
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Cause == nil {
		return errors.Is(err, ErrOutcomeUnknown)
	}
	for _, certain := range notSent {
		if errors.Is(err, certain) {
			return false
		}
	}
	return e.Code != wire.CodeInvalidArgument
}

// retries tells whether the same request is worth another try.
func (k *attempts) retries(err error) bool {
	switch {
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrInvalidConnection):
		return false
	case errors.Is(err, ErrOverloaded):
		return true
	case errors.Is(err, ErrDeadlineExceeded):
		k.c.shared.clock.forget() // there is time left, so that the estimate may be to blame
		return true
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrOutcomeUnknown):
		return k.doubt == nil || k.how.repeat != never
	}
	return false
}

// pause waits before the next try. It returns an error when the time is over before.
func (k *attempts) pause(ctx context.Context) error {
	longest := min(firstPause<<min(k.tries, 16), longestPause)
	d := longest/2 + rand.N(longest/2)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return k.last
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", context.Cause(ctx), k.last)
	}
}

// verdict is the error of the call as a whole.
func (k *attempts) verdict(err error) error {
	if k.doubt != nil {
		return k.unknown(err)
	}
	return err
}

// unknown says that a write may have been carried out.
func (k *attempts) unknown(err error) error {
	if errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	return &Error{Op: string(k.op), Code: wire.CodeOutcomeUnknown, Message: k.doubt.Error() + "; then: " + err.Error(), Cause: err}
}
