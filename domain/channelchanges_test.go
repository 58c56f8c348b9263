package domain_test

import (
	"errors"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func TestStampOfChannelIsItsLastChange(t *testing.T) { // 11, P-01
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		want(t, w.stampOf(""), 0)
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		w.stored(wire.IntentNewClaim, memberOf("n2", a))
		match := w.revision()
		w.stored(wire.IntentNewClaim, memberOf("n1", a, inChannel("chat")))
		chat := w.revision()
		want(t, w.stampOf("match"), match)
		want(t, w.stampOf("chat"), chat)
		want(t, w.stampOf(""), chat)
		want(t, w.stampOf("matc"), 0)
		w.removed("match", "n1", a)
		want(t, w.stampOf("match"), w.revision())
		want(t, w.stampOf("chat"), chat)
		want(t, w.stampOf(""), w.revision())
		w.removeAll(a, 1) // each of its commits is a change
		want(t, w.stampOf("chat"), w.revision()-1)
		want(t, w.stampOf("match"), w.revision())
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		before := w.revision()
		w.release(a) // changes what is live, but no row
		want(t, w.stampOf(""), before)
	})
}

func TestRefusalsMoveNoStampOfChannel(t *testing.T) { // 11, P-02
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		g := w.stored(wire.IntentNewClaim, memberOf("n1", a))
		before := w.stampOf("match")
		w.renew(a)
		w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, memberOf("n1", b))
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, memberOf("n1", b, atRevision(2)))
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, memberOf("n2", a))
		w.repeated(memberOf("n1", a), g, t0)
		want(t, w.removed("match", "n1", b), wire.StatusIgnoredStale)
		want(t, w.stampOf("match"), before)
		want(t, w.stampOf(""), before)
	})
}

func TestKindsOfStampsAreApart(t *testing.T) { // 11
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		w.stored(wire.IntentNewClaim, memberOf("n1", w.claim("owner-a")))
		for _, kind := range wire.StampKind("").Values() {
			moved := w.stamp(wire.StampKind(kind), "") != 0
			want(t, moved, wire.StampKind(kind) == w.f.stamp || wire.StampKind(kind) == wire.StampOwnerLease)
		}
	})
}

func TestMemberEvents(t *testing.T) { // 13
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a := w.claim("owner-a")
		w.events()
		m := memberOf("\x00\xff", a, func(m *member) { m.Endpoint = "e" })
		m.Generation, m.UpdatedAt = w.stored(wire.IntentNewClaim, m), t0
		want(t, w.events(), []domain.Event{w.changed(2, wire.ChangeUpserted, 0, "match", "\x00\xff", &m)})
		w.at(1000)
		m.Revision, m.State = 2, wire.StateDraining
		w.stored(wire.IntentRenew, m)
		m.UpdatedAt = t0 + 1000
		want(t, w.events(), []domain.Event{w.changed(3, wire.ChangeUpserted, 1000, "match", "\x00\xff", &m)})
		w.repeated(m, m.Generation, m.UpdatedAt)
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, memberOf("\x00\xff", a, func(m *member) { m.Endpoint = "e" }))
		want(t, w.events(), nil)
		w.removed("match", "\x00\xff", a)
		want(t, w.events(), []domain.Event{w.changed(4, wire.ChangeRemoved, 1000, "match", "\x00\xff", nil)})
	})
}

func TestEndOfLeaseExpiresExactlyItsMembers(t *testing.T) { // 13, Z-01
	t.Parallel()
	for name, end := range map[string]func(channelWorld, wire.OwnerToken){
		"lapse":         func(w channelWorld, _ wire.OwnerToken) { w.at(30_000); w.expire() },
		"release":       func(w channelWorld, a wire.OwnerToken) { w.at(30_000 - 1); w.release(a) },
		"another claim": func(w channelWorld, _ wire.OwnerToken) { w.at(30_000); w.claim("owner-a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachChannelFamily(t, func(t *testing.T, w channelWorld) {
				a := w.claim("owner-a")
				b := write(w.world, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: "owner-b", TTL: 2 * ttl}).Token
				w.stored(wire.IntentNewClaim, memberOf("n2", a))
				w.stored(wire.IntentNewClaim, memberOf("n1", a))
				w.stored(wire.IntentNewClaim, memberOf("n1", a, inChannel("chat")))
				w.stored(wire.IntentNewClaim, memberOf("n3", *b))
				w.stored(wire.IntentTakeover, memberOf("n2", *b))
				w.events()
				end(w, a)
				rev, ms := w.revision(), wire.Instant(w.clock.Now())-t0
				got := w.events()[1:] // behind the event of the lease
				want(t, got[:2], []domain.Event{
					w.changed(rev, wire.ChangeExpired, ms, "chat", "n1", nil),
					w.changed(rev, wire.ChangeExpired, ms, "match", "n1", nil),
				})
				for _, e := range got[2:] {
					want(t, e.Kind, wire.EventOwnerLease)
				}
			})
		})
	}
}

func TestMemberMeetsDamagedLeases(t *testing.T) { // 1.5
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, memberOf("n1", a))
		k := domain.LeaseKey("owner-a")
		w.plant(k, []byte("x"), 0)
		w.quiet(func() {
			for _, token := range []wire.OwnerToken{a, b} { // of the writer, of the row
				_, err := w.f.put(w.world, wire.IntentNewClaim, memberOf("n1", token, atRevision(2)))
				wantLost(t, err, k)
			}
		})
		wantLost(t, w.f.page(w.view(), "match", ""), k)
		w.stored(wire.IntentTakeover, memberOf("n1", b)) // does not ask for it
	})
}

func TestMembersNeedRevisions(t *testing.T) { // L-10, 1.3
	t.Parallel()
	for name, f := range channelFamilies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := channelWorld{newWorldAt(t, kvstore.MaxRevision-2), f}
			a := w.claim("owner-a")
			g := w.stored(wire.IntentNewClaim, memberOf("n1", a))
			w.quiet(func() {
				for _, intent := range []wire.Intent{wire.IntentRenew, wire.IntentTakeover} {
					if _, err := f.put(w.world, intent, memberOf("n1", a, atRevision(2))); !errors.Is(err, kvstore.ErrExhausted) {
						t.Errorf("%s: error %v, want that no revision is left", intent, err)
					}
				}
			})
			w.refused(wire.StatusIgnoredStale, wire.IntentNewClaim, memberOf("n1", a, atRevision(2)))
			w.repeated(memberOf("n1", a), g, t0) // needs none
		})
	}
}

// TestMembersAreNoNodes: a topology shows mesh nodes alone. 11
func TestMembersAreNoNodes(t *testing.T) {
	t.Parallel()
	eachChannelFamily(t, func(t *testing.T, w channelWorld) {
		w.stored(wire.IntentNewClaim, memberOf("n1", w.claim("owner-a")))
		want(t, len(pages(w.world, domain.ListTopology, &wire.TopologyListRequest{}, 10)[0]), 0)
		want(t, len(pages(w.world, domain.SummarizeTopology, &wire.TopologySummaryRequest{}, 10)[0]), 0)
	})
}
