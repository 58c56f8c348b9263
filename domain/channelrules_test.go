package domain_test

import (
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func atRevision(n wire.Revision) func(*member) { return func(m *member) { m.Revision = n } }

func inState(s wire.NodeState) func(*member) { return func(m *member) { m.State = s } }

func inChannel(name string) func(*member) { return func(m *member) { m.Channel = name } }

func TestMemberIsListedAsSent(t *testing.T) { // D-01
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		sent := memberOf("\x00\xff", w.claim("owner-a"), func(m *member) { m.Endpoint, m.Generation, m.UpdatedAt = "e", 999, 999 })
		g := w.stored(wire.IntentNewClaim, sent)
		row := w.view().Row(w.f.key("match", "\x00\xff"))
		want(t, kvstore.Revision(g), row.Revision)
		stamped := sent
		stamped.Generation, stamped.UpdatedAt = g, t0
		want(t, w.listed(), []channelItem{{
			w.f.body(stamped), "\x00\xff", wire.RowState{Live: true, Version: wire.Version(row.Revision.String())},
		}})
	})
}

func TestMemberOfDeadWriterIsRejected(t *testing.T) { // 3.2 row 1
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.at(30_000)
		for _, intent := range []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover} {
			w.refused(wire.StatusRejectedConflict, intent, memberOf("n1", a)) // even a repetition
			w.refused(wire.StatusRejectedConflict, intent, memberOf("n2", a))
		}
	})
}

func TestMemberRepeatedIsStoredUnchanged(t *testing.T) { // 3.2 row 2, D-07
	t.Parallel()
	eachChannelFamily(t, func(_ *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		g := w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.at(1000)
		w.repeated(memberOf("n1", a), g, t0)
		w.stored(wire.IntentRenew, memberOf("n1", a, atRevision(2)))
		w.at(2000)
		w.repeated(memberOf("n1", a, atRevision(2)), g, t0+1000)
	})
}

func TestRenewOfAbsentMemberIsRejected(t *testing.T) { // 3.2 row 3, D-06
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, memberOf("n1", a))
		first := w.stored(wire.IntentNewClaim, memberOf("n1", a))
		want(t, w.removed("match", "n1", a), wire.StatusStored)
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, memberOf("n1", a, atRevision(2)))
		if again := w.stored(wire.IntentNewClaim, memberOf("n1", a)); again <= first {
			t.Fatalf("generation %d after %d, want it to rise", again, first)
		}
	})
}

func TestRenewOfMemberKeepsGeneration(t *testing.T) { // 3.2 row 4, D-03
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		g := w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.at(1000)
		changed := memberOf("n1", a, atRevision(2), inState(wire.StateDraining), func(m *member) { m.Weight = 0 })
		want(t, w.stored(wire.IntentRenew, changed), g)
		changed.Generation, changed.UpdatedAt = g, t0+1000
		want(t, w.listed()[0].Body, w.f.body(changed))
	})
}

func TestRenewOfMemberOtherwiseIsStale(t *testing.T) { // 3.2 row 5, D-03
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, memberOf("n1", a, atRevision(3)))
		for why, m := range map[string]member{
			"same revision, other content": memberOf("n1", a, atRevision(3), inState(wire.StateDraining)),
			"smaller revision":             memberOf("n1", a, atRevision(2)),
			"another owner":                memberOf("n1", b, atRevision(4)),
			"another lifecycle":            memberOf("n1", a, atRevision(4), func(m *member) { m.Lifecycle = 8 }),
			"another endpoint":             memberOf("n1", a, atRevision(4), func(m *member) { m.Endpoint = "x" }),
			"another security identity":    memberOf("n1", a, atRevision(4), func(m *member) { m.Identity = "x" }),
		} {
			t.Log(why)
			w.refused(wire.StatusIgnoredStale, wire.IntentRenew, m)
		}
	})
}

func TestNewClaimOfLiveMemberIsStale(t *testing.T) { // 3.2 row 6, D-05
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		before := w.listed()
		w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, memberOf("n1", a, atRevision(2), inState(wire.StateError)))
		w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, memberOf("n1", b))
		want(t, w.listed(), before)
	})
}

func TestClaimOfMemberBeginsGeneration(t *testing.T) { // 3.2 row 8, D-04
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		generations := []wire.Generation{w.stored(wire.IntentNewClaim, memberOf("n1", a, atRevision(9)))}
		w.release(a)
		a2, b := w.claim("owner-a"), w.claim("owner-b")
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, memberOf("n1", a2, atRevision(10)))
		generations = append(generations,
			w.stored(wire.IntentNewClaim, memberOf("n1", b)),                              // the row's owner is gone
			w.stored(wire.IntentTakeover, memberOf("n1", a2)),                             // no revision rule
			w.stored(wire.IntentTakeover, memberOf("n1", a2, inState(wire.StateStopped))), // its own row, other content
			w.stored(wire.IntentTakeover, memberOf("n2", b)),                              // an absent row
		)
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, memberOf("n1", a, atRevision(11)))
		if !slices.IsSorted(generations) || len(slices.Compact(generations)) != 5 {
			t.Fatalf("generations %d, want them to rise", generations)
		}
	})
}

