package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
)

// stream is the place of the events on the server.
type stream struct {
	js      jetstream.JetStream
	getter  string // subject of the question for a message
	config  jetstream.StreamConfig
	keep    time.Duration // retention
	timeout time.Duration
	log     *slog.Logger
}

func newStream(o Options) *stream {
	return &stream{
		js:      o.JetStream,
		getter:  apiPrefix(o.JetStream.Options()) + "STREAM.MSG.GET." + subjects.ChangesStream,
		config:  streamConfig(o),
		keep:    o.Retention,
		timeout: o.Timeout,
		log:     o.Logger,
	}
}

// apiPrefix is what the subjects of the JetStream API begin with.
func apiPrefix(o jetstream.JetStreamOptions) string {
	if o.Domain != "" {
		return "$JS." + o.Domain + ".API."
	}
	return strings.TrimSuffix(cmp.Or(o.APIPrefix, jetstream.DefaultAPIPrefix), ".") + "."
}

// ingest is the prefix under which events are appended.
func ingest(p subjects.Prefix) subjects.Prefix { return p + ".feed" }

// question asks for one message: by sequence, the last one on a subject, or the first one on a
// subject since a time.
type question struct {
	Seq   uint64    `json:"seq,omitzero"`
	Last  string    `json:"last_by_subj,omitzero"`
	Next  string    `json:"next_by_subj,omitzero"`
	Since time.Time `json:"start_time,omitzero"`
}

// stored is a message of the stream.
type stored struct {
	Seq    uint64 `json:"seq"`
	Header []byte `json:"hdrs"`
}

// get asks the leader of the stream; a direct get would ask any replica and could be stale. It
// returns jetstream.ErrMsgNotFound when there is no such message.
func (s *stream) get(ctx context.Context, q question) (*stored, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	reply, err := s.js.Conn().RequestWithContext(ctx, s.getter, body)
	if err != nil {
		return nil, err
	}
	var r struct {
		Error   *jetstream.APIError `json:"error"`
		Message *stored             `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &r); err != nil {
		return nil, err
	}
	switch {
	case r.Error != nil && r.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, jetstream.ErrMsgNotFound
	case r.Error != nil:
		return nil, r.Error
	case r.Message == nil:
		return nil, jetstream.ErrInvalidJetStreamResponse
	}
	return r.Message, nil
}

// last finds the last event of the stream.
func (s *stream) last(ctx context.Context) (mark, error) {
	m, err := s.get(ctx, question{Last: ">"})
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return mark{}, fmt.Errorf("read last event: %w", err)
	}
	if err == nil {
		if p, ok := m.position(); ok {
			return mark{p, m.Seq, m.Seq}, nil
		}
	}
	return s.search(ctx)
}

// search goes back from the end of a stream whose last message is not an event: somebody else
// wrote it, or removed messages.
func (s *stream) search(ctx context.Context) (mark, error) {
	info, err := s.info(ctx)
	if err != nil {
		return mark{}, err
	}
	state, others := info.State, uint64(0)
	for seq := state.LastSeq; seq >= state.FirstSeq && others < state.Msgs; seq-- {
		m, err := s.get(ctx, question{Seq: seq})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return mark{}, fmt.Errorf("read event at %d: %w", seq, err)
		}
		if p, ok := m.position(); ok {
			return mark{p, seq, state.LastSeq}, nil
		}
		others++
	}
	if others < state.Msgs { // a leader that is not ready yet; not to be mistaken for an empty stream
		return mark{}, fmt.Errorf("read events: %w: %d of %d messages cannot be read", kvstore.ErrUnavailable, state.Msgs-others, state.Msgs)
	}
	return mark{last: state.LastSeq}, nil
}

// info asks the leader for configuration and state.
func (s *stream) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	h, err := s.js.Stream(ctx, subjects.ChangesStream)
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", subjects.ChangesStream, err)
	}
	return h.CachedInfo(), nil
}

func (m *stored) position() (position, bool) {
	h, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		return position{}, false
	}
	return positionOf(h)
}
