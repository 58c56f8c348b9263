package domaintest_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// small are servers whose commits hold few rows, so that everything about an aggregate
// takes several.
var small = testenv.ServerOptions{MaxBatchSize: 10}

// groups is a store in which owner-a has the node n1, and owner-b the node n2. Groups of
// objects move from the one to the other.
type groups struct {
	t        testing.TB
	store    kvstore.Store
	from, to wire.Target
	made     int
}

// forLong is a lease that outlives every deadline of a test.
const forLong = 1_000_000_000

func newGroups(t testing.TB, s kvstore.Store, edits ...func(*wire.MeshNodeDescriptor)) *groups {
	t.Helper()
	w := &groups{t: t, store: s}
	for i, target := range []*wire.Target{&w.from, &w.to} {
		token := *must[wire.LeaseClaimReply](w, changing("lease.claim", domain.ValidateLeaseClaim, domain.ClaimLease,
			&wire.LeaseClaimRequest{OwnerID: owners[i], TTL: forLong})).Token
		d := nodeOf(nodes[i], token)
		if target == &w.to {
			for _, edit := range edits {
				edit(&d)
			}
		}
		w.answered(publishing(d, wire.IntentNewClaim))
		*target = wire.Target{MeshName: nodes[i].MeshName, NodeRID: nodes[i].RID, NodeLifecycleGeneration: 7, Owner: token}
	}
	return w
}

// answered makes a request to the store, which has to be answered.
func (w *groups) answered(c command) answer {
	w.t.Helper()
	a := c.do(within(w.t), w.store, 0)
	if err := errors.Join(c.invalid, a.Err); err != nil {
		w.t.Fatalf("%s %+v: %v", c.name, c.request, err)
	}
	return a
}

// must is the reply to a request that has to be answered.
func must[R any](w *groups, c command) *R {
	w.t.Helper()
	return w.answered(c).Reply.(*R)
}

// ready makes objects on n1, some in each commit.
func (w *groups) ready(ids ...string) (all []*wire.Authority) {
	w.t.Helper()
	for some := range slices.Chunk(ids, max(1, w.store.Limits().CommitRows/2)) {
		made := make([]reservation, len(some))
		w.together(len(some), func(tx *kvstore.Tx, i int) error {
			r, err := domain.ReserveObject(tx, w.reserve(some[i], w.made+i+1))
			if err == nil && r.Kind != wire.KindReserved {
				err = fmt.Errorf("reserve %s: %+v", some[i], r)
			}
			if err == nil {
				made[i] = reservation{keyOf(some[i]), r.ReservationID, r.Creating.StoreVersion, w.from}
			}
			return err
		})
		w.together(len(some), func(tx *kvstore.Tx, i int) error { return w.end(tx, made[i], w.made+i+1) })
		w.made += len(some)
		for _, id := range some {
			all = append(all, w.read(keyOf(id).Text()))
		}
	}
	return all
}

