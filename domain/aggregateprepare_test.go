package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

var prepareConflict = &wire.AggregatePrepareReply{Kind: wire.KindConflict}

func TestPrepareAgain(t *testing.T) { // 8.3 rows 1 to 4, G-02
	t.Parallel()
	type request = wire.AggregatePrepareRequest
	others := map[string]func(*request){ // not the same request
		"capacity":         func(r *request) { r.Capacity = rooms(3) },
		"digest":           func(r *request) { r.InventoryDigest = digestOf("other") },
		"target mesh":      func(r *request) { r.TargetDescriptor.MeshName = "lab" },
		"target RID":       func(r *request) { r.TargetDescriptor.RID = "n1" },
		"target life":      func(r *request) { r.TargetDescriptorLifecycleGeneration = 8 },
		"target owner":     func(r *request) { r.TargetOwner.OwnerID = "owner-a" },
		"target lease":     func(r *request) { r.TargetOwner.LeaseGeneration++ },
		"fewer":            func(r *request) { r.Participants = r.Participants[:1] },
		"more":             func(r *request) { r.Participants = append(r.Participants, validParticipant("r3")) },
		"another object":   func(r *request) { r.Participants[1].AuthorityKey = keyOf("r3") },
		"another version":  func(r *request) { r.Participants[0].ExpectedStoreVersion = "1" },
		"another payload":  func(r *request) { r.Participants[1].AuthorityPayload = nil },
		"another mutation": func(r *request) { r.Participants[1].MembershipMutation = nil },
		"a transition":     func(r *request) { preserved(&r.Participants[0]) },
		"counted fewer":    counted(1), "counted more": counted(3),
	}
	equal := map[string]func(*request){
		"the same": func(*request) {}, "counted": counted(2), "other time to live": func(r *request) { r.PrepareTTL = 1 },
		"key in another form": func(r *request) { r.Participants[0].AuthorityKey.Kind = wire.ObjectInstanceSpot },
	}
	for name, tt := range map[string]struct {
		end  func(*world)
		kind wire.Kind // for an equal request
	}{
		"prepared":  {func(*world) {}, wire.KindAlreadyPrepared},
		"overdue":   {func(w *world) { w.at(59_999) }, wire.KindAlreadyPrepared},
		"committed": {func(w *world) { w.committedNow(fence("f")) }, wire.KindStale},
		"settled": {func(w *world) {
			w.committedNow(fence("f"))
			w.work()
		}, wire.KindStale},
		"aborted": {func(w *world) { want(w.t, w.abortAggregate(fence("f")), wire.KindAborted) }, wire.KindConflict},
		"cleaned": {func(w *world) {
			want(w.t, w.abortAggregate(fence("f")), wire.KindAborted)
			w.work()
		}, wire.KindConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, b, all := twoRooms(t)
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
			tt.end(w)
			again := func(edit func(*request)) *wire.AggregatePrepareReply {
				list := append([]wire.AggregateParticipant(nil), all...)
				return w.prepare(prepareRequest(fence("f"), tgt("n2", b), rooms(2), list, edit))
			}
			w.quiet(func() {
				for other, edit := range others {
					if got := again(edit); got.Kind != wire.KindConflict {
						t.Errorf("%s: %s, want conflict", other, got.Kind)
					}
				}
				for same, edit := range equal {
					wanted := &wire.AggregatePrepareReply{Kind: tt.kind}
					if tt.kind == wire.KindAlreadyPrepared {
						f := fence("f")
						wanted.Fence = &f
					}
					t.Log(same)
					want(t, again(edit), wanted)
				}
			})
		})
	}
}

func TestPrepareAfterAnAbortWhileCollecting(t *testing.T) { // 8.3 row 4
	t.Parallel()
	w, _, b, all := twoRooms(t)
	want(t, w.stage(fence("f"), 0, all), staged(2))
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	w.quiet(func() {
		want(t, w.prepare(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all)), prepareConflict)
	})
	want(t, w.prepare(prepareRequest(wire.Fence{AggregateID: "f", AggregateGeneration: 2}, tgt("n2", b), rooms(2), all)).Kind, wire.KindPrepared)
}

