package wire_test

import (
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/wire"
)

const (
	objectNow         = wire.Instant(1783036800000)
	sampleReservation = "0190a5d2-7c4e-7b1a-9f3e-5a6b7c8d9e0f"
)

var (
	actorKey       = wire.ObjectKey{Kind: wire.ObjectActor, GlobalID: "user:42"}
	roomKey        = wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}
	chatKey        = wire.ObjectKey{Kind: wire.ObjectInstanceSpot, GlobalID: "room:\u00e9"}
	objectOwner    = wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42}
	sampleTarget   = wire.Target{MeshName: "play", NodeRID: "n1", NodeLifecycleGeneration: 7, Owner: objectOwner}
	sampleDigest   = wire.Bytes(strings.Repeat("\x00\xff", 16))
	actorCapacity  = wire.Capacity{Actors: 1}
	roomCapacity   = wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}}
	sampleJoined   = wire.Membership{SpotID: "r1", SpotGeneration: 44, SpotKind: wire.MembershipUser}
	sampleExclude  = []wire.Incarnation{{RID: "n2", LifecycleGeneration: 7}, {RID: "\x00\xff", LifecycleGeneration: 1<<63 - 1}}
	sampleCreation = wire.CreationIntent{
		StableType: "room", RequestContentReference: "requests/1", RequestSHA256: sampleDigest, RequestEncodedSize: 1 << 20,
	}
	sampleOperation = wire.OperationKey{
		SourceNodeRID: "n1", SourceNodeGeneration: 1, OperationID: wire.OperationID{High: 1<<64 - 1, Low: 1},
	}
	sampleTerminal = wire.Terminal{
		Operation: sampleOperation, TerminalEnvelope: wire.Bytes("done"), TerminalEnvelopeSHA256: sampleDigest,
		OperationDeadline: objectNow + 10000,
	}
)

// sampleAuthority returns the record of an actor that has joined a spot, as a reply shows it.
func sampleAuthority() wire.Authority {
	return wire.Authority{
		Key: actorKey.Text(), StoreVersion: "45", Payload: wire.Bytes("payload"), ObjectGeneration: 43,
		AuthorityOwnerGeneration: 43, OwnerID: "owner-a", OwnerLeaseGeneration: 42,
		Allocation: &wire.Allocation{
			State: wire.AllocationActive, ObjectKind: wire.ObjectActor, StableType: "hero",
			Descriptor: wire.DescriptorKey{MeshName: "play", RID: "n1"}, DescriptorLifecycleGeneration: 7, Capacity: actorCapacity,
		},
		Phase: wire.PhaseSteady, Membership: &sampleJoined, Live: new(true), StoreNow: objectNow,
	}
}

// sampleReserved returns the record of a spot that is being created, on a node whose routing id is no text.
func sampleReserved() wire.Authority {
	return wire.Authority{
		Key: roomKey.Text(), StoreVersion: "44", Payload: wire.Bytes{}, ObjectGeneration: 44,
		AuthorityOwnerGeneration: 44, OwnerID: "owner-a", OwnerLeaseGeneration: 42,
		Allocation: &wire.Allocation{
			State: wire.AllocationReserved, ObjectKind: wire.ObjectUserSpot, StableType: "room",
			Descriptor: wire.DescriptorKey{MeshName: "play", RID: "\x00\xff"}, DescriptorLifecycleGeneration: 7, Capacity: roomCapacity,
		},
		PendingCreation: &wire.PendingCreation{
			ReservationID: sampleReservation, RequestContentReference: "requests/1", RequestSHA256: sampleDigest,
		},
		Phase: wire.PhaseSteady, Live: new(false), StoreNow: objectNow,
	}
}

// missingAuthority is the answer for an object that is not there.
func missingAuthority() wire.Authority {
	return wire.Authority{Kind: wire.KindMissing, StoreNow: objectNow}
}

// asSnapshot returns a record as authority.read answers it.
func asSnapshot(a wire.Authority) wire.Authority {
	a.Kind = wire.KindSnapshot
	return a
}

// sampleTerminalRecord returns the stored outcome of a creation.
func sampleTerminalRecord(state wire.CompletionKind) wire.TerminalRecord {
	return wire.TerminalRecord{
		State: state, Operation: sampleOperation, ReservationID: sampleReservation, ObjectKind: wire.ObjectActor,
		TerminalEnvelope: wire.Bytes{}, TerminalEnvelopeSHA256: sampleDigest, ExpiresAt: objectNow + 310000, StoreNow: objectNow,
	}
}