// together does several things in one commit.
func (w *groups) together(n int, do func(*kvstore.Tx, int) error) {
	w.t.Helper()
	_, err := w.store.Update(within(w.t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		for i := range n {
			if err := do(tx, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *groups) reserve(id string, n int) *wire.ObjectReserveRequest {
	k := keyOf(id)
	intent, takes := newClient(never{}, w.t.Fatalf).creation(k)
	return &wire.ObjectReserveRequest{
		Key: k, Intent: intent, Target: w.from, CreatingPayload: wire.Bytes("creating"), Capacity: takes,
		ReservationID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n),
	}
}

// end makes a reserved object ready.
func (w *groups) end(tx *kvstore.Tx, r reservation, n int) error {
	if r.key.IsSpot() {
		reply, err := domain.CommitObject(tx, &wire.ObjectCommitRequest{
			Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, ReadyPayload: wire.Bytes("ready"),
		})
		return answeredAs(reply, err, wire.KindCommitted)
	}
	operation := wire.OperationKey{SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{Low: wire.U64(n)}}
	reply, err := domain.CompleteCreation(tx, &wire.ObjectCompleteCreationRequest{
		Key: r.key, ReservationID: r.id, ExpectedStoreVersion: r.version, Target: r.target, Completion: wire.Completion{
			Kind: wire.CompletionCreated, ReadyPayload: wire.Bytes("ready"), Terminal: terminal(operation, wire.Instant(tx.Now())+10_000),
		},
	})
	return answeredAs(reply, err, wire.KindCreated)
}

// answeredAs is the error of a rule that did not answer as it should.
func answeredAs(reply any, err error, kind wire.Kind) error {
	if said := (answer{Reply: reply, Err: err}).said(); err == nil && said != string(kind) {
		err = fmt.Errorf("answered %s, want %s", said, kind)
	}
	return err
}

// read is the record of an object as events have it.
func (w *groups) read(key string) *wire.Authority {
	w.t.Helper()
	k, err := wire.ParseObjectKey(key)
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := w.store.View(within(w.t), kvstore.ReadOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := domain.ReadAuthority(v, &wire.AuthorityReadRequest{Key: k})
	if err != nil {
		w.t.Fatal(err)
	}
	shown := bare(a)
	return &shown
}

// group is an aggregate of some objects, and how they read before and after.
type group struct {
	fence    wire.Fence
	keys     []wire.ObjectKey // in key order
	before   []*wire.Authority
	all      []wire.AggregateParticipant
	target   wire.Target
	capacity wire.Capacity
}

// group makes a user spot, two rooms and so many actors, which move together, and two
// objects that stay: an instance spot and an actor that joins the user spot.
func (w *groups) group(name string, actors int) *group {
	w.t.Helper()
	g := &group{fence: wire.Fence{AggregateID: name, AggregateGeneration: 1}, target: w.to}
	ids := []string{"r0" + name, "r1" + name, "r2" + name}
	for i := range actors {
		ids = append(ids, fmt.Sprintf("a%d%s", i, name))
	}
	all := w.ready(append(ids, "i0"+name, "az"+name)...)
	g.moves(all[:len(ids)]...)
	g.stays(all[len(ids)], nil)
	g.stays(all[len(ids)+1], &wire.Membership{SpotID: ids[0], SpotGeneration: all[0].ObjectGeneration, SpotKind: wire.MembershipUser})
	g.sort()
	return g
}

// moves lets objects take part that move.
func (g *group) moves(objects ...*wire.Authority) {
	for _, a := range objects {
		g.add(a, wire.OwnerNew)
		c := a.Allocation.Capacity
		g.capacity.Actors += c.Actors
		g.capacity.Spots += c.Spots
		if t := c.SpotType; t != nil {
			if g.capacity.SpotType == nil {
				g.capacity.SpotType = &wire.SpotCapacity{ObjectKind: t.ObjectKind, StableType: t.StableType}
			}
			g.capacity.SpotType.Count += t.Count
		}
	}
}

// stays lets an object take part that stays, and may join a spot.
func (g *group) stays(a *wire.Authority, m *wire.Membership) {
	g.add(a, wire.OwnerPreserve).Membership = m
}

func (g *group) add(a *wire.Authority, t wire.OwnerTransition) *wire.AggregateParticipant {
	k, err := wire.ParseObjectKey(a.Key)
	if err != nil {
		panic(err)
	}
	g.before = append(g.before, a)
	g.all = append(g.all, wire.AggregateParticipant{
		AuthorityKey: k, ExpectedStoreVersion: a.StoreVersion, OwnerTransition: t,
		AuthorityPayload: wire.Bytes("moved " + a.Key), MembershipMutation: wire.Bytes("mutation"),
	})
	return &g.all[len(g.all)-1]
}

func (g *group) sort() {
	slices.SortFunc(g.before, func(a, b *wire.Authority) int { return strings.Compare(a.Key, b.Key) })
	slices.SortFunc(g.all, func(a, b wire.AggregateParticipant) int {
		return strings.Compare(a.AuthorityKey.Text(), b.AuthorityKey.Text())
	})
	for i := range g.all {
		g.keys = append(g.keys, g.all[i].AuthorityKey)
	}
}

// after is how an object reads that was moved at a revision. 8.5
func (g *group) after(i int, c kvstore.Revision) *wire.Authority {
	a, p := *g.before[i], &g.all[i]
	a.StoreVersion, a.Payload = wire.Version(c.String()), p.AuthorityPayload
	if p.Membership != nil {
		a.Membership = p.Membership
	}
	if p.OwnerTransition == wire.OwnerNew {
		allocation := *a.Allocation
		allocation.Descriptor, allocation.DescriptorLifecycleGeneration = g.target.Node(), g.target.NodeLifecycleGeneration
		a.Allocation = &allocation
		a.AuthorityOwnerGeneration = wire.Generation(c)
		a.OwnerID, a.OwnerLeaseGeneration = g.target.Owner.OwnerID, g.target.Owner.LeaseGeneration
	}
	return &a
}

// The requests about a group.

func (g *group) stage(from, to int) command {
	return stepping("aggregate.stage", domain.ValidateAggregateStage, domain.NewStaging, domain.StageAggregate,
		&wire.AggregateStageRequest{Fence: g.fence, StartIndex: uint32(from), Participants: g.all[from:to]})
}

func (g *group) prepare(inline bool) command {
	digest := sha256.Sum256([]byte(g.fence.AggregateID))
	req := &wire.AggregatePrepareRequest{
		Fence: g.fence, InventoryDigest: digest[:], TargetDescriptor: g.target.Node(),
		TargetDescriptorLifecycleGeneration: g.target.NodeLifecycleGeneration, Capacity: g.capacity, TargetOwner: g.target.Owner,
	}
	if inline {
		req.Participants = g.all
	} else {
		req.ParticipantCount = uint32(len(g.all))
	}
	return preparing(req)
}

func preparing(req *wire.AggregatePrepareRequest) command {
	return stepping("aggregate.prepare", domain.ValidateAggregatePrepare, domain.NewPreparation, domain.PrepareAggregate, req)
}

func (g *group) commit() command { return committingGroup(g.fence) }

func committingGroup(f wire.Fence) command {
	return changing("aggregate.commit", domain.ValidateAggregateCommit, domain.CommitAggregate, &wire.AggregateCommitRequest{Fence: f})
}

func (g *group) abort() command { return abortingGroup(g.fence) }

func abortingGroup(f wire.Fence) command {
	return changing("aggregate.abort", domain.ValidateAggregateAbort, domain.AbortAggregate, &wire.AggregateAbortRequest{Fence: f})
}

// working does all that is due about aggregates, with all events out, and answers how
// many commits that took.
func working() command {
	do := func(ctx context.Context, s kvstore.Store, _ kvstore.Revision) answer {
		for n := 0; ; {
			v, err := s.View(ctx, kvstore.ReadOptions{Leader: true})
			if err != nil {
				return answer{Err: err}
			}
			before := v.Revision()
			rev := before
			for f, err := range domain.AggregateWork(v) {
				if err != nil {
					return answer{Err: err}
				}
				steps, last, err := workOn(ctx, s, f, kvstore.MaxRevision)
				if n += steps; err != nil {
					return answer{Err: err}
				}
				rev = max(rev, last)
			}
			if rev == before {
				return answer{n, rev, nil}
			}
		}
	}
	return command{"aggregate-work", nil, nil, do}
}

// workOn does all that is due about one aggregate.
func workOn(ctx context.Context, s kvstore.Store, f wire.Fence, out kvstore.Revision) (steps int, rev kvstore.Revision, err error) {
	at, done := domain.Progress{}, false
	for !done {
		var next domain.Progress
		rev, err = s.Update(ctx, kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
			next, done, err = domain.WorkOnAggregate(tx, f, at, out)
			return err
		})
		if err != nil {
			return steps, rev, err
		}
		at = next
		steps++
	}
	return steps, rev, nil
}

// seen tells at which revision a group reads as moved; 0 when it reads as before. It is
// an error when it is neither: some objects but not all, or something else than the two.
// 8.5
func (g *group) seen(v kvstore.View) (kvstore.Revision, error) {
	first, err := domain.ReadAuthority(v, &wire.AuthorityReadRequest{Key: g.keys[0]})
	if err != nil {
		return 0, err
	}
	var c kvstore.Revision
	if first.StoreVersion != g.before[0].StoreVersion {
		if _, err := fmt.Sscan(string(first.StoreVersion), &c); err != nil {
			return 0, fmt.Errorf("%s of version %q", first.Key, first.StoreVersion)
		}
	}
	for i, k := range g.keys {
		a, err := domain.ReadAuthority(v, &wire.AuthorityReadRequest{Key: k})
		if err != nil {
			return 0, err
		}
		want, shown := g.before[i], bare(a)
		if c != 0 {
			want = g.after(i, c)
		}
		if diff := cmp.Diff(want, &shown); diff != "" {
			return 0, fmt.Errorf("%s at revision %d, moved at %d (-want +got):\n%s", k.Text(), v.Revision(), c, diff)
		}
	}
	return c, nil
}

// gone requires that nothing is left of the group's aggregate but the row that remembers
// it: no lock, nothing staged, no work. 8.6
func (g *group) gone(v kvstore.View) error {
	for _, k := range g.keys {
		r, err := domain.FindAggregate(v, &wire.AggregateFindRequest{Key: k})
		if err != nil || r.Kind != wire.KindMissing {
			return fmt.Errorf("%s takes part: %+v, %v", k.Text(), r, err)
		}
	}
	for _, family := range []string{domain.FamilyInventory, domain.FamilyParticipant} {
		prefix := kvstore.NewKey(family, g.fence.AggregateID, "1") + kvstore.Separator
		for r := range v.Scan(prefix, "") {
			return fmt.Errorf("row %q is left", r.Key)
		}
	}
	for f, err := range domain.AggregateWork(v) {
		if err == nil && f == g.fence {
			return fmt.Errorf("there is work on %+v", f)
		}
	}
	for value := range v.IndexValues("work", "") {
		for r := range v.Index("work", value) {
			if r.Key == domain.AggregateKey(g.fence) {
				return fmt.Errorf("%q is to be worked on", r.Key)
			}
		}
	}
	return nil
}