func TestPrepareNeedsTheWholeInventory(t *testing.T) { // 8.3 row 5
	t.Parallel()
	for name, tt := range map[string]struct {
		stage func(w *world, all []wire.AggregateParticipant)
		edit  func(*wire.AggregatePrepareRequest)
	}{
		"nothing staged": {func(*world, []wire.AggregateParticipant) {}, counted(2)},
		"another aggregate's": {func(w *world, all []wire.AggregateParticipant) {
			w.stage(wire.Fence{AggregateID: "f", AggregateGeneration: 2}, 0, all)
		}, counted(2)},
		"too few":    {func(w *world, all []wire.AggregateParticipant) { w.stage(fence("f"), 0, all[:1]) }, counted(2)},
		"too many":   {func(w *world, all []wire.AggregateParticipant) { w.stage(fence("f"), 0, all) }, counted(1)},
		"not from 0": {func(w *world, all []wire.AggregateParticipant) { w.stage(fence("f"), 1, all) }, counted(2)},
		"a gap": {func(w *world, all []wire.AggregateParticipant) {
			w.stage(fence("f"), 0, all[:1])
			w.stage(fence("f"), 2, all[1:])
		}, counted(2)},
		"descending": {func(w *world, all []wire.AggregateParticipant) {
			w.stage(fence("f"), 0, all[1:])
			w.stage(fence("f"), 1, all[:1])
		}, counted(2)},
		"one twice": {func(w *world, all []wire.AggregateParticipant) {
			w.stage(fence("f"), 0, all[:1])
			w.stage(fence("f"), 1, all[:1])
		}, counted(2)},
		"others staged": {func(w *world, all []wire.AggregateParticipant) {
			w.stage(fence("f"), 1, all[:1])
		}, func(*wire.AggregatePrepareRequest) {}},
		"more staged than brought": {func(w *world, all []wire.AggregateParticipant) {
			w.stage(fence("f"), 2, []wire.AggregateParticipant{validParticipant("r3")})
		}, func(*wire.AggregatePrepareRequest) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, b, all := twoRooms(t)
			tt.stage(w, all)
			w.unprepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all, tt.edit), wire.KindConflict)
			w.unlocked("r1", "r2")
			want(t, w.exchange("r1", all[0].ExpectedStoreVersion, putOf()).Kind, wire.KindStored)
		})
	}
}

func TestPrepareTargets(t *testing.T) { // 8.3 row 6
	t.Parallel()
	for name, tt := range map[string]struct {
		arrange func(w *world, b wire.OwnerToken)
		edit    func(*wire.Target)
	}{
		"no such node":      {nil, func(t *wire.Target) { t.NodeRID = "n9" }},
		"no such mesh":      {nil, func(t *wire.Target) { t.MeshName = "lab" }},
		"another lifecycle": {nil, func(t *wire.Target) { t.NodeLifecycleGeneration = 8 }},
		"another owner":     {nil, func(t *wire.Target) { t.Owner.OwnerID = "owner-a" }},
		"another lease":     {nil, func(t *wire.Target) { t.Owner.LeaseGeneration++ }},
		"lapsed":            {func(w *world, b wire.OwnerToken) { w.release(b) }, nil},
		"draining": {func(w *world, b wire.OwnerToken) {
			w.stored(wire.IntentRenew, node("n2", b, revision(2), state(wire.StateDraining)))
		}, nil},
		"removed": {func(w *world, b wire.OwnerToken) { w.remove("n2", b) }, nil},
		"a client": {func(w *world, b wire.OwnerToken) {
			w.stored(wire.IntentTakeover, node("n2", b, role(wire.RoleClient)))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, b, all := twoRooms(t)
			target := tgt("n2", b)
			if tt.arrange != nil {
				tt.arrange(w, b)
			} else {
				tt.edit(&target)
			}
			w.unprepared(prepareRequest(fence("f"), target, rooms(2), all), wire.KindConflict)
			w.unlocked("r1", "r2")
		})
	}
}

