package domaintest_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/wire"
)

// crowd is many clients of two instances, all at the same time. The clock stands still
// while they are at it, so that it is known at which instant a commit was decided.
type crowd struct {
	*testing.T
	bucket
	instances [2]*instance
	feeds     [2]*kvstore.Watcher
	clients   []*client
	dice      dice

	laws    *laws
	records map[string]*wire.Authority // all that were ever stored, by key and version, from events
	now     map[string]*wire.Authority // those that are stored, from events
	spent   map[string]bool            // versions that a change was based on
}

// exchange is a request and its answer.
type exchange struct {
	command
	answer
}

func newCrowd(t *testing.T, p place, size int) *crowd {
	t.Helper()
	b := newBucket(p)
	c := &crowd{
		T: t, bucket: b, instances: [2]*instance{b.open(), b.open()}, dice: newSeeded(100), laws: newLaws(),
		records: make(map[string]*wire.Authority), now: make(map[string]*wire.Authority), spent: make(map[string]bool),
	}
	for i, s := range c.instances {
		var err error
		if c.feeds[i], err = s.Watch(0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range size {
		c.clients = append(c.clients, newClient(newSeeded(uint64(i)), c.leave))
	}
	return c
}

// leave fails the test and ends the goroutine of a client.
func (c *crowd) leave(format string, args ...any) {
	c.T.Errorf(format, args...)
	runtime.Goexit()
}

// settle lets every owner begin with nodes.
func (c *crowd) settle() {
	c.T.Helper()
	var done []exchange
	s := c.instances[0]
	for i, owner := range owners {
		claim := changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: owner, TTL: 1_000_000})
		claimed := claim.do(within(c.T), s, 0)
		token := *claimed.Reply.(*wire.LeaseClaimReply).Token
		publish := publishing(nodeOf(nodes[i], token), wire.IntentNewClaim)
		done = append(done, exchange{claim, claimed}, exchange{publish, publish.do(within(c.T), s, 0)})
	}
	c.check(done)
}

// round lets every client make some requests, and checks what came of it.
func (c *crowd) round(requests int) {
	c.T.Helper()
	made := make([][]exchange, len(c.clients))
	var wg sync.WaitGroup
	for i, one := range c.clients {
		wg.Go(func() {
			for range requests {
				made[i] = append(made[i], c.request(one, c.instances[i%2]))
			}
		})
	}
	wg.Wait()
	c.check(slices.Concat(made...))
	c.clock.Advance(time.Duration(pick(c.dice, 1, 50, 1_000, 5_000, 300_000)) * time.Millisecond)
}

// request makes one request of a client that sees what an instance has at hand.
func (c *crowd) request(one *client, s kvstore.Store) exchange {
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	v, err := s.View(ctx, kvstore.ReadOptions{})
	if err != nil {
		c.leave("View: %v", err)
	}
	one.look(v)
	next := one.next()
	a := next.do(ctx, s, v.Revision())
	var invalid *wire.InvalidError
	if next.invalid != nil || a.Err != nil && !errors.As(a.Err, &invalid) {
		c.leave("%s %+v: %v, %v", next.name, next.request, next.invalid, a.Err)
	}
	return exchange{next, a}
}

// check looks at the commits of a round, and at the answers that tell of them.
func (c *crowd) check(made []exchange) {
	c.T.Helper()
	for _, e := range made {
		c.laws.know(e.command, e.answer)
	}
	rev := latest(c.T, c.instances[0]).Revision()
	commits := commitsUpTo(c.T, c.feeds[0], rev)
	for _, commit := range commits {
		if err := c.laws.check(commit, c.clock.Now()); err != nil {
			c.T.Fatal(err)
		}
	}
	events := eventsOf(c.T, commits)
	if diff := cmp.Diff(events, eventsOf(c.T, commitsUpTo(c.T, c.feeds[1], rev)), anyTime); diff != "" {
		c.T.Fatalf("the instances push different events:\n%s", diff)
	}
	c.apply(events)
	for _, e := range made {
		c.checkFound(e)
		c.checkSpent(e)
	}
}

// apply does what a subscriber does who wants to know all records.
func (c *crowd) apply(events []domain.Event) {
	for _, e := range events {
		v, ok := e.Value.(*wire.AuthorityEvent)
		switch {
		case !ok:
		case e.Change == wire.ChangeUpserted:
			c.records[recordOf(v.Value)], c.now[v.Key] = v.Value, v.Value
		default:
			delete(c.now, v.Key)
		}
	}
}

