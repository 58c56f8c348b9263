package main

import (
	"slices"
	"strings"
	"testing"
)

// TestEveryFlagHasItsVariable: ZLINK_ and the name in upper snake case, which wins over those of other tools.
func TestEveryFlagHasItsVariable(t *testing.T) {
	t.Parallel()
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, n := range append(parser.Model.Leaves(false), parser.Model.Node) {
		for _, flag := range n.Flags {
			if flag.Name == "help" {
				continue
			}
			count++
			want := "ZLINK_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
			if len(flag.Envs) == 0 || flag.Envs[0] != want {
				t.Errorf("%s --%s: got variables %v, want %s first", n.Name, flag.Name, flag.Envs, want)
			}
		}
	}
	if count < 100 {
		t.Errorf("%d flags, want those of all commands", count)
	}
}

// TestEveryCommandHasHelpWithAnExample: the example is indented, and calls the command.
func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	t.Parallel()
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Leaves(false) {
		example := "    zlink-nats " + n.Name
		if !slices.ContainsFunc(strings.Split(n.Detail, "\n"), func(line string) bool { return strings.HasPrefix(line, example) }) {
			t.Errorf("the help of %s has no line that begins with %q", n.Name, example)
		}
	}
	if got := len(parser.Model.Leaves(false)); got < 11 {
		t.Errorf("%d commands, want all", got)
	}
}
