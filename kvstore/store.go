package kvstore

import "context"

// Store is a log of commits and the state it adds up to.
type Store interface {
	// View returns the committed state at this instant, after waiting for what
	// the options ask for. Errors: ErrDeadline, ErrUnavailable, ErrClosed.
	View(ctx context.Context, o ReadOptions) (View, error)

	// Update runs the closure and commits what it wrote as the exact successor
	// of what it read. The closure runs once or several times, each time on a
	// newer state; what the last run left behind is what was committed, or, if
	// it wrote nothing, what was true at some moment since the call. It returns
	// the store revision that the result reflects. An error of the closure is
	// returned as it is and nothing is written.
	//
	// Errors besides: ErrDeadline, ErrUnavailable, ErrOverloaded, ErrUnknown,
	// ErrExhausted, ErrTooManyRows, ErrTooLarge, ErrClosed, *ContendedError.
	Update(ctx context.Context, o UpdateOptions, fn func(*Tx) error) (Revision, error)

	// Watch follows the commits after a revision. It returns ErrResync when the
	// store does not remember them.
	Watch(after Revision) (*Watcher, error)

	// Release says that everybody who must see every commit has seen those up
	// to the revision: their history may be overwritten. It never goes back.
	Release(upTo Revision)
	// Released is the greatest revision that was released, or the revision that the log of commits begins after.
	Released() Revision

	// Clock is the store's clock.
	Clock() Clock
	// Limits are those of the store's server.
	Limits() Limits
	// Status tells how the store is.
	Status() Status
	// Writer is the id of another instance that has been winning the race for
	// the next revision lately; empty when there is none.
	Writer() string
}

// ReadOptions ask for a fresher view. The zero value takes the one at hand.
type ReadOptions struct {
	// MinRevision is the revision that the view must have reached.
	MinRevision Revision
	// Leader first catches up with the last revision of the stream leader.
	Leader bool
}

// UpdateOptions govern one transaction. The zero value is a plain transaction.
type UpdateOptions struct {
	// Request identifies a request that two instances may both try to carry
	// out; only one of them will. Empty: nobody else has it. 1..64 bytes.
	Request string
	// Since is the revision of the store when the request was handed to the other
	// instance; 0 is that of the call. What was written before it is of other requests.
	Since Revision
	// Yield returns a ContendedError after several lost races, or when the
	// transaction would wait for what another instance has under way, instead of
	// trying on.
	Yield bool
}

// Limits are what one commit may hold.
type Limits struct {
	CommitRows int // rows written by one commit, >= 1
	RowBytes   int // key and value of one row; 0 is no limit
}

// DefaultCommitRows is the commit limit of a server that does not ask for less.
const DefaultCommitRows = 2048

// Status describes a store. Instants are of the store's clock.
type Status struct {
	Revision Revision
	// Healthy tells whether the last attempt to commit or to follow succeeded.
	Healthy bool
	// HealthyAt is the instant at which the store last answered; 0 is never.
	HealthyAt Instant
	// LastError is the text of the last failure since the store was healthy, or
	// what is wrong with its settings.
	LastError string
	Server    Server
}

// Server describes what the store runs on.
type Server struct {
	Name     string
	Version  string
	Replicas int
	// Consumers read the log at the server, this store among them; 0 is unknown.
	Consumers int
}
