package histories_test

import (
	"strconv"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// story is a history made up by hand, one call after the other, none of which anything is wrong with.
type story struct {
	calls  []*call
	events []*event

	owner wire.OwnerToken
	node  wire.MeshNodeDescriptor
	// What happens to a room: it is reserved, made ready, and changed, the last time by a call of unknown outcome.
	reserved, ready, changed, last wire.Authority
}

// The calls of a story, by what they are about.
const (
	claims = iota
	publishes
	reserves
	commits
	puts
	reads5
	exhausted
	lists
	doubtful
	reads6
	deletes
	finds
	releases
	unavailable
	claimsAgain
)

func newStory() *story {
	s := &story{owner: wire.OwnerToken{OwnerID: "o1", LeaseGeneration: 1}}
	s.node = (&caller{Rand: plan{}.dice(0), rec: &recorder{}}).descriptor("n1", s.owner)
	s.node.LifecycleGeneration, s.node.Generation = 1, 2
	s.node.PopulationCapacity.Spots.Limit = 1
	s.told(subjects.LeaseClaim, claimBy("c1"), 1, &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &s.owner})
	s.changes(&event{revision: 1, kind: wire.EventOwnerLease, change: wire.ChangeUpserted, key: "o1", lease: &wire.OwnerLease{OwnerToken: s.owner}})
	s.told(subjects.MeshNodeUpdate, &wire.MeshNodeUpdateRequest{Descriptor: s.node, Intent: wire.IntentNewClaim}, 2,
		&wire.UpdateReply{Status: wire.StatusStored, Generation: 2})
	s.changes(&event{revision: 2, kind: wire.EventMeshNode, change: wire.ChangeUpserted, key: "n1", node: &s.node})
	s.create()
	s.change()
	s.end()
	return s
}

func claimBy(id string) *wire.LeaseClaimRequest {
	return &wire.LeaseClaimRequest{OwnerID: "o1", TTL: leaseTTL, ClaimID: id}
}

func room(id string) wire.ObjectKey { return wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id} }

// create has the room reserved and made ready.
func (s *story) create() {
	s.reserved = s.record(3, "creating")
	s.reserved.Allocation.State = wire.AllocationReserved
	s.reserved.PendingCreation = &wire.PendingCreation{ReservationID: "first"}
	s.told(subjects.ObjectReserve, s.reserve("r1", "first"), 3, &wire.ObjectReserveReply{
		Kind: wire.KindReserved, ReservationID: "first", Creating: &s.reserved,
	})
	s.stores(3, &s.reserved)
	s.ready = s.record(4, "ready")
	s.told(subjects.ObjectCommit, &wire.ObjectCommitRequest{
		Key: room("r1"), ReservationID: "first", ExpectedStoreVersion: "3", Target: s.target(), ReadyPayload: wire.Bytes("ready"),
	}, 4, &wire.ObjectCommitReply{Kind: wire.KindCommitted, Ready: &s.ready})
	s.stores(4, &s.ready)
}

// change has the room changed twice, while another finds no place on the node.
func (s *story) change() {
	s.changed = s.record(5, "put")
	s.told(subjects.AuthorityCompareExchange, putting("4", "put"), 5, stored(s.changed))
	s.stores(5, &s.changed)
	s.told(subjects.AuthorityRead, &wire.AuthorityReadRequest{Key: room("r1")}, 5, snapshot(s.changed))
	s.told(subjects.ObjectReserve, s.reserve("r2", "second"), 5, &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted})
	item := wire.MeshNodeItem{MeshNodeDescriptor: s.node, RowState: wire.RowState{Live: true}}
	item.PopulationCapacity.Spots.Active = 1
	s.told(subjects.MeshNodeList, &wire.MeshNodeListRequest{MeshName: mesh}, 5, &wire.MeshNodeListReply{Items: []wire.MeshNodeItem{item}})
	s.told(subjects.AuthorityCompareExchange, putting("5", "last"), 0, nil).outcome = unknown
	s.last = s.record(6, "last")
	s.stores(6, &s.last)
	s.told(subjects.AuthorityRead, &wire.AuthorityReadRequest{Key: room("r1")}, 6, snapshot(s.last))
}

