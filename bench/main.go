// The bench program compares the service with the stores and the messaging it is measured against, all on one machine
// in one run, and prints Markdown. It builds and starts everything itself; docs/bench/README.md says what the tables
// mean.
//
//	go run . -list
//	go run . -suite r3 -duration 5s -callers 1,64,256 -out results.md
//
// It is a module of its own, so that the clients of other stores stay out of the service's dependencies.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/zlink/zlink-nats/bench/load"
	"github.com/zlink/zlink-nats/bench/peer"
)

// modules are the dependencies whose versions a report names.
var modules = []string{
	"go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/client/v3", "github.com/redis/go-redis/v9",
	"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go",
}

func main() {
	peer.ServeChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	list    bool
	suite   string
	callers []int
	plan    load.Plan // without callers
	dir     string
	out     string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.list, "list", false, "list the suites and end")
	flags.StringVar(&o.suite, "suite", "", "suite to run")
	flags.DurationVar(&o.plan.Duration, "duration", 5*time.Second, "counted time of a turn")
	flags.DurationVar(&o.plan.Warmup, "warmup", time.Second, "driven but not counted before each turn")
	flags.IntVar(&o.plan.Rounds, "rounds", 3, "turns of each subject; figures are the median")
	callers := flags.String("callers", "1,64,256", "numbers of concurrent callers")
	flags.StringVar(&o.dir, "dir", "", "folder for the stores' data, best on a disk (default: the temporary folder)")
	flags.StringVar(&o.out, "out", "", "file for the results (default: standard output)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for s := range strings.SplitSeq(*callers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 1 {
			return o, fmt.Errorf("-callers: want numbers from 1 up, separated by commas, got %q", s)
		}
		o.callers = append(o.callers, n)
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, progress io.Writer) error {
	o, err := parse(args, progress)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case o.list:
		return list(stdout)
	}
	s, ok := findSuite(o.suite)
	if !ok {
		return fmt.Errorf("no suite %q; -list shows them", o.suite)
	}
	var report bytes.Buffer
	err = measure(ctx, &report, s, o, "go run . "+strings.Join(args, " "), progress)
	// What was measured before a failure took long enough to be worth keeping.
	if o.out == "" {
		_, werr := stdout.Write(report.Bytes())
		return errors.Join(err, werr)
	}
	return errors.Join(err, os.WriteFile(o.out, report.Bytes(), 0o644))
}

func list(out io.Writer) error {
	for _, s := range suites() {
		if _, err := fmt.Fprintf(out, "%-15s %s\n", s.name, s.about); err != nil {
			return err
		}
	}
	return nil
}

// measure runs a suite and writes its report. A table that fails does not keep the others from being measured.
func measure(ctx context.Context, report io.Writer, s suite, o options, command string, progress io.Writer) error {
	dir := o.dir
	if dir == "" {
		dir = os.TempDir()
	}
	machine, err := load.Describe(dir, modules...)
	if err != nil {
		return err
	}
	if version := peer.RedisVersion(ctx); version != "" {
		machine.Versions = append(machine.Versions, "redis-server "+version)
	}
	fmt.Fprintf(report, "# Suite %s: %s\n\n", s.name, s.about)
	if err := load.WriteHeader(report, command, o.plan, machine); err != nil {
		return err
	}
	var failures []error
	for _, t := range s.tables {
		comparisons, err := t.measure(ctx, o, progress)
		if err := load.WriteTable(report, t.title, comparisons, t.targets); err != nil {
			return err
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", t.title, err))
			fmt.Fprintf(report, "Not measured to the end: `%s`\n\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failures...)
}

// measure starts the table's subjects, compares them at every number of callers, and ends them. With an error it returns
// what was measured before.
func (t table) measure(ctx context.Context, o options, progress io.Writer) (comparisons []load.Comparison, err error) {
	fmt.Fprintf(progress, "%s: starting\n", t.title)
	g, err := peer.NewGroup(o.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	subjects, err := t.subjects(ctx, g)
	if err != nil {
		return nil, err
	}
	for _, callers := range t.callers(o.callers) {
		fmt.Fprintf(progress, "%s: %d callers\n", t.title, callers)
		plan := o.plan
		plan.Callers = callers
		c, err := load.Compare(ctx, subjects, plan)
		if err != nil {
			return comparisons, err
		}
		comparisons = append(comparisons, c)
	}
	return comparisons, nil
}