// allObjectSamples has the messages about authorities, the creation of objects, their placement and groups of them.
func allObjectSamples() []sample {
	return slices.Concat(authoritySamples(), mutationSamples(), reserveSamples(), creationSamples(), lookupSamples(), placementSamples(), aggregateSamples())
}

func authoritySamples() []sample {
	snapshot, reserved, missing := asSnapshot(sampleAuthority()), asSnapshot(sampleReserved()), missingAuthority()
	head := wire.EventHead{Revision: 45, Kind: wire.EventAuthority, Change: wire.ChangeUpserted, StoreTime: objectNow}
	removed := head
	removed.Change = wire.ChangeRemoved
	value := sampleAuthority()
	value.Live, value.StoreNow = nil, 0
	return []sample{
		{"authority.read", &wire.AuthorityReadRequest{Key: actorKey}},
		{"authority.read-instance-spot", &wire.AuthorityReadRequest{Key: chatKey}},
		{"authority.read.snapshot", &snapshot},
		{"authority.read.reserved", &reserved},
		{"authority.read.missing", &missing},
		{"authority.list", &wire.AuthorityListRequest{Prefix: "zla1:a:", Cursor: "c", Limit: 1000}},
		{"authority.list-least", &wire.AuthorityListRequest{Limit: 1}},
		{"authority.list.page", &wire.AuthorityListReply{
			Kind: wire.KindPage, NextCursor: "d", Items: []wire.AuthorityItem{
				{Key: actorKey.Text(), Snapshot: sampleAuthority()}, {Key: roomKey.Text(), Snapshot: sampleReserved()},
			},
		}},
		{"authority.list.last", &wire.AuthorityListReply{Kind: wire.KindPage, Items: []wire.AuthorityItem{}}},
		{"authority.list.expired", &wire.AuthorityListReply{Kind: wire.KindScanExpired}},
		{"event.authority", &wire.AuthorityEvent{EventHead: head, Key: actorKey.Text(), Value: &value}},
		{"event.authority-removed", &wire.AuthorityEvent{EventHead: removed, Key: roomKey.Text()}},
	}
}

func mutationSamples() []sample {
	next := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 50}
	change := func(name string, m wire.AuthorityMutation) sample {
		return sample{"authority.compare-exchange-" + name, &wire.AuthorityCompareExchangeRequest{
			Key: actorKey, ExpectedStoreVersion: "45", Mutation: m,
		}}
	}
	stored, current, missing := sampleAuthority(), asSnapshot(sampleReserved()), missingAuthority()
	stored.Kind = wire.KindStored
	return []sample{
		change("put", wire.AuthorityMutation{
			Kind: wire.AuthorityPut, Payload: wire.Bytes("new"), GenerationTransition: wire.GenerationPreserve,
			Phase: wire.PhaseClosing, Membership: &sampleJoined,
		}),
		change("put-least", wire.AuthorityMutation{
			Kind: wire.AuthorityPut, Payload: wire.Bytes{}, GenerationTransition: wire.GenerationPreserve,
		}),
		change("rebind", wire.AuthorityMutation{
			Kind: wire.AuthorityRebind, Payload: wire.Bytes("new"), ExpectedOwner: &objectOwner, TargetOwner: &next,
		}),
		change("restore", wire.AuthorityMutation{
			Kind: wire.AuthorityRestore, Payload: wire.Bytes("old"), ExpectedOwner: &objectOwner, Phase: wire.PhaseRecovering,
		}),
		change("reincarnate", wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: wire.Bytes("anew")}),
		change("delete", wire.AuthorityMutation{Kind: wire.AuthorityDelete}),
		{"authority.compare-exchange.stored", &wire.AuthorityCompareExchangeReply{Authority: stored}},
		{"authority.compare-exchange.deleted", &wire.AuthorityCompareExchangeReply{
			Authority: wire.Authority{Kind: wire.KindDeleted, StoreVersion: "45", StoreNow: objectNow},
		}},
		{"authority.compare-exchange.conflict", &wire.AuthorityCompareExchangeReply{
			Authority: wire.Authority{Kind: wire.KindConflict}, Current: &current,
		}},
		{"authority.compare-exchange.conflict-missing", &wire.AuthorityCompareExchangeReply{
			Authority: wire.Authority{Kind: wire.KindConflict}, Current: &missing,
		}},
		{"authority.compare-exchange.exhausted", &wire.AuthorityCompareExchangeReply{
			Authority: wire.Authority{Kind: wire.KindGenerationExhausted},
		}},
	}
}

