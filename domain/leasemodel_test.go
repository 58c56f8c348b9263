package domain_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

// leaseModel is what one owner's lease should be.
type leaseModel struct {
	token   wire.OwnerToken
	expires wire.Instant
	claimID string
}

// TestLeaseMachine compares random histories of two owners with the model.
func TestLeaseMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r)
		now, last := t0, wire.Generation(0)
		model := map[string]leaseModel{}
		owner := rapid.SampledFrom([]string{"owner-a", "owner-b"})
		lasts := rapid.Int64Range(1, 20)
		live := func(o string) bool { return model[o].expires > now }
		// A token is the owner's latest one, or one that never was.
		token := func(o string) wire.OwnerToken {
			tk := model[o].token
			if tk.OwnerID == "" || rapid.Bool().Draw(r, "wrong") {
				return wire.OwnerToken{OwnerID: o, LeaseGeneration: last + 1}
			}
			return tk
		}
		r.Repeat(map[string]func(*rapid.T){
			"advance": func(r *rapid.T) {
				now += wire.Instant(lasts.Draw(r, "ms"))
				w.at(int64(now - t0))
			},
			"claim": func(r *rapid.T) {
				o, id := owner.Draw(r, "owner"), rapid.SampledFrom([]string{"", "c1", "c2"}).Draw(r, "claim id")
				d := lasts.Draw(r, "ttl")
				got := write(w, domain.ClaimLease, &wire.LeaseClaimRequest{OwnerID: o, TTL: wire.Millis(d), ClaimID: id})
				m := model[o]
				switch {
				case live(o) && id != "" && id == m.claimID:
					want(r, got, &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &m.token, LeaseExpiresAt: m.expires, StoreNow: now})
				case live(o):
					want(r, got, &wire.LeaseClaimReply{Kind: wire.KindConflict, StoreNow: now})
				default:
					want(r, got.Kind, wire.KindClaimed)
					want(r, got.LeaseExpiresAt, now+wire.Instant(d))
					if got.Token.LeaseGeneration <= last {
						r.Fatalf("generation %d after %d, want it to rise", got.Token.LeaseGeneration, last)
					}
					last = got.Token.LeaseGeneration
					model[o] = leaseModel{*got.Token, got.LeaseExpiresAt, id}
				}
			},
			"renew": func(r *rapid.T) {
				o, d := owner.Draw(r, "owner"), lasts.Draw(r, "ttl")
				tk := token(o)
				got := write(w, domain.RenewLease, &wire.LeaseRenewRequest{Token: tk, TTL: wire.Millis(d)})
				if m := model[o]; live(o) && tk == m.token {
					m.expires = now + wire.Instant(d)
					model[o] = m
					want(r, got, &wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: m.expires, StoreNow: now})
					return
				}
				want(r, got, &wire.LeaseRenewReply{Kind: wire.KindStale})
			},
			"release": func(r *rapid.T) {
				o := owner.Draw(r, "owner")
				tk := token(o)
				got := write(w, domain.ReleaseLease, &wire.LeaseReleaseRequest{Token: tk})
				if live(o) && tk == model[o].token {
					model[o] = leaseModel{}
					want(r, got.Kind, wire.KindReleased)
					return
				}
				want(r, got.Kind, wire.KindStale)
			},
			"": func(*rapid.T) {
				for _, o := range []string{"owner-a", "owner-b"} {
					got := w.readLease(o)
					if m := model[o]; live(o) {
						want(r, got, &wire.LeaseReadReply{Kind: wire.KindFound, Token: &m.token, LeaseExpiresAt: m.expires, StoreNow: now})
						continue
					}
					want(r, got, &wire.LeaseReadReply{Kind: wire.KindMissing, StoreNow: now})
				}
			},
		})
	})
}
