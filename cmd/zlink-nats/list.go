package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zlink/zlink-nats/config"
)

// listCmd is the command list.
type listCmd struct {
	config.Client
	Family string   `arg:"" help:"Family of rows, such as mesh-node or actor."`
	Scope  []string `arg:"" optional:"" help:"What to list of it, such as a mesh or a channel."`
	Live   bool     `help:"Leave out rows whose owner's lease is over."`
	Limit  uint32   `placeholder:"N" help:"Print no more than the first N rows; 0 is all."`
	JSON   bool     `name:"json" help:"Print each row as a line of JSON, as the protocol has it."`
}

// Help is shown with --help.
func (*listCmd) Help() string {
	var forms strings.Builder
	for _, f := range families {
		fmt.Fprintf(&forms, "    %s\n", f.usage())
	}
	return `List the nodes of the mesh "play", and the rooms that can be used:

    zlink-nats list mesh-node play
    zlink-nats list object userSpot room --live

The families, with what they can be narrowed to:

` + forms.String() + `
ACTORS and SPOTS of a node are "active+reserved/limit". An id that holds blanks, or what cannot be seen, is quoted.`
}

// Run reads all pages of a list and prints them.
func (c *listCmd) Run() error {
	f, err := findFamily(c.Family)
	if err == nil {
		err = f.check(c.Scope)
	}
	if err != nil {
		return err
	}
	service, err := newCaller(&c.Client)
	if err != nil {
		return err
	}
	defer service.Close()
	rows, err := c.read(service, f)
	if err != nil || c.JSON {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintln(os.Stderr, f.nothing(c.Scope, c.Live))
		return nil
	}
	return printRows(os.Stdout, f.head, rows)
}

// read reads the list: into rows of a table, or straight to the output in JSON.
func (c *listCmd) read(service *caller, f *family) (rows [][]string, err error) {
	out := bufio.NewWriter(os.Stdout)
	defer func() {
		if flushed := out.Flush(); err == nil {
			err = flushed
		}
	}()
	for item, err := range f.items(service, c.Scope, c.Live, int(c.Limit)) {
		if err == nil {
			rows, err = c.take(out, f, rows, item)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// take adds an item to the rows, or prints it.
func (c *listCmd) take(out io.Writer, f *family, rows [][]string, item json.RawMessage) ([][]string, error) {
	if c.JSON {
		return nil, writeJSON(out, item)
	}
	row, err := f.row(item)
	return append(rows, row), err
}

// printRows prints a table.
func printRows(w io.Writer, head []string, rows [][]string) error {
	t := table(w)
	writeRow(t, "", head)
	for _, row := range rows {
		writeRow(t, "", row)
	}
	return t.Flush()
}
