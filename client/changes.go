package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// ChangesFrom says where a stream of changes begins.
type ChangesFrom uint8

// The values of [ChangesFrom].
const (
	// FromNow begins with the next change.
	FromNow ChangesFrom = iota
	// FromOldest begins with the oldest change that is kept.
	FromOldest
	// FromRevision begins with the first change after [ChangesRequest.After].
	FromRevision
)

// ChangesRequest says which changes are wanted. Kind, Scope and ID narrow them, each of which may be empty and then stands for all.
type ChangesRequest struct {
	Kind      subjects.ChangeKind
	Scope, ID string
	From      ChangesFrom
	After     wire.Revision // for FromRevision; such as the revision of a list
}

// Changes is a stream of committed changes, in their order and each exactly once, whatever happens to the connection, to the
// servers and to the instances of the service. Create it with [Client.Changes]. It is used from one goroutine at a time.
//
// What is read ahead has a limit, so that a slow consumer only falls behind. One that falls behind the oldest change that the
// service keeps, or from which the stream is taken away, gets [ErrHistoryGone].
type Changes struct {
	c       *Client
	filters []string
	from    place  // changes up to this one are not wanted, or were taken
	next    uint64 // sequence of the first message that was not looked at

	idle     time.Duration // see idleCheck
	stream   identity
	taken    message // the last one
	consumer jetstream.Consumer
	messages jetstream.MessagesContext // nil while there is no consumer
	release  func()                    // ends what looks after messages
	count    uint64                    // messages taken from the consumer
	proved   time.Time                 // when the stream last had everything from next on
	last     uint64                    // last sequence of the stream at the last look at it
	behind   time.Time                 // since when the stream seems to end before next; zero while it does not
}

// identity is what a stream keeps for life.
type identity struct{ created time.Time }

// message is one in the stream.
type message struct {
	seq uint64
	place
}

const (
	// readAhead and readAheadBytes bound what a consumer is sent ahead. The bytes are more than one message can have, and far below
	// the 64 MiB of waiting data at which a server cuts a connection.
	readAhead      = 500
	readAheadBytes = 16 << 20
	// idleCheck is how long without a change it takes to look after consumer and stream, and so how long it takes at most twice
	// until a consumer is noticed that gets nothing any more.
	idleCheck = 10 * time.Second
	// heartbeat is how often an idle consumer gives a sign; two missing ones end it.
	heartbeat = 3 * time.Second
	// provedFor is how long a proof that no message was removed is good for the messages that come: the least retention of changes.
	provedFor = time.Second
	// lookPatience bounds one request about stream or consumer.
	lookPatience = 5 * time.Second
	// setBack is how long a stream has to end too early before it counts as replaced: a new leader may not know its end at once.
	setBack = 3 * time.Second
	// consumerLives is how long the server keeps a consumer that is not asked any more.
	consumerLives = 5 * time.Minute
	// resumePause is the time between two attempts to take up what was interrupted, of which half is random.
	resumePause = time.Second
)

// errNoJetStream: see [Options.JetStream].
var errNoJetStream = errors.New("follow changes: Options.JetStream is not set")

// errBack: see stopOnReconnect.
var errBack = errors.New("the connection was lost and is back")

// Changes finds the place where the wanted changes begin. The caller closes the stream. Errors: [ErrHistoryGone] when changes after
// the revision were removed, and those of JetStream, such as [jetstream.ErrStreamNotFound] where the service never ran.
func (c *Client) Changes(ctx context.Context, r ChangesRequest) (*Changes, error) {
	stream, err := c.changesStream(ctx)
	if err != nil {
		return nil, err
	}
	state := stream.CachedInfo().State
	x := c.changesAt([]string{c.prefix.ChangesWildcard(r.Kind, r.Scope, r.ID)}, stream, 0)
	switch r.From {
	case FromOldest:
		x.next = max(state.FirstSeq, 1)
	case FromRevision:
		x.from = through(r.After)
		x.next, err = history{stream}.after(ctx, r.After)
	default:
		x.next = state.LastSeq + 1
	}
	return x, err
}

// changesAt are the changes from a sequence of the stream on.
func (c *Client) changesAt(filters []string, stream jetstream.Stream, next uint64) *Changes {
	return &Changes{c: c, filters: filters, next: next, idle: idleCheck, stream: identityOf(stream)}
}

// through is the place of the last change of a revision.
func through(r wire.Revision) place { return place{r, ^uint64(0)} }

func identityOf(s jetstream.Stream) identity { return identity{s.CachedInfo().Created} }

