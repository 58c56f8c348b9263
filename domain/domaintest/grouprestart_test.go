package domaintest_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// restarts is an instance that lives through a history of aggregates, and others that
// read the log at any point of it.
type restarts struct {
	t tb
	bucket
	*client
	lived *instance
	feed  *kvstore.Watcher
	laws  *laws
	met   map[string]int
}

func newRestarts(t tb, p place, d dice, met map[string]int) *restarts {
	b := newBucket(p)
	r := &restarts{t: t, bucket: b, client: newClient(d, t.Fatalf), lived: b.open(), laws: newLaws(), met: met}
	var err error
	if r.feed, err = r.lived.Watch(0); err != nil {
		t.Fatal(err)
	}
	r.look(r.view())
	for i, owner := range owners {
		r.ask(changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: owner, TTL: forLong}))
		token, _ := r.live(owner)
		r.ask(publishing(nodeOf(nodes[i], token), wire.IntentNewClaim))
	}
	return r
}

func (r *restarts) view() kvstore.View {
	r.t.Helper()
	return (&twins{t: r.t}).viewAt(r.lived, 0)
}

// ask makes a request to the one that lives through it all.
func (r *restarts) ask(c command) {
	r.t.Helper()
	a := c.do(r.t.Context(), r.lived, 0)
	if c.invalid != nil || a.Err != nil {
		r.t.Fatalf("%s %+v: %v, %v", c.name, c.request, c.invalid, a.Err)
	}
	r.met[c.name+" "+a.said()]++
	r.laws.know(c, a)
	r.look(r.view())
}

// step is about aggregates mostly, and about the objects that take part in them.
func (r *restarts) step() {
	r.t.Helper()
	switch n := r.roll(20); {
	case n == 0:
		r.clock.Advance(time.Duration(pick(r, 1, 1_000, 61_000)) * time.Millisecond)
		r.look(r.view())
	case n == 1:
		r.reopened()
	case n < 6:
		r.workSome()
	case n < 9:
		r.ask(r.create())
	case n < 12:
		k := r.key(wire.AllocationActive, objects...)
		r.ask(r.exchange(k, r.mutation(k)))
	case n < 14:
		r.ask(r.prepareInline())
	case n < 15:
		r.ask(r.stageGroup())
	case n < 16:
		r.ask(r.prepareStaged())
	case n < 19:
		r.ask(r.commitGroup())
		if r.once(3) { // nothing is settled yet
			r.reopened()
		}
	default:
		r.ask(r.abortGroup())
	}
}

// create makes an object, or ends what is left of one that was begun.
func (r *restarts) create() command {
	k := r.key("", objects...)
	a := r.object(k)
	switch {
	case a == nil:
		return r.placeObject()
	case a.Allocation.State == wire.AllocationActive:
		return r.findGroup()
	case k.IsSpot():
		return committing(r.toEnd(k), r.payload())
	}
	return completing(r.toEnd(k), wire.Completion{
		Kind: wire.CompletionCreated, ReadyPayload: r.payload(),
		Terminal: terminal(r.operation(), wire.Instant(r.view().Now())+10_000),
	})
}

// workSome does a few steps about what is due, as many as leave something undone.
func (r *restarts) workSome() {
	r.t.Helper()
	steps := 1 + r.roll(3)
	for f, err := range domain.AggregateWork(r.view()) {
		if err != nil {
			r.t.Fatal(err)
		}
		for at, done := (domain.Progress{}), false; !done && steps > 0; steps-- {
			var next domain.Progress
			_, err := r.lived.Update(r.t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
				next, done, err = domain.WorkOnAggregate(tx, f, at, kvstore.MaxRevision)
				return err
			})
			if err != nil {
				r.t.Fatal(err)
			}
			at = next
			r.met["step"]++
		}
	}
	r.look(r.view())
}

// reopened requires that an instance which reads the log now knows what the one knows
// that has seen it grow.
func (r *restarts) reopened() {
	r.t.Helper()
	opened := r.open()
	defer opened.stop()
	v := r.view()
	for value := range v.IndexValues("work", "") {
		for row := range v.Index("work", value) {
			r.met["restart beside "+string(row.Key[:9])]++
		}
	}
	for row := range v.Scan(kvstore.Prefix(domain.FamilyAuthority), "") {
		if row.Over != nil {
			r.met["restart beside an unsettled participant"]++
		}
	}
	wantSame(r.t, "restart", v, (&twins{t: r.t}).viewAt(opened, v.Revision()))
}

// end looks at every commit of the history.
func (r *restarts) end() {
	r.t.Helper()
	r.ask(working())
	r.reopened()
	rev := r.view().Revision()
	for _, commit := range commitsUpTo(r.t, r.feed, rev) {
		if err := r.laws.check(commit, r.clock.Now()); err != nil {
			r.t.Fatalf("%v", err)
		}
	}
}

// At any point of any history, an instance that reads the log has exactly the state of
// the one that lived through it: rows as they read, indexes, sums and stamps. 8.5
func TestRestartKnowsWhatWasCommitted(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	p := oneServerOf(t, small)
	met := make(map[string]int)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRestarts(rt, p, rapidDice{rt}, met)
		defer r.lived.stop()
		for range rapid.IntRange(1, 80).Draw(rt, "steps") { // every step may open the log anew
			r.step()
		}
		r.end()
	})
	t.Log(met)
}

// The same for one long history, which meets everything that matters.
func TestRestartsInALongHistory(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	met := make(map[string]int)
	r := newRestarts(t, oneServerOf(t, small), newSeeded(1), met)
	for range 400 {
		r.step()
	}
	r.end()
	t.Log(met)
	for _, name := range []string{
		"aggregate.commit committed", "aggregate.abort aborted", "aggregate.prepare prepared", "aggregate.stage staged",
		"authority.compare-exchange delete deleted", "authority.compare-exchange put stored", "step",
		"restart beside an unsettled participant",
	} {
		if met[name] == 0 {
			t.Errorf("%s: %d times only", name, met[name])
		}
	}
}
