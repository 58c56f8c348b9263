package histories_test

import (
	"testing"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// groupStory is a right history of two rooms that move from one node to another as one.
type groupStory struct {
	*story
	group         *group
	prepared      *call
	listed        *call
	found         *call
	committed     *call
	reads         []*call // after the commit, of both
	before, moved []wire.Authority
	target        wire.MeshNodeDescriptor
}

func newGroupStory() *groupStory {
	s := &groupStory{story: &story{owner: wire.OwnerToken{OwnerID: "o1", LeaseGeneration: 1}}}
	s.told(subjects.LeaseClaim, claimBy("c1"), 1, &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &s.owner})
	s.changes(&event{revision: 1, kind: wire.EventOwnerLease, change: wire.ChangeUpserted, key: "o1", lease: &wire.OwnerLease{OwnerToken: s.owner}})
	s.node = s.publish("n1", 2)
	s.target = s.publish("n2", 3)
	s.exist("r1", 4)
	s.exist("r2", 6)
	s.move()
	return s
}

// publish adds a node that takes two rooms.
func (s *groupStory) publish(rid wire.RID, revision uint64) wire.MeshNodeDescriptor {
	d := (&caller{Rand: plan{}.dice(0), rec: &recorder{}}).descriptor(rid, s.owner)
	d.LifecycleGeneration, d.Generation = 1, wire.Generation(revision)
	d.PopulationCapacity.Spots.Limit = 2
	s.told(subjects.MeshNodeUpdate, &wire.MeshNodeUpdateRequest{Descriptor: d, Intent: wire.IntentNewClaim}, revision,
		&wire.UpdateReply{Status: wire.StatusStored, Generation: d.Generation})
	s.changes(&event{revision: revision, kind: wire.EventMeshNode, change: wire.ChangeUpserted, key: string(rid), node: &d})
	return d
}

// exist adds a room, reserved at a revision and committed at the next.
func (s *groupStory) exist(id string, revision uint64) {
	reserved, ready := s.record(revision, "creating"), s.record(revision+1, "ready")
	for _, a := range []*wire.Authority{&reserved, &ready} {
		a.Key, a.ObjectGeneration, a.AuthorityOwnerGeneration = room(id).Text(), wire.Generation(revision), wire.Generation(revision)
	}
	reserved.Allocation.State, reserved.PendingCreation = wire.AllocationReserved, &wire.PendingCreation{ReservationID: id}
	s.told(subjects.ObjectReserve, s.reserve(id, id), revision, &wire.ObjectReserveReply{
		Kind: wire.KindReserved, ReservationID: id, Creating: &reserved,
	})
	s.stores(revision, &reserved)
	s.told(subjects.ObjectCommit, &wire.ObjectCommitRequest{
		Key: room(id), ReservationID: id, ExpectedStoreVersion: reserved.StoreVersion, Target: s.story.target(),
		ReadyPayload: wire.Bytes("ready"),
	}, revision+1, &wire.ObjectCommitReply{Kind: wire.KindCommitted, Ready: &ready})
	s.stores(revision+1, &ready)
	s.before = append(s.before, ready)
}

// move prepares the group at revision 8 and commits it at 9.
func (s *groupStory) move() {
	s.group = &group{
		n: 1, fence: wire.Fence{AggregateID: "g1", AggregateGeneration: 1}, inline: true,
		target: wire.Target{MeshName: mesh, NodeRID: "n2", NodeLifecycleGeneration: 1, Owner: s.owner},
	}
	for _, a := range s.before {
		k, _ := wire.ParseObjectKey(a.Key)
		s.group.participants = append(s.group.participants, wire.AggregateParticipant{
			AuthorityKey: k, ExpectedStoreVersion: a.StoreVersion, OwnerTransition: wire.OwnerNew,
			AuthorityPayload: wire.Bytes("moved " + a.Key), MembershipMutation: wire.Bytes{},
		})
	}
	s.prepared = s.ofGroup(subjects.AggregatePrepare, &wire.AggregatePrepareRequest{Fence: s.group.fence, Participants: s.group.participants}, 8,
		&wire.AggregatePrepareReply{Kind: wire.KindPrepared, Fence: &s.group.fence})
	s.listed = s.told(subjects.MeshNodeList, &wire.MeshNodeListRequest{MeshName: mesh}, 8, &wire.MeshNodeListReply{Items: []wire.MeshNodeItem{
		s.item(s.node, wire.Usage{Limit: 2, Active: 2}), s.item(s.target, wire.Usage{Limit: 2, Reserved: 2}),
	}})
	s.found = s.told(subjects.AggregateFind, &wire.AggregateFindRequest{Key: room("r1")}, 8, &wire.AggregateFindReply{
		Kind: wire.KindFound, Aggregate: &wire.AggregateStatus{Fence: s.group.fence, State: wire.AggregatePrepared},
	})
	s.committed = s.ofGroup(subjects.AggregateCommit, &wire.AggregateCommitRequest{Fence: s.group.fence}, 9,
		&wire.AggregateCommitReply{Kind: wire.KindCommitted})
	for i, a := range s.before {
		alloc := *a.Allocation
		alloc.Descriptor.RID = "n2"
		a.Allocation, a.StoreVersion, a.AuthorityOwnerGeneration, a.Payload = &alloc, "9", 9, wire.Bytes("moved "+a.Key)
		s.moved = append(s.moved, a)
		s.changes(&event{revision: 9, index: uint64(i), kind: wire.EventAuthority, change: wire.ChangeUpserted, key: a.Key, object: &a})
	}
	for i, id := range []string{"r1", "r2"} {
		s.reads = append(s.reads, s.told(subjects.AuthorityRead, &wire.AuthorityReadRequest{Key: room(id)}, 9, snapshot(s.moved[i])))
	}
}

