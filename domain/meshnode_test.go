package domain_test

import (
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func revision(n wire.Revision) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.DescriptorRevision = n }
}

func weight(n uint32) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.PlacementWeight = n }
}

func lifecycle(n wire.Generation) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.LifecycleGeneration = n }
}

func state(s wire.NodeState) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.State = s }
}

func endpoint(e string) func(*wire.MeshNodeDescriptor) {
	return func(d *wire.MeshNodeDescriptor) { d.Endpoint = e }
}

// reordered turns the order of everything that has none.
func reordered(d *wire.MeshNodeDescriptor) {
	d.SpotTypes = slices.Clone(d.SpotTypes)
	slices.Reverse(d.SpotTypes)
	d.ObjectCapabilities = slices.Clone(d.ObjectCapabilities)
	slices.Reverse(d.ObjectCapabilities)
	d.PopulationCapacity.SpotTypes = slices.Clone(d.PopulationCapacity.SpotTypes)
	slices.Reverse(d.PopulationCapacity.SpotTypes)
}

func capabilities(d *wire.MeshNodeDescriptor) {
	d.ObjectCapabilities = []wire.ObjectCapability{
		{ObjectKind: wire.ObjectActor, StableType: "hero", Policy: wire.PolicySnapshot, HasSnapshotAdapter: true},
		{ObjectKind: wire.ObjectUserSpot, StableType: "room", Policy: wire.PolicyDisabled, Limit: 3},
	}
}

func TestNodeIsListedAsSent(t *testing.T) { // D-01
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	sent := node("n1", a, capabilities)
	g := w.stored(wire.IntentNewClaim, sent)
	row := w.view().Row(domain.MeshNodeKey("play", "n1"))
	listed := sent
	listed.Generation, listed.UpdatedAt = g, t0
	want(t, w.list(), []wire.MeshNodeItem{{
		MeshNodeDescriptor: listed,
		RowState:           wire.RowState{Live: true, Version: wire.Version(row.Revision.String())},
	}})
	want(t, kvstore.Revision(g), row.Revision)
}

func TestNodeCountersAndStampsAreIgnoredOnInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	d := node("n1", a, func(d *wire.MeshNodeDescriptor) {
		d.Generation, d.UpdatedAt = 999, 999
		d.PopulationCapacity.Actors.Active = 1
		d.PopulationCapacity.Spots.Reserved = 2
		d.PopulationCapacity.SpotTypes[0].Active = 3
	})
	g := w.stored(wire.IntentNewClaim, d)
	want(t, d.PopulationCapacity.SpotTypes[0].Active, 3) // the request is not changed
	clean := node("n1", a)
	clean.Generation, clean.UpdatedAt = g, t0
	want(t, w.list()[0].MeshNodeDescriptor, clean)
	w.quiet(func() { want(t, w.put(wire.IntentRenew, d).Status, wire.StatusStored) })
}

func TestUpdateByDeadWriterIsRejected(t *testing.T) { // 3.2 row 1
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.at(30_000)
	for _, intent := range []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover} {
		w.refused(wire.StatusRejectedConflict, intent, node("n1", a)) // even a repetition
		w.refused(wire.StatusRejectedConflict, intent, node("n2", a))
	}
}

func TestUpdateRepeatedIsStoredUnchanged(t *testing.T) { // 3.2 row 2, D-07
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	g := w.stored(wire.IntentNewClaim, node("n1", a, capabilities))
	w.at(1000)
	for _, intent := range []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover} {
		w.quiet(func() {
			got := w.put(intent, node("n1", a, capabilities, reordered))
			want(t, got, &wire.UpdateReply{Status: wire.StatusStored, Generation: g, UpdatedAt: t0})
		})
	}
}

func TestRenewOfAbsentRowIsRejected(t *testing.T) { // 3.2 row 3, D-06
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.refused(wire.StatusRejectedConflict, wire.IntentRenew, node("n1", a))
	first := w.stored(wire.IntentNewClaim, node("n1", a))
	want(t, w.remove("n1", a), wire.StatusStored)
	w.refused(wire.StatusRejectedConflict, wire.IntentRenew, node("n1", a, revision(2)))
	if again := w.stored(wire.IntentNewClaim, node("n1", a)); again <= first {
		t.Fatalf("generation %d after %d, want it to rise", again, first)
	}
}

func TestRenewKeepsGeneration(t *testing.T) { // 3.2 row 4, D-03, D-09
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	g := w.stored(wire.IntentNewClaim, node("n1", a))
	w.at(1000)
	changed := node("n1", a, revision(2), state(wire.StateDraining), weight(5), reordered, func(d *wire.MeshNodeDescriptor) {
		d.ChannelWeights = map[string]uint32{"north": 7, "south": 0}
		d.ActivationConcurrency.Active = 8
		d.MaintenanceWave = "w1"
	})
	want(t, w.stored(wire.IntentRenew, changed), g)
	got := w.list()[0]
	want(t, got.State, wire.StateDraining)
	want(t, got.ChannelWeights, changed.ChannelWeights)
	want(t, got.Generation, g)
	want(t, got.UpdatedAt, t0+1000)
}

