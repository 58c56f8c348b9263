package domaintest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// mortal is the store of a process that dies right after a commit: the commit has
// happened, its caller hears nothing of it, and nothing that is asked afterwards is
// answered. It is for one goroutine.
type mortal struct {
	kvstore.Store
	left int // commits until then
}

// errDied is what a dead process answers; there is nobody to hear it.
var errDied = errors.New("the process has died")

// View implements kvstore.Store.
func (m *mortal) View(ctx context.Context, o kvstore.ReadOptions) (kvstore.View, error) {
	if m.left == 0 {
		return kvstore.View{}, errDied
	}
	return m.Store.View(ctx, o)
}

// Update implements kvstore.Store.
func (m *mortal) Update(ctx context.Context, o kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
	if m.left == 0 {
		return 0, errDied
	}
	wrote := false
	rev, err := m.Store.Update(ctx, o, func(tx *kvstore.Tx) error {
		err := fn(tx)
		writes, _ := tx.Writes()
		wrote = len(writes) > 0
		return err
	})
	if err == nil && wrote {
		if m.left--; m.left == 0 {
			return 0, errDied
		}
	}
	return rev, err
}

// home is where an aggregate lives: one instance that dies, another that goes on, and as
// many as one likes that read all of the log first.
type home struct {
	dying, other kvstore.Store
	open         func() (s kvstore.Store, stop func()) // nil: there is no log
	clock        kvtest.Clock
	actors       int // of a group, enough for several commits of each sort
}

func homeInMemory(*testing.T) home {
	clock := kvtest.NewClock()
	s := memkv.New(memkv.Options{Schema: domain.Schema(), Clock: clock, Limits: kvstore.Limits{CommitRows: 4}})
	return home{dying: s, other: s, clock: clock, actors: 4}
}

func homeIn(b bucket) home {
	return home{dying: b.open(), other: b.open(), clock: b.clock, actors: 6, open: func() (kvstore.Store, func()) {
		i := b.open()
		return i, i.stop
	}}
}

// life is what may become of an aggregate.
type life struct {
	name  string
	moves bool // its participants, in the end
	steps func(*group, kvtest.Clock) []command
}

var lives = []life{
	{"staged, committed", true, func(g *group, _ kvtest.Clock) []command {
		return append(g.staging(), g.prepare(false), g.commit(), working())
	}},
	{"inline, committed", true, func(g *group, _ kvtest.Clock) []command {
		return []command{g.prepare(true), g.commit(), working()}
	}},
	{"staged, aborted", false, func(g *group, _ kvtest.Clock) []command {
		return append(g.staging(), g.prepare(false), g.abort(), working())
	}},
	{"inline, overdue", false, func(g *group, c kvtest.Clock) []command {
		return []command{g.prepare(true), passing(c), working()}
	}},
	{"collecting, overdue", false, func(g *group, c kvtest.Clock) []command {
		return append(g.staging(), passing(c), working())
	}},
}

// staging stages in two calls, the latter part first.
func (g *group) staging() []command {
	half := len(g.all) / 2
	return []command{g.stage(half, len(g.all)), g.stage(0, half)}
}

// passing lets all deadlines pass.
func passing(c kvtest.Clock) command {
	return command{"pass", nil, nil, func(context.Context, kvstore.Store, kvstore.Revision) answer {
		c.Advance(61 * time.Second)
		return answer{}
	}}
}

// crash is a life whose process dies, and what a witness of every commit has seen.
type crash struct {
	*testing.T
	home
	life
	*groups
	feed *kvstore.Watcher
	laws *laws
	gaps int // rounds of which not every commit was seen
}

func newCrash(t *testing.T, h home, l life) *crash {
	t.Helper()
	c := &crash{T: t, home: h, life: l, groups: newGroups(t, h.other), laws: newLaws()}
	var err error
	if c.feed, err = h.other.Watch(0); err != nil {
		t.Fatal(err)
	}
	return c
}

// run lets the process die after its n-th commit, and another finish or undo what it has
// left. It returns false when the process lived to the end.
func (c *crash) run(n int) (died bool) {
	c.Helper()
	g := c.group(fmt.Sprint("-", n), c.actors)
	before := latest(c, c.other).Revision()
	died = c.live(g, &mortal{c.dying, n})
	v := latest(c, c.other)
	at, err := g.seen(v)
	if err != nil {
		c.Fatalf("after commit %d: %v", n, err)
	}
	c.opened(v, "after the crash", func(s kvstore.Store) { // the one that finishes has seen none of it
		if n%2 == 0 {
			c.finish(g, s, n)
		}
	})
	if n%2 != 0 {
		c.finish(g, c.other, n)
	}
	end := c.witness(g, before)
	switch repeats := n%4 < 2; {
	case at != 0 && end != at, (repeats || !died) && (end != 0) != c.moves, !repeats && died && end != at:
		c.Fatalf("moved at %d when the process died after %d commits, at %d in the end", at, n, end)
	}
	return died
}

