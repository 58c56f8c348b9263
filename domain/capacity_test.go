package domain_test

import (
	"fmt"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// taking makes a request for an object that takes something else than its sort does.
func taking(c wire.Capacity) func(*wire.ObjectReserveRequest) {
	return func(r *wire.ObjectReserveRequest) { r.Capacity = c }
}

// roomFor tells whether an object of a capacity can be reserved on a node. It leaves
// nothing.
func (w *world) roomFor(id string, rid wire.RID, owner wire.OwnerToken, c wire.Capacity) bool {
	w.t.Helper()
	r := w.reserve(w.reserveRequest(id, tgt(rid, owner), taking(c)))
	if r.Kind != wire.KindReserved {
		want(w.t, r, &wire.ObjectReserveReply{Kind: wire.KindPlacementCapacityExhausted})
		return false
	}
	abort := reservation{keyOf(id), r.ReservationID, r.Creating.StoreVersion, tgt(rid, owner), r.Creating}.abort()
	want(w.t, w.abort(abort), wire.KindAborted)
	return true
}

func TestRoomIsLookedForInEachPart(t *testing.T) { // 1.10
	t.Parallel()
	user := func(spots uint32, stableType string, n uint32) wire.Capacity {
		return wire.Capacity{Spots: spots, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: stableType, Count: n}}
	}
	noTypes := func(d *wire.MeshNodeDescriptor) { d.PopulationCapacity.SpotTypes = nil }
	few := func(d *wire.MeshNodeDescriptor) { // limits of capabilities take no part
		d.ObjectCapabilities = []wire.ObjectCapability{
			{ObjectKind: wire.ObjectUserSpot, StableType: "room", Policy: wire.PolicyRecreate, Limit: 1},
		}
	}
	type edit = func(*wire.MeshNodeDescriptor)
	for name, tt := range map[string]struct {
		node  []edit
		there []string
		takes wire.Capacity
		want  bool
	}{
		"no limit":                        {nil, []string{"a1", "a2", "r1", "r2", "i1"}, wire.Capacity{Actors: 1<<31 - 1}, true},
		"no limit for spots":              {nil, []string{"a1", "r1", "r2", "i1"}, user(1<<31-1, "room", 1<<31-1), true},
		"the last actor":                  {[]edit{limits(2, 0)}, []string{"a1"}, actorCapacity, true},
		"one actor too many":              {[]edit{limits(2, 0)}, []string{"a1", "a2"}, actorCapacity, false},
		"two actors where one fits":       {[]edit{limits(2, 0)}, []string{"a1"}, wire.Capacity{Actors: 2}, false},
		"actors do not limit spots":       {[]edit{limits(1, 0)}, []string{"a1"}, roomCapacity, true},
		"the last spot":                   {[]edit{limits(0, 2)}, []string{"r1"}, roomCapacity, true},
		"one spot too many":               {[]edit{limits(0, 2)}, []string{"r1", "i1"}, roomCapacity, false},
		"spots do not limit actors":       {[]edit{limits(0, 1)}, []string{"r1"}, actorCapacity, true},
		"the last of a type":              {[]edit{typeLimits(2, 0)}, []string{"r1", "i1", "i2"}, roomCapacity, true},
		"one too many of a type":          {[]edit{typeLimits(2, 0)}, []string{"r1", "r2"}, roomCapacity, false},
		"another type of another kind":    {[]edit{typeLimits(1, 1)}, []string{"r1"}, chatCapacity, true},
		"a type with room, spots full":    {[]edit{limits(0, 1), typeLimits(2, 0)}, []string{"r1"}, roomCapacity, false},
		"a part that is 0":                {[]edit{limits(1, 0)}, []string{"a1"}, wire.Capacity{Spots: 1}, true},
		"a type that is absent":           {[]edit{typeLimits(1, 0)}, []string{"r1"}, wire.Capacity{Spots: 1}, true},
		"a type without spots":            {[]edit{limits(0, 1)}, []string{"r1"}, user(0, "room", 1), true},
		"one part of several is full":     {[]edit{limits(0, 1)}, []string{"r1"}, wire.Capacity{Actors: 1, Spots: 1}, false},
		"a type that is not listed":       {nil, nil, user(1, "hall", 1), false},
		"a type of the other kind":        {nil, nil, user(1, "chat", 1), false},
		"a node without types":            {[]edit{noTypes}, nil, roomCapacity, false},
		"a node without types, no type":   {[]edit{noTypes}, nil, wire.Capacity{Spots: 3}, true},
		"the limit of a capability":       {[]edit{few}, []string{"r1"}, roomCapacity, true},
		"more than the numbers there are": {[]edit{limits(1<<31-1, 0)}, []string{"a1"}, wire.Capacity{Actors: 1<<31 - 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, what := range []string{"reserved", "active"} {
				w := newWorld(t)
				a := w.hosts("n1", "owner-a", tt.node...)
				w.hosts("n2", "owner-b") // what is there does not count on n1
				for _, id := range tt.there {
					if r := w.reserved(id, "n1", a); what == "active" {
						w.makeReady(r)
					}
				}
				want(t, w.roomFor("r9", "n1", a, tt.takes), tt.want)
			}
		})
	}
}

