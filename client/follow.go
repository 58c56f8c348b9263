package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// message waits for one.
func (x *Changes) message(ctx context.Context) (jetstream.Msg, error) {
	if x.messages == nil {
		if err := x.consume(ctx); err != nil {
			return nil, err
		}
	}
	for {
		patience, check := x.idle, x.look
		if x.gap != 0 {
			patience, check = max(provedFor-time.Since(x.proved), 0), x.prove
		}
		waiting, cancel := context.WithTimeout(ctx, patience)
		m, err := x.messages.Next(jetstream.NextContext(waiting))
		idle := waiting.Err() != nil
		cancel()
		switch {
		case errors.Is(err, jetstream.ErrMsgIteratorClosed) && !errors.Is(err, jetstream.ErrConnectionClosed):
			return nil, errBack
		case err == nil, ctx.Err() != nil, !idle:
			return m, err
		}
		if err := check(ctx); err != nil {
			return nil, err
		}
	}
}

// consume makes a consumer that begins with the next message.
func (x *Changes) consume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	stream, err := x.c.changesStream(ctx)
	if err != nil {
		return err
	}
	if err := x.verify(ctx, stream); err != nil {
		return err
	}
	x.forget(ctx)       // the one before, if there was one
	x.name = randomID() // known before the server hears of it: the answer may be lost
	// The start is a sequence also while nothing has come yet: "new" would begin later each time.
	x.consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Name: x.name, FilterSubjects: x.filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: x.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: consumerLives,
	})
	if err != nil {
		return err
	}
	x.count = 0
	messages, err := x.consumer.Messages(
		jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(pullFor), jetstream.PullHeartbeat(heartbeat),
	)
	if err != nil {
		return err
	}
	x.messages, x.release = messages, stopOnReconnect(x.c.opts.JetStream.Conn(), messages)
	return nil
}

// stopOnReconnect ends messages when the connection is back after it was lost: the consumer may be gone as well, which its missing
// heartbeats would tell later. The caller calls release in the end.
func stopOnReconnect(conn *nats.Conn, messages jetstream.MessagesContext) (release func()) {
	connected, over := conn.StatusChanged(nats.CONNECTED), make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-connected:
			messages.Stop()
		case <-over:
		}
		conn.RemoveStatusListener(connected)
	})
	return func() {
		close(over)
		watching.Wait()
	}
}

// verify checks that the stream is the one that was followed, and has all that was not looked at.
func (x *Changes) verify(ctx context.Context, stream jetstream.Stream) error {
	if err := x.intact(stream); err != nil {
		return err
	}
	if x.taken.seq == 0 || x.taken.seq < stream.CachedInfo().State.FirstSeq {
		return nil
	}
	// A stream that was set back and has grown past next again has other messages.
	there, err := history{stream}.place(ctx, x.taken.seq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound): // a server that is behind, or it was removed just now
		return nil
	case err != nil:
		return err
	case there != x.taken.place:
		return x.gone(nil)
	}
	return nil
}

// intact checks the state of the stream.
func (x *Changes) intact(stream jetstream.Stream) error {
	info := stream.CachedInfo()
	switch {
	case !info.Created.Equal(x.created):
		return x.gone(nil)
	case info.State.LastSeq+1 < x.next:
		if x.behind.IsZero() {
			x.behind = time.Now()
		}
		if time.Since(x.behind) >= setBack {
			return x.gone(nil)
		}
		return fmt.Errorf("the stream ends with message %d, before message %d", info.State.LastSeq, x.next)
	case info.State.FirstSeq > cmp.Or(x.gap, x.next):
		return x.gone(stream)
	}
	x.behind, x.proved, x.gap = time.Time{}, time.Now(), 0
	return nil
}

// gone is the error for a stream that has not everything any more, or nil for one that was replaced.
func (x *Changes) gone(stream jetstream.Stream) error {
	e := &HistoryGoneError{After: x.from.revision, Replaced: stream == nil}
	if stream != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
		defer cancel()
		if oldest, err := (history{stream}).place(ctx, stream.CachedInfo().State.FirstSeq); err == nil {
			e.Oldest = oldest.revision
		}
	}
	return e
}

// look looks after consumer and stream when nothing has come for a while, and moves next on to where nothing is wanted: else the
// stream would be trimmed past it one day, and nobody could tell whether changes were lost.
func (x *Changes) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	consumer, err := x.consumer.Info(ctx)
	if err != nil {
		return err
	}
	stream, err := x.c.changesStream(ctx)
	if err != nil {
		return err
	}
	if err := x.intact(stream); err != nil {
		return err
	}
	// The consumer was asked after the last look and before this one. So it has passed the end of the stream at the last look if it
	// has nothing left, and nothing was removed before it came there.
	switch received := consumer.Delivered.Consumer == x.count; {
	case received && consumer.NumPending == 0:
		x.next = max(x.next, x.last+1)
	case received:
		return fmt.Errorf("%d changes wait and are not sent", consumer.NumPending)
	}
	x.last = stream.CachedInfo().State.LastSeq
	return nil
}

// skipped sees to the gap before a message: it checks that nothing was removed from next on before the consumer came there. Shortly
// after such a check the gap is only noted, and checked soon.
func (x *Changes) skipped(ctx context.Context, seq uint64) error {
	switch {
	case seq == x.next:
		return nil
	case time.Since(x.proved) < provedFor:
		x.gap = cmp.Or(x.gap, x.next)
		return nil
	}
	return x.prove(ctx)
}

// prove checks the stream as it is now.
func (x *Changes) prove(ctx context.Context) error {
	stream, err := x.c.changesStream(ctx)
	if err != nil {
		return err
	}
	return x.intact(stream)
}
