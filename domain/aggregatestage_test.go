package domain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func staged(n uint32) *wire.AggregateStageReply {
	return &wire.AggregateStageReply{Kind: wire.KindStaged, Count: n}
}

var stageConflict = &wire.AggregateStageReply{Kind: wire.KindConflict}

// stagedRows is how many participants are stored, of all aggregates.
func (w *world) stagedRows() int {
	w.t.Helper()
	return w.view().Count(domain.FamilyParticipant)
}

func TestStageWhatIsNotCollecting(t *testing.T) { // 8.2 row 1
	t.Parallel()
	for name, end := range map[string]func(*world, wire.Fence){
		"prepared":  func(*world, wire.Fence) {},
		"committed": func(w *world, f wire.Fence) { w.committedNow(f) },
		"settled": func(w *world, f wire.Fence) {
			w.committedNow(f)
			w.work()
		},
		"aborted": func(w *world, f wire.Fence) { want(w.t, w.abortAggregate(f), wire.KindAborted) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, b, all := twoRooms(t)
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(2), all))
			end(w, fence("f"))
			w.quiet(func() {
				want(t, w.stage(fence("f"), 0, all), stageConflict) // also what is staged
				want(t, w.stage(fence("f"), 2, all), stageConflict)
			})
			want(t, w.stage(wire.Fence{AggregateID: "f", AggregateGeneration: 2}, 0, all), staged(2)) // another aggregate
		})
	}
}

func TestStageAfterAnAbortWhileCollecting(t *testing.T) { // 8.2 row 1
	t.Parallel()
	w, _, _, all := twoRooms(t)
	want(t, w.stage(fence("f"), 0, all), staged(2))
	want(t, w.abortAggregate(fence("f")), wire.KindAborted)
	w.quiet(func() { want(t, w.stage(fence("f"), 0, all), stageConflict) })
}

func TestStagedContentNeverChanges(t *testing.T) { // 8.2 row 2
	t.Parallel()
	in := wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipUser}
	for name, edit := range map[string]func(*wire.AggregateParticipant){
		"key":             func(p *wire.AggregateParticipant) { p.AuthorityKey = keyOf("a9") },
		"version":         func(p *wire.AggregateParticipant) { p.ExpectedStoreVersion = "9" },
		"transition":      preserved,
		"payload":         func(p *wire.AggregateParticipant) { p.AuthorityPayload = wire.Bytes("Moved") },
		"mutation":        func(p *wire.AggregateParticipant) { p.MembershipMutation = nil },
		"membership":      into(in),
		"other member":    into(wire.Membership{SpotID: "r1", SpotGeneration: 2, SpotKind: wire.MembershipUser}),
		"other kind":      into(wire.Membership{SpotID: "r1", SpotGeneration: 1, SpotKind: wire.MembershipEntry}),
		"other spot id":   into(wire.Membership{SpotID: "r2", SpotGeneration: 1, SpotKind: wire.MembershipUser}),
		"no longer there": func(p *wire.AggregateParticipant) { p.Membership = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _ := aggregateWorld(t)
			first := takesPart(w.ready("a1", "n1", a))
			if name == "other member" || name == "other kind" || name == "other spot id" || name == "no longer there" {
				first.Membership = &in
			}
			want(t, w.stage(fence("f"), 7, []wire.AggregateParticipant{first}), staged(1))
			changed := first
			edit(&changed)
			w.quiet(func() {
				want(t, w.stage(fence("f"), 7, []wire.AggregateParticipant{changed}), stageConflict)
				want(t, w.stage(fence("f"), 6, inKeyOrder(validParticipant("a0"), changed)), stageConflict) // nor is the other stored
			})
			want(t, w.stage(fence("f"), 8, []wire.AggregateParticipant{changed}), staged(2)) // another index
			want(t, w.stage(fence("g"), 7, []wire.AggregateParticipant{changed}), staged(1)) // another aggregate
		})
	}
}