func TestWeightAndCapabilitiesOfTheTargetDoNotMatter(t *testing.T) { // 1.11, 8.3 row 6
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.stored(wire.IntentTakeover, node("n2", b, weight(0), capabilities))
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
}

func TestPrepareParticipants(t *testing.T) { // 8.3 row 7
	t.Parallel()
	for name, arrange := range map[string]func(w *world, a, b wire.OwnerToken, p *wire.AggregateParticipant){
		"absent": func(w *world, _, _ wire.OwnerToken, p *wire.AggregateParticipant) {
			want(w.t, w.exchange("r2", p.ExpectedStoreVersion, removal()).Kind, wire.KindDeleted)
		},
		"reserved": func(w *world, a, _ wire.OwnerToken, p *wire.AggregateParticipant) {
			want(w.t, w.exchange("r2", p.ExpectedStoreVersion, removal()).Kind, wire.KindDeleted)
			p.ExpectedStoreVersion = w.reserved("r2", "n1", a).version
		},
		"of another version": func(_ *world, _, _ wire.OwnerToken, p *wire.AggregateParticipant) { p.ExpectedStoreVersion += "0" },
		"of no version":      func(_ *world, _, _ wire.OwnerToken, p *wire.AggregateParticipant) { p.ExpectedStoreVersion = "x" },
		"of an odd version": func(_ *world, _, _ wire.OwnerToken, p *wire.AggregateParticipant) {
			p.ExpectedStoreVersion = "0" + p.ExpectedStoreVersion
		},
		"changed": func(w *world, _, _ wire.OwnerToken, _ *wire.AggregateParticipant) { w.changed("r2", putOf()) },
		"locked": func(w *world, _, b wire.OwnerToken, p *wire.AggregateParticipant) {
			w.lockedBy("other", tgt("n2", b), *p)
		},
		"moved, not settled": func(w *world, _, b wire.OwnerToken, p *wire.AggregateParticipant) {
			w.movedBy("other", tgt("n2", b), *p)
		},
		"moved and settled": func(w *world, _, b wire.OwnerToken, p *wire.AggregateParticipant) {
			w.movedBy("other", tgt("n2", b), *p)
			w.work()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b, all := twoRooms(t)
			arrange(w, a, b, &all[1])
			w.unprepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all), wire.KindConflict)
			w.unlocked("r1")
			want(t, w.exchange("r1", all[0].ExpectedStoreVersion, putOf()).Kind, wire.KindStored)
		})
	}
}

// lockedBy prepares an aggregate of one room.
func (w *world) lockedBy(id string, target wire.Target, p wire.AggregateParticipant) {
	w.t.Helper()
	w.prepared(prepareRequest(fence(id), target, rooms(1), []wire.AggregateParticipant{p}))
}

// movedBy commits an aggregate of one room.
func (w *world) movedBy(id string, target wire.Target, p wire.AggregateParticipant) kvstore.Revision {
	w.t.Helper()
	w.lockedBy(id, target, p)
	return w.committedNow(fence(id))
}

func TestPrepareWhatAnAggregateHasMoved(t *testing.T) { // 8.3 row 7, 8.5: its version is the commit's
	t.Parallel()
	for name, settle := range map[string]func(*world){"settled": (*world).work, "not settled": func(*world) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b, all := twoRooms(t)
			c := w.movedBy("first", tgt("n2", b), all[0])
			settle(w)
			all[0].ExpectedStoreVersion = wire.Version(c.String())
			w.prepared(prepareRequest(fence("f"), tgt("n1", a), rooms(2), all))
			settle(w) // the first, while it is locked by the second
			w.committedNow(fence("f"))
			want(t, w.usage("n1").Rooms, use{Active: 2})
		})
	}
}

