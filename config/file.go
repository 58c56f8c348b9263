package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// File reads a configuration file: a YAML map from the names of the flags of a
// program, a struct as [kong.New] takes it, to their values; that of a flag that can
// be given several times is a list. The resolver that it returns gives way to
// environment variables.
//
// Errors name the file and the key: text that is not such a map, a key that no
// command has. A value that does not fit its flag is refused by the resolver.
func File(program any) kong.ConfigurationLoader {
	return func(r io.Reader) (kong.Resolver, error) {
		f := &file{name: "configuration file"}
		if named, ok := r.(interface{ Name() string }); ok {
			f.name = named.Name()
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if err := yaml.Unmarshal(text, &f.values); err != nil {
			return nil, fmt.Errorf("%s: %s", f.name, strings.TrimSpace(yaml.FormatError(err, false, true)))
		}
		return f, f.checkKeys(program)
	}
}

type file struct {
	name   string
	values map[string]ast.Node // nil where the file says null
}

// checkKeys refuses keys that are no setting: a misspelt one must not pass silently.
func (f *file) checkKeys(program any) error {
	k, err := kong.New(program, kong.NoDefaultHelp())
	if err != nil {
		return err
	}
	known := slices.Compact(slices.Sorted(slices.Values(keys(k.Model.Node))))
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s: unknown key %q; the keys are %s", f.name, key, strings.Join(known, ", "))
		}
	}
	return nil
}

// keys lists the names of the flags of a command, and of those below it, but for the
// one that names the file.
func keys(n *kong.Node) []string {
	var names []string
	for _, flag := range n.Flags {
		if flag.Target.Type() != reflect.TypeFor[kong.ConfigFlag]() {
			names = append(names, flag.Name)
		}
	}
	for _, child := range n.Children {
		names = append(names, keys(child)...)
	}
	return names
}

// Validate implements [kong.Resolver]; everything was checked before.
func (f *file) Validate(*kong.Application) error { return nil }

// Resolve implements [kong.Resolver].
func (f *file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	node := f.values[flag.Name]
	if node == nil || slices.ContainsFunc(flag.Envs, isSet) {
		return nil, nil
	}
	value, want := valueOf(node, flag.IsSlice())
	if want != "" {
		return nil, fmt.Errorf("%s:%d: key %q: want %s", f.name, node.GetToken().Position.Line, flag.Name, want)
	}
	// Tried here once, because the parser does not say where a value came from.
	trial := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value}), trial); err != nil {
		return nil, fmt.Errorf("%s:%d: key %q: %w", f.name, node.GetToken().Position.Line, flag.Name, err)
	}
	return value, nil
}

// valueOf is a value of the file as the parser takes it, or what is wanted instead.
func valueOf(node ast.Node, several bool) (value any, want string) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok || !several {
		if value, ok = scalar(node); !ok {
			return nil, "one value"
		}
		return value, ""
	}
	list := make([]any, len(sequence.Values))
	for i, item := range sequence.Values {
		if list[i], ok = scalar(item); !ok {
			return nil, "a list of values"
		}
	}
	return list, ""
}

// scalar is the value as it is written in the file: a password 0123 is not a number.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

func isSet(variable string) bool {
	_, ok := os.LookupEnv(variable)
	return ok
}
