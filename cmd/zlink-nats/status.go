package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// statusCmd is the command status.
type statusCmd struct {
	config.Client
	JSON bool `name:"json" help:"Print JSON instead of a table."`
}

// Help is shown with --help.
func (*statusCmd) Help() string {
	return `Show how the service on this machine is:

    zlink-nats status

Where several instances run, any one of them answers.`
}

// Run asks an instance for its status and prints it.
func (c *statusCmd) Run() error {
	l, err := dial(&c.Connection)
	if err != nil {
		return err
	}
	defer l.Close()
	asked := time.Now()
	reply, err := exchange(l, &c.Client, subjects.StatusGet, nil)
	if err != nil {
		return err
	}
	here := asked.Add(time.Since(asked) / 2) // when the reply was written, by this machine's clock
	if c.JSON {
		return printJSON(reply)
	}
	var s wire.StatusGetReply
	if err := understand(reply, &s); err != nil {
		return err
	}
	return printStatus(&s, here)
}

// printStatus prints a status that was written when it was that late here.
func printStatus(s *wire.StatusGetReply, here time.Time) error {
	store := "healthy"
	switch {
	case !s.StoreHealthy && s.LastError != "":
		store = "not healthy: " + s.LastError
	case !s.StoreHealthy:
		store = "not healthy"
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name  string
		value any
	}{
		{"instance", s.InstanceID},
		{"version", s.Version},
		{"store", store},
		{"revision", s.Revision},
		{"store time", time.UnixMilli(int64(s.StoreNow)).UTC().Format("2006-01-02 15:04:05.000 MST")},
		{"clock", clockText(s.StoreNow, here)},
		{"rows", s.Rows},
		{"live leases", s.Leases},
		{"aggregates", aggregatesText(s)},
		{"pushed", pushedText(s)},
		{"NATS server", s.Server.Name},
		{"NATS version", s.Server.Version},
		{"replicas", s.Server.Replicas},
		{"consumers", consumersText(s)},
	} {
		fmt.Fprintf(w, "%s\t%v\n", row.name, row.value)
	}
	return w.Flush()
}
