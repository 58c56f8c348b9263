package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/wire"
)

// ErrHistoryGone: changes cannot be followed from where they were asked for, because some were removed from the stream or because
// the stream was replaced. Read a list, and go on from its revision. The error itself is a [*HistoryGoneError].
var ErrHistoryGone = errors.New("history gone")

// HistoryGoneError says from where changes cannot be followed any more.
type HistoryGoneError struct {
	// After is the revision after which changes were to come.
	After wire.Revision
	// Oldest is the revision of the oldest change that is kept; 0 when there is none, or when the stream was replaced.
	Oldest wire.Revision
	// Replaced: the stream is another one than before, or was set back to an earlier state.
	Replaced bool
}

// Error is one line for people.
func (e *HistoryGoneError) Error() string {
	gone := fmt.Sprintf("the changes after revision %d are gone", e.After)
	switch {
	case e.Replaced:
		return gone + ": the stream was replaced"
	case e.Oldest == 0:
		return gone + ": the stream is empty"
	}
	return fmt.Sprintf("%s, the oldest that is kept has revision %d", gone, e.Oldest)
}

// Unwrap is [ErrHistoryGone].
func (e *HistoryGoneError) Unwrap() error { return ErrHistoryGone }

// history finds places in the stream of changes.
type history struct{ stream jetstream.Stream }

// after is the sequence of the first change whose revision is above since; a [*HistoryGoneError] when such changes were removed.
func (h history) after(ctx context.Context, since wire.Revision) (uint64, error) {
	state := h.stream.CachedInfo().State
	if err := h.reaches(ctx, &state, since); err != nil {
		return 0, err
	}
	return h.search(ctx, since, max(state.FirstSeq, 1), state.LastSeq+1)
}

// reaches checks that no change after since was removed. Changes are removed from the front; several may share a revision, so
// that only since at the revision of the first one that is left, or later, is safe.
func (h history) reaches(ctx context.Context, state *jetstream.StreamState, since wire.Revision) error {
	if state.FirstSeq <= 1 {
		return nil
	}
	first, err := h.place(ctx, state.FirstSeq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return &HistoryGoneError{After: since}
	case err != nil:
		return err
	case since < first.revision:
		return &HistoryGoneError{After: since, Oldest: first.revision}
	}
	return nil
}

// search halves the sequences low..high until it has found the first one whose revision is above since; high when there is none.
func (h history) search(ctx context.Context, since wire.Revision, low, high uint64) (uint64, error) {
	for low < high {
		middle := low + (high-low)/2
		p, err := h.place(ctx, middle)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // nothing from here on
			high = middle
		case err != nil:
			return 0, err
		case p.revision > since:
			high = middle
		default:
			low = middle + 1
		}
	}
	return low, nil
}

// place is that of the first change at a sequence or after it.
func (h history) place(ctx context.Context, seq uint64) (place, error) {
	m, err := h.stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
	if err != nil {
		return place{}, err
	}
	p, err := placeOf(m.Header)
	if err != nil {
		return place{}, fmt.Errorf("message %d of the stream: %w", m.Sequence, err)
	}
	return p, nil
}