// changesStream finds the stream of changes, with its state.
func (c *Client) changesStream(ctx context.Context) (jetstream.Stream, error) {
	if c.opts.JetStream == nil {
		return nil, errNoJetStream
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	return c.opts.JetStream.Stream(ctx, subjects.ChangesStream)
}

// Next returns the next change, for which it waits. Interruptions are mended, for as long as it takes; [Options.Interrupted] hears
// of them. Errors: that of ctx, after which Next can be called again; [ErrHistoryGone]; [nats.ErrConnectionClosed] once the
// connection was closed for good; a message that is malformed.
func (x *Changes) Next(ctx context.Context) (*Change, error) {
	for {
		m, err := x.message(ctx)
		if err == nil {
			var change *Change
			if change, err = x.take(ctx, m); change != nil {
				return change, nil
			}
		}
		if err == nil {
			continue // not one that was asked for
		}
		x.drop()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case lasting(err):
			return nil, err
		}
		x.c.interrupted(err)
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// Close gives the stream up. It may take a second, when servers do not answer.
func (x *Changes) Close() {
	if x.messages == nil {
		return
	}
	name := x.consumer.CachedInfo().Name
	x.drop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = x.c.opts.JetStream.DeleteConsumer(ctx, subjects.ChangesStream, name) // else the server forgets it in time
}

func (x *Changes) drop() {
	if x.messages != nil {
		x.messages.Stop()
		x.release()
		x.messages = nil
	}
}

// message waits for one.
func (x *Changes) message(ctx context.Context) (jetstream.Msg, error) {
	if x.messages == nil {
		if err := x.consume(ctx); err != nil {
			return nil, err
		}
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, x.idle)
		m, err := x.messages.Next(jetstream.NextContext(waiting))
		idle := waiting.Err() != nil
		cancel()
		switch {
		case errors.Is(err, jetstream.ErrMsgIteratorClosed) && !errors.Is(err, jetstream.ErrConnectionClosed):
			return nil, errBack
		case err == nil, ctx.Err() != nil, !idle:
			return m, err
		}
		if err := x.look(ctx); err != nil {
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
	// The start is a sequence also while nothing has come yet: "new" would begin later each time.
	x.consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubjects: x.filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: x.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: consumerLives,
	})
	if err != nil {
		return err
	}
	x.count = 0
	messages, err := x.consumer.Messages(
		jetstream.PullMaxMessagesWithBytesLimit(readAhead, readAheadBytes), jetstream.PullHeartbeat(heartbeat),
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
	case identityOf(stream) != x.stream:
		return x.gone(nil)
	case info.State.LastSeq+1 < x.next:
		if x.behind.IsZero() {
			x.behind = time.Now()
		}
		if time.Since(x.behind) >= setBack {
			return x.gone(nil)
		}
		return fmt.Errorf("the stream ends with message %d, before message %d", info.State.LastSeq, x.next)
	case info.State.FirstSeq > x.next:
		return x.gone(stream)
	}
	x.behind, x.proved = time.Time{}, time.Now()
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

// take reads a message; nil without an error is one that is not wanted.
func (x *Changes) take(ctx context.Context, m jetstream.Msg) (*Change, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	if meta.Sequence.Consumer != x.count+1 {
		return nil, fmt.Errorf("message %d of the consumer after message %d", meta.Sequence.Consumer, x.count)
	}
	if err := x.skipped(ctx, meta.Sequence.Stream); err != nil {
		return nil, err
	}
	p, err := placeOf(m.Headers())
	if err != nil {
		return nil, &malformedError{meta.Sequence.Stream, err}
	}
	if x.taken.seq != 0 && !p.after(x.taken.place) {
		return nil, x.gone(nil)
	}
	x.count++
	x.next, x.taken = meta.Sequence.Stream+1, message{meta.Sequence.Stream, p}
	if !p.after(x.from) {
		return nil, nil //nolint:nilnil // documented above
	}
	x.from = p
	change, err := x.c.readChange(m.Subject(), m.Headers(), m.Data())
	if err != nil {
		return nil, &malformedError{meta.Sequence.Stream, err}
	}
	return change, nil
}

// skipped checks that no message from next up to seq was removed before the consumer came there.
func (x *Changes) skipped(ctx context.Context, seq uint64) error {
	if seq == x.next || time.Since(x.proved) < provedFor {
		return nil
	}
	stream, err := x.c.changesStream(ctx)
	if err != nil {
		return err
	}
	return x.intact(stream)
}

// readChange reads the message of a change; nil is one of a kind that this version does not know.
func (c *Client) readChange(subject string, h nats.Header, data []byte) (*Change, error) {
	what, err := c.prefix.ParseChange(subject)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // documented above
	}
	p, err := placeOf(h)
	if err != nil {
		return nil, err
	}
	event, err := ReadEvent(what.Kind, h, data)
	if err != nil {
		return nil, err
	}
	return &Change{
		Kind: what.Kind, Scope: what.Scope, ID: what.ID, Revision: p.revision, Index: p.index,
		Type: wire.ChangeType(h.Get(wire.HeaderChange)), Event: event,
	}, nil
}

// malformedError is a message of the stream that is not understood.
type malformedError struct {
	seq   uint64
	cause error
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("message %d of the stream is not understood: %v", e.seq, e.cause)
}
func (e *malformedError) Unwrap() error { return e.cause }

// lasting tells whether an error in following changes will not pass.
func lasting(err error) bool {
	if _, ok := errors.AsType[*malformedError](err); ok {
		return true
	}
	for _, final := range []error{
		ErrHistoryGone, errNoJetStream, nats.ErrConnectionClosed, jetstream.ErrConnectionClosed, nats.ErrInvalidConnection,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// interrupted tells the user of the client of something that is tried again.
func (c *Client) interrupted(err error) {
	if c.opts.Interrupted != nil {
		c.opts.Interrupted(err)
	}
}

// pause waits before what was interrupted is taken up again; the error is that of ctx.
func pause(ctx context.Context) error { return sleep(ctx, resumePause/2+rand.N(resumePause/2)) }
