package jetkv

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
)

// follower delivers the bucket's messages after a revision, in order.
type follower struct {
	records chan record
	stop    func()
}

const (
	// followBuffer is how many messages may wait for the engine.
	followBuffer = 1024
	// followHeartbeat is how soon a consumer that went silent is noticed (after
	// two of them). A server that is only slow must not be taken for a dead one: a
	// new consumer is more work for it.
	followHeartbeat = 2 * time.Second
	// followInactive is how long the server keeps a consumer that nobody pulls from
	// any more. Every write costs the server something for each consumer, so what
	// takes the place of a silent one must not add up.
	followInactive = 5 * time.Second
	// followMessages and followBytes are what a server may send ahead. It cuts a
	// connection that 64 MiB wait for, so rows of a megabyte must not be asked for by
	// the thousand. The bytes have to be more than one message can have.
	followMessages = 4096
	followBytes    = 16 << 20
)

// startFollower starts a follower.
func (s *Store) startFollower(ctx context.Context, after kvstore.Revision) (*follower, error) {
	c, err := s.js.OrderedConsumer(ctx, s.stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   uint64(after) + 1,

		InactiveThreshold: followInactive,
	})
	if err != nil {
		return nil, fmt.Errorf("follow bucket: %w", err)
	}
	f := &follower{records: make(chan record, followBuffer)}
	quit := make(chan struct{})
	cc, err := c.Consume(func(m jetstream.Msg) {
		r, err := s.record(m)
		if err != nil {
			s.log.Error("message of the bucket cannot be read", "op", "follow", "subject", m.Subject(), "err", err)
			return
		}
		select {
		case f.records <- r:
		case <-quit:
		}
	}, jetstream.PullHeartbeat(followHeartbeat), jetstream.PullExpiry(5*time.Second),
		jetstream.PullMaxMessagesWithBytesLimit(followMessages, max(followBytes, 2*int(s.nc.MaxPayload()))))
	if err != nil {
		return nil, fmt.Errorf("follow bucket: %w", err)
	}
	f.stop = sync.OnceFunc(func() {
		close(quit)
		cc.Stop()
		<-cc.Closed()
	})
	return f, nil
}

func (s *Store) record(m jetstream.Msg) (record, error) {
	meta, err := m.Metadata()
	if err != nil {
		return record{}, err
	}
	r := decode(s.prefix, m.Subject(), m.Headers(), m.Data())
	r.revision = kvstore.Revision(meta.Sequence.Stream)
	r.time = kvstore.Instant(meta.Timestamp.UnixMilli())
	return r, nil
}
