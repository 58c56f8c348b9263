package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/wire"
)

// readyActor is an actor on node n1, a member of the user spot r1 of generation 5, with
// which nothing is wrong.
func readyActor() *evidence {
	e := newEvidence(wire.LookupActor, "a1")
	live := true
	token := wire.OwnerToken{OwnerID: "a", LeaseGeneration: 3}
	e.Authority = &wire.Authority{
		Kind: wire.KindSnapshot, StoreVersion: "9", OwnerID: "a", OwnerLeaseGeneration: 3, Phase: wire.PhaseSteady, Live: &live,
		Allocation: &wire.Allocation{
			State: wire.AllocationActive, ObjectKind: wire.ObjectActor, StableType: "hero",
			Descriptor: wire.DescriptorKey{MeshName: "play", RID: "n1"}, DescriptorLifecycleGeneration: 7,
		},
		Membership: &wire.Membership{SpotID: "r1", SpotGeneration: 5, SpotKind: wire.MembershipUser},
	}
	e.Lease = &wire.LeaseReadReply{Kind: wire.KindFound, Token: &token}
	e.Node = &wire.MeshNodeItem{}
	e.Node.LifecycleGeneration, e.Node.State = 7, wire.StateServing
	e.Spot = &wire.Authority{Kind: wire.KindSnapshot, ObjectGeneration: 5, Phase: wire.PhaseSteady, Live: &live}
	e.Rows = append(e.Rows, locationRow{MeshName: "play", OwnerNodeRID: "n1"})
	return e
}

// inAggregate lets an object take part in an aggregate of three, which has 12 s left if
// it is prepared.
func inAggregate(state wire.AggregateState, does wire.OwnerTransition, edits ...func(*wire.AggregateFindReply)) func(*evidence) {
	return func(e *evidence) {
		e.Aggregate = &wire.AggregateFindReply{
			Kind: wire.KindFound, OwnerTransition: does, StoreNow: 100_000,
			Aggregate: &wire.AggregateStatus{
				Fence: wire.Fence{AggregateID: "move 1", AggregateGeneration: 2}, State: state, ParticipantCount: 3,
				TargetDescriptor: wire.DescriptorKey{MeshName: "play", RID: "n2"}, TargetOwner: wire.OwnerToken{OwnerID: "b", LeaseGeneration: 4},
			},
		}
		if state == wire.AggregatePrepared {
			a := e.Aggregate.Aggregate
			a.Deadline = 112_000
			e.TargetLease = &wire.LeaseReadReply{Kind: wire.KindFound, Token: &a.TargetOwner}
			e.TargetNode = &wire.MeshNodeItem{}
			a.TargetDescriptorLifecycleGeneration, e.TargetNode.LifecycleGeneration = 7, 7
			e.TargetNode.ObjectRole, e.TargetNode.State, e.TargetNode.OwnerToken = wire.RoleServer, wire.StateServing, a.TargetOwner
		}
		for _, edit := range edits {
			edit(e.Aggregate)
		}
	}
}

// toTarget lets an object take part in a prepared aggregate that moves it, with
// something the matter with the target.
func toTarget(edit func(*evidence)) func(*evidence) {
	return func(e *evidence) {
		inAggregate(wire.AggregatePrepared, wire.OwnerNew)(e)
		edit(e)
	}
}