func TestRemoveOfMemberNeedsItsToken(t *testing.T) { // 3.4, D-02
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.stored(wire.IntentNewClaim, memberOf("n2", a))
		w.quiet(func() {
			want(t, w.removed("match", "n1", wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: a.LeaseGeneration + 1}), wire.StatusIgnoredStale)
			want(t, w.removed("match", "n1", b), wire.StatusIgnoredStale)
			want(t, w.removed("match", "n3", a), wire.StatusIgnoredStale)
			want(t, w.removed("chat", "n1", a), wire.StatusIgnoredStale)
		})
		want(t, w.removed("match", "n1", a), wire.StatusStored)
		w.quiet(func() { want(t, w.removed("match", "n1", a), wire.StatusIgnoredStale) })
		w.at(30_000)
		want(t, w.removed("match", "n2", a), wire.StatusStored) // the owner need not be live
		want(t, len(w.listed()), 0)
	})
}

func TestChannelIsListedInOrderOfRIDs(t *testing.T) { // 1.9
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		order := []wire.RID{"\x00", "\x00\x00", "\x00b", "A", "a", "a\x00", "a\x00b", "é", "\xff"}
		for _, rid := range slices.Backward(order) {
			w.stored(wire.IntentNewClaim, memberOf(rid, a, func(m *member) { m.Endpoint = "e" }))
		}
		for _, channel := range []string{"matc", "match2"} {
			w.stored(wire.IntentNewClaim, memberOf("x", a, inChannel(channel)))
		}
		for size := uint32(1); size <= 10; size++ {
			var got []wire.RID
			for _, item := range slices.Concat(w.f.list(w.world, "match", wire.PageRequest{}, size)...) {
				got = append(got, item.RID)
			}
			want(t, got, order)
		}
	})
}

func TestLiveMembersOnly(t *testing.T) { // 1.9, P-05
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.stored(wire.IntentNewClaim, memberOf("n2", a))
		w.stored(wire.IntentNewClaim, memberOf("n3", b))
		w.release(a)
		w.claim("owner-a") // another generation does not make the rows live
		var live []bool
		for _, item := range w.listed() {
			live = append(live, item.Live)
		}
		want(t, live, []bool{false, false, true})
		for _, size := range []uint32{1, 10} { // a page is filled with matching rows
			got := w.f.list(w.world, "match", wire.PageRequest{LiveOnly: true}, size)
			want(t, len(got), 1)
			want(t, got[0][0].RID, "n3")
		}
	})
}

// TestFamiliesOfChannelsAreApart: a server and a publisher may have one name, and a
// node of a mesh that of both.
func TestFamiliesOfChannelsAreApart(t *testing.T) { // 1.8
	t.Parallel()
	w := newWorld(t)
	a := w.claim("owner-a")
	w.stored(wire.IntentNewClaim, node("n1", a, inMesh("match")))
	for _, f := range channelFamilies {
		channelWorld{w, f}.stored(wire.IntentNewClaim, memberOf("n1", a))
	}
	for _, f := range channelFamilies {
		want(t, len(channelWorld{w, f}.listed()), 1)
		want(t, channelWorld{w, f}.removed("match", "n1", a), wire.StatusStored)
	}
	want(t, w.view().Row(domain.MeshNodeKey("match", "n1")) != nil, true)
}

func TestDamagedMemberIsLostInEveryRuleThatMeetsIt(t *testing.T) { // 1.5
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.stored(wire.IntentNewClaim, memberOf("n1", a, inChannel("chat")))
		k := w.f.key("match", "n1")
		for name, spoil := range unreadable {
			t.Log(name)
			w.plant(k, spoil(slices.Clone(w.view().Row(w.f.key("chat", "n1")).Value)), 0)
			w.quiet(func() {
				for _, intent := range []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover} {
					_, err := w.f.put(w.world, intent, memberOf("n1", a, atRevision(2)))
					wantLost(t, err, k)
				}
				_, err := w.f.remove(w.world, "match", "n1", a)
				wantLost(t, err, k)
			})
			wantLost(t, w.f.page(w.view(), "match", ""), k)
			want(t, w.f.page(w.view(), "chat", ""), nil) // out of its scope
			want(t, w.f.page(w.view(), "match", k), nil) // behind it
		}
	})
}