// recordOf names a version of a record: participants of an aggregate share theirs.
func recordOf(a *wire.Authority) string { return a.Key + " " + string(a.StoreVersion) }

// checkFound requires that every record that somebody was shown had been stored just
// like that: no reservation and no commit that was acknowledged is lost.
func (c *crowd) checkFound(e exchange) {
	c.T.Helper()
	for _, a := range e.snapshots() {
		if a == nil || a.Kind == wire.KindMissing {
			continue
		}
		shown := bare(a)
		if diff := cmp.Diff(c.records[recordOf(a)], &shown); diff != "" {
			c.T.Errorf("%s %+v: shown is what was never stored (-stored +shown):\n%s", e.name, e.request, diff)
		}
	}
}

// bare is a record as events have it.
func bare(a *wire.Authority) wire.Authority {
	b := *a
	b.Kind, b.Live, b.StoreNow = "", nil, 0
	return b
}

// checkSpent requires that no version of a record was changed twice.
func (c *crowd) checkSpent(e exchange) {
	c.T.Helper()
	v := e.based()
	if v == "" {
		return
	}
	if c.spent[v] {
		c.T.Errorf("%s %+v: the version was changed before", e.name, e.request)
	}
	c.spent[v] = true
}

// based is the version that a change was based on; empty when there was none.
func (e exchange) based() string {
	of := func(changed bool, k wire.ObjectKey, v wire.Version) string {
		if !changed {
			return ""
		}
		return k.Text() + " " + string(v)
	}
	switch q := e.request.(type) {
	case *wire.AuthorityCompareExchangeRequest:
		kind := e.Reply.(*wire.AuthorityCompareExchangeReply).Kind
		return of(kind == wire.KindStored || kind == wire.KindDeleted, q.Key, q.ExpectedStoreVersion)
	case *wire.ObjectCommitRequest:
		return of(e.Reply.(*wire.ObjectCommitReply).Kind == wire.KindCommitted, q.Key, q.ExpectedStoreVersion)
	case *wire.ObjectAbortRequest:
		return of(e.Reply.(*wire.ObjectAbortReply).Kind == wire.KindAborted, q.Key, q.ExpectedStoreVersion)
	case *wire.ObjectReleaseEndedRequest:
		return of(e.Reply.(*wire.ObjectReleaseEndedReply).Kind == wire.KindReleased, q.Key, q.ExpectedStoreVersion)
	case *wire.ObjectCompleteCreationRequest:
		r, ok := e.Reply.(*wire.ObjectCompleteCreationReply)
		return of(ok && r.Kind != wire.KindStale && r.Kind != wire.KindAlreadyCompleted, q.Key, q.ExpectedStoreVersion)
	}
	return ""
}

// end requires that everybody sees the same once nobody does anything any more: both
// instances, one that reads the whole bucket, and a subscriber.
func (c *crowd) end() {
	c.T.Helper()
	want := latest(c.T, c.instances[0])
	rows := kvtest.Dump(want.State())
	now, err := count(want)
	if err != nil {
		c.T.Fatal(err)
	}
	for i, s := range []*instance{c.instances[1], c.open()} {
		v := latest(c.T, s)
		if diff := cmp.Diff(rows, kvtest.Dump(v.State())); diff != "" {
			c.T.Errorf("instance %d differs (-first +it):\n%s", i+1, diff)
		}
		its, err := count(v)
		if err != nil {
			c.T.Fatal(err)
		}
		if diff := cmp.Diff(now, its, cmp.AllowUnexported(census{}, ownedRow{})); diff != "" {
			c.T.Errorf("the lists of instance %d differ (-first +it):\n%s", i+1, diff)
		}
		if err := sumsOfRows(nil, &its); err != nil {
			c.T.Errorf("instance %d: %v", i+1, err)
		}
	}
	listed := make(map[string]*wire.Authority)
	for i := range now.objects {
		a := bare(&now.objects[i].Snapshot)
		listed[a.Key] = &a
	}
	if diff := cmp.Diff(listed, c.now); diff != "" {
		c.T.Errorf("a subscriber has other records (-listed +it):\n%s", diff)
	}
}

// However many clients of two instances get in each other's way, every commit obeys
// the laws and every answer tells the truth.
func TestCrowdsObeyTheLaws(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		c := newCrowd(t, p, 8)
		c.settle()
		for range 10 {
			c.round(20)
		}
		c.end()
		t.Logf("%d records were stored, %d are left", len(c.records), len(c.now))
	})
}
