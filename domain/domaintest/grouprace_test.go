package domaintest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// rivals are two instances of a store, over which groups move.
type rivals struct {
	*testing.T
	bucket
	*groups
	instances [2]*instance
	feed      *kvstore.Watcher
	laws      *laws
}

func newRivals(t *testing.T, p place, edits ...func(*wire.MeshNodeDescriptor)) *rivals {
	t.Helper()
	p.TB = t
	b := newBucket(p)
	r := &rivals{T: t, bucket: b, instances: [2]*instance{b.open(), b.open()}, laws: newLaws()}
	r.groups = newGroups(t, r.instances[0], edits...)
	var err error
	if r.feed, err = r.instances[1].Watch(0); err != nil {
		t.Fatal(err)
	}
	return r
}

// race makes requests at once, each to another instance than the one before, and counts
// what they are answered.
func (r *rivals) race(commands ...command) map[string]int {
	r.Helper()
	answers := make([]answer, len(commands))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range commands {
		wg.Go(func() {
			<-start
			answers[i] = c.do(within(r.T), r.instances[i%2], 0)
		})
	}
	close(start)
	wg.Wait()
	said := make(map[string]int)
	for i, a := range answers {
		if a.Err != nil {
			r.Fatalf("%s: %v", commands[i].name, a.Err)
		}
		said[commands[i].name+" "+a.said()]++
	}
	return said
}

// check looks at every commit since the last call, or at those before some that were
// rewritten before they were read.
func (r *rivals) check() {
	r.Helper()
	rev := latest(r.T, r.instances[1]).Revision()
	for _, c := range untilGap(commitsUpTo(r.T, r.feed, rev)) {
		if err := r.laws.check(c, r.bucket.clock.Now()); err != nil {
			r.Fatal(err)
		}
	}
}

// untilGap are the commits whose states were ever there. In a feed that nobody waits for,
// what comes behind a gap is put together of what is left.
func untilGap(commits []*kvstore.Commit) []*kvstore.Commit {
	for i, c := range commits {
		if c.Gap {
			return commits[:i]
		}
	}
	return commits
}

// seen is the revision at which both instances see a group as moved; 0 for not moved.
func (r *rivals) seen(g *group) kvstore.Revision {
	r.Helper()
	var at [2]kvstore.Revision
	for i, s := range r.instances {
		var err error
		if at[i], err = g.seen(latest(r.T, s)); err != nil {
			r.Fatal(err)
		}
	}
	if at[0] != at[1] {
		r.Fatalf("moved at %d and at %d", at[0], at[1])
	}
	return at[0]
}

// Of the same request at the same time through both instances one is prepared, the others
// find it so. What one instance staged and prepared the other commits. 8.3 rows 2 and 13
func TestEqualPreparesAtOnce(t *testing.T) {
	t.Parallel()
	onServers(t, small, func(t *testing.T, p place) {
		r := newRivals(t, p)
		for n := range 12 {
			g := r.group(fmt.Sprint("-", n), 8)
			inline := n%2 == 0
			if !inline {
				r.race(g.staging()...)
			}
			calls := make([]command, 8)
			for i := range calls {
				calls[i] = g.prepare(inline)
			}
			said := r.race(calls...)
			if said["aggregate.prepare prepared"] != 1 || said["aggregate.prepare alreadyPrepared"] != 7 {
				t.Fatalf("round %d: %v", n, said)
			}
			said = r.race(g.commit(), g.commit(), g.commit(), g.commit())
			if said["aggregate.commit committed"] != 1 || said["aggregate.commit alreadyCommitted"] != 3 || r.seen(g) == 0 {
				t.Fatalf("round %d: %v", n, said)
			}
		}
		r.check()
	})
}

// Of a commit and an abort at the same time exactly one takes effect, and a reservation
// that comes meanwhile never gets the room that the aggregate holds. 8.4, 8.6, 8.7
func TestCommitsRaceWithAborts(t *testing.T) {
	t.Parallel()
	onServers(t, testenv.ServerOptions{}, func(t *testing.T, p place) {
		r := newRivals(t, p)
		met := make(map[string]int)
		for n := range 30 {
			g := r.group(fmt.Sprint("-", n), 2)
			r.answered(g.prepare(true))
			calls := []command{g.commit(), g.abort()}
			if n%2 == 0 {
				calls = []command{g.abort(), g.commit()}
			}
			said := r.race(calls...)
			committed := said["aggregate.commit committed"] == 1 && said["aggregate.abort stale"] == 1
			aborted := said["aggregate.commit stale"] == 1 && said["aggregate.abort aborted"] == 1
			if committed == aborted || (r.seen(g) != 0) != committed {
				t.Fatalf("round %d: %v, moved at %d", n, said, r.seen(g))
			}
			for what := range said {
				met[what]++
			}
		}
		r.check()
		t.Log(met)
	})
}

