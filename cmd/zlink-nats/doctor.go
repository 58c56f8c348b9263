package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"text/tabwriter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/instance"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
)

// doctorCmd is the command doctor.
type doctorCmd struct {
	config.Client
	config.Store
	Operator bool `help:"Check as a user who is not the service's: leave out what that one alone may try, permissions and atomic batches."`
	JSON     bool `name:"json" help:"Print JSON instead of text."`
}

// Help is shown with --help.
func (*doctorCmd) Help() string {
	return `Check the NATS server and the service on this machine:

    zlink-nats doctor

Check before the first start whether a server will do:

    zlink-nats doctor --server nats://127.0.0.1:4222 --replicas 3

Give the connection, bucket, prefix and replicas that serve is given: the permissions checked are those of the user who connects. With --operator they are left out, for users who are not the service's. The command exits with 1 when something fails. It changes nothing.`
}

// state is how a check ended.
type state string

const (
	stateOK   state = "ok"
	stateWarn state = "warn" // works, with less than the full contract or for now
	stateFail state = "FAIL"
)

// finding is the result of one check.
type finding struct {
	Name   string `json:"name"`
	State  state  `json:"state"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // what to do about it
}

// Run checks everything and prints what it found.
func (c *doctorCmd) Run() error {
	findings := c.examine(context.Background())
	show := printFindings
	if c.JSON {
		show = printFindingsJSON
	}
	if err := show(findings); err != nil {
		return err
	}
	for _, f := range findings {
		if f.State == stateFail {
			return errShown
		}
	}
	return nil
}

func (c *doctorCmd) examine(ctx context.Context) []finding {
	// Violations of permissions are looked for, not printed by the client library.
	l, err := dial(&c.Connection, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return []finding{{Name: "connection", State: stateFail, Detail: err.Error()}}
	}
	defer l.Close()
	findings := []finding{{Name: "connection", State: stateOK, Detail: l.ConnectedUrlRedacted()}}
	js, err := l.jetStream()
	if err == nil {
		asking, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		_, err = js.AccountInfo(asking)
	}
	if err != nil {
		return append(findings, finding{Name: "JetStream", State: stateFail, Detail: l.explainJetStream(err).Error()})
	}
	findings = append(findings, finding{Name: "JetStream", State: stateOK, Detail: "on"})
	findings = append(findings, c.checkStore(ctx, l)...)
	findings = append(findings, checkPages(l), c.checkConsumers(ctx, js), c.checkChanges(ctx, l, js))
	if !c.Operator {
		findings = append(findings, c.checkPermissions(l))
	}
	return append(findings, c.checkService(l)...)
}

// checkStore asks the store what it thinks of the server and the bucket.
func (c *doctorCmd) checkStore(ctx context.Context, l *link) []finding {
	check := jetkv.Check
	if c.Operator {
		check = jetkv.Inspect
	}
	var findings []finding
	for _, f := range check(ctx, l.Conn, jetkv.Options{
		Conn: l.Conn, JSDomain: l.domain, Bucket: c.Bucket, Replicas: c.Replicas, HistoryFrom: c.published(ctx, l),
		Schema: domain.Schema(), Logger: slog.New(slog.DiscardHandler),
	}) {
		s := stateOK
		switch {
		case !f.OK:
			s = stateFail
		case f.Mend != "":
			s = stateWarn
		}
		findings = append(findings, finding{f.Name, s, f.Detail, f.Mend})
	}
	return findings
}

// published is the revision up to which changes were pushed; 0 when it cannot be
// read, which another check tells.
func (c *doctorCmd) published(ctx context.Context, l *link) kvstore.Revision {
	js, err := l.jetStream()
	if err != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	position, err := c.feed(l, js).Position(ctx)
	if err != nil {
		return 0
	}
	return position
}

// feed is the feed that a service with these settings has.
func (c *doctorCmd) feed(l *link, js jetstream.JetStream) *feed.Feed {
	serve := serveCmd{}
	serve.Client, serve.Store = c.Client, c.Store
	return instance.NewFeed(js, instanceOptions(&serve.Config, l, "doctor", slog.New(slog.DiscardHandler)))
}

func printFindings(findings []finding) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.Name, f.Detail)
		if f.Mend != "" {
			fmt.Fprintf(w, "\t\tmend: %s\n", f.Mend)
		}
	}
	return w.Flush()
}

func printFindingsJSON(findings []finding) error {
	text, err := json.MarshalIndent(findings, "", "  ")
	if err != nil {
		return err
	}
	return writeJSON(os.Stdout, text)
}
