package main

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// family is a sort of rows that can be listed.
type family struct {
	name  string
	scope []scope // what the list can be narrowed to, in order
	what  string  // the rows, in words
	hint  string  // what to know when there are none
	op    subjects.Operation
	// request is that of a page of what the scope says; the scope is as long as the
	// family's.
	request func(scope []string, page wire.PageRequest) any
	head    []string // names of the columns
	row     func(item json.RawMessage) ([]string, error)
	// isLive tells whether a row's owner is live, for lists that cannot leave out the
	// others themselves.
	isLive func(item json.RawMessage) (bool, error)
}

// scope is an argument that narrows a list.
type scope struct {
	name   string
	phrase string   // for a sentence about what was looked for
	needed bool     // whether it has to be given
	values []string // what it can be; nil is anything
}

// findFamily returns the family of that name, or names that are near.
func findFamily(name string) (*family, error) {
	var names []string
	for _, f := range families {
		if f.name == name {
			return f, nil
		}
		names = append(names, f.name)
	}
	return nil, &usageError{fmt.Sprintf("unknown family %q%s", name, suggest(name, names))}
}

// usage is how to list the family.
func (f *family) usage() string {
	parts := []string{"zlink-nats list", f.name}
	for _, s := range f.scope {
		if s.needed {
			parts = append(parts, s.name)
		} else {
			parts = append(parts, "["+s.name+"]")
		}
	}
	return strings.Join(parts, " ")
}

// check looks whether a scope is one of the family.
func (f *family) check(given []string) error {
	if len(given) > len(f.scope) {
		return &usageError{fmt.Sprintf("unexpected argument %q: the form is '%s'", given[len(f.scope)], f.usage())}
	}
	for i, s := range f.scope {
		switch {
		case i >= len(given) && s.needed:
			return &usageError{fmt.Sprintf("%s is missing: the form is '%s'%s", s.name, f.usage(), s.choice())}
		case i < len(given) && given[i] == "":
			return &usageError{fmt.Sprintf("%s is empty: the form is '%s'", s.name, f.usage())}
		case i < len(given) && s.values != nil && !slices.Contains(s.values, given[i]):
			return &usageError{fmt.Sprintf("unknown %s %q%s", s.name, given[i], suggest(given[i], s.values))}
		}
	}
	return nil
}

// choice is what the scope can be.
func (s *scope) choice() string {
	if s.values == nil {
		return ""
	}
	return fmt.Sprintf(", where %s is %s", s.name, strings.Join(s.values, ", "))
}

// items returns what a list of the family holds; limit 0 is all. The sequence ends
// with the first error.
func (f *family) items(c *caller, given []string, live bool, limit int) iter.Seq2[json.RawMessage, error] {
	full := make([]string, len(f.scope))
	copy(full, given)
	l := listing{
		op: f.op, live: live, limit: limit,
		request: func(page wire.PageRequest) any { return f.request(full, page) },
	}
	if !live || f.isLive == nil {
		return c.items(l)
	}
	l.live, l.limit = false, 0 // not every row that comes counts
	return f.liveOf(c.items(l), limit)
}

// liveOf leaves out what is not live.
func (f *family) liveOf(all iter.Seq2[json.RawMessage, error], limit int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		left := limit
		for item, err := range all {
			live := false
			if err == nil {
				live, err = f.isLive(item)
			}
			switch {
			case err != nil:
				yield(nil, err)
				return
			case !live:
				continue
			case !yield(item, nil):
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// nothing says that nothing was found, and how that can change.
func (f *family) nothing(given []string, live bool) string {
	parts := []string{"no"}
	if live {
		parts = append(parts, "live")
	}
	parts = append(parts, f.what)
	for i := range given {
		parts = append(parts, f.scope[i].phrase, strconv.Quote(given[i]))
	}
	hint := f.hint
	if live {
		hint = "without --live those are shown too whose owner's lease is over"
	}
	return strings.Join(parts, " ") + ": " + hint
}

// rowOf makes the row of a table from an item of a list.
func rowOf[Item any](cells func(*Item) []string) func(json.RawMessage) ([]string, error) {
	return func(raw json.RawMessage) ([]string, error) {
		item := new(Item)
		if err := understand(raw, item); err != nil {
			return nil, err
		}
		return cells(item), nil
	}
}
