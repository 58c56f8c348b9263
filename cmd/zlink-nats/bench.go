package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/measure"
	"github.com/zlink/zlink-nats/subjects"
)

// benchCmd is the command bench.
type benchCmd struct {
	config.Client
	Scenario    measure.Name  `default:"place" enum:"place,resolve,lease,watch" help:"What to measure: place, resolve, lease or watch."`
	Concurrency int           `default:"16" help:"Operations under way at a time, 1 to 4,096; for watch, subscribers."`
	Duration    time.Duration `default:"15s" help:"How long to measure, at least 1s."`
	Rate        float64       `help:"Operations in a second to take latencies at; without it, 70 percent of what is possible."`
	JSON        bool          `name:"json" help:"Print JSON instead of text."`
}

// Help is shown with --help.
func (*benchCmd) Help() string {
	return `Measure how fast this deployment places objects:

    zlink-nats bench --scenario place --concurrency 16 --duration 5s

place creates objects on a node that the service chooses (two requests each), resolve finds one of 1,000, lease renews a lease, watch takes the time from a write to each subscriber of its change.

The first third finds out how many operations are possible in a second. Then operations are due at 70 percent of that rate, or at --rate from the beginning, and their times count from the instant at which they were due: when the service falls behind, the time in which nobody could ask counts too.

It works in a mesh of its own and removes what it made, also after Ctrl-C. It loads the service: think before you run it on one that others use.`
}

const (
	mostWorkers  = 4096
	leastMeasure = time.Second
	// benchConns is how many connections the workers share at most: a program has few.
	benchConns = 8
)

// Validate refuses what cannot be measured.
func (c *benchCmd) Validate() error {
	switch {
	case c.Concurrency < 1 || c.Concurrency > mostWorkers:
		return fmt.Errorf("--concurrency: got %d, want 1..%d", c.Concurrency, mostWorkers)
	case c.Duration < leastMeasure:
		return fmt.Errorf("--duration: got %v, want at least %v", c.Duration, leastMeasure)
	case c.Rate < 0 || c.Rate > 1e9:
		return fmt.Errorf("--rate: got %v, want 0 for a rate that fits, or operations in a second", c.Rate)
	}
	return c.Client.Validate()
}

// Run measures and prints the result.
func (c *benchCmd) Run() error {
	ctx := untilSignal()
	conns, closeAll, err := c.connect()
	if err != nil {
		return err
	}
	defer closeAll()
	s, err := measure.New(c.Scenario, conns, subjects.Prefix(c.Prefix))
	if err != nil {
		return err
	}
	progress, erase := progressLine()
	report, err := measure.Run(ctx, s, measure.Options{
		Workers: c.Concurrency, Duration: c.Duration, Rate: c.Rate, Progress: progress,
	})
	erase()
	if errors.Is(err, context.Canceled) {
		return errors.New("stopped before the end; what was made is removed")
	}
	if err != nil {
		return err
	}
	if c.JSON {
		text, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		err = writeJSON(os.Stdout, text)
		return errors.Join(err, outcome(&report))
	}
	return errors.Join(c.print(os.Stdout, &report), outcome(&report))
}

// connect opens the connections that the workers share.
func (c *benchCmd) connect() (conns []*nats.Conn, closeAll func(), err error) {
	closeAll = func() {
		for _, nc := range conns {
			nc.Close()
		}
	}
	for range min(c.Concurrency, benchConns) {
		l, err := dial(&c.Connection)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, l.Conn)
	}
	return conns, closeAll, nil
}

// outcome makes a failure of operations that failed: the figures are then of something else.
func outcome(r *measure.Report) error {
	if r.Failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d operations failed, the first one: %s", r.Failed, r.Done, r.Failure)
}

func (c *benchCmd) print(out io.Writer, r *measure.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	who := plural(r.Workers, "worker")
	if c.Scenario == measure.Watch {
		who = plural(c.Concurrency, "subscriber")
	}
	fmt.Fprintf(w, "scenario\t%s, %s\n", c.Scenario, who)
	if r.Throughput > 0 {
		fmt.Fprintf(w, "throughput\t%.0f/s\n", r.Throughput)
	}
	fmt.Fprintf(w, "latency at\t%.0f/s (asked for %.0f/s)\n", r.Achieved, r.Rate)
	fmt.Fprintf(w, "p50\t%.3f ms\n", r.P50)
	fmt.Fprintf(w, "p95\t%.3f ms\n", r.P95)
	fmt.Fprintf(w, "p99\t%.3f ms\n", r.P99)
	fmt.Fprintf(w, "max\t%.3f ms\n", r.Max)
	fmt.Fprintf(w, "failed\t%d of %d\n", r.Failed, r.Done)
	return w.Flush()
}

// progressLine returns what shows progress on stderr: one line that is written over on a terminal, a line each time elsewhere.
func progressLine() (show func(measure.Progress), erase func()) {
	end, begin := "\n", ""
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		begin, end = "\r\x1b[K", ""
	}
	show = func(p measure.Progress) {
		fmt.Fprintf(os.Stderr, "%s%s %.0f of %.0f s: %d operations, %.0f/s, %d failed%s", begin, p.Phase, p.Passed.Seconds(),
			p.Whole.Seconds(), p.Done, float64(p.Done)/p.Passed.Seconds(), p.Failed, end)
	}
	return show, func() { fmt.Fprint(os.Stderr, begin) }
}