func TestRoomOnOneNodeIsItsOwn(t *testing.T) { // 1.10
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", limits(1, 1))
	w.stored(wire.IntentNewClaim, node("n", a, limits(1, 1)))
	w.stored(wire.IntentNewClaim, node("n1", a, limits(1, 1), inMesh("lab")))
	w.stored(wire.IntentNewClaim, node("n1\x00", a, limits(1, 1), endpoint("e")))
	w.ready("a1", "n1", a)
	for _, target := range []wire.Target{
		tgt("n", a), tgt("n1\x00", a), {MeshName: "lab", NodeRID: "n1", NodeLifecycleGeneration: 7, Owner: a},
	} {
		id := fmt.Sprintf("a%x%s", target.NodeRID, target.MeshName)
		want(t, w.reserve(w.reserveRequest(id, target)).Kind, wire.KindReserved)
	}
	want(t, w.roomFor("a9", "n1", a, actorCapacity), false)
}

func TestUsageFollowsTheObjects(t *testing.T) { // 1.10: it changes in exactly the commit that changes an authority
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	none := usage{}
	want(t, w.usage("n1"), none)
	r := w.reserved("r1", "n1", a, taking(wire.Capacity{Actors: 2, Spots: 3, SpotType: roomCapacity.SpotType}))
	want(t, w.usage("n1"), usage{Actors: use{0, 2}, Spots: use{0, 3}, Rooms: use{0, 1}})
	r1 := w.makeReady(r)
	want(t, w.usage("n1"), usage{Actors: use{2, 0}, Spots: use{3, 0}, Rooms: use{1, 0}})
	i1 := w.reserved("i1", "n1", a)
	want(t, w.usage("n1"), usage{Actors: use{2, 0}, Spots: use{3, 1}, Rooms: use{1, 0}, Chats: use{0, 1}})
	want(t, w.abort(i1.abort()), wire.KindAborted)
	r1 = &w.exchange("r1", r1.StoreVersion, reincarnation()).Authority
	want(t, w.usage("n1"), usage{Actors: use{2, 0}, Spots: use{3, 0}, Rooms: use{1, 0}})
	want(t, w.exchange("r1", r1.StoreVersion, removal()).Kind, wire.KindDeleted)
	want(t, w.usage("n1"), none)
	for k, kind := range []wire.CompletionKind{wire.CompletionRejected, wire.CompletionFailed} {
		want(t, w.complete(w.reserved("a1", "n1", a).complete(kind, term(uint64(k+1)))).Kind, wire.Kind(kind))
		want(t, w.usage("n1"), none)
	}
}

func TestUsageIsThatOfEveryLifeOfANode(t *testing.T) { // 1.10
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", limits(2, 0))
	w.ready("a1", "n1", a)
	a2 := w.reserved("a2", "n1", a)
	b := w.claim("owner-b")
	full := usage{Actors: use{1, 1}}
	w.stored(wire.IntentTakeover, node("n1", b, limits(2, 0), lifecycle(8)))
	want(t, w.usage("n1"), full)
	next := tgt("n1", b)
	next.NodeLifecycleGeneration = 8
	want(t, w.reserve(w.reserveRequest("a3", next)).Kind, wire.KindPlacementCapacityExhausted)
	want(t, w.remove("n1", b), wire.StatusStored) // nobody takes the objects away
	w.stored(wire.IntentNewClaim, node("n1", b, limits(2, 0), lifecycle(9)))
	want(t, w.usage("n1"), full)
	want(t, w.releaseEnded("a2", a2.version), wire.KindReleased)
	want(t, w.usage("n1"), usage{Actors: use{1, 0}})
	w.release(a) // a dead owner's objects still count
	want(t, w.usage("n1"), usage{Actors: use{1, 0}})
}

