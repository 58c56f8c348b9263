package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// everyReply requires that every operation shows an object as authority.read should.
func (w *world) everyReply(id string, should *wire.Authority) {
	w.t.Helper()
	k := keyOf(id)
	want(w.t, w.snapshot(id), should)
	item := *should
	item.Kind = ""
	items, _, err := domain.ListAuthorities(w.view(), &wire.AuthorityListRequest{Prefix: k.Text(), Limit: 1}, "", domain.Page{Items: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	want(w.t, items, []wire.AuthorityItem{{Key: k.Text(), Snapshot: item}})
	kind := map[bool]wire.LookupKind{true: wire.LookupSpot, false: wire.LookupActor}[k.IsSpot()]
	state := map[bool]wire.EntryState{true: wire.EntryReady, false: wire.EntryUnavailable}[*should.Live]
	at := should.Allocation
	entry := wire.ObjectEntry{
		GlobalID: id, ObjectGeneration: should.ObjectGeneration, MeshName: at.Descriptor.MeshName, NodeRID: at.Descriptor.RID,
		State: state, StableType: at.StableType,
	}
	want(w.t, w.find(kind, id).Entry, &entry)
	for _, mesh := range []string{"play", "lab"} {
		found := false
		entries, err := w.listObjects(&wire.ObjectListRequest{ObjectKind: at.ObjectKind, MeshName: mesh, StableType: at.StableType})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			if e.GlobalID == id {
				found = true
				want(w.t, e, entry)
			}
		}
		want(w.t, found, mesh == at.Descriptor.MeshName)
	}
	want(w.t, w.awaits(id, wire.AwaitSettled, ""), should)
	want(w.t, w.awaits(id, wire.AwaitChanged, "1"), should)
	want(w.t, w.awaits(id, wire.AwaitChanged, should.StoreVersion), nil)
	w.quiet(func() {
		w.t.Helper()
		want(w.t, w.exchange(id, "1", putOf()).Current, should)
		want(w.t, w.reserve(w.reserveRequest(id, tgt("n1", wire.OwnerToken{OwnerID: "x", LeaseGeneration: 1}))).Current, should)
	})
}

// labTarget is a node of the mesh "lab" of an owner.
func (w *world) labTarget(owner string) wire.Target {
	w.t.Helper()
	token := w.hosts("\xff\x00", owner, inMesh("lab"), endpoint("tcp://lab:1"), lifecycle(9))
	return wire.Target{MeshName: "lab", NodeRID: "\xff\x00", NodeLifecycleGeneration: 9, Owner: token}
}

func TestProjectionOfEveryMember(t *testing.T) { // 8.5
	t.Parallel()
	w, a, _ := aggregateWorld(t)
	target := w.labTarget("owner-c")
	w.joined("a1", a) // a member of r1, recovering
	w.ready("a2", "n1", a)
	w.ready("a3", "n1", a)
	w.ready("i1", "n1", a)
	committing := w.reserved("r2", "n1", a)
	w.makeReady(committing)
	in, entry := w.membershipIn("r1"), wire.Membership{SpotID: "e1", SpotGeneration: 3, SpotKind: wire.MembershipEntry}
	before := map[string]*wire.Authority{}
	for _, id := range []string{"a1", "a2", "a3", "i1", "r1", "r2"} {
		before[id] = w.snapshot(id)
	}
	all := inKeyOrder(
		takesPart(before["a1"], into(entry)), takesPart(before["a2"], preserved, into(in)), takesPart(before["a3"]),
		takesPart(before["i1"], preserved), takesPart(before["r1"]), takesPart(before["r2"], preserved),
	)
	w.prepared(prepareRequest(fence("f"), target, sumOf(all), all))
	for id, s := range before { // 8.5: between prepare and commit exactly as before
		w.everyReply(id, s)
	}
	c := w.committedNow(fence("f"))
	after := map[string]*wire.Authority{
		"a1": movedTo(before["a1"], c, target), "a2": stayed(before["a2"], c), "a3": movedTo(before["a3"], c, target),
		"i1": stayed(before["i1"], c), "r1": movedTo(before["r1"], c, target), "r2": stayed(before["r2"], c),
	}
	after["a1"].Membership, after["a2"].Membership = &entry, &in
	want(t, after["a1"].Phase, wire.PhaseRecovering)                                     // kept
	want(t, after["a1"].ObjectGeneration < wire.Generation(c), true)                     // kept
	want(t, after["a3"].AuthorityOwnerGeneration, after["r1"].AuthorityOwnerGeneration)  // 1.3: all share it
	want(t, before["a2"].AuthorityOwnerGeneration, after["a2"].AuthorityOwnerGeneration) // kept
	check := func() {
		t.Helper()
		for id, s := range after {
			w.everyReply(id, s)
		}
		want(t, w.commit(committing.commit()), &wire.ObjectCommitReply{Kind: wire.KindAlreadyCommitted, Ready: readyAs(after["r2"])}) // 6.3
		want(t, w.usage("n1"), usage{Actors: use{Active: 1}, Spots: use{Active: 2}, Rooms: use{Active: 1}, Chats: use{Active: 1}})
	}
	check()
	w.work()
	check()
	w.at(29_999)
	w.renew(a)
	w.at(30_000) // owner-c has ended
	for _, id := range []string{"a1", "a3", "r1"} {
		after[id].Live = new(false)
	}
	for _, s := range after {
		s.StoreNow = t0 + 30_000
	}
	for id, s := range after {
		w.everyReply(id, s)
	}
}

// readyAs is a snapshot as ready shows it.
func readyAs(s *wire.Authority) *wire.Authority {
	ready := *s
	ready.Kind = ""
	return &ready
}

func TestPreserveAlone(t *testing.T) { // G-08
	t.Parallel()
	w, a, b := aggregateWorld(t)
	before := []*wire.Authority{w.ready("a1", "n1", a), w.ready("i1", "n2", b), w.ready("r1", "n2", b)}
	all := inKeyOrder(takesPart(before[0], preserved), takesPart(before[1], preserved), takesPart(before[2], preserved))
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), wire.Capacity{}, all))
	c := w.committedNow(fence("f"))
	for i, id := range []string{"a1", "i1", "r1"} {
		w.everyReply(id, stayed(before[i], c))
	}
	w.work()
	for i, id := range []string{"a1", "i1", "r1"} {
		w.everyReply(id, stayed(before[i], c))
	}
}