func reserveSamples() []sample {
	creating, current, missing := sampleReserved(), asSnapshot(sampleAuthority()), missingAuthority()
	return []sample{
		{"object.reserve", &wire.ObjectReserveRequest{
			Key: roomKey, Intent: sampleCreation, Target: sampleTarget, CreatingPayload: wire.Bytes("creating"),
			Capacity: roomCapacity, ReservationID: sampleReservation, EndedOwner: wire.EndedOwnerRelease,
		}},
		{"object.reserve-least", &wire.ObjectReserveRequest{
			Key: actorKey, Target: sampleTarget, CreatingPayload: wire.Bytes{}, Capacity: actorCapacity,
			Intent: wire.CreationIntent{StableType: "hero", RequestContentReference: "r", RequestSHA256: sampleDigest},
		}},
		{"object.reserve.reserved", &wire.ObjectReserveReply{
			Kind: wire.KindReserved, ReservationID: sampleReservation, Creating: &creating,
		}},
		{"object.reserve.already-exists", &wire.ObjectReserveReply{Kind: wire.KindAlreadyExists, Current: &current}},
		{"object.reserve.type-mismatch", &wire.ObjectReserveReply{Kind: wire.KindTypeMismatch, Current: &current}},
		{"object.reserve.conflict", &wire.ObjectReserveReply{
			Kind: wire.KindConflict, Current: &missing, Reason: wire.ReasonTargetUnavailable,
		}},
		{"object.reserve.unavailable", &wire.ObjectReserveReply{
			Kind: wire.KindUnavailable, Current: &current, Reason: wire.ReasonMemberNotSteady,
		}},
		{"object.reserve.no-room", &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted}},
		{"object.reserve.exhausted", &wire.ObjectReserveReply{Kind: wire.KindGenerationExhausted}},
		{"object.place", &wire.ObjectPlaceRequest{
			Key: roomKey, Intent: sampleCreation, MeshName: "play", CreatingPayload: wire.Bytes("creating"), Capacity: roomCapacity,
			Exclude: sampleExclude, ReservationID: sampleReservation, EndedOwner: wire.EndedOwnerKeep,
		}},
		{"object.place-least", &wire.ObjectPlaceRequest{
			Key: actorKey, MeshName: "play", CreatingPayload: wire.Bytes{}, Capacity: actorCapacity,
			Intent: wire.CreationIntent{StableType: "hero", RequestContentReference: "r", RequestSHA256: sampleDigest},
		}},
		{"object.place.reserved", &wire.ObjectReserveReply{
			Kind: wire.KindReserved, ReservationID: sampleReservation, Creating: &creating, Target: &sampleTarget,
		}},
		{"object.place.no-target", &wire.ObjectReserveReply{Kind: wire.KindNoTarget}},
	}
}

