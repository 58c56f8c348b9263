package domaintest_test

import (
	"bytes"
	"context"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// rapidDice lets rapid choose, which then looks for the shortest history that fails.
type rapidDice struct{ *rapid.T }

func (d rapidDice) roll(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "roll") }

// seededDice makes choices that are always the same.
type seededDice struct{ *rand.Rand }

func (d seededDice) roll(n int) int { return d.IntN(n) }

func newSeeded(seed uint64) seededDice { return seededDice{rand.New(rand.NewPCG(seed, 1))} }

// twins are a store with two instances and the store that they are compared with.
type twins struct {
	t tb
	bucket
	*client
	model     *memkv.Store
	instances [2]*instance
	feeds     [3]*kvstore.Watcher // of the model and of the instances
	laws      *laws
	met       map[string]int // answers by their names
	revision  kvstore.Revision
}

func newTwins(t tb, p place, d dice, met map[string]int) *twins {
	b := newBucket(p)
	w := &twins{
		t: t, bucket: b, client: newClient(d, t.Fatalf), laws: newLaws(), met: met,
		model:     memkv.New(memkv.Options{Schema: domain.Schema(), Clock: b.clock}),
		instances: [2]*instance{b.open(), b.open()},
	}
	w.follow(0, w.model)
	w.follow(1, w.instances[0])
	w.follow(2, w.instances[1])
	return w
}

func (w *twins) follow(i int, s kvstore.Store) {
	var err error
	if w.feeds[i], err = s.Watch(w.revision); err != nil {
		w.t.Fatal(err)
	}
}

func (w *twins) stop() {
	for _, i := range w.instances {
		i.stop()
	}
}

// settle lets every owner begin with a node.
func (w *twins) settle() {
	w.look(w.viewOf(w.model))
	for i, owner := range owners {
		w.ask(changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: owner, TTL: 1_000_000}))
		t, _ := w.live(owner)
		w.ask(publishing(nodeOf(nodes[i], t), wire.IntentNewClaim))
	}
}

// step is one request, or something that nobody asks for.
func (w *twins) step() {
	w.t.Helper()
	switch w.roll(100) {
	case 0:
		w.reopen(w.roll(2))
	case 1, 2, 3, 4:
		w.clock.Advance(time.Duration(pick(w, 1, 10, 50, 50, 1_000, 5_000, 5_000, 300_000)) * time.Millisecond)
		w.look(w.viewOf(w.model))
	default:
		w.ask(w.next())
	}
}

// reopen replaces an instance by one that has to read the whole bucket.
func (w *twins) reopen(i int) {
	w.t.Helper()
	w.instances[i].stop()
	w.instances[i] = w.open()
	w.follow(1+i, w.instances[i])
	wantSame(w.t, "opened anew", w.viewOf(w.model), w.viewAt(w.instances[i], w.revision))
}

// ask makes a request to the model and to one of the instances, and compares.
func (w *twins) ask(c command) {
	w.t.Helper()
	if c.invalid != nil {
		w.t.Fatalf("%s %+v: %v", c.name, c.request, c.invalid)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	should := c.do(ctx, w.model, 0)
	got := c.do(ctx, w.instances[w.roll(2)], should.Revision)
	if !reflect.DeepEqual(should, got) { // which is much faster than a diff
		if diff := cmp.Diff(should, got, sameError); diff != "" {
			w.t.Fatalf("%s %+v: answers differ (-model +store):\n%s", c.name, c.request, diff)
		}
	}
	w.met[strings.TrimSpace(c.name+" "+got.said())]++
	w.laws.know(c, got)
	w.check(should.Revision)
	w.look(w.viewOf(w.model))
}

// sameError compares errors by their texts, which is all that a diff can show of them.
var sameError = cmp.Comparer(func(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
})

// check compares the states at a revision and looks at the commits up to it.
func (w *twins) check(rev kvstore.Revision) {
	w.t.Helper()
	if rev == w.revision {
		return
	}
	should := w.viewOf(w.model).State()
	for i, s := range w.instances {
		if got := w.viewAt(s, rev).State(); !sameRows(should, got) {
			w.t.Fatalf("instance %d differs (-model +store):\n%s", i, cmp.Diff(kvtest.Dump(should), kvtest.Dump(got)))
		}
	}
	var events [3][]domain.Event
	for i, f := range w.feeds {
		commits := commitsUpTo(w.t, f, rev)
		events[i] = eventsOf(w.t, commits)
		if i != 1 {
			continue
		}
		for _, c := range commits {
			if err := w.laws.check(c, w.clock.Now()); err != nil {
				w.t.Fatalf("%v", err)
			}
		}
	}
	for i, e := range events[1:] {
		if diff := cmp.Diff(events[0], e, anyTime); diff != "" {
			w.t.Fatalf("events of instance %d differ (-model +store):\n%s", i, diff)
		}
	}
	w.revision = rev
}

// sameRows compares states row by row.
func sameRows(a, b *kvstore.State) bool {
	others, stop := iter.Pull(b.All())
	defer stop()
	for r := range a.All() {
		o, ok := others()
		if !ok || r.Key != o.Key || r.Revision != o.Revision || r.Expiry != o.Expiry || !bytes.Equal(r.Value, o.Value) ||
			(r.Over == nil) != (o.Over == nil) {
			return false
		}
	}
	return a.Rows() == b.Rows() && a.Revision() == b.Revision()
}

func (w *twins) viewOf(s kvstore.Store) kvstore.View { return w.viewAt(s, 0) }

func (w *twins) viewAt(s kvstore.Store, rev kvstore.Revision) kvstore.View {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	v, err := s.View(ctx, kvstore.ReadOptions{MinRevision: rev})
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// Whatever is asked of two instances in turn, they answer as the reference
// implementation does, have the same rows and push the same events, and every commit
// obeys the laws.
func TestRulesGiveTheSameAnswersOnEveryStore(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		rapid.Check(t, func(r *rapid.T) {
			w := newTwins(r, p, rapidDice{r}, make(map[string]int))
			defer w.stop()
			w.settle()
			r.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) { w.step() }})
		})
	})
}

// The same for long histories, which lead to every answer that matters, so that the
// comparison says something about each.
func TestLongHistoryMeetsEveryAnswer(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	for name, history := range map[string]struct {
		asks  []weighed
		seed  uint64
		steps int
		meets []string
	}{
		"of the directory": {directoryCommands, 10, 3000, answersToMeet},
		"of transfers":     {slices.Concat(transferCommands, []weighed{sweepCommand}), 1, 600, transferAnswers},
		"of aggregates":    {slices.Concat(groupCommands, groupCommands, groupCommands, objectCommands, descriptorCommands), 10, 1200, groupAnswers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTwins(t, oneServer(t), newSeeded(history.seed), make(map[string]int))
			w.asks = history.asks
			w.settle()
			for range history.steps {
				w.step()
			}
			t.Log(w.met)
			for _, name := range history.meets {
				if w.met[name] == 0 {
					t.Errorf("the history did not lead to %q", name)
				}
			}
		})
	}
}
