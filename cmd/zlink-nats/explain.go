package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/zlink/zlink-nats/config"
	"github.com/zlink/zlink-nats/wire"
)

// explainCmd is the command explain.
type explainCmd struct {
	config.Client
	Kind string `arg:"" help:"actor or spot."`
	ID   string `arg:"" name:"id" help:"Id of the object."`
	JSON bool   `name:"json" help:"Print JSON instead of text."`
}

// Help is shown with --help.
func (*explainCmd) Help() string {
	return `Tell where the actor "user:42" is, and why it can be used or not:

    zlink-nats explain actor user:42

The last changes are read from the stream that 'zlink-nats watch' follows. It keeps them for an hour unless 'zlink-nats serve' is told otherwise.`
}

// Run gathers what is known of the object and prints it.
func (c *explainCmd) Run() error {
	kind, err := findLookup(c.Kind)
	if err != nil {
		return err
	}
	service, err := newCaller(&c.Client)
	if err != nil {
		return err
	}
	defer service.Close()
	e := newEvidence(kind, c.ID)
	if err := e.gather(service); err != nil {
		return err
	}
	if err := e.recall(service); err != nil {
		e.ChangesError = err.Error()
	}
	e.State, e.Why = string(e.state()), e.why()
	if c.JSON {
		return e.printJSON()
	}
	_, err = e.page().WriteTo(os.Stdout)
	return err
}

// findLookup returns the kind of that name, or names that are near.
func findLookup(name string) (wire.LookupKind, error) {
	kinds := wire.LookupKind("").Values()
	if !slices.Contains(kinds, name) {
		return "", &usageError{fmt.Sprintf("unknown kind of object %q%s", name, suggest(name, kinds))}
	}
	return wire.LookupKind(name), nil
}

func (e *evidence) printJSON() error {
	text, err := wire.Marshal(wire.JSON, e)
	if err != nil {
		return err
	}
	return printJSON(text)
}

// page is everything on one page.
func (e *evidence) page() *bytes.Buffer {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s: %s\n\n", e.Kind, fit(shown(e.GlobalID)), e.State)
	t := table(&b)
	for _, f := range e.facts() {
		fmt.Fprintf(t, "  %s\t%s\n", f.name, fit(f.text))
	}
	_ = t.Flush() // into memory
	b.WriteString("\nwhy\n")
	for _, reason := range e.Why {
		fmt.Fprintf(&b, "  - %s\n", fit(reason))
	}
	b.WriteString("\nlast changes of it, of its row, of its owner's lease and of its node\n")
	switch {
	case e.ChangesError != "":
		fmt.Fprintf(&b, "  cannot be read: %s\n", e.ChangesError)
	case len(e.Changes) == 0:
		b.WriteString("  none are kept\n")
	}
	for _, c := range e.Changes {
		fmt.Fprintf(t, "  %d\t%s\t%v ago\t%s\t%s\n", c.Revision, at(c.StoreTime), since(c.StoreTime, e.StoreNow), c.Change, fit(c.What))
	}
	_ = t.Flush()
	return &b
}