func TestPrepareOfOwnersThatHaveEnded(t *testing.T) { // 8.3 row 8; the old owner of a newOwner participant need not be live
	t.Parallel()
	w, a, b, all := twoRooms(t)
	stays := all[1]
	preserved(&stays)
	w.release(a)
	w.unprepared(prepareRequest(fence("f"), tgt("n2", b), rooms(1), []wire.AggregateParticipant{all[0], stays}), wire.KindConflict)
	w.unlocked("r1", "r2")
	w.prepared(prepareRequest(fence("g"), tgt("n2", b), rooms(2), all))
}

func TestAggregatesAndMembership(t *testing.T) { // 8.3 row 9, 5.4; see joiners for what a spot outside has to be
	t.Parallel()
	// a1 and a spot r1 are on n1; the aggregate moves to n2.
	for name, tt := range map[string]struct {
		arrange func(w *world, a wire.OwnerToken, actor, spot *wire.AggregateParticipant) (others bool)
		ok      bool
	}{
		"spot outside": {func(w *world, _ wire.OwnerToken, _, _ *wire.AggregateParticipant) bool { return false }, true},
		"spot outside, locked by another": {func(w *world, a wire.OwnerToken, _, spot *wire.AggregateParticipant) bool {
			w.lockedBy("other", tgt("n1", a), *spot)
			return false
		}, false},
		"spot outside, of an ended owner": {func(w *world, a wire.OwnerToken, _, _ *wire.AggregateParticipant) bool {
			w.release(a)
			return false
		}, false},
		"spot moves as well": {func(*world, wire.OwnerToken, *wire.AggregateParticipant, *wire.AggregateParticipant) bool {
			return true
		}, true},
		"spot of an ended owner moves as well": {func(w *world, a wire.OwnerToken, _, _ *wire.AggregateParticipant) bool {
			w.release(a)
			return true
		}, true},
		"spot takes part and stays": {func(_ *world, _ wire.OwnerToken, _, spot *wire.AggregateParticipant) bool {
			preserved(spot)
			return true
		}, true},
		"closing spot takes part": {func(w *world, _ wire.OwnerToken, _, spot *wire.AggregateParticipant) bool {
			spot.ExpectedStoreVersion = w.changed("r1", putOf(toPhase(wire.PhaseClosing))).StoreVersion
			return true
		}, false},
		"another generation of a spot that takes part": {func(_ *world, _ wire.OwnerToken, actor, _ *wire.AggregateParticipant) bool {
			actor.Membership.SpotGeneration++
			return true
		}, false},
		"entry spot": {func(_ *world, _ wire.OwnerToken, actor, _ *wire.AggregateParticipant) bool {
			actor.Membership = &wire.Membership{SpotID: "nowhere", SpotGeneration: 1, SpotKind: wire.MembershipEntry}
			return false
		}, true},
		"repeated, of a spot that is gone": {func(w *world, _ wire.OwnerToken, actor, _ *wire.AggregateParticipant) bool {
			actor.ExpectedStoreVersion = w.changed("a1", putOf(joining(*actor.Membership))).StoreVersion
			want(w.t, w.exchange("r1", w.snapshot("r1").StoreVersion, removal()).Kind, wire.KindDeleted)
			return false
		}, true},
		"actor stays, spot moves": {func(_ *world, _ wire.OwnerToken, actor, _ *wire.AggregateParticipant) bool {
			preserved(actor)
			return true
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b := aggregateWorld(t)
			spot := takesPart(w.ready("r1", "n1", a))
			actor := takesPart(w.ready("a1", "n1", a), into(w.membershipIn("r1")))
			all := []wire.AggregateParticipant{actor}
			if tt.arrange(w, a, &actor, &spot) {
				all = inKeyOrder(actor, spot)
			} else {
				all[0] = actor
			}
			req := prepareRequest(fence("f"), tgt("n2", b), sumOf(all), all)
			if !tt.ok {
				w.unprepared(req, wire.KindConflict)
				w.unlocked("a1")
				return
			}
			w.prepared(req)
			w.committedNow(req.Fence)
			want(t, w.snapshot("a1").Membership, actor.Membership)
			w.work()
			want(t, w.snapshot("a1").Membership, actor.Membership)
		})
	}
}

