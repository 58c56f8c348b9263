package histories_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// part is a history of one thing, and its model.
type part struct {
	name  string
	model porcupine.Model
	until func(*call) time.Duration
	calls []*call
}

// parts divides a history into those of the leases, the objects and the nodes. Calls of which nothing was written are left out,
// as are those of unknown outcome that left no trace, and reads that may be of any age, which [chronicle] judges.
func parts(calls []*call) []part {
	var list []part
	for _, owner := range owners {
		list = append(list, newPart("lease "+owner, leaseModel, calls, func(c *call) *call { return c.ofLease(owner) }))
	}
	for _, k := range objects {
		list = append(list, newPart("object "+k.GlobalID, objectModel, calls, func(c *call) *call { return c.ofObject(k.Text()) }))
	}
	list = append(list, newPart("opaque store", storeModel, calls, func(c *call) *call {
		if c.op == subjects.StoreRead || c.op == subjects.StoreWrite {
			return c
		}
		return nil
	}))
	for _, id := range spots {
		list = append(list, newPart("spot "+id, locationModel, calls, func(c *call) *call { return c.ofRow(id) }))
	}
	for _, g := range groupsOf(calls) {
		p := newPart("aggregate "+g.fence.AggregateID, groupModel, calls, func(c *call) *call {
			if c.group == g {
				return c
			}
			return nil
		})
		p.until = func(c *call) time.Duration { return c.untilEnded }
		list = append(list, p)
	}
	for _, rid := range nodes {
		list = append(list, newPart("node "+string(rid), nodeModel(rid), calls, func(c *call) *call {
			if touches(rid, c) {
				return c
			}
			return nil
		}))
	}
	return list
}

func newPart(name string, m porcupine.Model, calls []*call, of func(*call) *call) part {
	p := part{name: name, model: m, until: func(c *call) time.Duration { return c.until }}
	for _, c := range calls {
		if c.outcome == refused && c.group == nil || c.outcome == unknown && c.leavesTrace() && len(c.maybe) == 0 ||
			c.outcome == answered && !c.fresh {
			continue
		}
		if c = of(c); c != nil {
			p.calls = append(p.calls, c)
		}
	}
	return p
}

// leavesTrace tells whether the call left an event if it was carried out: then without one it was not, or was but a read.
func (c *call) leavesTrace() bool { return c.group == nil && c.op != subjects.StoreWrite }

// check looks for an order in which the model answers as the service did. It returns an error that names a file with a picture
// when there is none, or none was found in time.
func (p part) check(patience time.Duration, dir string) error {
	result, info := porcupine.CheckOperationsVerbose(p.model, p.operations(), patience)
	if result == porcupine.Ok {
		return nil
	}
	verdict := map[porcupine.CheckResult]string{porcupine.Illegal: "is not linearizable", porcupine.Unknown: "could not be decided"}[result]
	err := fmt.Errorf("history of %s, %d calls, %s", p.name, len(p.calls), verdict)
	path := filepath.Join(dir, filepath.Base(p.name)+".html")
	if failed := os.MkdirAll(dir, 0o755); failed != nil {
		return fmt.Errorf("%w; no picture: %w", err, failed)
	}
	if failed := porcupine.VisualizePath(p.model, info, path); failed != nil {
		return fmt.Errorf("%w; no picture: %w", err, failed)
	}
	if failed := os.WriteFile(path+".txt", []byte(p.String()), 0o644); failed != nil {
		return fmt.Errorf("%w; no text: %w", err, failed)
	}
	return fmt.Errorf("%w; picture: %s", err, path)
}

// String lists the calls, for people.
func (p part) String() string {
	var b strings.Builder
	for _, c := range p.calls {
		fmt.Fprintln(&b, c)
		for _, e := range c.maybe {
			fmt.Fprintln(&b, "\tmay have made", e)
		}
	}
	return b.String()
}

// operations are the calls as Porcupine takes them. One of unknown outcome may have happened at any time from the call on, as far
// as the horizon goes. It has a line of its own in pictures, since its caller goes on.
func (p part) operations() []porcupine.Operation {
	var list []porcupine.Operation
	line := callers
	for _, c := range p.calls {
		o := porcupine.Operation{ClientId: c.caller, Input: c, Call: int64(c.called), Return: int64(c.returned)}
		if c.outcome != answered {
			o.ClientId, o.Return = line, int64(max(p.until(c), c.returned))
			line++
		}
		list = append(list, o)
	}
	return list
}

// ofLease is the call as one on a lease; nil when it is not.
func (c *call) ofLease(owner string) *call {
	if leaseOwner(c) != owner {
		return nil
	}
	return c
}

// ofObject is the call as one on an object; nil when it is not.
func (c *call) ofObject(key string) *call {
	if c.object() == key {
		return c
	}
	if c.group != nil {
		return c.ofParticipant(key)
	}
	if len(c.removed) > 0 && slices.ContainsFunc(c.removed, func(e *event) bool { return e.row() == row{wire.EventAuthority, key} }) {
		return c
	}
	one := *c
	one.maybe = slices.DeleteFunc(slices.Clone(c.maybe), func(e *event) bool { return e.key != key })
	if c.object() != "" || len(one.maybe) == 0 {
		return nil
	}
	return &one
}

// ofParticipant is the call as one on an object that takes part in its group; nil when it does not or nothing comes of the call for
// the object.
func (c *call) ofParticipant(key string) *call {
	if c.outcome == refused || c.op == subjects.AggregateStage || c.group.participant(key) == nil {
		return nil
	}
	one := *c
	one.part = key
	one.maybe = slices.DeleteFunc(slices.Clone(c.maybe), func(e *event) bool { return e.key != key })
	return &one
}

// groupsOf are the groups that calls are about.
func groupsOf(calls []*call) (list []*group) {
	for _, c := range calls {
		if c.group != nil && !slices.Contains(list, c.group) {
			list = append(list, c.group)
		}
	}
	return list
}
