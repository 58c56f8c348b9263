package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

	idle     time.Duration             // see idleCheck
	created  time.Time                 // of the stream that is followed
	taken    message                   // the last one
	name     string                    // of the consumer that was asked for last; empty is none
	consumer jetstream.Consumer        // the last one that was made; nil before the first
	messages jetstream.MessagesContext // nil while it is not asked
	release  func()                    // ends what looks after messages
	count    uint64                    // messages taken from the consumer
	proved   time.Time                 // when the stream last had everything from next on
	gap      uint64                    // next before the first gap since then that was not proved to be one of the filter; 0 when there is none
	last     uint64                    // last sequence of the stream at the last look at it
	behind   time.Time                 // since when the stream seems to end before next; zero while it does not
}

// message is one in the stream.
type message struct {
	seq uint64
	place
}

const (
	// readAhead bounds what a consumer is sent ahead: with a megabyte each, messages stay far below the 64 MiB of waiting data at
	// which a server cuts a connection. A limit of bytes besides would cost a status message for each pull, for which the queue of
	// the client library has no room when it is full.
	readAhead = 32
	// pullFor is how long one pull waits; an idle one sends few heartbeats meanwhile.
	pullFor = 10 * time.Second
	// idleCheck is how long without a change it takes to look after consumer and stream, and so how long it takes at most twice
	// until a consumer is noticed that gets nothing any more.
	idleCheck = 10 * time.Second
	// heartbeat is how often an idle consumer gives a sign; two missing ones end it.
	heartbeat = 3 * time.Second
	// provedFor is the time between two proofs, at least, that no message was removed before it was looked at, and so how long it takes
	// at most to notice it.
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

// errDropped: the client library had no room for a message.
var errDropped = errors.New("messages were dropped")

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
	return &Changes{c: c, filters: filters, next: next, idle: idleCheck, created: stream.CachedInfo().Created}
}

// through is the place of the last change of a revision.
func through(r wire.Revision) place { return place{r, ^uint64(0)} }

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
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err() // nothing was taken: the next call goes on with the same consumer
		}
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
		if errors.Is(err, errDropped) {
			continue
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// Close gives the stream up. It may take a second, when servers do not answer.
func (x *Changes) Close() {
	x.drop()
	x.forget(context.Background())
}

// forget removes the consumer, which may be there or not.
func (x *Changes) forget(ctx context.Context) {
	if x.name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = x.c.opts.JetStream.DeleteConsumer(ctx, subjects.ChangesStream, x.name) // else the server forgets it in time
	x.name = ""
}

func (x *Changes) drop() {
	if x.messages != nil {
		x.messages.Stop()
		x.release()
		x.messages = nil
	}
}

// take reads a message; nil without an error is one that is not wanted.
func (x *Changes) take(ctx context.Context, m jetstream.Msg) (*Change, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	if meta.Sequence.Consumer != x.count+1 {
		return nil, fmt.Errorf("%w: message %d of the consumer after message %d", errDropped, meta.Sequence.Consumer, x.count)
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
