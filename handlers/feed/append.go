package feed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// maxBatch is the most events in one atomic batch: the server's own default limit.
	maxBatch = 1000
	// maxBatchBytes is where a batch of large events ends.
	maxBatchBytes = 4 << 20
	// headerBytes is room for the headers that an append adds to an event.
	headerBytes = 256
)

var (
	errSecond   = errors.New("another append came first")
	errNoAnswer = errors.New("no acknowledgement")
)

// append sends the first events of the queue, as many as it pays to send at once.
func (f *Feed) append(ctx context.Context) error {
	n, chain := f.costs.next(len(f.queue.items))
	msgs := f.encode(n)
	if len(msgs) == 0 {
		return nil
	}
	start := time.Now()
	err := f.stream.append(ctx, f.at.last, msgs, chain)
	if err != nil {
		return f.decide(ctx, msgs, err)
	}
	f.costs.took(chain, len(msgs), time.Since(start))
	f.retry.reset()
	f.yields = false
	seq := f.at.last + uint64(len(msgs))
	f.reached(mark{f.queue.items[len(msgs)-1].position, seq, seq})
	f.note(func(s *Stats) { s.Appends++; s.Events += uint64(len(msgs)) })
	return nil
}

// encode makes the messages of up to n events, fewer when they are large. An event that does not fit
// into a message of the server is given up when its turn comes: it would hold up all others for ever.
func (f *Feed) encode(n int) []*nats.Msg {
	var msgs []*nats.Msg
	bytes := 0
	for _, it := range f.queue.items[:n] {
		m, err := f.message(&it)
		if err != nil {
			if len(msgs) == 0 {
				f.o.Logger.Error("change is not pushed", "kind", it.Kind, "scope", it.Scope, "id", it.ID,
					"revision", it.revision, "err", err)
				f.release(f.queue.drop(1))
			}
			return msgs
		}
		if bytes += m.Size(); bytes > maxBatchBytes && len(msgs) > 0 {
			return msgs
		}
		msgs = append(msgs, m)
	}
	return msgs
}

func (f *Feed) message(it *item) (*nats.Msg, error) {
	data, err := wire.Marshal(f.o.Encoding, it.Value)
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{
		Subject: ingest(f.o.Prefix).Change(subjects.ChangeKind(it.Kind), it.Scope, it.ID),
		Header: nats.Header{
			wire.HeaderRevision:    {it.revision.String()},
			wire.HeaderIndex:       {strconv.Itoa(it.index)},
			wire.HeaderChange:      {string(it.Change)},
			wire.HeaderContentType: {f.o.Encoding.ContentType()},
			jetstream.MsgIDHeader:  {it.id()},
		},
		Data: data,
	}
	if most := f.o.JetStream.Conn().MaxPayload(); int64(m.Size()+headerBytes) > most {
		return nil, fmt.Errorf("event of %d bytes, the server takes %d: raise max_payload to 8MB", m.Size(), most)
	}
	return m, nil
}

// append stores the messages right after a sequence, as a chain or as a batch. Without an error they
// are there; with one, the first messages of a chain may be.
func (s *stream) append(ctx context.Context, after uint64, msgs []*nats.Msg, chain bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if chain {
		fenced.Chain(msgs, after)
	} else {
		fenced.Batch(msgs, after)
	}
	last := len(msgs) - 1
	for _, m := range msgs[:last] {
		if err := s.js.Conn().PublishMsg(m); err != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
	}
	reply, err := s.js.Conn().RequestMsgWithContext(ctx, msgs[last])
	if err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return acknowledged(reply, after+uint64(len(msgs)))
}

// acknowledged reads the answer to an append that should end at a sequence.
func acknowledged(answer *nats.Msg, end uint64) error {
	ack, err := fenced.ReadAck(answer)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if ack.Error != nil {
		switch ack.Error.ErrorCode {
		case fenced.CodeWrongLast, fenced.CodeWrongLastID, fenced.CodeUndecided, fenced.CodeIDInFlight, fenced.CodeDuplicate:
			return fmt.Errorf("%w: %w", errSecond, ack.Error)
		}
		return ack.Error
	}
	if ack.Duplicate || ack.Sequence != end {
		return fmt.Errorf("%w: stored at %d, not %d", errSecond, ack.Sequence, end)
	}
	return nil
}

// decide finds out what became of an append that was refused or not acknowledged: the stream itself
// tells. What is not there is appended again later; since both would stand right after the same
// message, only one of them can be stored.
func (f *Feed) decide(ctx context.Context, msgs []*nats.Msg, cause error) error {
	f.note(func(s *Stats) {
		if errors.Is(cause, errSecond) {
			s.Conflicts++
		} else {
			s.Failures++
		}
	})
	f.costs.failed(len(msgs), cause)
	stored := mark{position: f.queue.items[len(msgs)-1].position, last: f.at.last + uint64(len(msgs))}
	moved, err := f.sync(ctx)
	switch {
	case err != nil:
		return err
	case errors.Is(cause, errSecond):
		f.yields = f.queue.len() > 0
		f.leave()
	case !moved:
		return f.retry.pause(ctx, fmt.Errorf("append %d events: %w", len(msgs), cause))
	case errors.Is(cause, errNoAnswer) && f.at.position == stored.position && f.at.last == stored.last:
		f.repeat(msgs)
	}
	return nil
}

// repeat sends stored events to plain subscribers once more. The stream may have kept quiet about
// them: a new leader does not republish what it stored before it took office.
func (f *Feed) repeat(msgs []*nats.Msg) {
	for _, m := range msgs {
		subject, _ := strings.CutPrefix(m.Subject, string(ingest(f.o.Prefix)))
		again := &nats.Msg{Subject: string(f.o.Prefix) + subject, Header: m.Header, Data: m.Data}
		if err := f.o.JetStream.Conn().PublishMsg(again); err != nil {
			f.o.Logger.Warn("repeat change", "subject", again.Subject, "err", err)
			return
		}
	}
}
