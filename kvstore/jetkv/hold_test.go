package jetkv_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/testenv"
)

func TestHeldRowsWaitForRelease(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	s := open(t, node.Connect(t), jetkv.Options{Bucket: bucketName(), Hold: true})
	k := kvtest.Key("a", "1")
	first := s.put(k, "1")
	second := s.put(k, "2")
	third := make(chan kvstore.Revision)
	var wg sync.WaitGroup
	wg.Go(func() { third <- s.put(k, "3") })
	testenv.Eventually(t, patience, func() bool { return s.Stats().Blocked == 1 }, "third version waits")
	other := s.put(kvtest.Key("a", "2"), "x") // does not stand in the way of other rows
	select {
	case rev := <-third:
		t.Errorf("third version was stored at %d before the first was released", rev)
	default:
	}
	s.Release(first)
	if rev := <-third; rev <= other {
		t.Errorf("third version has revision %d, want more than %d", rev, other)
	}
	wg.Wait()
	s.Release(second)
	s.Release(first) // it never goes back
	s.put(k, "4")
	// A caller whose time is over leaves the line.
	ctx, cancel := context.WithCancel(within(t))
	wg.Go(func() {
		if err := kvtest.Increment(ctx, s, kvstore.UpdateOptions{}, k); err == nil {
			t.Error("fifth version was stored")
		}
	})
	testenv.Eventually(t, patience, func() bool { return s.Stats().Blocked == 2 }, "fifth version waits")
	cancel()
	wg.Wait()
	s.Release(s.Status().Revision)
	if got := text(s.latest().Row(k)); got != "4" {
		t.Errorf("row is %q after its caller left", got)
	}
}

// history is what a watcher has seen, as text.
type history struct {
	revisions []kvstore.Revision
	commits   []string
}

func (h *history) add(commits []*kvstore.Commit) {
	for _, c := range commits {
		var line strings.Builder
		line.WriteString(fmt.Sprintf("revision %d by %s, gap %v:", c.Revision, c.Writer, c.Gap))
		for _, e := range c.Entries {
			line.WriteString(fmt.Sprintf(" %q at %d %s -> %s, expired %v, states %s -> %s;", e.Key, e.Revision,
				version(e.Prior), version(e.Row), e.Expired, version(c.Before.Get(e.Key)), version(c.After.Get(e.Key))))
		}
		h.revisions = append(h.revisions, c.Revision)
		h.commits = append(h.commits, line.String())
	}
}

func version(r *kvstore.Row) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%s@%d", r.Value, r.Revision)
}

// follow collects what a store commits and releases it, some commits late as
// long as more of them come, until a key is written. It returns what it released.
func (h *history) follow(s *instance, until kvstore.Key) (released kvstore.Revision) {
	w, err := s.Watch(0)
	if err != nil {
		s.t.Errorf("Watch: %v", err)
		return 0
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for {
		commits := w.Ready()
		lag := rnd.IntN(20)
		if len(commits) == 0 {
			s.Release(h.last())
			if commits, err = w.Next(within(s.t)); err != nil {
				s.t.Errorf("after %d commits: %v", len(h.commits), err)
				return 0
			}
		}
		h.add(commits)
		if commits[len(commits)-1].Entries[0].Key == until {
			s.Release(h.last())
			return h.last()
		}
		if n := len(h.revisions) - lag; n > 0 {
			s.Release(h.revisions[n-1])
		}
	}
}

func (h *history) last() kvstore.Revision {
	if len(h.revisions) == 0 {
		return 0
	}
	return h.revisions[len(h.revisions)-1]
}

// Whatever was not released is in the log: an instance that starts there tells
// of every commit as the one before it did.
func TestHistoryIsHeldOverAReopening(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName(), Hold: true, Clock: kvtest.NewClock()}
	s := open(t, node.Connect(t), o)
	end := kvtest.Key("a", "end")

	var seen history
	var changes, watch sync.WaitGroup
	for c := range 8 {
		changes.Go(func() { s.change(rand.New(rand.NewPCG(uint64(c), 5)), 40) })
	}
	var released kvstore.Revision
	watch.Go(func() { released = seen.follow(s, end) })
	changes.Wait()
	for n := range 5 {
		s.put(kvtest.Key("gone", fmt.Sprint(n)), "x")
		s.update(func(tx *kvstore.Tx) error {
			_, err := tx.Delete(kvtest.Key("gone", fmt.Sprint(n)))
			return err
		})
	}
	s.put(end, "x")
	watch.Wait()

	// From here on nothing is released. The sweep forgets the rows that were
	// removed before, while others are written.
	w, err := s.Watch(released)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(within(t))
	var sweep sync.WaitGroup
	sweep.Go(func() { _ = kvstore.Sweep(ctx, s, slog.New(slog.DiscardHandler)) })
	for round := range 2 {
		for n := range rowsOfChange {
			s.update(func(tx *kvstore.Tx) error {
				if n%3 == round {
					_, err := tx.Delete(changedKey(n))
					return err
				}
				_, err := tx.Put(changedKey(n), []byte("unreleased"), 0)
				return err
			})
		}
	}
	testenv.Eventually(t, patience, func() bool {
		for tombstone := range s.reaches(0).State().Tombstones() {
			if tombstone.Revision <= released {
				return false
			}
		}
		return true
	}, "tombstones forgotten")
	stop()
	sweep.Wait()
	s.put(end, "y")
	last := s.put(end, "z")
	var rest history
	rest.add(w.Ready())
	if rest.last() != last {
		t.Fatalf("watcher is at revision %d, want %d", rest.last(), last)
	}
	s.stop()

	for _, skip := range []int{0, len(rest.commits) / 2} {
		o.HistoryFrom = released
		if skip > 0 {
			o.HistoryFrom = rest.revisions[skip-1]
		}
		again := open(t, node.Connect(t), o)
		w, err := again.Watch(o.HistoryFrom)
		if err != nil {
			t.Fatal(err)
		}
		var got history
		got.add(w.Ready())
		if diff := cmp.Diff(rest.commits[skip:], got.commits); diff != "" {
			t.Errorf("history after %d (-seen +read):\n%s", o.HistoryFrom, diff)
		}
		again.stop()
	}
}

// rowsOfChange is how many rows change makes changes to.
const rowsOfChange = 12

func changedKey(n int) kvstore.Key { return kvtest.Key(fmt.Sprint("s", n%2), fmt.Sprint(n)) }

// change commits a number of random changes.
func (i *instance) change(rnd *rand.Rand, commits int) {
	for n := range commits {
		rows := rnd.Perm(rowsOfChange)[:1+rnd.IntN(3)]
		remove := rnd.IntN(3) == 0
		_, err := i.Update(within(i.t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			for _, row := range rows {
				if remove {
					if _, err := tx.Delete(changedKey(row)); err != nil {
						return err
					}
				} else if _, err := tx.Put(changedKey(row), fmt.Append(nil, "v", n), 0); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			i.t.Errorf("change: %v", err)
			return
		}
	}
}
