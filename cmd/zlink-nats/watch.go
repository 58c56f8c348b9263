package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// watchCmd is the command watch.
type watchCmd struct {
	config.Client
	Kind  string  `arg:"" optional:"" help:"Kind of change, such as mesh-node or owner-lease; all when left out."`
	Scope string  `arg:"" optional:"" help:"Mesh or channel of the kind; for route its kind, for authority actor or spot, for owner-lease the word owner."`
	ID    string  `arg:"" optional:"" help:"Id within the scope: RID, id of an object, owner id."`
	Since *uint64 `xor:"from" placeholder:"REVISION" help:"Begin with the changes after this revision."`
	All   bool    `xor:"from" help:"Begin with the oldest change that is kept."`
}

// Help is shown with --help.
func (*watchCmd) Help() string {
	return `Follow everything from now on:

    zlink-nats watch

Follow the nodes of the mesh "play", beginning with what is kept of the past:

    zlink-nats watch mesh-node play --all

Follow one object, and the lease of one owner:

    zlink-nats watch authority actor user:42
    zlink-nats watch owner-lease owner node-1

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
	if err := c.checkScope(kind); err != nil {
		return err
	}
	l, err := dial(&c.Connection)
	if err != nil {
		return err
	}
	defer l.Close()
	changes, err := c.begin(l, kind)
	if err != nil {
		return l.explainChanges(err)
	}
	defer changes.Close()
	fmt.Fprintf(os.Stderr, "watching %s\n", subjects.Prefix(c.Prefix).ChangesWildcard(kind, c.Scope, c.ID))
	for {
		change, err := changes.Next(context.Background())
		if err != nil {
			return l.explainChanges(err)
		}
		line, err := wire.Marshal(wire.JSON, change.Event)
		if err != nil {
			return err
		}
		if err := writeJSON(os.Stdout, line); err != nil {
			return err
		}
	}
}

// checkScope refuses a scope that no change of the kind has: nothing would ever come.
func (c *watchCmd) checkScope(kind subjects.ChangeKind) error {
	var scopes []string
	switch kind {
	case subjects.ChangeOwnerLease:
		scopes = []string{subjects.OwnerScope}
	case subjects.ChangeAuthority:
		scopes = []string{string(wire.LookupActor), string(wire.LookupSpot)}
	}
	if c.Scope == "" || scopes == nil || slices.Contains(scopes, c.Scope) {
		return nil
	}
	return &usageError{fmt.Sprintf("no change of %s has the scope %q: the form is 'zlink-nats watch %s %s ID'", kind, c.Scope, kind, strings.Join(scopes, "|"))}
}

// begin finds the place where the changes begin.
func (c *watchCmd) begin(l *link, kind subjects.ChangeKind) (*client.Changes, error) {
	js, err := l.jetStream()
	if err != nil {
		return nil, err
	}
	directory, err := client.New(l.Conn, client.Options{Prefix: subjects.Prefix(c.Prefix), JetStream: js, Interrupted: func(err error) {
		fmt.Fprintf(os.Stderr, "interrupted (%v), trying again\n", err)
	}})
	if err != nil {
		return nil, err
	}
	request := client.ChangesRequest{Kind: kind, Scope: c.Scope, ID: c.ID}
	switch {
	case c.All:
		request.From = client.FromOldest
	case c.Since != nil:
		request.From, request.After = client.FromRevision, wire.Revision(*c.Since)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	return directory.Changes(ctx, request)
}

// explainChanges says what to do when changes cannot be followed.
func (l *link) explainChanges(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("there is no stream %s at %s: start the service with 'zlink-nats serve', or name another place with --server or --js-domain", subjects.ChangesStream, l.ConnectedUrlRedacted())
	case errors.Is(err, client.ErrHistoryGone):
		return fmt.Errorf("%w: read a list, and watch on from its revision", err)
	}
	return l.explainJetStream(err)
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