// sumOf is the sum of what actors and rooms take that move.
func sumOf(all []wire.AggregateParticipant) (c wire.Capacity) {
	n := uint32(0)
	for i := range all {
		switch {
		case all[i].OwnerTransition == wire.OwnerPreserve:
		case all[i].AuthorityKey.IsSpot():
			n++
		default:
			c.Actors++
		}
	}
	r := rooms(n)
	c.Spots, c.SpotType = r.Spots, r.SpotType
	return c
}

func TestSumOfVectors(t *testing.T) { // 8.3 row 10, 8.4, G-05
	t.Parallel()
	of := func(kind wire.SpotObjectKind, stableType string, actors, spots, n uint32) wire.Capacity {
		return wire.Capacity{Actors: actors, Spots: spots, SpotType: &wire.SpotCapacity{ObjectKind: kind, StableType: stableType, Count: n}}
	}
	plain := func(actors, spots uint32) wire.Capacity { return wire.Capacity{Actors: actors, Spots: spots} }
	room := func(actors, spots, n uint32) wire.Capacity { return of(wire.SpotUser, "room", actors, spots, n) }
	for name, tt := range map[string]struct {
		takes    map[string]wire.Capacity // by id
		stays    string
		capacity wire.Capacity
		ok       bool
	}{
		"two rooms":                   {takes: map[string]wire.Capacity{"r1": roomCapacity, "r2": roomCapacity}, capacity: room(0, 2, 2), ok: true},
		"an actor and a room":         {takes: map[string]wire.Capacity{"a1": actorCapacity, "r2": roomCapacity}, capacity: room(1, 1, 1), ok: true},
		"odd vectors":                 {takes: map[string]wire.Capacity{"a1": room(3, 2, 5), "r1": room(1, 0, 7), "r2": plain(0, 4)}, capacity: room(4, 6, 12), ok: true},
		"no type at all":              {takes: map[string]wire.Capacity{"a1": plain(1, 0), "r1": plain(0, 1)}, capacity: plain(1, 1), ok: true},
		"one stays":                   {takes: map[string]wire.Capacity{"r1": roomCapacity, "r2": roomCapacity}, stays: "r1", capacity: room(0, 1, 1), ok: true},
		"a chat stays":                {takes: map[string]wire.Capacity{"r1": roomCapacity, "i1": chatCapacity}, stays: "i1", capacity: room(0, 1, 1), ok: true},
		"all stay":                    {takes: map[string]wire.Capacity{"r1": roomCapacity}, stays: "r1", capacity: plain(0, 0), ok: true},
		"all stay, but a capacity":    {takes: map[string]wire.Capacity{"r1": roomCapacity}, stays: "r1", capacity: room(0, 1, 1)},
		"too many spots":              {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: room(0, 2, 1)},
		"too few spots":               {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: room(0, 0, 1)},
		"too many of the type":        {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: room(0, 1, 2)},
		"actors of nobody":            {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: room(1, 1, 1)},
		"no capacity":                 {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: plain(0, 0)},
		"the type is missing":         {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: plain(0, 1)},
		"a type that nobody has":      {takes: map[string]wire.Capacity{"a1": actorCapacity}, capacity: room(1, 0, 1)},
		"another type":                {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: of(wire.SpotUser, "hall", 0, 1, 1)},
		"the type of another kind":    {takes: map[string]wire.Capacity{"r1": roomCapacity}, capacity: of(wire.SpotInstance, "room", 0, 1, 1)},
		"a room and a chat":           {takes: map[string]wire.Capacity{"r1": roomCapacity, "i1": chatCapacity}, capacity: room(0, 2, 1)}, // G-05
		"a room and a chat as chats":  {takes: map[string]wire.Capacity{"r1": roomCapacity, "i1": chatCapacity}, capacity: of(wire.SpotInstance, "chat", 0, 2, 2)},
		"one type, of two kinds":      {takes: map[string]wire.Capacity{"r1": roomCapacity, "i1": of(wire.SpotInstance, "room", 0, 1, 1)}, capacity: room(0, 2, 2)},
		"those who stay do not count": {takes: map[string]wire.Capacity{"r1": roomCapacity, "r2": roomCapacity}, stays: "r2", capacity: room(0, 2, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everything := func(d *wire.MeshNodeDescriptor) {
				d.PopulationCapacity.SpotTypes = append(d.PopulationCapacity.SpotTypes,
					wire.SpotTypeUsage{ObjectKind: wire.SpotUser, StableType: "hall"}, wire.SpotTypeUsage{ObjectKind: wire.SpotInstance, StableType: "room"})
			}
			w, a, b := aggregateWorld(t, everything)
			w.stored(wire.IntentTakeover, node("n2", b, everything))
			var all []wire.AggregateParticipant
			for id, c := range tt.takes {
				p := takesPart(w.ready(id, "n1", a, taking(c)))
				if id == tt.stays {
					preserved(&p)
				}
				all = append(all, p)
			}
			req := prepareRequest(fence("f"), tgt("n2", b), tt.capacity, inKeyOrder(all...))
			if tt.ok {
				w.prepared(req)
				w.committedNow(req.Fence)
				return
			}
			w.unprepared(req, wire.KindConflict)
			for _, p := range all { // G-05: all stay free
				want(t, w.exchange(p.AuthorityKey.GlobalID, p.ExpectedStoreVersion, putOf()).Kind, wire.KindStored)
			}
		})
	}
}

