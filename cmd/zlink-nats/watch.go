package main

import (
	"context"
	"errors"
	"fmt"

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
	kind, err := findKind(c.Kind)
	if err != nil {
		return err
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
	w := watcher{
		cmd: c, js: js, history: history{stream: stream, since: c.Since},
		filter: subjects.Prefix(c.Prefix).ChangesWildcard(kind, c.Scope, c.ID),
	}
	if w.next, err = w.history.start(ctx, c.All); err != nil {
		return l.explainJetStream(err)
	}
	return l.explainJetStream(w.run())
}

// findKind returns the kind of that name, or names that are near; no name is no kind.
func findKind(name string) (subjects.ChangeKind, error) {
	if kind := subjects.ChangeKind(name); name == "" || kind.Valid() {
		return kind, nil
	}
	var names []string
	for _, k := range subjects.ChangeKinds() {
		names = append(names, string(k))
	}
	return "", &usageError{fmt.Sprintf("unknown kind of change %q%s", name, suggest(name, names))}
}