// TestWhy has what the scripts do not provoke; see objects.txtar, move.txtar and node_dies.txtar.
func TestWhy(t *testing.T) {
	t.Parallel()
	const ready = "it is active, and the lease of its owner is live: messages reach it"
	spot := func(wrong string) string {
		return "the spot r1 that it is a member of " + wrong + ": see zlink-nats explain spot r1"
	}
	const (
		locked = `it is locked by aggregate "move 1", generation 2, together with 2 others: until that is committed or aborted nobody can change or remove it`
		moves  = "with aggregate.commit it moves to node n2 of mesh play, owner b, lease 4"
		target = "node n2 of mesh play, the target of the aggregate, "
		stale  = ": aggregate.commit would answer stale while that is so"
		// follows stale when it is about a lease
		forGood = ", and a lease that is over does not come back"
		ends    = "after its deadline, in 12s, the service aborts the aggregate if it is not committed yet, and the object stays as it is"
	)
	for name, c := range map[string]struct {
		edit  func(*evidence)
		state wire.EntryState
		want  []string
	}{
		"it is to move":        {inAggregate(wire.AggregatePrepared, wire.OwnerNew), wire.EntryReady, []string{ready, locked, moves, ends}},
		"it is locked to stay": {inAggregate(wire.AggregatePrepared, wire.OwnerPreserve), wire.EntryReady, []string{ready, locked, "with aggregate.commit it gets a new payload and stays where it is", ends}},
		"its move is forgotten": {inAggregate(wire.AggregatePrepared, wire.OwnerNew, func(r *wire.AggregateFindReply) { r.StoreNow, r.Aggregate.ParticipantCount = 115_000, 1 }), wire.EntryReady, []string{
			ready,
			`it is locked by aggregate "move 1", generation 2: until that is committed or aborted nobody can change or remove it`,
			moves,
			"its deadline has passed, it is overdue for 3s: the service aborts it within seconds, or its log says why it cannot; until then it can still be committed",
		}},
		"its target has another life": {toTarget(func(e *evidence) { e.TargetNode.LifecycleGeneration = 8 }), wire.EntryReady, []string{
			ready, locked, moves,
			"node n2 of mesh play, the target of the aggregate, has begun life 8, and was meant in life 7: aggregate.commit would answer stale, and a life that is over does not come back; abort the aggregate, and prepare another for the new life",
			ends,
		}},
		"it cannot be read": {func(e *evidence) { e.Authority, e.Lost = nil, "dataLost: record" }, stateUnreadable, []string{
			"its authority is stored, but cannot be read (dataLost: record): every operation on it is refused, and so is every creation under its id",
			"the service's log names the key: restore that row from a backup of the bucket's stream; deleting it instead gives up the object and frees its place",
			"a row in mesh play says that it was on node n1",
		}},
		"it has just moved": {inAggregate(wire.AggregateCommitted, wire.OwnerNew), wire.EntryReady, []string{
			ready, `aggregate "move 1", generation 2 has moved it to node n2 of mesh play, owner b, lease 4; its row is rewritten in the background, which changes nothing for anybody`,
		}},
		"it has just changed": {inAggregate(wire.AggregateCommitted, wire.OwnerPreserve), wire.EntryReady, []string{
			ready, `aggregate "move 1", generation 2 has changed it where it is; its row is rewritten in the background, which changes nothing for anybody`,
		}},
		"its aggregate is lost": {func(e *evidence) { e.AggregateError = "dataLost: record" }, wire.EntryReady, []string{
			ready, "whether it takes part in an aggregate cannot be told: dataLost: record",
		}},
		"it is locked and its owner is gone": {func(e *evidence) {
			e.Lease = &wire.LeaseReadReply{Kind: wire.KindMissing}
			inAggregate(wire.AggregatePrepared, wire.OwnerNew)(e)
		}, wire.EntryUnavailable, []string{
			"lease 3 of its owner a is over, and the owner has no other: it has stopped, or cannot reach the service",
			"nobody can take it along or create it anew (unavailable, inAggregate) as long as it is locked",
			locked, moves, ends,
		}},
		// 8.6 row 4
		"it is to move to another life of an owner": {toTarget(func(e *evidence) {
			e.TargetLease.Token = &wire.OwnerToken{OwnerID: "b", LeaseGeneration: 5}
		}), wire.EntryReady, []string{ready, locked, moves, "lease 4 of owner b, the target of the aggregate, is over, and the owner has lease 5 now" + stale + forGood, ends}},
		"it is to move to a node of another lease": {toTarget(func(e *evidence) { e.TargetNode.LeaseGeneration = 3 }), wire.EntryReady, []string{
			ready, locked, moves, target + "has a descriptor of owner b, lease 3, and not of owner b, lease 4" + stale, ends,
		}},
		"it is to move to a node that hosts nothing": {toTarget(func(e *evidence) { e.TargetNode.ObjectRole = wire.RoleClient }), wire.EntryReady, []string{
			ready, locked, moves, target + "is a client for objects and not a server" + stale, ends,
		}},
		"its move is forgotten and cannot be committed": {toTarget(func(e *evidence) { e.TargetNode, e.Aggregate.StoreNow = nil, 115_000 }), wire.EntryReady, []string{
			ready, locked, moves, target + "has no descriptor" + stale,
			"its deadline has passed, it is overdue for 3s: the service aborts it within seconds, or its log says why it cannot",
		}},
		"nothing is wrong":     {func(*evidence) {}, wire.EntryReady, []string{ready}},
		"its spot is gone":     {func(e *evidence) { e.Spot = &wire.Authority{Kind: wire.KindMissing} }, wire.EntryReady, []string{ready, spot("is gone")}},
		"its spot is another":  {func(e *evidence) { e.Spot.ObjectGeneration = 6 }, wire.EntryReady, []string{ready, spot("was created anew since (generation 6, the member has 5)")}},
		"its spot is not live": {func(e *evidence) { e.Spot.Live = new(bool) }, wire.EntryReady, []string{ready, spot("has an owner whose lease is over")}},
		"its spot is closing":  {func(e *evidence) { e.Spot.Phase = wire.PhaseClosing }, wire.EntryReady, []string{ready, spot("is closing")}},
		"its node is draining": {func(e *evidence) { e.Node.State = wire.StateDraining }, wire.EntryReady, []string{ready, "its node is draining, and takes no new objects"}},
		"it is recovering":     {func(e *evidence) { e.Authority.Phase = wire.PhaseRecovering }, wire.EntryReady, []string{ready, "its owner says that it is recovering"}},
		"its row is elsewhere": {func(e *evidence) { e.Rows[0].OwnerNodeRID = "n2" }, wire.EntryReady, []string{ready, "its row says node n2, its authority node n1: the authority counts"}},
		"a room may hold a life": {func(e *evidence) {
			e.Authority.Allocation.ObjectKind, e.Lease = wire.ObjectUserSpot, &wire.LeaseReadReply{Kind: wire.KindMissing}
		}, wire.EntryUnavailable, []string{
			"lease 3 of its owner a is over, and the owner has no other: it has stopped, or cannot reach the service",
			"the owner's next lease may take it along with authority.compare-exchange, rebindOwnerLease, if its node is still in the life in which it was placed",
			"an aggregate may move it to another node and owner (newOwner)",
			`object.reserve or object.place with "endedOwner": "release" creates it anew, unless it has a member whose owner is live`,
		}},
		"it is being created on a node that drains": {func(e *evidence) {
			e.Authority.Allocation.State, e.Node.State = wire.AllocationReserved, wire.StateDraining
		}, wire.EntryCreating, []string{
			"owner a is creating it: it becomes ready with object.complete-creation, and goes with object.abort",
			"its node is draining, so that object.complete-creation answers stale until the node is serving again",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := readyActor()
			c.edit(e)
			if diff := cmp.Diff(c.want, e.why()); diff != "" || e.state() != c.state {
				t.Errorf("%s, want %s; why (-want +got):\n%s", e.state(), c.state, diff)
			}
		})
	}
}

func TestExplanationIsShort(t *testing.T) {
	t.Parallel()
	e := readyActor()
	reference, node := strings.Repeat("content ", 1<<17), wire.RID(strings.Repeat("n", 255))
	e.Authority.PendingCreation = &wire.PendingCreation{ReservationID: "r", RequestContentReference: reference}
	e.Rows[0].OwnerNodeRID = node
	e.Changes = append(e.Changes, pastChange{What: "node " + shown(node)})
	e.Why = e.why()
	page := e.page().String()
	for line := range strings.Lines(page) {
		if n := utf8.RuneCountInString(line); n > 400 {
			t.Errorf("a line of %d columns: %.100s", n, line)
		}
	}
	if got := strings.Count(page, "…"); got != 4 { // reservation, row, reason, change
		t.Errorf("%d values are cut, want 4:\n%s", got, page)
	}
	text, err := wire.Marshal(wire.JSON, e)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), reference) || strings.Contains(string(text), "…") {
		t.Error("the JSON is cut")
	}
}