func TestKindOfASpotIsNoContent(t *testing.T) { // 1.7, 8.2 row 3
	t.Parallel()
	w, _, _ := aggregateWorld(t)
	p := validParticipant("r1")
	want(t, w.stage(fence("f"), 0, []wire.AggregateParticipant{p}), staged(1))
	p.AuthorityKey.Kind = wire.ObjectInstanceSpot
	want(t, w.stage(fence("f"), 0, []wire.AggregateParticipant{p}), staged(1))
}

func TestStageInAnyOrder(t *testing.T) { // 8.2 row 3: any order, overlap, repetition
	t.Parallel()
	all := manyParticipants(9)
	type call struct {
		from, to int
		count    uint32
	}
	for name, calls := range map[string][]call{
		"in order":       {{0, 3, 3}, {3, 6, 6}, {6, 9, 9}},
		"backwards":      {{6, 9, 3}, {3, 6, 6}, {0, 3, 9}},
		"one by one":     {{8, 9, 1}, {0, 1, 2}, {4, 5, 3}, {0, 9, 9}},
		"overlap":        {{2, 5, 3}, {4, 9, 7}, {0, 3, 9}},
		"repetition":     {{0, 5, 5}, {0, 5, 5}, {4, 9, 9}, {0, 9, 9}},
		"part of a call": {{0, 9, 9}, {3, 4, 9}},
		"holes":          {{1, 2, 1}, {3, 4, 2}, {5, 6, 3}, {7, 8, 4}, {0, 9, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, b := aggregateWorld(t)
			for _, c := range calls {
				want(t, w.stage(fence("f"), uint32(c.from), all[c.from:c.to]), staged(c.count))
			}
			want(t, w.stagedRows(), len(all))
			w.unprepared(prepareRequest(fence("f"), tgt("n2", b), wire.Capacity{}, nil, counted(9)), wire.KindConflict) // no such objects
		})
	}
}

func TestStageHalfWay(t *testing.T) { // 8.2: a call that fails half way may have staged a part
	t.Parallel()
	for limit := 3; limit <= 9; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			w := newWorldWithin(t, limit)
			w.once = newDerived()
			a, b := w.hosts("n1", "owner-a"), w.hosts("n2", "owner-b")
			var all []wire.AggregateParticipant
			for _, id := range []string{"r0", "r1", "r2", "r3", "r4"} {
				all = append(all, takesPart(w.ready(id, "n1", a)))
			}
			s, err := domain.NewStaging(&wire.AggregateStageRequest{Fence: fence("f"), Participants: all})
			if err != nil {
				t.Fatal(err)
			}
			before := w.stagedRows()
			if reply := write(w, domain.StageAggregate, s); limit < 7 {
				want(t, reply, nil)
			}
			part := w.stagedRows() - before
			if part == 0 || part > limit-2 {
				t.Fatalf("one commit of %d rows staged %d", limit, part)
			}
			if part < len(all) { // 8.3 row 5
				w.unprepared(prepareRequest(fence("f"), tgt("n2", b), rooms(5), nil, counted(5)), wire.KindConflict)
			}
			want(t, w.stage(fence("f"), 0, all), staged(5))
			w.prepared(prepareRequest(fence("f"), tgt("n2", b), rooms(5), nil, counted(5)))
		})
	}
}

func TestStageNeedsRoomForOneParticipant(t *testing.T) { // 1.1: a commit limit that no participant fits into
	t.Parallel()
	w := newWorldWithin(t, 2)
	s, err := domain.NewStaging(&wire.AggregateStageRequest{Fence: fence("f"), Participants: manyParticipants(1)})
	if err != nil {
		t.Fatal(err)
	}
	w.quiet(func() {
		if _, err := try(w, domain.StageAggregate, s); err == nil {
			t.Error("staged in 2 rows, want an error")
		}
	})
}