func TestRenewOtherwiseIsStale(t *testing.T) { // 3.2 row 5, D-03, D-09
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a, revision(3)))
	for why, d := range map[string]wire.MeshNodeDescriptor{
		"same revision, other content": node("n1", a, revision(3), state(wire.StateDraining)),
		"smaller revision":             node("n1", a, revision(2)),
		"another owner":                node("n1", b, revision(4)),
		"another lifecycle":            node("n1", a, revision(4), lifecycle(8)),
		"another endpoint":             node("n1", a, revision(4), endpoint("tcp://x:1")),
		"another application version":  node("n1", a, revision(4), func(d *wire.MeshNodeDescriptor) { d.ApplicationVersion = 2 }),
		"another spot limit":           node("n1", a, revision(4), func(d *wire.MeshNodeDescriptor) { d.PopulationCapacity.Spots.Limit = 1 }),
		"one more channel name":        node("n1", a, revision(4), func(d *wire.MeshNodeDescriptor) { d.ChannelWeights["east"] = 1 }),
	} {
		t.Log(why)
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, d)
	}
}

func TestNewClaimOfLiveRowIsStale(t *testing.T) { // 3.2 row 6, D-05
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, node("n1", a, revision(2), weight(5)))
	w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, node("n1", b))
	want(t, w.list()[0].DescriptorRevision, 1)
	want(t, w.list()[0].PlacementWeight, 100)
}

func TestNewClaimOfDeadRowIsStored(t *testing.T) { // 3.2 row 8
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	g := w.stored(wire.IntentNewClaim, node("n1", a, revision(9)))
	w.at(30_000) // nobody takes the lapsed lease away
	b := w.claim("owner-b")
	if again := w.stored(wire.IntentNewClaim, node("n1", b)); again <= g {
		t.Fatalf("generation %d after %d, want it to rise", again, g)
	}
	want(t, w.list()[0].OwnerToken, b)
}

func TestTakeoverHasNoRevisionRule(t *testing.T) { // 3.2 row 8
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	g1 := w.stored(wire.IntentNewClaim, node("n1", a, revision(9)))
	g2 := w.stored(wire.IntentTakeover, node("n1", b, revision(1)))
	g3 := w.stored(wire.IntentTakeover, node("n1", b, revision(1), weight(5))) // its own row, other content
	g4 := w.stored(wire.IntentTakeover, node("n2", a))                         // an absent row
	if !slices.IsSorted([]wire.Generation{g1, g2, g3, g4}) || g1 == g2 || g2 == g3 {
		t.Fatalf("generations %d, %d, %d, %d, want them to rise", g1, g2, g3, g4)
	}
	w.refused(wire.StatusIgnoredStale, wire.IntentRenew, node("n1", a, revision(10)))
}

func TestOwnerComesBackUnderNewLease(t *testing.T) { // D-04
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	g := w.stored(wire.IntentNewClaim, node("n1", a))
	w.release(a)
	a2 := w.claim("owner-a")
	w.refused(wire.StatusIgnoredStale, wire.IntentRenew, node("n1", a2, revision(2)))
	if again := w.stored(wire.IntentTakeover, node("n1", a2, revision(2))); again <= g {
		t.Fatalf("generation %d after %d, want it to rise", again, g)
	}
	w.refused(wire.StatusRejectedConflict, wire.IntentRenew, node("n1", a, revision(3)))
}

func TestRemoveNeedsTheTokenOfTheRow(t *testing.T) { // D-02
	t.Parallel()
	w := newWorld(t)
	a, b := w.claim("owner-a"), w.claim("owner-b")
	w.stored(wire.IntentNewClaim, node("n1", a))
	w.stored(wire.IntentNewClaim, node("n2", a))
	w.quiet(func() {
		want(t, w.remove("n1", wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: a.LeaseGeneration + 1}), wire.StatusIgnoredStale)
		want(t, w.remove("n1", b), wire.StatusIgnoredStale)
		want(t, w.remove("n3", a), wire.StatusIgnoredStale)
	})
	want(t, w.remove("n1", a), wire.StatusStored)
	w.quiet(func() { want(t, w.remove("n1", a), wire.StatusIgnoredStale) })
	w.at(30_000)
	want(t, w.remove("n2", a), wire.StatusStored) // the owner need not be live
	want(t, len(w.list()), 0)
}

func TestListHasOneMeshInOrderOfRIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	order := []wire.RID{"\x00", "\x00\x00", "\x00b", "A", "a", "a\x00", "a\x00b", "é", "\xff"}
	for _, rid := range slices.Backward(order) {
		w.stored(wire.IntentNewClaim, node(rid, a, endpoint("e")))
	}
	for _, mesh := range []string{"pla", "play2"} {
		w.stored(wire.IntentNewClaim, node("x", a, func(d *wire.MeshNodeDescriptor) { d.MeshName = mesh }))
	}
	var got []wire.RID
	for _, item := range w.list() {
		got = append(got, item.RID)
	}
	want(t, got, order)
}