func creationSamples() []sample {
	complete := func(name string, c wire.Completion) sample {
		return sample{"object.complete-creation-" + name, &wire.ObjectCompleteCreationRequest{
			Key: actorKey, ReservationID: sampleReservation, ExpectedStoreVersion: "44", Target: sampleTarget, Completion: c,
		}}
	}
	ready, created, failed := sampleAuthority(), sampleTerminalRecord(wire.CompletionCreated), sampleTerminalRecord(wire.CompletionFailed)
	return []sample{
		{"object.commit", &wire.ObjectCommitRequest{
			Key: roomKey, ReservationID: sampleReservation, ExpectedStoreVersion: "44", Target: sampleTarget, ReadyPayload: wire.Bytes("ready"),
		}},
		{"object.commit.committed", &wire.ObjectCommitReply{Kind: wire.KindCommitted, Ready: &ready}},
		{"object.commit.already-committed", &wire.ObjectCommitReply{Kind: wire.KindAlreadyCommitted, Ready: &ready}},
		{"object.commit.stale", &wire.ObjectCommitReply{Kind: wire.KindStale}},
		{"object.abort", &wire.ObjectAbortRequest{
			Key: roomKey, ReservationID: sampleReservation, ExpectedStoreVersion: "44", Target: sampleTarget,
		}},
		{"object.abort.aborted", &wire.ObjectAbortReply{Kind: wire.KindAborted}},
		{"object.abort.already-aborted", &wire.ObjectAbortReply{Kind: wire.KindAlreadyAborted}},
		{"object.release-ended", &wire.ObjectReleaseEndedRequest{Key: roomKey, ExpectedStoreVersion: wire.Version(strings.Repeat("v", 64))}},
		{"object.release-ended.released", &wire.ObjectReleaseEndedReply{Kind: wire.KindReleased}},
		complete("created", wire.Completion{
			Kind: wire.CompletionCreated, ReadyPayload: wire.Bytes("ready"), Membership: &sampleJoined, Terminal: sampleTerminal,
		}),
		complete("created-least", wire.Completion{
			Kind: wire.CompletionCreated, ReadyPayload: wire.Bytes{}, Terminal: sampleTerminal,
		}),
		complete("rejected", wire.Completion{Kind: wire.CompletionRejected, Terminal: sampleTerminal}),
		complete("failed", wire.Completion{Kind: wire.CompletionFailed, Terminal: sampleTerminal}),
		{"object.complete-creation.created", &wire.ObjectCompleteCreationReply{
			Kind: wire.KindCreated, Ready: &ready, Terminal: &created,
		}},
		{"object.complete-creation.failed", &wire.ObjectCompleteCreationReply{Kind: wire.KindFailed, Terminal: &failed}},
		{"object.complete-creation.already-completed", &wire.ObjectCompleteCreationReply{
			Kind: wire.KindAlreadyCompleted, Terminal: &created,
		}},
		{"object.complete-creation.stale", &wire.ObjectCompleteCreationReply{Kind: wire.KindStale}},
	}
}

func lookupSamples() []sample {
	record := sampleTerminalRecord(wire.CompletionRejected)
	entry := wire.ObjectEntry{
		GlobalID: "user:42", ObjectGeneration: 43, MeshName: "play", NodeRID: "\x00\xff", State: wire.EntryUnavailable, StableType: "hero",
	}
	page := wire.Page{ContinuationToken: "t", Revision: 44, StoreNow: objectNow}
	return []sample{
		{"object.read-terminal", &wire.ObjectReadTerminalRequest{Operation: sampleOperation}},
		{"object.read-terminal.found", &wire.ObjectReadTerminalReply{Kind: wire.KindFound, Record: &record}},
		{"object.read-terminal.missing", &wire.ObjectReadTerminalReply{Kind: wire.KindMissing, StoreNow: objectNow}},
		{"object.find", &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r1"}},
		{"object.find.found", &wire.ObjectFindReply{Kind: wire.KindFound, Entry: &entry}},
		{"object.find.missing", &wire.ObjectFindReply{Kind: wire.KindMissing, StoreNow: objectNow}},
		{"object.list", &wire.ObjectListRequest{
			ObjectKind: wire.ObjectInstanceSpot, StableType: "chat", MeshName: "play",
			PageRequest: wire.PageRequest{PageSize: 1000, ContinuationToken: "t", LiveOnly: true},
		}},
		{"object.list-least", &wire.ObjectListRequest{ObjectKind: wire.ObjectActor}},
		{"object.list.reply", &wire.ObjectListReply{Items: []wire.ObjectEntry{entry}, Page: page}},
		{"object.await", &wire.ObjectAwaitRequest{Key: actorKey, Until: wire.AwaitChanged, SinceVersion: "44"}},
		{"object.await-settled", &wire.ObjectAwaitRequest{Key: roomKey, Until: wire.AwaitSettled}},
	}
}

func placementSamples() []sample {
	return []sample{
		{"placement.select", &wire.PlacementSelectRequest{
			MeshName: "play", ObjectKind: wire.ObjectInstanceSpot, StableType: "chat", Exclude: sampleExclude, Capacity: wire.Capacity{
				Spots: 1<<31 - 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotInstance, StableType: "chat", Count: 1<<31 - 1},
			},
		}},
		{"placement.select-least", &wire.PlacementSelectRequest{
			MeshName: "play", ObjectKind: wire.ObjectActor, StableType: "hero", Capacity: actorCapacity,
		}},
		{"placement.select.selected", &wire.PlacementSelectReply{Kind: wire.KindSelected, Target: &sampleTarget}},
		{"placement.select.none", &wire.PlacementSelectReply{Kind: wire.KindNone, Reason: wire.ReasonNoCapability}},
	}
}
