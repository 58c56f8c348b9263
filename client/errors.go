package client

import (
	"errors"
	"fmt"

	"github.com/zlink/zlink-nats/wire"
)

// Why a request was not carried out, one sentinel for each code of the protocol. They are matched with [errors.Is]; the error
// itself is an [*Error]. Outcomes that the domain decided, such as a conflict, are no errors but the Kind or Status of a reply.
var (
	// ErrInvalidArgument: a value is missing, malformed or out of range. Nothing was read or written, and a retry is of no use.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrForbidden: the caller may not act for this owner. Nothing was written.
	ErrForbidden = errors.New("forbidden")
	// ErrDeadlineExceeded: the time was over before the operation took effect. Nothing was written.
	ErrDeadlineExceeded = errors.New("deadline exceeded")
	// ErrScanExpired: the snapshot of a list is gone; begin the list again.
	ErrScanExpired = errors.New("scan expired")
	// ErrTooLarge: a size limit of the protocol or of the NATS server is exceeded. Nothing was written.
	ErrTooLarge = errors.New("too large")
	// ErrOverloaded: the service had too much to do for all of the time that there was. Nothing was written.
	ErrOverloaded = errors.New("overloaded")
	// ErrInternal: the service has a bug.
	ErrInternal = errors.New("internal error")
	// ErrDataLost: stored data is damaged; the log of the service names its key. Nothing was written.
	ErrDataLost = errors.New("data lost")
	// ErrUnavailable: the service or its store could not be reached for all of the time that there was. Nothing was written.
	ErrUnavailable = errors.New("unavailable")
	// ErrOutcomeUnknown: the write may or may not have taken effect. Read before you decide what to do.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)

// sentinels pairs the codes of the protocol with the sentinels.
var sentinels = map[wire.Code]error{
	wire.CodeInvalidArgument:  ErrInvalidArgument,
	wire.CodeForbidden:        ErrForbidden,
	wire.CodeDeadlineExceeded: ErrDeadlineExceeded,
	wire.CodeScanExpired:      ErrScanExpired,
	wire.CodeTooLarge:         ErrTooLarge,
	wire.CodeOverloaded:       ErrOverloaded,
	wire.CodeInternal:         ErrInternal,
	wire.CodeDataLost:         ErrDataLost,
	wire.CodeUnavailable:      ErrUnavailable,
	wire.CodeOutcomeUnknown:   ErrOutcomeUnknown,
}

// Error says why a request was not carried out.
type Error struct {
	// Op is the operation, such as "lease.claim".
	Op string
	// Code is the protocol's word for it; [errors.Is] matches the sentinel of the code.
	Code wire.Code
	// Message is one line for people.
	Message string
	// Field is the path of the refused field, such as "token.ownerId"; empty when no one field is to blame.
	Field string
	// Cause is what the client found out by itself, such as the end of the context or the connection's error; nil when the
	// service has answered.
	Cause error

	sent bool // the request may have reached the service, which has not answered
}

// Error is one line: the operation, the code, and what the service or the connection said.
func (e *Error) Error() string {
	text := e.Message
	if text == "" && e.Cause != nil {
		text = e.Cause.Error()
	}
	return fmt.Sprintf("%s: %s: %s", e.Op, e.Code, text)
}

// Unwrap gives the sentinel of the code and, if there is one, the cause.
func (e *Error) Unwrap() []error {
	sentinel, ok := sentinels[e.Code]
	if !ok {
		sentinel = ErrInternal // a code of a later version of the protocol
	}
	if e.Cause == nil {
		return []error{sentinel}
	}
	return []error{sentinel, e.Cause}
}
