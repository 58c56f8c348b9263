package domain_test

import (
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// fence names the generation 1 of an aggregate.
func fence(id string) wire.Fence { return wire.Fence{AggregateID: id, AggregateGeneration: 1} }

// takesPart is what an aggregate does to an object: it moves, and gets the payload "moved".
func takesPart(s *wire.Authority, edits ...func(*wire.AggregateParticipant)) wire.AggregateParticipant {
	k, err := wire.ParseObjectKey(s.Key)
	if err != nil {
		panic(err)
	}
	p := wire.AggregateParticipant{
		AuthorityKey: k, ExpectedStoreVersion: s.StoreVersion, OwnerTransition: wire.OwnerNew,
		AuthorityPayload: wire.Bytes("moved"), MembershipMutation: wire.Bytes("mutation"),
	}
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func preserved(p *wire.AggregateParticipant) { p.OwnerTransition = wire.OwnerPreserve }

// inKeyOrder is what an aggregate does to objects, in key order.
func inKeyOrder(all ...wire.AggregateParticipant) []wire.AggregateParticipant {
	slices.SortFunc(all, func(a, b wire.AggregateParticipant) int {
		return strings.Compare(a.AuthorityKey.Text(), b.AuthorityKey.Text())
	})
	return all
}

// rooms is the capacity of n rooms.
func rooms(n uint32) wire.Capacity {
	if n == 0 {
		return wire.Capacity{}
	}
	c := spotsOf(wire.SpotUser, "room")
	c.Spots, c.SpotType.Count = n, n
	return c
}

// prepareRequest asks for an aggregate that brings its participants with it.
func prepareRequest(f wire.Fence, target wire.Target, c wire.Capacity, all []wire.AggregateParticipant,
	edits ...func(*wire.AggregatePrepareRequest),
) *wire.AggregatePrepareRequest {
	req := &wire.AggregatePrepareRequest{
		Fence: f, Participants: all, InventoryDigest: digestOf(f.AggregateID), TargetDescriptor: target.Node(),
		TargetDescriptorLifecycleGeneration: target.NodeLifecycleGeneration, Capacity: c, TargetOwner: target.Owner,
	}
	for _, edit := range edits {
		edit(req)
	}
	return req
}

// counted makes a request one for staged participants.
func counted(n uint32) func(*wire.AggregatePrepareRequest) {
	return func(req *wire.AggregatePrepareRequest) { req.Participants, req.ParticipantCount = nil, n }
}

// steps runs a rule of several commits to its end.
func steps[Q, B, R any](w *world, validate func(*Q) error, bind func(*Q) (*B, error), rule func(*kvstore.Tx, *B) (*R, error), req *Q) (*R, error) {
	w.t.Helper()
	if err := validate(req); err != nil {
		return nil, err
	}
	bound, err := bind(req)
	if err != nil {
		return nil, err
	}
	for {
		if reply, err := try(w, rule, bound); err != nil || reply != nil {
			return reply, err
		}
	}
}

func (w *world) stage(f wire.Fence, start uint32, all []wire.AggregateParticipant) *wire.AggregateStageReply {
	w.t.Helper()
	reply, err := steps(w, domain.ValidateAggregateStage, domain.NewStaging, domain.StageAggregate,
		&wire.AggregateStageRequest{Fence: f, StartIndex: start, Participants: all})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

func (w *world) prepare(req *wire.AggregatePrepareRequest) *wire.AggregatePrepareReply {
	w.t.Helper()
	reply, err := steps(w, domain.ValidateAggregatePrepare, domain.NewPreparation, domain.PrepareAggregate, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

// prepared prepares an aggregate.
func (w *world) prepared(req *wire.AggregatePrepareRequest) {
	w.t.Helper()
	want(w.t, w.prepare(req), &wire.AggregatePrepareReply{Kind: wire.KindPrepared, Fence: &req.Fence})
}

func (w *world) commitAggregate(f wire.Fence) wire.Kind {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateAggregateCommit, domain.CommitAggregate, &wire.AggregateCommitRequest{Fence: f})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Kind
}

func (w *world) abortAggregate(f wire.Fence) wire.Kind {
	w.t.Helper()
	reply, err := tryValid(w, domain.ValidateAggregateAbort, domain.AbortAggregate, &wire.AggregateAbortRequest{Fence: f})
	if err != nil {
		w.t.Fatal(err)
	}
	return reply.Kind
}

// work does everything that is due about aggregates, with all events out.
func (w *world) work() {
	w.t.Helper()
	for w.workOnce() {
	}
}

// workOnce works on every aggregate that is due; false when nothing was written.
func (w *world) workOnce() bool {
	w.t.Helper()
	before := w.view().Revision()
	for f, err := range domain.AggregateWork(w.view()) {
		if err != nil {
			w.t.Fatal(err)
		}
		w.workOn(f, kvstore.MaxRevision)
	}
	return w.view().Revision() != before
}

// workOn does everything about an aggregate that there is to be done for now, with the
// events up to a revision out, and returns how many commits that took.
func (w *world) workOn(f wire.Fence, out kvstore.Revision) (commits int) {
	w.t.Helper()
	for at, done := (domain.Progress{}), false; !done; {
		before := w.view().Revision()
		err := w.update(func(tx *kvstore.Tx) (err error) {
			at, done, err = domain.WorkOnAggregate(tx, f, at, out)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if w.view().Revision() != before {
			commits++
		}
	}
	return commits
}

// aggregateWorld is creationWorld, with a look at everything derived after every commit.
func aggregateWorld(t tb, edits ...func(*wire.MeshNodeDescriptor)) (w *world, a, b wire.OwnerToken) {
	t.Helper()
	w, a, b = creationWorld(t, edits...)
	w.once = newDerived()
	return w, a, b
}

// twoRooms are r1 and r2 on n1, which take part by moving to n2.
func twoRooms(t tb, edits ...func(*wire.MeshNodeDescriptor)) (w *world, a, b wire.OwnerToken, all []wire.AggregateParticipant) {
	t.Helper()
	w, a, b = aggregateWorld(t, edits...)
	return w, a, b, inKeyOrder(takesPart(w.ready("r1", "n1", a)), takesPart(w.ready("r2", "n1", a)))
}

// takingPart is what authority.read answers of the objects that take part.
func (w *world) takingPart(all []wire.AggregateParticipant) (snapshots []*wire.Authority) {
	w.t.Helper()
	for i := range all {
		snapshots = append(snapshots, read(w, domain.ReadAuthority, &wire.AuthorityReadRequest{Key: all[i].AuthorityKey}))
	}
	return snapshots
}

// unlocked requires that an object is in no aggregate that is prepared, or not settled.
func (w *world) unlocked(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		want(w.t, w.partOf(id), &wire.AggregateFindReply{Kind: wire.KindMissing, StoreNow: wire.Instant(w.clock.Now())})
	}
}

// unprepared requires that a request is refused, changes nothing about any object or
// node, and locks nothing. Staged participants are all that it may leave.
func (w *world) unprepared(req *wire.AggregatePrepareRequest, kind wire.Kind) {
	w.t.Helper()
	objects, nodes := w.snapshots(), w.list()
	refused := &wire.AggregatePrepareReply{Kind: kind}
	want(w.t, w.prepare(req), refused)
	w.quiet(func() { want(w.t, w.prepare(req), refused) })
	want(w.t, w.snapshots(), objects)
	want(w.t, w.list(), nodes)
}

// movedTo is what an object of owner-b's node n2 is expected to read as from a commit on.
func movedTo(s *wire.Authority, c kvstore.Revision, target wire.Target) *wire.Authority {
	m, at := *s, *s.Allocation
	m.Kind = wire.KindSnapshot
	at.Descriptor, at.DescriptorLifecycleGeneration = target.Node(), target.NodeLifecycleGeneration
	m.Allocation, m.Payload, m.StoreVersion = &at, wire.Bytes("moved"), wire.Version(c.String())
	m.AuthorityOwnerGeneration, m.OwnerID, m.OwnerLeaseGeneration = wire.Generation(c), target.Owner.OwnerID, target.Owner.LeaseGeneration
	return &m
}

// stayed is what a preserve participant is expected to read as from a commit on.
func stayed(s *wire.Authority, c kvstore.Revision) *wire.Authority {
	m := *s
	m.Kind, m.Payload, m.StoreVersion = wire.KindSnapshot, wire.Bytes("moved"), wire.Version(c.String())
	return &m
}

// committedNow commits an aggregate and returns the revision of that.
func (w *world) committedNow(f wire.Fence) kvstore.Revision {
	w.t.Helper()
	before := w.view().Revision()
	want(w.t, w.commitAggregate(f), wire.KindCommitted)
	want(w.t, w.view().Revision(), before+1) // 8.6: one row
	return before + 1
}
