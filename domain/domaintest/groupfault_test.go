package domaintest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// movers move one group each to and fro, over an instance whose connection breaks, and
// over one whose connection does not.
type movers struct {
	*creators
	world *groups
}

// again is another aggregate of the same objects, as they are after a commit, to a node.
func (g *group) again(n int, target wire.Target, c kvstore.Revision) *group {
	next := &group{fence: wire.Fence{AggregateID: g.fence.AggregateID, AggregateGeneration: wire.Generation(n)}, target: target}
	for i := range g.all {
		a := g.after(i, c)
		if g.all[i].OwnerTransition == wire.OwnerNew {
			next.moves(a)
		} else {
			next.stays(a, g.all[i].Membership)
		}
	}
	next.sort()
	return next
}

// move moves a group; every request is made until it is answered.
func (m *movers) move(ctx context.Context, g *group) (kvstore.Revision, error) {
	for _, step := range []struct {
		command
		first, repeated wire.Kind
	}{
		{g.stage(0, len(g.all)), wire.KindStaged, wire.KindStaged},
		{g.prepare(false), wire.KindPrepared, wire.KindAlreadyPrepared},
		{g.commit(), wire.KindCommitted, wire.KindAlreadyCommitted},
	} {
		a, err := m.until(ctx, func() command { return step.command })
		if err != nil {
			return 0, err
		}
		if kind := wire.Kind(a.said()); kind != step.first && kind != step.repeated {
			return 0, fmt.Errorf("%s: %s", step.name, kind)
		}
	}
	v, err := m.sound.View(ctx, kvstore.ReadOptions{Leader: true})
	if err != nil {
		return 0, err
	}
	c, err := g.seen(v)
	if err == nil && c == 0 {
		err = fmt.Errorf("%+v is committed, and did not move", g.fence)
	}
	return c, err
}

// run moves groups while faults happen, and returns how often each was.
func (m *movers) run(all []*group, faults func()) (moves []int) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), 2*patience)
	defer cancel()
	var stop atomic.Bool
	var wg sync.WaitGroup
	moves = make([]int, len(all))
	for i, g := range all {
		wg.Go(func() {
			for n := 1; !stop.Load(); n++ {
				c, err := m.move(ctx, g)
				if err != nil {
					m.Errorf("group %d, move %d: %v", i, n, err)
					return
				}
				target := m.world.from
				if n%2 == 0 {
					target = m.world.to
				}
				moves[i] = n
				m.created.Add(1)
				g = g.again(n+1, target, c)
			}
		})
	}
	faults()
	stop.Store(true)
	wg.Wait()
	return moves
}

// Requests about aggregates that are repeated until they are answered are carried out
// once, whatever happens to the connection meanwhile: each aggregate is committed in one
// commit, and moves all of its objects in that. 8.2, 8.3 row 2, 8.6 row 2
func TestRepeatedRequestsMoveOnce(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		b := newBucket(p)
		relay := testenv.Proxy(t, p.url)
		m := &movers{creators: &creators{T: t, sound: b.open(), faulty: b.openOn(relay.Connect(t, noBuffer))}}
		feed, err := m.sound.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		m.world = newGroups(t, m.sound)
		var all []*group
		for i := range 4 {
			all = append(all, m.world.group(fmt.Sprint("-", i), 2))
		}
		moves := m.run(all, func() {
			for range 3 {
				relay.DropReplies(true)
				m.more(4)
				relay.DropReplies(false)
				m.more(4)
				relay.Cut()
				m.more(4)
				relay.Heal()
				m.more(4)
			}
		})
		m.check(feed, b, all, moves)
	})
}

// check counts the commits that moved something, and the events that they gave.
func (m *movers) check(feed *kvstore.Watcher, b bucket, all []*group, moves []int) {
	m.Helper()
	l := newLaws()
	commits, events := make(map[string]int), make(map[string]int)
	seen := commitsUpTo(m, feed, latest(m, m.sound).Revision())
	whole := untilGap(seen)
	for _, c := range whole {
		if err := l.check(c, b.clock.Now()); err != nil {
			m.Fatal(err)
		}
		for _, e := range c.Entries {
			if e.Key.HasPrefix(kvstore.Prefix(domain.FamilyAggregate)) && len(e.Overlaid) > 0 {
				commits[e.Key.Split(3)[1]]++
			}
		}
		for _, e := range eventsOf(m, []*kvstore.Commit{c}) {
			if v, ok := e.Value.(*wire.AuthorityEvent); ok {
				events[v.Key]++
			}
		}
	}
	for i, g := range all {
		if len(whole) < len(seen) {
			m.Logf("of %d commits %d were read: they are not counted", len(seen), len(whole))
			break
		}
		if commits[g.fence.AggregateID] != moves[i] || moves[i] == 0 {
			m.Errorf("%d commits moved group %d, want %d", commits[g.fence.AggregateID], i, moves[i])
		}
		for _, k := range g.keys {
			if n := events[k.Text()] - 2; n != moves[i] { // two of them made it
				m.Errorf("%d events of the moves of %s, want %d", n, k.Text(), moves[i])
			}
		}
	}
	if m.repeated.Load() == 0 {
		m.Error("no request was repeated: nothing was tested")
	}
	m.Logf("%v moves, %d requests repeated", moves, m.repeated.Load())
}