func TestBigParticipantsAreStagedInSeveralCommits(t *testing.T) { // 8.2, 1.6
	t.Parallel()
	w, _, _ := creationWorld(t)
	all := manyParticipants(7)
	for i := range all {
		all[i].AuthorityPayload, all[i].MembershipMutation = make(wire.Bytes, oneMiB), make(wire.Bytes, oneMiB)
	}
	want(t, w.stage(fence("f"), 0, all), staged(7))
	for c := range w.commits() {
		size := 0
		for _, e := range c.Entries {
			if e.Row != nil {
				size += len(e.Row.Value)
			}
		}
		if size > 7<<20 {
			t.Errorf("a commit of %d bytes", size)
		}
	}
}

// commits are those since the feed was read last.
func (w *world) commits() func(func(*kvstore.Commit) bool) { return slices.Values(w.feed.Ready()) }

func TestEveryStageCallMovesTheDeadline(t *testing.T) { // 8.1, 16: 60,000 ms after the last stage call
	t.Parallel()
	w, _, _, all := twoRooms(t)
	want(t, w.stage(fence("f"), 0, all[:1]), staged(1))
	w.at(59_999)
	w.quiet(func() { w.work() })
	want(t, w.stage(fence("f"), 0, all[:1]), staged(1)) // nothing new
	w.at(60_000)
	w.quiet(func() { w.work() })
	w.at(119_998)
	w.quiet(func() { w.work() })
	want(t, w.stage(fence("f"), 0, []wire.AggregateParticipant{validParticipant("a9")}), stageConflict) // a refusal moves nothing
	w.at(119_999)
	want(t, w.workOnce(), true)
	w.quiet(func() { want(t, w.stage(fence("f"), 0, all), stageConflict) })
	want(t, w.stagedRows(), 0)
	want(t, w.abortAggregate(fence("f")), wire.KindAlreadyAborted)
}

func TestTenThousandParticipants(t *testing.T) { // G-03
	t.Parallel()
	const n, calls = 10_100, 10
	w, a, b := creationWorld(t)
	all := make([]wire.AggregateParticipant, n)
	for i := range all {
		all[i] = takesPart(w.quickRoom(fmt.Sprintf("r%05d", i), tgt("n1", a)))
	}
	f := fence("f")
	for i := range calls {
		from := (calls - 1 - i) * n / calls // the last range first
		want(t, w.stage(f, uint32(from), all[from:from+n/calls]), staged(uint32((i+1)*n/calls)))
	}
	want(t, w.stage(f, 0, all[:1000]), staged(n))
	other := all[5]
	other.AuthorityPayload = wire.Bytes("other")
	w.quiet(func() {
		want(t, w.stage(f, 5, []wire.AggregateParticipant{other}), stageConflict)
		conflict := &wire.AggregatePrepareReply{Kind: wire.KindConflict}
		want(t, w.prepare(prepareRequest(f, tgt("n2", b), rooms(n-1), nil, counted(n-1))), conflict)
		want(t, w.prepare(prepareRequest(f, tgt("n2", b), rooms(n+1), nil, counted(n+1))), conflict)
	})
	w.prepared(prepareRequest(f, tgt("n2", b), rooms(n), nil, counted(n)))
	w.quiet(func() { want(t, w.stage(f, 0, all[:1000]), stageConflict) })
	w.committedNow(f)
	want(t, w.usage("n1").Rooms, use{})
	want(t, w.usage("n2").Rooms, use{Active: n})
	w.work()
	want(t, w.usage("n2").Rooms, use{Active: n})
	want(t, w.stagedRows(), 0)
	wantDerived(t, w.view(), newDerived())
}

// quickRoom creates a room without being careful.
func (w *world) quickRoom(id string, target wire.Target) *wire.Authority {
	w.t.Helper()
	req := w.reserveRequest(id, target)
	var ready *wire.Authority
	err := w.update(func(tx *kvstore.Tx) error {
		_, err := domain.ReserveObject(tx, req)
		return err
	})
	if err == nil {
		v := wire.Version(w.view().Revision().String())
		r := reservation{req.Key, req.ReservationID, v, req.Target, nil}
		err = w.update(func(tx *kvstore.Tx) error {
			reply, err := domain.CommitObject(tx, r.commit())
			ready = reply.Ready
			return err
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return ready
}
