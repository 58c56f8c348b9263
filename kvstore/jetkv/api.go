package jetkv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/fenced"
	"github.com/zlink/zlink-nats/kvstore"
)

// streamInfo is what the store asks the stream leader for.
type streamInfo struct {
	Config jetstream.StreamConfig `json:"config"`
	State  struct {
		First kvstore.Revision `json:"first_seq"`
		Last  kvstore.Revision `json:"last_seq"`
		Count uint64           `json:"messages"`
		// Consumers is how many read the stream.
		Consumers int64 `json:"consumer_count"`
	} `json:"state"`
	Time  time.Time           `json:"ts"`
	Error *jetstream.APIError `json:"error"`
}

// info asks the stream leader how far the stream is, and takes the server's time
// from the answer.
func (s *Store) info(ctx context.Context) (*streamInfo, error) {
	started := time.Now()
	m, err := s.request(ctx, "STREAM.INFO."+s.stream, nil)
	if err != nil {
		return nil, err
	}
	return s.readInfo(m.Data, time.Since(started))
}

func (s *Store) readInfo(data []byte, rtt time.Duration) (*streamInfo, error) {
	var i streamInfo
	if err := json.Unmarshal(data, &i); err != nil {
		return nil, fmt.Errorf("stream info: %w", err)
	}
	if i.Error != nil {
		return nil, fmt.Errorf("stream info: %w", i.Error)
	}
	s.heard()
	s.consumers.Store(i.State.Consumers)
	if !i.Time.IsZero() {
		s.server.observe(i.Time, rtt)
	}
	return &i, nil
}

// hasAfter asks the stream leader whether there is any message after a position.
func (s *Store) hasAfter(ctx context.Context, at kvstore.Revision) (bool, error) {
	m, err := s.request(ctx, "STREAM.MSG.GET."+s.stream, []byte(`{"next_by_subj":">","seq":`+(at+1).String()+`}`))
	if err != nil {
		return false, err
	}
	var r struct {
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(m.Data, &r); {
	case err != nil:
		return false, fmt.Errorf("look for a message after %d: %w", at, err)
	case r.Error != nil && r.Error.ErrorCode == fenced.CodeNoMessage:
		return false, nil
	case r.Error != nil:
		return false, fmt.Errorf("look for a message after %d: %w", at, r.Error)
	}
	return true, nil
}

// message is what tells one stored message from another.
type message struct {
	txn  string
	time kvstore.Instant
}

// stored asks the stream leader for the message at a position. It returns nil
// when there is none.
func (s *Store) stored(ctx context.Context, at kvstore.Revision) (*message, error) {
	m, err := s.request(ctx, "STREAM.MSG.GET."+s.stream, []byte(`{"seq":`+at.String()+`}`))
	if err != nil {
		return nil, err
	}
	var r struct {
		Message *struct {
			Header []byte    `json:"hdrs"`
			Time   time.Time `json:"time"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(m.Data, &r); {
	case err != nil:
		return nil, fmt.Errorf("read message %d: %w", at, err)
	case r.Error != nil && r.Error.ErrorCode == fenced.CodeNoMessage:
		return nil, nil //nolint:nilnil // absence is an answer here
	case r.Error != nil:
		return nil, fmt.Errorf("read message %d: %w", at, r.Error)
	case r.Message == nil:
		return nil, fmt.Errorf("read message %d: empty answer", at)
	}
	found := &message{time: kvstore.Instant(r.Message.Time.UnixMilli())}
	if len(r.Message.Header) > 0 {
		h, err := nats.DecodeHeadersMsg(r.Message.Header)
		if err != nil {
			return nil, fmt.Errorf("read message %d: %w", at, err)
		}
		found.txn = one(h, headerTxn)
	}
	return found, nil
}

// apiTimeout bounds one question to the stream leader.
const apiTimeout = 2 * time.Second

func (s *Store) request(ctx context.Context, op string, body []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return s.nc.RequestWithContext(ctx, s.api+op, body)
}

// probeFamily is the key of the row that Probe writes; no row is ever stored
// under unusedFamily.
const (
	probeFamily  = "probe"
	unusedFamily = "unused"
)

// probeBatch finds how many rows one commit may write: it offers batches whose
// condition cannot hold, so that nothing is stored, and sees whether the server
// minds their length.
func (s *Store) probeBatch(ctx context.Context) (int, error) {
	for _, n := range []int{kvstore.DefaultCommitRows, 1000, 500, 200, 100, 50, 10} {
		a, err := s.offerBatch(ctx, n)
		switch {
		case err != nil:
			return 0, fmt.Errorf("probe batch of %d messages: %w", n, err)
		case a.Error == nil:
			return 0, fmt.Errorf("probe batch of %d messages was stored at %d", n, a.Sequence)
		case a.Error.ErrorCode == fenced.CodeWrongLast, a.Error.ErrorCode == fenced.CodeUndecided:
			return n, nil
		case a.Error.ErrorCode != fenced.CodeBatchTooLarge:
			return 0, fmt.Errorf("probe batch of %d messages: %w", n, a.Error)
		}
	}
	return 0, errors.New("the NATS server accepts no atomic batch of 10 messages: raise jetstream { limits { batch { max_msgs: 4096 } } } in its configuration")
}

func (s *Store) offerBatch(ctx context.Context, n int) (fenced.Ack, error) {
	msgs := make([]*nats.Msg, n)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: s.prefix + unusedFamily, Header: nats.Header{}}
	}
	fenced.Group(msgs)
	msgs[0].Header[fenced.HeaderExpectedSubject] = []string{"1"} // it has no message
	ctx, cancel := context.WithTimeout(ctx, 2*apiTimeout)
	defer cancel()
	for _, m := range msgs[:n-1] {
		if err := s.nc.PublishMsg(m); err != nil {
			return fenced.Ack{}, err
		}
	}
	m, err := s.nc.RequestMsgWithContext(ctx, msgs[n-1])
	if err != nil {
		return fenced.Ack{}, err
	}
	return fenced.ReadAck(m)
}
