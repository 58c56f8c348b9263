package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
)

// trimEvery is the time between two looks for events that are too old.
const trimEvery = time.Minute

// keepTrimmed removes old events until the context ends.
func (s *stream) keepTrimmed(ctx context.Context) error {
	for {
		if err := pause(ctx, jitter(trimEvery)); err != nil {
			return err
		}
		if err := s.trim(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("remove old changes", "err", err)
		}
	}
}

// trim removes what is older than the retention by the server's clock, but never the last event nor
// what follows it: the last event is the position. Several instances may do it at once.
func (s *stream) trim(ctx context.Context) error {
	info, err := s.info(ctx)
	if err != nil {
		return err
	}
	at, err := s.last(ctx)
	if err != nil {
		return err
	}
	keep := at.event
	young, err := s.get(ctx, question{Next: ">", Since: info.TimeStamp.Add(-s.keep)})
	switch {
	case err == nil:
		keep = min(keep, young.Seq)
	case !errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("find first young change: %w", err)
	}
	if keep <= info.State.FirstSeq {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	h, err := s.js.Stream(ctx, subjects.ChangesStream)
	if err != nil {
		return err
	}
	return h.Purge(ctx, jetstream.WithPurgeSequence(keep))
}
