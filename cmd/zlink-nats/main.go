// Command zlink-nats is the location directory and its command line: serve runs
// the service, the other commands talk to one.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/zlink/zlink-nats/config"
)

// The statuses that the program exits with, besides 0.
const (
	exitFailed = 1 // the operation failed
	exitUsage  = 2 // the command line or the configuration is wrong
)

// cli is the command line.
type cli struct {
	Config kong.ConfigFlag `type:"path" env:"ZLINK_CONFIG" placeholder:"FILE" help:"Configuration file in YAML; its keys are the names of the flags."`

	Serve    serveCmd    `cmd:"" help:"Run the service, by default with a NATS server of its own."`
	Node     nodeCmd     `cmd:"" help:"Keep a node in the directory: its lease, its descriptor, its drain."`
	Call     callCmd     `cmd:"" help:"Send one request and print the reply as JSON."`
	Watch    watchCmd    `cmd:"" help:"Print changes as JSON lines while they happen."`
	List     listCmd     `cmd:"" help:"List rows of a family: nodes, peers, spots, actors, routes, objects."`
	Topology topologyCmd `cmd:"" help:"Show the meshes and their nodes."`
	Explain  explainCmd  `cmd:"" help:"Tell where an object is, why it can be used or not, and what happened to it."`
	Bench    benchCmd    `cmd:"" help:"Measure how fast a deployment is."`
	Status   statusCmd   `cmd:"" help:"Show how an instance of the service is."`
	Ready    readyCmd    `cmd:"" help:"Ask one instance over HTTP whether it is ready; for health checks without a shell."`
	Doctor   doctorCmd   `cmd:"" help:"Check server, limits, streams, permissions and clock, and say how to mend them."`
	Version  versionCmd  `cmd:"" help:"Show the version of the program and of what it is built with."`
}

// Help is shown with --help.
func (cli) Help() string {
	return `A session to begin with:

    zlink-nats serve &
    zlink-nats call lease.claim '{"ownerId":"a","leaseTtlMs":15000}'

Every flag has a variable, ZLINK_ and its name in upper snake case, and a key in the configuration file, of which each command takes its part. A flag wins over the variable, the variable over the file.`
}

func main() { os.Exit(execute(os.Args[1:])) }

// execute carries out a command line and returns the status to exit with.
func execute(args []string) int {
	parser, err := newParser()
	if err != nil {
		panic(err) // the struct tags above are wrong
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		fmt.Fprintf(os.Stderr, "Run '%s --help' for help.\n", commandName(err))
		return exitUsage
	}
	err = command.Run()
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintln(os.Stderr, usage)
		return exitUsage
	}
	if err != nil {
		if !errors.Is(err, errShown) {
			fmt.Fprintln(os.Stderr, err)
		}
		return exitFailed
	}
	return 0
}

// newParser makes what understands command lines.
func newParser() (*kong.Kong, error) {
	return kong.New(&cli{},
		kong.Name("zlink-nats"),
		kong.Description("A location directory on NATS: owner leases, mesh nodes, pushed changes."),
		kong.Configuration(config.File(new(cli))),
		kong.KindMapper(reflect.String, kong.MapperFunc(rawText)),
		kong.DefaultEnvars("ZLINK"), // where there is no tag, which names those of the NATS tools too
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
}

// commandName is what the user meant to run, as far as it was understood.
func commandName(err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			return node.FullPath()
		}
	}
	return "zlink-nats"
}

// usageError is a mistake in an argument that only the command can see.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// errShown is a failure that was already printed.
var errShown = errors.New("failed")