func TestHeadroom(t *testing.T) { // 8.3 row 11, 8.4, 1.10
	t.Parallel()
	for name, tt := range map[string]struct {
		n2 func(*wire.MeshNodeDescriptor) // of owner-b, where r3 and a3 are already
		ok bool
	}{
		"no limits":            {limits(0, 0), true},
		"spots at the limit":   {limits(0, 3), true},
		"spots above it":       {limits(0, 2), false},
		"actors at the limit":  {limits(2, 0), true},
		"actors above it":      {limits(1, 0), false},
		"rooms at the limit":   {typeLimits(3, 1), true},
		"rooms above it":       {typeLimits(2, 9), false},
		"rooms are not listed": {func(d *wire.MeshNodeDescriptor) { d.PopulationCapacity.SpotTypes = d.PopulationCapacity.SpotTypes[1:] }, false},
		"rooms of other kind": {func(d *wire.MeshNodeDescriptor) {
			d.PopulationCapacity.SpotTypes[0].ObjectKind = wire.SpotInstance
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b, all := twoRooms(t)
			all = inKeyOrder(append(all, takesPart(w.ready("a1", "n1", a)))...)
			w.ready("r3", "n2", b)
			w.ready("a3", "n2", b)
			w.stored(wire.IntentTakeover, node("n2", b, tt.n2))
			req := prepareRequest(fence("f"), tgt("n2", b), sumOf(all), all)
			if !tt.ok {
				w.unprepared(req, wire.KindConflict)
				w.unlocked("a1", "r1", "r2")
				return
			}
			w.prepared(req)
			want(t, w.usage("n2").Spots, use{1, 2})
			want(t, w.usage("n2").Actors, use{1, 1})
			want(t, w.usage("n1").Spots, use{2, 0}) // still there
			w.committedNow(req.Fence)
			want(t, w.usage("n2").Spots, use{3, 0})
			want(t, w.usage("n2").Actors, use{2, 0})
			want(t, w.usage("n1"), usage{})
		})
	}
}