// Room is given once: to an aggregate that is being prepared or to a reservation, and
// what a prepared one holds nobody gets, whether or not it is committed meanwhile. 1.10,
// 8.3 row 11, 8.4
func TestAggregatesRaceForTheLastPlace(t *testing.T) {
	t.Parallel()
	onServers(t, testenv.ServerOptions{}, func(t *testing.T, p place) {
		const places = 3 // what the rooms of a group take
		r := newRivals(t, p, func(d *wire.MeshNodeDescriptor) { d.PopulationCapacity.SpotTypes[0].Limit = places })
		met := make(map[string]int)
		for n := range 20 {
			g := r.group(fmt.Sprint("-", n), 1)
			id := fmt.Sprint("r-last", n)
			ask := r.reserve(id, 1000+n)
			ask.Target = r.to
			reserve := changing("object.reserve", domain.ValidateObjectReserve, domain.ReserveObject, ask)
			calls := []command{g.prepare(true), reserve}
			if n%2 == 0 {
				calls = []command{reserve, g.prepare(true)}
			}
			said := r.race(calls...)
			first := said["aggregate.prepare prepared"] == 1 && said["object.reserve placementCapacityExhausted"] == 1
			second := said["aggregate.prepare conflict"] == 1 && said["object.reserve reserved"] == 1
			if first == second {
				t.Fatalf("round %d: %v", n, said)
			}
			for what := range said {
				met[what]++
			}
			if first {
				said = r.race(reserve, g.commit(), reserve, reserve)
				if said["object.reserve placementCapacityExhausted"] != 3 || said["aggregate.commit committed"] != 1 {
					t.Fatalf("round %d: %v", n, said)
				}
				r.race(working(), working())
			}
			r.empty()
		}
		r.check()
		t.Log(met)
	})
}

// empty deletes and aborts what is on the target node.
func (r *rivals) empty() {
	r.Helper()
	v := latest(r.T, r.instances[0])
	s, err := count(v)
	if err != nil {
		r.Fatal(err)
	}
	for i := range s.objects {
		a := &s.objects[i].Snapshot
		k, _ := wire.ParseObjectKey(a.Key)
		switch {
		case a.Allocation.Descriptor != r.to.Node() || !k.IsSpot():
		case a.PendingCreation != nil:
			r.answered(changing("object.abort", domain.ValidateObjectAbort, domain.AbortObject, &wire.ObjectAbortRequest{
				Key: k, ReservationID: a.PendingCreation.ReservationID, ExpectedStoreVersion: a.StoreVersion, Target: r.to,
			}))
		default:
			r.answered(changing("authority.compare-exchange", domain.ValidateAuthorityCompareExchange, domain.CompareExchangeAuthority,
				&wire.AuthorityCompareExchangeRequest{
					Key: k, ExpectedStoreVersion: a.StoreVersion, Mutation: wire.AuthorityMutation{Kind: wire.AuthorityDelete},
				}))
		}
	}
}

// Both instances work on what is left, as they always do, at the same time: all of it is
// done within the time that there is, and one that is damaged is named and keeps nobody
// from the rest. 8.1, 8.6
func TestSweepsOfTwoInstances(t *testing.T) {
	t.Parallel()
	onServers(t, small, func(t *testing.T, p place) {
		r := newRivals(t, p)
		moved, overdue, harmed := []*group{}, []*group{}, r.group("-harmed", 4)
		for n := range 4 {
			moved = append(moved, r.group(fmt.Sprint("-moved", n), 8))
			overdue = append(overdue, r.group(fmt.Sprint("-overdue", n), 8))
		}
		for _, g := range overdue {
			r.answered(g.prepare(true))
		}
		r.answered(harmed.prepare(true))
		r.bucket.clock.Advance(61 * time.Second)
		for _, g := range moved {
			r.answered(g.prepare(true))
			r.answered(g.commit())
		}
		harmedKey := domain.AggregateKey(harmed.fence)
		if _, err := r.instances[0].Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			_, err := tx.Put(harmedKey, cutOff(tx.Row(harmedKey).Value), 0)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var logs [2]lines
		stop := r.sweep(&logs)
		for _, s := range r.instances {
			s.Release(latest(t, s).Revision()) // all events are out
		}
		for _, g := range append(moved, overdue...) {
			testenv.Eventually(t, patience, func() bool { return g.gone(latest(t, r.instances[0])) == nil }, "end of", g.fence.AggregateID)
		}
		for i := range logs {
			testenv.Eventually(t, patience, func() bool { return strings.Contains(logs[i].String(), "-harmed") }, "word of the damaged one by instance", i)
		}
		stop()
		for _, g := range moved {
			if r.seen(g) == 0 {
				t.Errorf("%s was not moved", g.fence.AggregateID)
			}
		}
		for _, g := range overdue {
			if r.seen(g) != 0 {
				t.Errorf("%s was moved", g.fence.AggregateID)
			}
		}
		for i := range logs {
			if text := logs[i].String(); strings.Contains(text, "-moved") || strings.Contains(text, "-overdue") {
				t.Errorf("instance %d logs:\n%s", i, text)
			}
		}
	})
}

// lines is a log that many write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sweep lets both instances work on aggregates until it is stopped.
func (r *rivals) sweep(logs *[2]lines) (stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	var wg sync.WaitGroup
	for i, s := range r.instances {
		wg.Go(func() {
			log := slog.New(slog.NewTextHandler(&logs[i], nil))
			if err := domain.SweepAggregates(ctx, s, log); !errors.Is(err, context.Canceled) {
				r.Errorf("sweep: %v", err)
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}