// twoMoved are r1 and r2, moved to n2 by an aggregate that is committed and not settled.
func twoMoved(t tb) (w *world, a, b wire.OwnerToken, c kvstore.Revision) {
	t.Helper()
	w, a, b, all := twoRooms(t)
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
	return w, a, b, w.committedNow(fence("f"))
}

func TestWriteToAParticipantSettlesIt(t *testing.T) { // 8.5, G-13
	t.Parallel()
	w, a, b, c := twoMoved(t)
	v := wire.Version(c.String())
	w.unchanged("r1", v, restoreOf(a)) // the projected owner decides
	put := w.exchange("r1", v, putOf(toPhase(wire.PhaseClosing)))
	want(t, put.Kind, wire.KindStored)
	want(t, put.OwnerID, b.OwnerID)
	want(t, put.AuthorityOwnerGeneration, wire.Generation(c))
	want(t, put.StoreVersion, wire.Version((c + 1).String())) // its own again
	w.unlocked("r1")
	want(t, w.partOf("r2").Kind, wire.KindFound)
	deleted := w.exchange("r2", v, removal())
	want(t, deleted.Authority, wire.Authority{Kind: wire.KindDeleted, StoreVersion: v, StoreNow: t0})
	after := w.snapshot("r1")
	want(t, w.commitAggregate(fence("f")), wire.KindAlreadyCommitted) // 8.6 row 2
	w.work()
	want(t, w.commitAggregate(fence("f")), wire.KindAlreadyCommitted)
	want(t, w.snapshot("r1"), after)
	want(t, w.snapshot("r2").Kind, wire.KindMissing)
	want(t, w.usage("n2"), usage{Spots: use{Active: 1}, Rooms: use{Active: 1}})
	want(t, w.usage("n1"), usage{})
}

func TestEveryMutationStartsFromTheProjection(t *testing.T) { // 8.5, 5.3
	t.Parallel()
	for name := range mutations(wire.OwnerToken{}, wire.OwnerToken{}) {
		for _, settled := range []bool{false, true} {
			t.Run(map[bool]string{false: name, true: name + ", settled"}[settled], func(t *testing.T) {
				t.Parallel()
				w, _, b, c := twoMoved(t)
				if settled {
					w.work()
				}
				next := b
				if name == "rebindOwnerLease" {
					w.release(b)
					next = w.claim("owner-b")
					w.stored(wire.IntentTakeover, node("n2", next))
				}
				m := mutations(b, next)[name]
				reply := w.exchange("r1", wire.Version(c.String()), m)
				wanted := wire.KindStored
				if name == "delete" {
					wanted = wire.KindDeleted
				}
				want(t, reply.Kind, wanted)
				w.work()
				if name == "delete" {
					want(t, w.snapshot("r1").Kind, wire.KindMissing)
					return
				}
				stored := reply.Authority
				stored.Kind = wire.KindSnapshot
				want(t, w.snapshot("r1"), &stored)
				want(t, stored.Allocation.Descriptor.RID, "n2")
				generation := wire.Generation(c)
				if name == "reincarnate" {
					generation = stored.ObjectGeneration
					want(t, generation > wire.Generation(c), true)
				}
				want(t, stored.AuthorityOwnerGeneration, generation)
			})
		}
	}
}

