package domain_test

import (
	"fmt"
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

func joiningIn(m wire.Membership) func(*wire.AggregateParticipant) {
	return func(p *wire.AggregateParticipant) { p.Membership = &m }
}

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

// workOnce does one step about every aggregate that is due; false when there was none.
func (w *world) workOnce() bool {
	w.t.Helper()
	before := w.view().Revision()
	for f, err := range domain.AggregateWork(w.view()) {
		if err != nil {
			w.t.Fatal(err)
		}
		for at, done := (domain.Progress{}), false; !done; {
			err := w.update(func(tx *kvstore.Tx) (err error) {
				at, done, err = domain.WorkOnAggregate(tx, f, at, kvstore.MaxRevision)
				return err
			})
			if err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return w.view().Revision() != before
}

// readyRooms are n rooms on a node, "r00000" and so on.
func (w *world) readyRooms(n int, rid wire.RID, owner wire.OwnerToken) []*wire.Authority {
	w.t.Helper()
	all := make([]*wire.Authority, n)
	for i := range all {
		all[i] = w.ready(fmt.Sprintf("r%05d", i), rid, owner)
	}
	return all
}
