package domain_test

import (
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

func TestDelete(t *testing.T) { // 5.3 row 11, A-05
	t.Parallel()
	w, a, b := creationWorld(t, typeLimits(1, 0))
	v := w.ready("r1", "n1", a).StoreVersion
	w.unreserved(w.reserveRequest("r2", tgt("n1", a)), wire.KindPlacementCapacityExhausted, "")
	w.at(5)
	want(t, w.exchange("r1", v, removal()), &wire.AuthorityCompareExchangeReply{
		Authority: wire.Authority{Kind: wire.KindDeleted, StoreVersion: v, StoreNow: t0 + 5},
	})
	want(t, w.snapshot("r1"), &wire.Authority{Kind: wire.KindMissing, StoreNow: t0 + 5})
	want(t, w.usage("n1"), usage{})
	w.unchanged("r1", v, removal())
	w.reserved("r2", "n1", a)
	w.reserved("r1", "n2", b)
}

func TestDeleteLeavesTheMembers(t *testing.T) { // 5.3: their memberships stay
	t.Parallel()
	w, a, _ := creationWorld(t)
	w.joined("a1", a)
	before := w.snapshot("a1")
	want(t, w.exchange("r1", w.snapshot("r1").StoreVersion, removal()).Kind, wire.KindDeleted)
	want(t, w.snapshot("a1"), before)
	w.changed("a1", putOf()) // without the spot
}

// TestStoredMutations compares whole snapshots of an object that has everything.
func TestStoredMutations(t *testing.T) { // 5.2, 5.3 row 12, A-01, A-03, A-04, A-07
	t.Parallel()
	entry := wire.Membership{SpotID: "e9", SpotGeneration: 99, SpotKind: wire.MembershipEntry}
	for name, tt := range map[string]struct {
		mutation func(a, next wire.OwnerToken) wire.AuthorityMutation
		end      string // how the owner's lease ended before, if it did
		changes  func(s *wire.Authority, next wire.OwnerToken, g wire.Generation)
	}{
		"put of a payload": {
			mutation: func(_, _ wire.OwnerToken) wire.AuthorityMutation { return putOf() },
			changes:  func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) { s.Payload = wire.Bytes("put") },
		},
		"put of no bytes": {
			mutation: func(_, _ wire.OwnerToken) wire.AuthorityMutation {
				return putOf(func(m *wire.AuthorityMutation) { m.Payload = wire.Bytes{} })
			},
			changes: func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) { s.Payload = wire.Bytes{} },
		},
		"put of a phase": {
			mutation: func(_, _ wire.OwnerToken) wire.AuthorityMutation { return putOf(toPhase(wire.PhaseClosing)) },
			changes: func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) {
				s.Payload, s.Phase = wire.Bytes("put"), wire.PhaseClosing
			},
		},
		"put of a membership": {
			mutation: func(_, _ wire.OwnerToken) wire.AuthorityMutation { return putOf(joining(entry)) },
			changes: func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) {
				s.Payload, s.Membership = wire.Bytes("put"), &entry
			},
		},
		"rebind": {
			end: "reclaimed", mutation: rebindTo,
			changes: func(s *wire.Authority, next wire.OwnerToken, _ wire.Generation) {
				live := true
				s.Payload, s.OwnerLeaseGeneration, s.Live = wire.Bytes("rebound"), next.LeaseGeneration, &live
			},
		},
		"restore of a live owner's": {
			mutation: func(a, _ wire.OwnerToken) wire.AuthorityMutation { return restoreOf(a) },
			changes:  func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) { s.Payload = wire.Bytes("restored") },
		},
		"restore of a dead owner's": {
			end: "released", mutation: func(a, _ wire.OwnerToken) wire.AuthorityMutation { return restoreOf(a) },
			changes: func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) { s.Payload = wire.Bytes("restored") },
		},
		"restore to a phase": {
			end: "released", mutation: func(a, _ wire.OwnerToken) wire.AuthorityMutation {
				return restoreOf(a, toPhase(wire.PhaseSteady))
			},
			changes: func(s *wire.Authority, _ wire.OwnerToken, _ wire.Generation) {
				s.Payload, s.Phase = wire.Bytes("restored"), wire.PhaseSteady
			},
		},
		"reincarnate": {
			mutation: func(_, _ wire.OwnerToken) wire.AuthorityMutation { return reincarnation() },
			changes: func(s *wire.Authority, _ wire.OwnerToken, g wire.Generation) {
				s.Payload, s.ObjectGeneration, s.AuthorityOwnerGeneration = wire.Bytes("reborn"), g, g
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, a, _ := creationWorld(t)
			w.joined("a1", a)
			next := a
			switch tt.end {
			case "released":
				w.release(a)
			case "reclaimed":
				next = w.reclaimed(a)
			}
			w.at(7)
			for range 2 { // a second time from the same expectation is a conflict
				before, usedBefore := w.snapshot("a1"), w.usage("n1")
				m := tt.mutation(a, next)
				reply := w.exchange("a1", before.StoreVersion, m)
				after := *before
				after.Kind, after.StoreVersion = wire.KindStored, wire.Version(w.view().Revision().String())
				tt.changes(&after, next, wire.Generation(w.view().Revision()))
				want(t, reply, &wire.AuthorityCompareExchangeReply{Authority: after})
				after.Kind = wire.KindSnapshot
				want(t, w.snapshot("a1"), &after)
				want(t, w.usage("n1"), usedBefore)
				w.unchanged("a1", before.StoreVersion, m)
				if m.Kind == wire.AuthorityRebind {
					return // its expected owner is gone
				}
			}
		})
	}
}

func TestReincarnationDropsTheReservation(t *testing.T) { // 5.2, 6.3 row 2
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	w.makeReady(r)
	w.changed("r1", putOf())
	want(t, w.commit(r.commit()).Kind, wire.KindAlreadyCommitted)
	w.changed("r1", reincarnation())
	want(t, w.commit(r.commit()).Kind, wire.KindStale)
}

func TestReservationOutlivesARebind(t *testing.T) { // 5.2: the reservation id stays
	t.Parallel()
	w, a, _ := creationWorld(t)
	r := w.reserved("r1", "n1", a)
	w.makeReady(r)
	next := w.reclaimed(a)
	rebound := w.changed("r1", rebindTo(a, next))
	want(t, rebound.PendingCreation, nil)
	rebound.Kind = "" // of the reply
	want(t, w.commit(r.commit()).Ready, rebound)
}

func TestPayloadOfOneMebibyte(t *testing.T) {
	t.Parallel()
	w, a, _ := creationWorld(t)
	req := &wire.AuthorityCompareExchangeRequest{
		Key: keyOf("r1"), ExpectedStoreVersion: w.ready("r1", "n1", a).StoreVersion,
		Mutation: putOf(func(m *wire.AuthorityMutation) { m.Payload = make(wire.Bytes, 1<<20+1) }),
	}
	wantTooLarge(t, domain.ValidateAuthorityCompareExchange(req), "mutation.payload", 1<<20, 1<<20+1)
	req.Mutation.Payload = req.Mutation.Payload[1:]
	wantInvalid(t, domain.ValidateAuthorityCompareExchange(req), "")
	if err := w.update(func(tx *kvstore.Tx) error {
		_, err := domain.CompareExchangeAuthority(tx, req)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want(t, len(w.snapshot("r1").Payload), 1<<20)
}