func TestParticipantThatIsCreatedAnew(t *testing.T) { // 8.5: changed or removed since, it needs no settling
	t.Parallel()
	w, _, b, c := twoMoved(t)
	want(t, w.exchange("r1", wire.Version(c.String()), removal()).Kind, wire.KindDeleted)
	r := w.reserved("r1", "n2", b)
	w.work()
	want(t, w.snapshot("r1").StoreVersion, r.version)
	want(t, w.snapshot("r1").Allocation.State, wire.AllocationReserved)
	w.makeReady(r)
	want(t, w.snapshot("r2").StoreVersion, wire.Version(c.String()))
}

func TestTwoAggregatesBeforeSettling(t *testing.T) { // 8.5: as changed by both, in the order of their commits
	t.Parallel()
	for name, order := range map[string][]wire.Fence{
		"first first":  {fence("f"), fence("g")},
		"second first": {fence("g"), fence("f")},
		"second alone": {fence("g")},
		"first alone":  {fence("f")},
		"neither":      {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, b, c1 := twoMoved(t)
			w.ready("a1", "n2", b)
			in := w.membershipIn("r2")
			r1 := w.snapshot("r1")
			stays := takesPart(r1, preserved, func(p *wire.AggregateParticipant) { p.AuthorityPayload = wire.Bytes("second") })
			joins := takesPart(w.snapshot("a1"), into(in))
			all := inKeyOrder(stays, joins)
			w.prepared(prepareRequest(fence("g"), tgt("n1", a), wire.Capacity{Actors: 1}, all))
			w.everyReply("r1", r1)
			c2 := w.committedNow(fence("g"))
			second := stayed(r1, c2) // owner and node of the first, payload and version of the second
			second.Payload = wire.Bytes("second")
			actor := movedTo(w.snapshot("a1"), c2, tgt("n1", a))
			check := func() {
				t.Helper()
				w.everyReply("r1", second)
				want(t, w.snapshot("r1").AuthorityOwnerGeneration, wire.Generation(c1))
				want(t, w.snapshot("r2").StoreVersion, wire.Version(c1.String()))
				w.everyReply("a1", actor)
			}
			check()
			for _, f := range order {
				w.workOn(f, kvstore.MaxRevision)
				check()
			}
			w.work()
			check()
			w.quiet(w.work)
		})
	}
}

func TestMoveToAndFroBeforeSettling(t *testing.T) { // 8.5
	t.Parallel()
	w, a, b, all := twoRooms(t)
	for i, rid := range []wire.RID{"n2", "n1", "n2", "n1", "n2"} {
		f := wire.Fence{AggregateID: "f", AggregateGeneration: wire.Generation(i + 1)}
		target := tgt(rid, map[wire.RID]wire.OwnerToken{"n1": a, "n2": b}[rid])
		w.prepared(prepareRequest(f, target, rooms(2), all))
		c := w.committedNow(f)
		for j := range all {
			all[j].ExpectedStoreVersion = wire.Version(c.String())
		}
		want(t, w.usage(rid).Rooms, use{Active: 2})
		want(t, w.usage(map[wire.RID]wire.RID{"n1": "n2", "n2": "n1"}[rid]).Rooms, use{})
	}
	before := w.snapshots()
	w.work()
	want(t, w.snapshots(), before)
}

func TestMembersMoveWithTheProjection(t *testing.T) { // 5.4, 8.5: members by projected memberships
	t.Parallel()
	w, a, b := aggregateWorld(t)
	w.ready("r1", "n1", a)
	w.ready("r2", "n1", a)
	w.member("a1", "r1", "n2", b)
	p := takesPart(w.snapshot("a1"), preserved, into(w.membershipIn("r2")))
	w.prepared(prepareRequest(fence("f"), tgt("n2", b), wire.Capacity{}, []wire.AggregateParticipant{p}))
	w.committedNow(fence("f"))
	w.lapse(b)
	c := w.hosts("n3", "owner-c")
	w.unreserved(w.reserveRequest("r2", tgt("n3", c), orRelease), wire.KindUnavailable, wire.ReasonMemberLive)
	w.anew(w.reserveRequest("r1", tgt("n3", c), orRelease)) // nobody is left in it
	want(t, w.snapshot("a1").Kind, wire.KindSnapshot)
	w.release(b)
	w.anew(w.reserveRequest("r2", tgt("n3", c), orRelease)) // 6.2: a committed aggregate that is not settled does not hinder
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
	w.work()
	want(t, w.snapshot("a1").Kind, wire.KindMissing)
}
