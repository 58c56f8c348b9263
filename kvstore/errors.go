package kvstore

import (
	"errors"
	"fmt"
)

// The refusals of a store. Match with errors.Is; errors may carry more text.
var (
	// ErrUnavailable: the store cannot be reached; nothing was written.
	ErrUnavailable = errors.New("store unavailable")
	// ErrOverloaded: too many transactions wait; nothing was written.
	ErrOverloaded = errors.New("store overloaded")
	// ErrDeadline: the context ended before the operation took effect; nothing
	// was written.
	ErrDeadline = errors.New("deadline exceeded")
	// ErrUnknown: the commit was sent and its fate could not be established.
	ErrUnknown = errors.New("outcome unknown")
	// ErrCarriedOut: a request with this id was committed by another instance, which
	// alone knows its result. It comes with ErrUnknown.
	ErrCarriedOut = errors.New("another instance carried the request out")
	// ErrExhausted: the commit would need a revision above MaxRevision.
	ErrExhausted = errors.New("no revision left")
	// ErrTooManyRows: a transaction writes more rows than one commit may.
	ErrTooManyRows = errors.New("too many rows for one commit")
	// ErrTooLarge: a row does not fit into a message of the store's server.
	ErrTooLarge = errors.New("row too large")
	// ErrResync: the history asked for is gone; start from a view instead.
	ErrResync = errors.New("history is gone")
	// ErrScanExpired: the cursor is malformed, of another list, or its snapshot
	// is gone.
	ErrScanExpired = errors.New("scan expired")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store closed")
)

// DataLostError says that a stored row cannot be understood. It is never turned
// into a domain result.
type DataLostError struct {
	Key   Key
	Cause error
}

func (e *DataLostError) Error() string {
	return fmt.Sprintf("stored row %q: %v", string(e.Key), e.Cause)
}

func (e *DataLostError) Unwrap() error { return e.Cause }

// ContendedError is returned to a transaction with [UpdateOptions.Yield] that
// lost the race for the next revision again and again. Nothing was written.
type ContendedError struct {
	// Writer is the store instance that keeps winning.
	Writer string
}

func (e *ContendedError) Error() string {
	return fmt.Sprintf("store instance %q is writing", e.Writer)
}