func TestHeadroomStandsInTheWay(t *testing.T) { // 8.4, G-11
	t.Parallel()
	w, a, b, all := twoRooms(t)
	w.stored(wire.IntentTakeover, node("n2", b, limits(0, 1)))
	one := []wire.AggregateParticipant{all[0]}
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(1), one))
	full := w.reserveRequest("r9", tgt("n2", b))
	w.unreserved(full, wire.KindPlacementCapacityExhausted, "")
	want(t, w.usage("n2"), usage{Spots: use{0, 1}, Rooms: use{0, 1}})
	w.unprepared(prepareRequest(fence("g"), tgt("n2", b), rooms(1), all[1:]), wire.KindConflict) // of another aggregate
	w.wantNone(selection("r9", without(wire.Incarnation{RID: "n1", LifecycleGeneration: 7})), wire.ReasonCapacity)
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	want(t, w.usage("n2"), usage{})
	w.anew(full)
	w.unprepared(prepareRequest(fence("h"), tgt("n2", b), rooms(1), one), wire.KindConflict) // the reservation is in the way
	w.prepared(prepareRequest(fence("i"), tgt("n1", a), rooms(1), one))
}

func TestMoveWithinANodeNeedsNoRoom(t *testing.T) { // 8.4, G-07
	t.Parallel()
	w, a, _, all := twoRooms(t)
	next := w.reclaimed(a, limits(0, 2)) // full
	w.prepared(prepareRequest(fence("f"), tgt("n1", next), rooms(2), all))
	want(t, w.usage("n1"), usage{Spots: use{Active: 2}, Rooms: use{Active: 2}})
	c := w.committedNow(fence("f"))
	want(t, w.usage("n1"), usage{Spots: use{Active: 2}, Rooms: use{Active: 2}})
	want(t, w.snapshot("r1").OwnerLeaseGeneration, next.LeaseGeneration)
	want(t, w.snapshot("r1").AuthorityOwnerGeneration, wire.Generation(c))
	w.work()
	want(t, w.usage("n1"), usage{Spots: use{Active: 2}, Rooms: use{Active: 2}})
}

func TestHeadroomIsOfThoseElsewhere(t *testing.T) { // 8.4: row 10 counts all, row 11 those that are not on the node
	t.Parallel()
	w, a, b, all := twoRooms(t)
	all = append(all, takesPart(w.ready("r3", "n2", b)))
	w.stored(wire.IntentTakeover, node("n2", b, limits(0, 3)))
	w.unprepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all), wire.KindConflict) // row 10
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(3), all))
	want(t, w.usage("n2").Rooms, use{1, 2})
	w.committedNow(fence("f"))
	want(t, w.usage("n2").Rooms, use{3, 0})
	want(t, w.usage("n1").Rooms, use{})
	w.stored(wire.IntentTakeover, node("n2", b, typeLimits(1, 1))) // less than what is there
	back := inKeyOrder(takesPart(w.snapshot("r1")), takesPart(w.snapshot("r3")))
	w.prepared(prepareRequest(fence("g"), tgt("n2", b), rooms(2), back)) // none is elsewhere
	want(t, w.abortAggregate(fence("g")), wire.KindAborted)
	w.ready("r4", "n1", a)
	w.unprepared(prepareRequest(fence("h"), tgt("n2", b), rooms(1), []wire.AggregateParticipant{takesPart(w.snapshot("r4"))}), wire.KindConflict)
}

func TestNoRevisionLeftToPrepare(t *testing.T) { // 8.3 row 12, 1.3
	t.Parallel()
	for left, tt := range map[kvstore.Revision]struct{ inline, counted wire.Kind }{
		0: {wire.KindGenerationExhausted, wire.KindGenerationExhausted},
		1: {wire.KindGenerationExhausted, wire.KindPrepared}, // three rows are to be staged
		2: {wire.KindGenerationExhausted, wire.KindPrepared},
		3: {wire.KindGenerationExhausted, wire.KindPrepared}, // staged, but that is all
		4: {wire.KindPrepared, wire.KindPrepared},
	} {
		var b wire.OwnerToken
		var p wire.AggregateParticipant
		given := func(stage bool) func(*world) {
			return func(w *world) {
				b = w.hosts("n2", "owner-b")
				p = takesPart(w.ready("r1", "n1", w.hosts("n1", "owner-a")))
				if stage {
					want(w.t, w.stage(fence("f"), 0, []wire.AggregateParticipant{p}), staged(1))
				}
			}
		}
		w := worldThatEnds(t, left, given(false))
		before := w.snapshots()
		req := prepareRequest(fence("f"), tgt("n2", b), rooms(1), []wire.AggregateParticipant{p})
		want(t, w.prepare(req).Kind, tt.inline)
		want(t, w.snapshots(), before)
		if left < 3 {
			want(t, w.view().Revision(), kvstore.MaxRevision-left) // nothing is written
			req.TargetOwner.OwnerID = "nobody"
			want(t, w.prepare(req).Kind, wire.KindGenerationExhausted)
		}

		w = worldThatEnds(t, left, given(true))
		req = prepareRequest(fence("f"), tgt("n2", b), rooms(1), nil, counted(1))
		want(t, w.prepare(req).Kind, tt.counted)
		if left == 0 { // row 6 comes before row 12
			req.TargetOwner.OwnerID = "nobody"
			want(t, w.prepare(req), prepareConflict)
		}
	}
}