// live makes all requests, until the process dies.
func (c *crash) live(g *group, s kvstore.Store) (died bool) {
	c.Helper()
	for _, step := range c.steps(g, c.home.clock) {
		a := step.do(within(c), s, 0)
		if errors.Is(a.Err, errDied) {
			return true
		}
		if err := errors.Join(step.invalid, a.Err); err != nil {
			c.Fatalf("%s: %v", step.name, err)
		}
	}
	return false
}

// finish repeats all requests, or does only what every instance does of its own accord.
func (c *crash) finish(g *group, s kvstore.Store, n int) {
	c.Helper()
	steps := []command{passing(c.home.clock), working()}
	if n%4 < 2 {
		steps = append(c.steps(g, c.home.clock), working())
	}
	for _, step := range steps {
		if a := step.do(within(c), s, 0); a.Err != nil {
			c.Fatalf("%s, after commit %d: %v", step.name, n, a.Err)
		}
	}
}

// opened lets an instance read the log, which has to come to the same state.
func (c *crash) opened(v kvstore.View, when string, use func(kvstore.Store)) {
	c.Helper()
	if c.open == nil {
		use(c.other)
		return
	}
	s, stop := c.open()
	defer stop()
	wantSame(c, when, v, latest(c, s))
	use(s)
}

// witness looks at every commit since a revision: at each the participants read as
// before or as moved, all of them, and never as before again. It returns the revision at
// which they moved, and requires that nothing else is left. 8.5, 8.6
func (c *crash) witness(g *group, since kvstore.Revision) (moved kvstore.Revision) {
	c.Helper()
	v := latest(c, c.other)
	all := commitsUpTo(c, c.feed, v.Revision())
	whole := untilGap(all)
	if len(whole) < len(all) {
		c.gaps++
	}
	for _, commit := range whole {
		if err := c.laws.check(commit, c.home.clock.Now()); err != nil {
			c.Fatal(err)
		}
		if commit.Revision <= since {
			continue
		}
		at, err := g.seen(commit.After.View(c.home.clock.Now()))
		switch {
		case err != nil:
			c.Fatalf("commit %d: %v", commit.Revision, err)
		case at != moved && at != commit.Revision:
			c.Fatalf("commit %d: moved at %d, before at %d", commit.Revision, at, moved)
		}
		moved = at
		c.events(g, commit, at == commit.Revision)
	}
	if err := g.gone(v); err != nil {
		c.Fatal(err)
	}
	c.opened(v, "in the end", func(kvstore.Store) {})
	end, err := g.seen(v)
	if err != nil || moved != 0 && end != moved {
		c.Fatalf("moved at %d, in the end at %d, %v", moved, end, err)
	}
	return end
}

// events requires that a commit which moves the group says so of every participant, in
// key order, and that every other says nothing. 13
func (c *crash) events(g *group, commit *kvstore.Commit, moves bool) {
	c.Helper()
	var said []string
	for _, e := range eventsOf(c, []*kvstore.Commit{commit}) {
		v := e.Value.(*wire.AuthorityEvent)
		if e.Revision != commit.Revision || v.Change != wire.ChangeUpserted {
			c.Fatalf("commit %d: event %+v", commit.Revision, v)
		}
		said = append(said, v.Key)
	}
	var want []string
	for _, k := range g.keys {
		if moves {
			want = append(want, k.Text())
		}
	}
	if !slices.Equal(said, want) {
		c.Fatalf("commit %d: events of %q, want %q", commit.Revision, said, want)
	}
}

// A process may die after any of the commits that an aggregate takes: another one, which
// has seen them or which reads the log, finishes or undoes it, and no reader of any
// commit ever sees a part of it. 1.1, 8.5, 8.6, Z-03
func TestAggregateOutlivesEveryCrash(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		crashes(t, lives, homeInMemory)
	})
	onServers(t, small, func(t *testing.T, p place) {
		some := lives
		if p.replicas > 1 { // each takes seconds, and what is left behind does not depend on who stores it
			some = []life{lives[0], lives[3]}
		}
		crashes(t, some, func(t *testing.T) home {
			own := p
			own.TB = t
			return homeIn(newBucket(own))
		})
	})
}

func crashes(t *testing.T, some []life, make func(*testing.T) home) {
	for _, l := range some {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			c := newCrash(t, make(t), l)
			n := 1
			for c.run(n) {
				n++
			}
			if n < 6 {
				t.Errorf("it took %d commits only", n-1)
			}
			if 2*c.gaps > n {
				t.Errorf("of %d rounds %d were not seen to the end", n, c.gaps)
			}
			t.Logf("%d commits, %d rounds with gaps", n-1, c.gaps)
		})
	}
}
