package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/wire"
)

// history finds places in the stream of changes.
type history struct {
	stream jetstream.Stream
	since  *uint64 // changes up to this revision are not wanted; nil means that none was given
}

// start is the sequence of the first change to look at: the oldest that is kept,
// the first one after since, or the next one to come.
func (h history) start(ctx context.Context, all bool) (uint64, error) {
	info, err := h.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	state := info.State
	switch {
	case all:
		return max(state.FirstSeq, 1), nil
	case h.since == nil:
		return state.LastSeq + 1, nil
	}
	if err := h.reaches(ctx, &state); err != nil {
		return 0, err
	}
	return h.search(ctx, max(state.FirstSeq, 1), state.LastSeq+1)
}

// reaches checks that no change after since was removed. Changes are removed from
// the front; several may share a revision, so that only since at the revision of
// the first one that is left, or later, is safe.
func (h history) reaches(ctx context.Context, state *jetstream.StreamState) error {
	if state.FirstSeq <= 1 {
		return nil
	}
	first, err := h.revision(ctx, state.FirstSeq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("the changes after revision %d are gone: the stream is empty; read a list, and watch on from its revision", *h.since)
	case err != nil:
		return err
	case *h.since < first:
		return fmt.Errorf("the changes after revision %d are gone, the oldest that is kept has revision %d: read a list, and watch on from its revision", *h.since, first)
	}
	return nil
}

// search halves the sequences low..high until it has found the first one whose
// revision is above since; high when there is none.
func (h history) search(ctx context.Context, low, high uint64) (uint64, error) {
	for low < high {
		middle := low + (high-low)/2
		revision, err := h.revision(ctx, middle)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // nothing from here on
			high = middle
		case err != nil:
			return 0, err
		case revision > *h.since:
			high = middle
		default:
			low = middle + 1
		}
	}
	return low, nil
}

// revision is that of the first change at a sequence or after it.
func (h history) revision(ctx context.Context, seq uint64) (uint64, error) {
	m, err := h.stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
	if err != nil {
		return 0, err
	}
	revision, err := strconv.ParseUint(m.Header.Get(wire.HeaderRevision), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("message %d without a revision: %w", m.Sequence, err)
	}
	return revision, nil
}

// keeps checks that nothing from a sequence on was removed; a *lostError when it
// could not find out.
func (h history) keeps(ctx context.Context, seq uint64) error {
	info, err := h.stream.Info(ctx)
	if err != nil {
		return &lostError{err}
	}
	if info.State.FirstSeq > seq {
		return errors.New("changes were removed before they could be read: read a list, and watch on from its revision")
	}
	return nil
}