func TestPrepareChangesNothingButLocks(t *testing.T) { // 8.3, 8.5, G-06
	t.Parallel()
	w, a, b, all := twoRooms(t)
	before, stamp := w.snapshots(), w.stamp(wire.StampAuthority, "")
	req := prepareRequest(fence("f"), tgt("n2", b), rooms(2), all)
	w.events()
	w.prepared(req)
	want(t, w.snapshots(), before)
	want(t, w.events(), nil)
	want(t, w.stamp(wire.StampAuthority, ""), stamp)
	prepared := &wire.AggregateFindReply{Kind: wire.KindFound, OwnerTransition: wire.OwnerNew, StoreNow: t0, Aggregate: &wire.AggregateStatus{
		Fence: fence("f"), State: wire.AggregatePrepared, Deadline: t0 + 60_000, ParticipantCount: 2,
		TargetDescriptor: tgt("n2", b).Node(), TargetOwner: b, TargetDescriptorLifecycleGeneration: tgt("n2", b).NodeLifecycleGeneration,
	}}
	want(t, w.partOf("r1"), prepared)
	want(t, w.partOf("r2"), prepared)
	w.unlocked("r3")
	next := w.reclaimed(a)
	for _, m := range mutations(a, next) { // 5.3 row 2, G-06
		w.unchanged("r1", all[0].ExpectedStoreVersion, m)
	}
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	w.unlocked("r1", "r2")
	want(t, w.changed("r1", rebindTo(a, next)).OwnerLeaseGeneration, next.LeaseGeneration)
	want(t, w.exchange("r2", all[1].ExpectedStoreVersion, rebindTo(a, next)).Kind, wire.KindStored)
	want(t, w.changed("r1", putOf()).Payload, wire.Bytes("put"))
}

func TestPutAfterAnAbort(t *testing.T) { // G-06
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	w.unchanged("r1", all[0].ExpectedStoreVersion, putOf())
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	want(t, w.exchange("r1", all[0].ExpectedStoreVersion, putOf()).Kind, wire.KindStored)
}

func TestCollectingLocksNothing(t *testing.T) { // 8.1
	t.Parallel()
	w, _, b, all := twoRooms(t)
	want(t, w.stage(fence("f"), 0, all), staged(2))
	w.unlocked("r1", "r2")
	want(t, w.usage("n2"), usage{})
	want(t, w.exchange("r1", all[0].ExpectedStoreVersion, putOf()).Kind, wire.KindStored)
	w.unprepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), nil, counted(2)), wire.KindConflict)
}

func TestRefusedPrepareMayBeRepeated(t *testing.T) { // 8.3: a collecting aggregate may be prepared again until its deadline
	t.Parallel()
	w, _, b, all := twoRooms(t)
	w.stored(wire.IntentRenew, node("n2", b, revision(2), state(wire.StateDraining)))
	req := prepareRequest(fence("f"), tgt("n2", b), rooms(2), all)
	w.unprepared(req, wire.KindConflict)
	w.stored(wire.IntentRenew, node("n2", b, revision(3)))
	req.Capacity, req.InventoryDigest = rooms(2), digestOf("other") // it was never prepared
	w.prepared(req)
}