func (s *groupStory) item(d wire.MeshNodeDescriptor, spots wire.Usage) wire.MeshNodeItem {
	d.PopulationCapacity.Spots = spots
	return wire.MeshNodeItem{MeshNodeDescriptor: d, RowState: wire.RowState{Live: true}}
}

// ofGroup adds a call on the group.
func (s *groupStory) ofGroup(op subjects.Operation, req any, revision uint64, reply any) *call {
	c := s.told(op, req, revision, reply)
	c.group = s.group
	return c
}

func TestRightGroupIsAccepted(t *testing.T) {
	t.Parallel()
	s := newGroupStory()
	wantNothing(t, s.story)
}

// TestWrongGroupsAreRefused changes one thing in the history of a group.
func TestWrongGroupsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*groupStory)
		want string
	}{
		{"half of the group moves", func(s *groupStory) { s.reads[1].reply = snapshot(s.before[1]) }, "history of object r2"},
		{"half of the group is told of", func(s *groupStory) { s.events = s.events[:len(s.events)-1] }, "no change of zla1:s:2:r2"},
		{"an object changes while it is locked", func(s *groupStory) {
			a := s.before[0]
			a.StoreVersion, a.Payload = "8", wire.Bytes("put")
			s.found.op, s.found.request, s.found.reply = subjects.AuthorityCompareExchange, putting("5", "put"), stored(a)
			last := len(s.events) - 2
			s.events = append(s.events[:last:last], append([]*event{{
				revision: 8, kind: wire.EventAuthority, change: wire.ChangeUpserted, key: a.Key, object: &a,
			}}, s.events[last:]...)...)
		}, "history of object r1"},
		{"a lock is denied", func(s *groupStory) {
			s.found.reply = &wire.AggregateFindReply{Kind: wire.KindMissing}
		}, "history of object r1"},
		{"room is not reserved", func(s *groupStory) {
			s.listed.reply.(*wire.MeshNodeListReply).Items[1].PopulationCapacity.Spots.Reserved = 0
		}, "history of node n2"},
		{"a group moves to where there is no room", func(s *groupStory) {
			for _, e := range s.events {
				if e.key == "n2" {
					e.node.PopulationCapacity.Spots.Limit = 1
				}
			}
			s.calls[2].request.(*wire.MeshNodeUpdateRequest).Descriptor.PopulationCapacity.Spots.Limit = 1
		}, "history of node n2"},
		{"a commit without preparation", func(s *groupStory) {
			s.prepared.reply = &wire.AggregatePrepareReply{Kind: wire.KindConflict}
		}, "history of aggregate g1"},
		{"a refusal without a reason", func(s *groupStory) {
			s.prepared.reply = &wire.AggregatePrepareReply{Kind: wire.KindConflict}
		}, `answered "conflict", want ["prepared"]`},
		{"an abort after the commit", func(s *groupStory) {
			s.ofGroup(subjects.AggregateAbort, &wire.AggregateAbortRequest{Fence: s.group.fence}, 9, &wire.AggregateAbortReply{Kind: wire.KindAborted})
		}, "history of aggregate g1"},
		{"two commits", func(s *groupStory) {
			s.ofGroup(subjects.AggregateCommit, &wire.AggregateCommitRequest{Fence: s.group.fence}, 9, &wire.AggregateCommitReply{Kind: wire.KindCommitted})
		}, "history of aggregate g1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newGroupStory()
			tt.edit(s)
			wantFault(t, s.story, tt.want)
		})
	}
}
