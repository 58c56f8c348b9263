package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
)

// watchCmd is the command watch.
type watchCmd struct {
	config.Client
	Kind  string  `arg:"" optional:"" help:"Kind of change, such as mesh-node or owner-lease; all when left out."`
	Scope string  `arg:"" optional:"" help:"Mesh or channel of the kind; for owner-lease the word owner."`
	ID    string  `arg:"" optional:"" help:"Id within the scope: RID, owner id."`
	Since *uint64 `xor:"from" placeholder:"REVISION" help:"Begin with the changes after this revision."`
	All   bool    `xor:"from" help:"Begin with the oldest change that is kept."`
}

// Help is shown with --help.
func (*watchCmd) Help() string {
	return `Follow everything from now on:

    zlink-nats watch

Follow the nodes of the mesh "play", beginning with what is kept of the past:

    zlink-nats watch mesh-node play --all

A list that was read at revision 120 is kept current by the changes after it:

    zlink-nats watch mesh-node --since 120

Each change is one line. A lost connection is taken up again without a gap.`
}

// Run prints changes until it is interrupted.
func (c *watchCmd) Run() error {
	kind := subjects.ChangeKind(c.Kind)
	if c.Kind != "" && !kind.Valid() {
		var kinds []string
		for _, k := range subjects.ChangeKinds() {
			kinds = append(kinds, string(k))
		}
		return &usageError{fmt.Sprintf("unknown kind of change %q%s", c.Kind, suggest(c.Kind, kinds))}
	}
	l, err := dial(&c.Connection)
	if err != nil {
		return err
	}
	defer l.Close()
	js, err := l.jetStream()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	stream, err := js.Stream(ctx, subjects.ChangesStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("there is no stream %s at %s: start the service with 'zlink-nats serve', or name another place with --server or --js-domain", subjects.ChangesStream, l.ConnectedUrlRedacted())
	}
	if err != nil {
		return l.explainJetStream(err)
	}
	h := history{stream: stream, since: c.Since}
	first, err := h.start(ctx, c.All)
	if err != nil {
		return err
	}
	filter := subjects.Prefix(c.Prefix).ChangesWildcard(kind, c.Scope, c.ID)
	fmt.Fprintf(os.Stderr, "watching %s at %s from message %d on\n", filter, l.ConnectedUrlRedacted(), first)
	return c.follow(js, h, filter, first)
}

// follow prints the changes from a place in the stream on.
func (c *watchCmd) follow(js jetstream.JetStream, h history, filter string, first uint64) error {
	ctx := context.Background()
	consumer, err := js.OrderedConsumer(ctx, subjects.ChangesStream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{filter},
		// Never "new": until the first change has come, a consumer that is made
		// anew after a lost connection would begin later than this one.
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   first,
	})
	if err != nil {
		return err
	}
	changes, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer changes.Stop()
	next := first
	for {
		m, err := changes.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		// A consumer that was made anew goes on where the last one ended, unless
		// that was removed meanwhile.
		if meta.Sequence.Consumer == 1 && next > first {
			if err := h.keeps(ctx, next); err != nil {
				return err
			}
		}
		next = meta.Sequence.Stream + 1
		if err := c.print(m); err != nil {
			return err
		}
	}
}
