package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/subjects"
)

// watcher prints the changes of a filter from a place in the stream on.
type watcher struct {
	cmd     *watchCmd
	js      jetstream.JetStream
	history history
	filter  string
	next    uint64 // sequence of the first message that was not looked at
	started bool
}

// watchRetry is the time between two attempts to take up a lost connection.
const watchRetry = time.Second

// lostError is a failure that may pass.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// run prints changes until something fails that does not pass, or before the first
// of them could have come.
func (w *watcher) run() error {
	for {
		err := w.follow()
		lost, passing := errors.AsType[*lostError](err)
		if !passing || !w.started || errors.Is(err, nats.ErrConnectionClosed) {
			return err
		}
		fmt.Fprintf(os.Stderr, "interrupted (%v), trying again\n", lost)
		time.Sleep(watchRetry)
	}
}

// What the server may send ahead. The bytes are more than one message can have.
const (
	watchAhead      = 500
	watchAheadBytes = 16 << 20
)

// follow prints changes until something fails. The consumer of the client library
// outlives most disconnections by itself.
func (w *watcher) follow() error {
	consumer, err := w.js.OrderedConsumer(context.Background(), subjects.ChangesStream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{w.filter},
		// Never "new": until the first change has come, a consumer that is made
		// anew after a lost connection would begin later than this one.
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   w.next,
	})
	if err != nil {
		return &lostError{err}
	}
	// A server cuts a connection that 64 MiB wait for, and a change can have a megabyte.
	changes, err := consumer.Messages(jetstream.PullMaxMessagesWithBytesLimit(watchAhead, watchAheadBytes))
	if err != nil {
		return &lostError{err}
	}
	defer changes.Stop()
	if !w.started {
		w.started = true
		fmt.Fprintf(os.Stderr, "watching %s from message %d on\n", w.filter, w.next)
	}
	for {
		m, err := changes.Next()
		if err != nil {
			return &lostError{err}
		}
		if err := w.take(m); err != nil {
			return err
		}
	}
}

// take prints a message, unless messages before it were missed.
func (w *watcher) take(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	// A consumer that was made anew goes on where the last one ended, unless that
	// was removed meanwhile.
	if meta.Sequence.Consumer == 1 {
		if err := w.history.keeps(context.Background(), w.next); err != nil {
			return err
		}
	}
	if err := w.cmd.print(m); err != nil {
		return err
	}
	w.next = meta.Sequence.Stream + 1
	return nil
}
