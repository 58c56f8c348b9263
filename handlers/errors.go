package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// errStopping is how a request ends that the instance gives up because it stops.
var errStopping = context.Canceled

// errForbidden is how a request ends that acts for an owner for whom it may not.
var errForbidden = errors.New("not for this caller")

// refusals pairs the sentinels with the protocol's codes. The first that an error matches counts: an unknown
// outcome wraps the cause of the doubt, which must not be taken for a promise that nothing was written. A store does not tell a
// passed deadline from a context that was cancelled, as contexts are when the instance stops.
var refusals = []struct {
	err  error
	code wire.Code
}{
	{kvstore.ErrUnknown, wire.CodeOutcomeUnknown},
	{errForbidden, wire.CodeForbidden},
	{kvstore.ErrOverloaded, wire.CodeOverloaded},
	{kvstore.ErrScanExpired, wire.CodeScanExpired},
	{kvstore.ErrTooLarge, wire.CodeTooLarge},
	{kvstore.ErrTooManyRows, wire.CodeTooLarge},
	{kvstore.ErrUnavailable, wire.CodeUnavailable},
	{kvstore.ErrExhausted, wire.CodeUnavailable},
	{kvstore.ErrClosed, wire.CodeUnavailable},
	{errStopping, wire.CodeUnavailable},
	{kvstore.ErrDeadline, wire.CodeDeadlineExceeded},
}

// maxMessage bounds the text of an error in bytes, since it travels in a header line as well.
const maxMessage = 1024

// detail puts an error into the protocol's words.
func detail(err error) wire.ErrorDetail {
	d := wire.ErrorDetail{Code: wire.CodeInternal, Message: oneLine(err.Error())}
	if invalid, ok := errors.AsType[*wire.InvalidError](err); ok {
		d.Code, d.Field = wire.CodeInvalidArgument, invalid.Field
		return d
	}
	if large, ok := errors.AsType[*wire.TooLargeError](err); ok {
		d.Code, d.Field = wire.CodeTooLarge, large.Field
		return d
	}
	if _, ok := errors.AsType[*kvstore.DataLostError](err); ok {
		d.Code = wire.CodeDataLost
		return d
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			d.Code = r.code
			if errors.Is(r.err, errStopping) {
				d.Message = "the instance is stopping"
			}
			return d
		}
	}
	return d
}

// deadlinePassed tells whether an error says that the deadline came and nothing else.
func deadlinePassed(err error) bool {
	return err != nil && detail(err).Code == wire.CodeDeadlineExceeded
}

// oneLine makes a header value of a text.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(line) > maxMessage {
		line = strings.ToValidUTF8(line[:maxMessage], "") + "..."
	}
	return line
}

// inDoubt turns an error that promises that nothing was written into one that does not: somebody else may have carried out the
// request, or a part of it already is.
func inDoubt(err error) error {
	for _, promise := range []error{
		kvstore.ErrDeadline, kvstore.ErrUnavailable, kvstore.ErrOverloaded, kvstore.ErrExhausted, kvstore.ErrClosed,
	} {
		if errors.Is(err, promise) {
			return fmt.Errorf("%w: %w", kvstore.ErrUnknown, err)
		}
	}
	return err
}

// panicError is what became of a rule that panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// report logs what an operator has to know of: bugs and damaged data.
func report(log *slog.Logger, op subjects.Operation, code wire.Code, err error) {
	if code != wire.CodeInternal && code != wire.CodeDataLost {
		return
	}
	attrs := []slog.Attr{slog.String("op", string(op)), slog.String("code", string(code)), slog.Any("err", err)}
	if lost, ok := errors.AsType[*kvstore.DataLostError](err); ok {
		attrs = append(attrs, slog.String("key", string(lost.Key)))
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	log.LogAttrs(context.Background(), slog.LevelError, "request failed", attrs...)
}
