package jetkv_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
		line := fmt.Sprintf("revision %d by %s, gap %v:", c.Revision, c.Writer, c.Gap)
		for _, e := range c.Entries {
			line += fmt.Sprintf(" %q at %d %s -> %s, expired %v, states %s -> %s;", e.Key, e.Revision,
				version(e.Prior), version(e.Row), e.Expired, version(c.Before.Get(e.Key)), version(c.After.Get(e.Key)))
		}
		h.revisions = append(h.revisions, c.Revision)
		h.commits = append(h.commits, line)
	}
}

func version(r *kvstore.Row) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%s@%d", r.Value, r.Revision)
}

// follow collects what a store commits and releases it, some commits late as
// long as more of them come, until there is nothing more after the end.
func (h *history) follow(s *instance, ended <-chan struct{}) {
	w, err := s.Watch(0)
	if err != nil {
		s.t.Errorf("Watch: %v", err)
		return
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for {
		commits := w.Ready()
		h.add(commits)
		n := len(h.revisions)
		if lag := rnd.IntN(20); len(commits) > 0 && lag < n {
			s.Release(h.revisions[n-1-lag])
			continue
		}
		if n > 0 {
			s.Release(h.revisions[n-1])
		}
		ctx, cancel := context.WithCancel(within(s.t))
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			select {
			case <-ended:
				cancel()
			case <-ctx.Done():
			}
		}()
		commits, err := w.Next(ctx)
		cancel()
		<-stop
		h.add(commits)
		if err != nil {
			if ready := w.Ready(); len(ready) == 0 {
				return
			} else {
				h.add(ready)
			}
		}
	}
}

// Whatever was not released is in the log: an instance that starts there tells
// of every commit as the one before it did.
func TestHistoryIsHeldOverAReopening(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	clock := kvtest.NewClock()
	o := jetkv.Options{Bucket: bucketName(), Hold: true, Clock: clock}
	s := open(t, node.Connect(t), o)
	ctx, stopSweep := context.WithCancel(within(t))
	var sweep, changes, watch sync.WaitGroup
	sweep.Go(func() { _ = kvstore.Sweep(ctx, s, slog.New(slog.DiscardHandler)) })
	ended := make(chan struct{})
	for c := range 8 {
		changes.Go(func() { change(t, s, clock, rand.New(rand.NewPCG(uint64(c), 5)), ended) })
	}
	var seen history
	watch.Go(func() {
		seen.follow(t, s, 0, func(kvstore.Revision) bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		}, true)
	})
	// The sweep forgets removed rows after two seconds: it has to take part.
	testenv.Eventually(t, patience, func() bool { return forgotten(s) > 20 }, "tombstones forgotten")
	close(ended)
	changes.Wait()
	stopSweep()
	sweep.Wait()
	s.put(kvtest.Key("a", "last"), "x") // wakes the watcher
	watch.Wait()
	released := seen.revisions[max(0, len(seen.revisions)-30)]
	s.stop()

	for _, from := range []kvstore.Revision{released, seen.revisions[len(seen.revisions)-3]} {
		o.HistoryFrom = from
		again := open(t, node.Connect(t), o)
		w, err := again.Watch(from)
		if err != nil {
			t.Fatal(err)
		}
		var got, want history
		got.add(w.Ready())
		for i, rev := range seen.revisions {
			if rev > from {
				want.commits = append(want.commits, seen.commits[i])
			}
		}
		if diff := cmp.Diff(want.commits, got.commits); diff != "" {
			t.Errorf("history after %d (-seen +read):\n%s", from, diff)
		}
		again.stop()
	}
}

// change commits random changes until the channel is closed.
func change(t testing.TB, s *instance, clock kvtest.Clock, rnd *rand.Rand, ended <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-ended:
			return
		default:
		}
		keys := rnd.Perm(12)[:1+rnd.IntN(3)]
		remove, expiry := rnd.IntN(3) == 0, clock.Now()+kvstore.Instant(rnd.IntN(3))
		_, err := s.Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			for _, n := range keys {
				k := kvtest.Key(fmt.Sprint("s", n%2), fmt.Sprint(n))
				if remove {
					if _, err := tx.Delete(k); err != nil {
						return err
					}
				} else if _, err := tx.Put(k, []byte(fmt.Sprint("v", i)), expiry); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("change: %v", err)
			return
		}
		clock.Advance(1e6)
	}
}

// forgotten counts what the sweep has removed from the log: positions that hold
// neither a row nor a tombstone tell of it, the rows of stamps too.
func forgotten(s *instance) kvstore.Revision {
	state := s.committed().State()
	if r := state.Get(kvstore.NewKey("stamp", "s0")); r != nil {
		return r.Revision
	}
	return 0
}

func (i *instance) committed() kvstore.View {
	i.t.Helper()
	return i.reaches(0)
}
