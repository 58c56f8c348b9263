package wire_test

import (
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/wire"
)

var (
	sampleFence       = wire.Fence{AggregateID: "move-1", AggregateGeneration: 1<<63 - 1}
	sampleMoves       = wire.AggregateParticipant{AuthorityKey: actorKey, ExpectedStoreVersion: "45", OwnerTransition: wire.OwnerNew, AuthorityPayload: wire.Bytes("moved"), MembershipMutation: wire.Bytes("\x00\xff"), Membership: &sampleJoined}
	sampleStays       = wire.AggregateParticipant{AuthorityKey: roomKey, ExpectedStoreVersion: "44", OwnerTransition: wire.OwnerPreserve, AuthorityPayload: wire.Bytes{}, MembershipMutation: wire.Bytes{}}
	sampleDestination = wire.DescriptorKey{MeshName: "play", RID: "\x00\xff"}
)

// aggregateSamples has the messages about groups of objects.
func aggregateSamples() []sample {
	return slices.Concat(stageSamples(), prepareSamples(), []sample{
		{"aggregate.commit", &wire.AggregateCommitRequest{Fence: sampleFence}},
		{"aggregate.commit.committed", &wire.AggregateCommitReply{Kind: wire.KindCommitted}},
		{"aggregate.commit.already-committed", &wire.AggregateCommitReply{Kind: wire.KindAlreadyCommitted}},
		{"aggregate.commit.stale", &wire.AggregateCommitReply{Kind: wire.KindStale}},
		{"aggregate.commit.exhausted", &wire.AggregateCommitReply{Kind: wire.KindGenerationExhausted}},
		{"aggregate.abort", &wire.AggregateAbortRequest{Fence: sampleFence}},
		{"aggregate.abort.aborted", &wire.AggregateAbortReply{Kind: wire.KindAborted}},
		{"aggregate.abort.already-aborted", &wire.AggregateAbortReply{Kind: wire.KindAlreadyAborted}},
		{"aggregate.abort.stale", &wire.AggregateAbortReply{Kind: wire.KindStale}},
		{"aggregate.find", &wire.AggregateFindRequest{Key: chatKey}},
		{"aggregate.find.prepared", &wire.AggregateFindReply{Kind: wire.KindFound, OwnerTransition: wire.OwnerNew, StoreNow: objectNow, Aggregate: &wire.AggregateStatus{
			Fence: sampleFence, State: wire.AggregatePrepared, Deadline: objectNow + 60000, ParticipantCount: 2,
			TargetDescriptor: sampleDestination, TargetDescriptorLifecycleGeneration: 8, TargetOwner: objectOwner,
		}}},
		{"aggregate.find.committed", &wire.AggregateFindReply{Kind: wire.KindFound, OwnerTransition: wire.OwnerPreserve, StoreNow: objectNow, Aggregate: &wire.AggregateStatus{
			Fence: sampleFence, State: wire.AggregateCommitted, ParticipantCount: 1_000_000,
			TargetDescriptor: sampleDestination, TargetDescriptorLifecycleGeneration: 8, TargetOwner: objectOwner,
		}}},
		{"aggregate.find.missing", &wire.AggregateFindReply{Kind: wire.KindMissing, StoreNow: objectNow}},
	})
}

func stageSamples() []sample {
	return []sample{
		{"aggregate.stage", &wire.AggregateStageRequest{
			Fence: sampleFence, StartIndex: 999_998, Participants: []wire.AggregateParticipant{sampleMoves, sampleStays},
		}},
		{"aggregate.stage-least", &wire.AggregateStageRequest{
			Fence: wire.Fence{AggregateID: "m", AggregateGeneration: 1}, Participants: []wire.AggregateParticipant{sampleStays},
		}},
		{"aggregate.stage.staged", &wire.AggregateStageReply{Kind: wire.KindStaged, Count: 1_000_000}},
		{"aggregate.stage.conflict", &wire.AggregateStageReply{Kind: wire.KindConflict}},
	}
}

func prepareSamples() []sample {
	inline := wire.AggregatePrepareRequest{
		Fence: sampleFence, Participants: []wire.AggregateParticipant{sampleMoves, sampleStays}, InventoryDigest: sampleDigest,
		TargetDescriptor: sampleDestination, TargetDescriptorLifecycleGeneration: 7, Capacity: actorCapacity,
		TargetOwner: objectOwner, PrepareTTL: 3_600_000,
	}
	staged := inline
	staged.Participants, staged.ParticipantCount, staged.PrepareTTL, staged.Capacity = nil, 1_000_000, 0, wire.Capacity{}
	return []sample{
		{"aggregate.prepare", &inline},
		{"aggregate.prepare-staged", &staged},
		{"aggregate.prepare.prepared", &wire.AggregatePrepareReply{Kind: wire.KindPrepared, Fence: &sampleFence}},
		{"aggregate.prepare.already-prepared", &wire.AggregatePrepareReply{Kind: wire.KindAlreadyPrepared, Fence: &wire.Fence{
			AggregateID: strings.Repeat("é", 127), AggregateGeneration: 1,
		}}},
		{"aggregate.prepare.conflict", &wire.AggregatePrepareReply{Kind: wire.KindConflict}},
		{"aggregate.prepare.stale", &wire.AggregatePrepareReply{Kind: wire.KindStale}},
		{"aggregate.prepare.exhausted", &wire.AggregatePrepareReply{Kind: wire.KindGenerationExhausted}},
	}
}
