package domaintest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// impatience is how long a creator waits for an answer before it asks again.
const impatience = 200 * time.Millisecond

// creators create one object after the other over an instance whose connection
// breaks, and over one whose connection does not.
type creators struct {
	*testing.T
	faulty, sound *instance
	owner         wire.OwnerToken
	created       atomic.Int64
	repeated      atomic.Int64 // requests that had to be made again

	mu    sync.Mutex
	ready map[string]*wire.Authority // guarded by mu; what the creators were told
}

// until asks until there is an answer, at first the faulty instance.
func (c *creators) until(ctx context.Context, make func() command) (answer, error) {
	for n := 0; ; n++ {
		s := c.faulty
		if n%3 == 2 {
			s = c.sound
		}
		a, err := c.once(ctx, s, make())
		if err != nil || a.Err == nil {
			return a, err
		}
		c.repeated.Add(1)
	}
}

// once asks an instance, which may fail in the ways in which stores do.
func (c *creators) once(ctx context.Context, s *instance, asked command) (answer, error) {
	if asked.invalid != nil || ctx.Err() != nil {
		return answer{}, errors.Join(asked.invalid, ctx.Err())
	}
	hurried, cancel := context.WithTimeout(ctx, impatience)
	defer cancel()
	a := asked.do(hurried, s, 0)
	if a.Err == nil || errors.Is(a.Err, kvstore.ErrUnknown) || errors.Is(a.Err, kvstore.ErrDeadline) || errors.Is(a.Err, kvstore.ErrUnavailable) {
		return a, nil
	}
	return a, fmt.Errorf("%s: %w", asked.name, a.Err)
}

// again asks the sound instance what was answered already.
func (c *creators) again(ctx context.Context, asked command) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a := asked.do(ctx, c.sound, 0)
	return a, a.Err
}

// create creates an object: the request that reserves it, and the one that ends the
// reservation, are made until they are answered, and then once more.
func (c *creators) create(ctx context.Context, maker, n int) error {
	k := keyOf(fmt.Sprintf("%c%d-%d", "ari"[n%3], maker, n))
	reserve := c.reserving(k, fmt.Sprintf("00000000-0000-4000-8%03d-%012d", maker, n), n%2 == 0)
	first, err := c.until(ctx, reserve)
	if err != nil {
		return err
	}
	reserved := first.Reply.(*wire.ObjectReserveReply)
	if reserved.Kind != wire.KindReserved {
		return fmt.Errorf("reserve %s: %+v", k.Text(), reserved)
	}
	second, err := c.again(ctx, reserve())
	if err != nil {
		return err
	}
	if diff := cmp.Diff(first.Reply, second.Reply); diff != "" {
		return fmt.Errorf("reserve %s again (-first +second):\n%s", k.Text(), diff)
	}
	ready, err := c.end(ctx, reservation{k, reserved.ReservationID, reserved.Creating.StoreVersion, targetOf(reserved.Creating)}, maker, n)
	if err != nil {
		return err
	}
	if ready.ObjectGeneration != reserved.Creating.ObjectGeneration {
		return fmt.Errorf("%s was reserved as generation %d, and is %d", k.Text(), reserved.Creating.ObjectGeneration, ready.ObjectGeneration)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready[k.Text()] = ready
	c.created.Add(1)
	return nil
}

// reserving reserves an object on a node, or wherever there is room; a service draws
// anew for each request.
func (c *creators) reserving(k wire.ObjectKey, id string, anywhere bool) func() command {
	like := newClient(never{}, c.Errorf)
	intent, takes := like.creation(k)
	if anywhere {
		return func() command {
			return placing(&wire.ObjectPlaceRequest{
				Key: k, Intent: intent, MeshName: "play", CreatingPayload: wire.Bytes("creating"), Capacity: takes, ReservationID: id,
			}, domain.Seed{rand.Uint64(), rand.Uint64()})
		}
	}
	target := wire.Target{MeshName: "play", NodeRID: "n1", NodeLifecycleGeneration: 7, Owner: c.owner}
	return func() command {
		return changing("object.reserve", domain.ValidateObjectReserve, domain.ReserveObject, &wire.ObjectReserveRequest{
			Key: k, Intent: intent, Target: target, CreatingPayload: wire.Bytes("creating"), Capacity: takes, ReservationID: id,
		})
	}
}

// never are dice that show nothing special.
type never struct{}

func (never) roll(int) int { return 0 }

// end makes a reserved object ready, and returns its record.
func (c *creators) end(ctx context.Context, r reservation, maker, n int) (*wire.Authority, error) {
	if r.key.IsSpot() {
		return c.commit(ctx, committing(r, wire.Bytes("ready")))
	}
	operation := wire.OperationKey{SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{High: wire.U64(maker + 1), Low: wire.U64(n)}}
	return c.complete(ctx, completing(r, wire.Completion{
		Kind: wire.CompletionCreated, ReadyPayload: wire.Bytes("ready"), Terminal: terminal(operation, wire.Instant(testenv.T0)+10_000),
	}))
}

func (c *creators) commit(ctx context.Context, asked command) (*wire.Authority, error) {
	a, err := c.until(ctx, func() command { return asked })
	if err != nil {
		return nil, err
	}
	first := a.Reply.(*wire.ObjectCommitReply)
	if first.Kind != wire.KindCommitted && first.Kind != wire.KindAlreadyCommitted {
		return nil, fmt.Errorf("%+v: %+v", asked.request, first)
	}
	if a, err = c.again(ctx, asked); err != nil {
		return nil, err
	}
	want := &wire.ObjectCommitReply{Kind: wire.KindAlreadyCommitted, Ready: first.Ready}
	if diff := cmp.Diff(want, a.Reply); diff != "" {
		return nil, fmt.Errorf("commit again (-want +got):\n%s", diff)
	}
	return first.Ready, nil
}

func (c *creators) complete(ctx context.Context, asked command) (*wire.Authority, error) {
	a, err := c.until(ctx, func() command { return asked })
	if err != nil {
		return nil, err
	}
	first := a.Reply.(*wire.ObjectCompleteCreationReply)
	if first.Kind != wire.KindCreated && first.Kind != wire.KindAlreadyCompleted {
		return nil, fmt.Errorf("%+v: %+v", asked.request, first)
	}
	if a, err = c.again(ctx, asked); err != nil {
		return nil, err
	}
	want := &wire.ObjectCompleteCreationReply{Kind: wire.KindAlreadyCompleted, Terminal: first.Terminal}
	if diff := cmp.Diff(want, a.Reply); diff != "" {
		return nil, fmt.Errorf("complete again (-want +got):\n%s", diff)
	}
	v, err := c.sound.View(ctx, kvstore.ReadOptions{Leader: true})
	if err != nil {
		return nil, err
	}
	return domain.ReadAuthority(v, &wire.AuthorityReadRequest{Key: asked.request.(*wire.ObjectCompleteCreationRequest).Key})
}

// run lets some creators create objects while faults happen, and returns when all
// that was begun is done.
func (c *creators) run(faults func()) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 2*patience)
	defer cancel()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for maker := range 8 {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if err := c.create(ctx, maker, n); err != nil {
					c.Errorf("creator %d, object %d: %v", maker, n, err)
					return
				}
			}
		})
	}
	defer wg.Wait()
	defer stop.Store(true)
	faults()
}