// end has the room deleted, and the lease released and claimed anew.
func (s *story) end() {
	s.told(subjects.AuthorityCompareExchange, &wire.AuthorityCompareExchangeRequest{
		Key: room("r1"), ExpectedStoreVersion: "6", Mutation: wire.AuthorityMutation{Kind: wire.AuthorityDelete},
	}, 7, &wire.AuthorityCompareExchangeReply{Authority: wire.Authority{Kind: wire.KindDeleted, StoreVersion: "6"}})
	s.changes(&event{revision: 7, kind: wire.EventAuthority, change: wire.ChangeRemoved, key: room("r1").Text()})
	s.told(subjects.ObjectFind, &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r1"}, 7, &wire.ObjectFindReply{Kind: wire.KindMissing})
	s.told(subjects.LeaseRelease, &wire.LeaseReleaseRequest{Token: s.owner}, 8, &wire.LeaseReleaseReply{Kind: wire.KindReleased})
	s.changes(&event{revision: 8, kind: wire.EventOwnerLease, change: wire.ChangeRemoved, key: "o1"})
	s.changes(&event{revision: 8, index: 1, kind: wire.EventMeshNode, change: wire.ChangeExpired, key: "n1"})
	s.told(subjects.ObjectReserve, s.reserve("r2", "third"), 8, &wire.ObjectReserveReply{
		Kind: wire.KindConflict, Reason: wire.ReasonTargetUnavailable, Current: &wire.Authority{Kind: wire.KindMissing},
	})
	again := wire.OwnerToken{OwnerID: "o1", LeaseGeneration: 9}
	s.told(subjects.LeaseClaim, claimBy("c2"), 9, &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &again})
	s.changes(&event{revision: 9, kind: wire.EventOwnerLease, change: wire.ChangeUpserted, key: "o1", lease: &wire.OwnerLease{OwnerToken: again}})
}

// told adds a call that was answered before the next was made.
func (s *story) told(op subjects.Operation, req any, revision uint64, reply any) *call {
	at := time.Duration(len(s.calls)) * time.Second
	c := &call{
		caller: len(s.calls) % 2, op: op, request: req, fresh: true, called: at, returned: at + time.Millisecond, reply: reply,
		revision: revision,
	}
	s.calls = append(s.calls, c)
	return c
}

func (s *story) changes(e *event) { s.events = append(s.events, e) }

func (s *story) stores(revision uint64, a *wire.Authority) {
	s.changes(&event{revision: revision, kind: wire.EventAuthority, change: wire.ChangeUpserted, key: a.Key, object: a})
}

func (s *story) target() wire.Target {
	return wire.Target{MeshName: mesh, NodeRID: "n1", NodeLifecycleGeneration: 1, Owner: s.owner}
}

func (s *story) reserve(id, reservation string) *wire.ObjectReserveRequest {
	intent, takes := creation(room(id))
	return &wire.ObjectReserveRequest{
		Key: room(id), Intent: intent, Target: s.target(), CreatingPayload: wire.Bytes("creating"), Capacity: takes,
		ReservationID: reservation,
	}
}

// record is the room r1 when it is active.
func (s *story) record(version uint64, payload string) wire.Authority {
	_, takes := creation(room("r1"))
	live := true
	return wire.Authority{
		Key: room("r1").Text(), StoreVersion: wire.Version(strconv.FormatUint(version, 10)), Payload: wire.Bytes(payload), ObjectGeneration: 3,
		AuthorityOwnerGeneration: 3, OwnerID: "o1", OwnerLeaseGeneration: 1, Phase: wire.PhaseSteady, Live: &live,
		Allocation: &wire.Allocation{
			State: wire.AllocationActive, ObjectKind: wire.ObjectUserSpot, StableType: "room",
			Descriptor: wire.DescriptorKey{MeshName: mesh, RID: "n1"}, DescriptorLifecycleGeneration: 1, Capacity: takes,
		},
	}
}

func putting(expected wire.Version, payload string) *wire.AuthorityCompareExchangeRequest {
	return &wire.AuthorityCompareExchangeRequest{
		Key: room("r1"), ExpectedStoreVersion: expected,
		Mutation: wire.AuthorityMutation{Kind: wire.AuthorityPut, Payload: wire.Bytes(payload), GenerationTransition: wire.GenerationPreserve},
	}
}

func stored(a wire.Authority) *wire.AuthorityCompareExchangeReply {
	a.Kind = wire.KindStored
	return &wire.AuthorityCompareExchangeReply{Authority: a}
}

func snapshot(a wire.Authority) *wire.Authority {
	a.Kind = wire.KindSnapshot
	return &a
}