func TestLimitBelowWhatIsThere(t *testing.T) { // 1.10: removes nothing; there is just no room
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a")
	for _, id := range []string{"a1", "a2", "a3", "r1"} {
		w.ready(id, "n1", a)
	}
	w.stored(wire.IntentTakeover, node("n1", a, limits(2, 1), typeLimits(1, 0)))
	want(t, w.usage("n1"), usage{Actors: use{3, 0}, Spots: use{1, 0}, Rooms: use{1, 0}})
	for i, room := range []bool{false, false, true} {
		want(t, w.roomFor("a9", "n1", a, actorCapacity), room)
		id := fmt.Sprintf("a%d", i+1)
		want(t, w.exchange(id, w.snapshot(id).StoreVersion, removal()).Kind, wire.KindDeleted)
	}
	w.reserved("a4", "n1", a)
	w.reserved("a5", "n1", a)
	want(t, w.roomFor("a6", "n1", a, actorCapacity), false)
}

func TestReplacedSpotGivesBackWhatItsMembersTook(t *testing.T) { // 1.10, 6.1 row 10: counts of the whole commit
	t.Parallel()
	w := newWorld(t)
	a, b := w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b")
	w.ready("r1", "n1", a)
	w.member("a1", "r1", "n1", a)
	w.member("a2", "r1", "n1", a)
	w.member("a3", "r1", "n2", b)
	w.ready("a4", "n2", b)
	w.release(a)
	w.release(b)
	c := w.claim("owner-c")
	w.stored(wire.IntentTakeover, node("n1", c, limits(2, 1), typeLimits(1, 0)))
	w.stored(wire.IntentTakeover, node("n2", c, limits(2, 1), typeLimits(1, 0)))
	take := func(rid wire.RID, actors uint32) wire.Kind {
		req := w.reserveRequest("r1", tgt(rid, c), taking(wire.Capacity{Actors: actors, Spots: 1, SpotType: roomCapacity.SpotType}))
		req.EndedOwner = wire.EndedOwnerRelease
		return w.reserve(req).Kind
	}
	w.quiet(func() {
		want(t, take("n1", 3), wire.KindPlacementCapacityExhausted) // two are given back there
		want(t, take("n2", 2), wire.KindPlacementCapacityExhausted) // and one of two here
	})
	want(t, take("n1", 2), wire.KindReserved)
	want(t, w.usage("n1"), usage{Actors: use{0, 2}, Spots: use{0, 1}, Rooms: use{0, 1}})
	want(t, w.usage("n2"), usage{Actors: use{1, 0}})
}

func TestNodesAreListedWithTheirUsage(t *testing.T) { // 3.4, D-10
	t.Parallel()
	w := newWorld(t)
	a := w.hosts("n1", "owner-a", typeLimits(64, 0))
	for i := range 12 {
		w.ready(fmt.Sprintf("r%d", i), "n1", a)
	}
	v, before := w.view(), w.list()[0]
	p := before.PopulationCapacity
	want(t, p.Actors, wire.Usage{})
	want(t, p.Spots, wire.Usage{Active: 12})
	want(t, p.SpotTypes, []wire.SpotTypeUsage{
		{ObjectKind: wire.SpotUser, StableType: "room", Usage: wire.Usage{Limit: 64, Active: 12}},
		{ObjectKind: wire.SpotInstance, StableType: "chat"},
	})
	w.ready("i1", "n1", a) // a change of usage is none of the node
	want(t, w.list()[0].Version, before.Version)
	items, _, err := domain.ListMeshNodes(v, &wire.MeshNodeListRequest{MeshName: "play"}, "", domain.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, items, []wire.MeshNodeItem{before}) // the usage of the same snapshot
	w.quiet(func() {                            // nor content
		want(t, w.put(wire.IntentRenew, node("n1", a, typeLimits(64, 0))).Status, wire.StatusStored)
	})
}