// more waits until as many objects have been created that were not when it was called,
// or somebody has failed.
func (c *creators) more(n int64) {
	c.Helper()
	before := c.created.Load()
	testenv.Eventually(c, patience, func() bool { return c.Failed() || c.created.Load() >= before+n }, n, "more objects")
}

// Requests that are repeated until they are answered are carried out once, whatever
// happens to the connection meanwhile: each object is reserved in one commit and made
// ready in another, and all answers are the same. 6.1 row 4, 6.3, 6.4
func TestRepeatedRequestsAreCarriedOutOnce(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	everywhere(t, func(t *testing.T, p place) {
		b := newBucket(p)
		relay := testenv.Proxy(t, p.url)
		c := &creators{T: t, sound: b.open(), faulty: b.openOn(relay.Connect(t, noBuffer)), ready: make(map[string]*wire.Authority)}
		feed, err := c.sound.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		claim := changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: "owner-a", TTL: 1_000_000})
		c.owner = *claim.do(within(t), c.sound, 0).Reply.(*wire.LeaseClaimReply).Token
		for _, k := range nodes[:2] {
			if a := publishing(nodeOf(k, c.owner), wire.IntentNewClaim).do(within(t), c.sound, 0); a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		c.run(func() {
			for range 3 {
				relay.DropReplies(true)
				c.more(8)
				relay.DropReplies(false)
				c.more(8)
				relay.Cut()
				c.more(8)
				relay.Heal()
				c.more(8)
			}
		})
		c.check(feed)
	})
}

// check compares what the creators were told with what is there, and with how it came
// about.
func (c *creators) check(feed *kvstore.Watcher) {
	c.Helper()
	v := latest(c, c.sound)
	s, err := count(v)
	if err != nil {
		c.Fatal(err)
	}
	found := make(map[string]*wire.Authority)
	for i := range s.objects {
		found[s.objects[i].Key] = &s.objects[i].Snapshot
	}
	for _, a := range c.ready {
		a.Kind = "" // one that was read has it
	}
	if diff := cmp.Diff(c.ready, found); diff != "" {
		c.Errorf("objects (-told +found):\n%s", diff)
	}
	writes := make(map[kvstore.Key]int)
	for _, commit := range commitsUpTo(c, feed, v.Revision()) {
		for _, e := range commit.Entries {
			writes[e.Key]++
		}
	}
	for key := range found {
		if n := writes[kvstore.NewKey(domain.FamilyAuthority, key)]; n != 2 {
			c.Errorf("%s was written %d times, want 2", key, n)
		}
	}
	if len(found) == 0 || c.repeated.Load() == 0 {
		c.Errorf("%d objects, %d requests repeated: nothing was tested", len(found), c.repeated.Load())
	}
	c.Logf("%d objects, %d requests repeated", len(found), c.repeated.Load())
}
