package domain_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

var intents = []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover}

func TestLocationRowsInTheirOrder(t *testing.T) {
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		g1 := w.stored(wire.IntentNewClaim, a, 1)
		w.refused(wire.StatusRejectedConflict, wire.IntentNewClaim, b, 1)
		want(t, w.stored(wire.IntentRenew, a, 2), g1) // whatever generation was sent
		want(t, w.row().content, 2)
		g2 := w.stored(wire.IntentTakeover, b, 2)
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, a, 2)
		w.quiet(func() { want(t, w.remove(a), wire.StatusIgnoredStale) })
		want(t, w.remove(b), wire.StatusStored)
		w.quiet(func() { want(t, w.remove(b), wire.StatusIgnoredStale) })
		g3 := w.stored(wire.IntentNewClaim, a, 1)
		w.at(29_000)
		w.renew(b)
		w.at(30_000)
		g4 := w.stored(wire.IntentNewClaim, b, 1)
		if !slices.IsSorted([]wire.Generation{g1, g2, g3, g4}) || g1 == g2 || g2 == g3 || g3 == g4 {
			t.Fatalf("generations %d, %d, %d, %d, want them to rise", g1, g2, g3, g4)
		}
	})
}

func TestLocationRowIsShownAsStored(t *testing.T) { // 1.3, 4 resolve
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		want(t, w.row(), nil)
		w.at(5)
		g := w.stored(wire.IntentNewClaim, a, 1)
		r := w.view().Row(w.f.key)
		want(t, kvstore.Revision(g), r.Revision)
		shown := &locationRow{a, 1, g, t0 + 5, wire.RowState{Live: true, Version: wire.Version(r.Revision.String())}}
		if got := w.row(); *got != *shown {
			t.Fatalf("got %+v, want %+v", got, shown)
		}
		w.release(a)
		shown.Live = false
		if got := w.row(); *got != *shown {
			t.Fatalf("got %+v, want %+v", got, shown)
		}
		live, err := w.f.rows(w.view(), true)
		if err != nil || live != nil {
			t.Fatalf("live rows %v, error %v", live, err)
		}
		want(t, w.remove(a), wire.StatusStored) // the owner need not be live
		want(t, w.row(), nil)
	})
}

func TestLocationUpdateByDeadWriterIsRejected(t *testing.T) { // 4 row 1
	t.Parallel()
	eachLocation(t, func(_ *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		for _, intent := range intents {
			w.refused(wire.StatusRejectedConflict, intent, wire.OwnerToken{OwnerID: "nobody", LeaseGeneration: 1}, 1)
		}
		w.stored(wire.IntentNewClaim, a, 1)
		w.at(30_000)
		for _, intent := range intents {
			w.refused(wire.StatusRejectedConflict, intent, a, 1) // even a repetition
			w.refused(wire.StatusRejectedConflict, intent, a, 2)
		}
	})
}

func TestLocationUpdateRepeatedIsStoredUnchanged(t *testing.T) { // 4 row 2, R-06, R-07
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		g := w.stored(wire.IntentNewClaim, a, 1)
		before := *w.row()
		w.at(1000)
		for _, intent := range intents {
			w.quiet(func() {
				want(t, w.put(intent, a, 1), &wire.UpdateReply{Status: wire.StatusStored, Generation: g, UpdatedAt: t0})
			})
		}
		if got := *w.row(); got != before {
			t.Fatalf("got %+v, want %+v", got, before)
		}
	})
}

func TestLocationRenewOfAbsentRowIsRejected(t *testing.T) { // 4 row 3
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, a, 1)
		w.stored(wire.IntentNewClaim, a, 1)
		want(t, w.remove(a), wire.StatusStored)
		w.refused(wire.StatusRejectedConflict, wire.IntentRenew, a, 1)
	})
}

func TestLocationRenewByAnotherTokenIsStale(t *testing.T) { // 4 row 4, R-08
	t.Parallel()
	eachLocation(t, func(_ *testing.T, w *locationWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, a, 1)
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, b, 1)
		w.release(a)
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, b, 1) // the row's owner need not be live
		w.refused(wire.StatusIgnoredStale, wire.IntentRenew, w.claim("owner-a"), 1)
	})
}

func TestLocationRenewKeepsGeneration(t *testing.T) { // 4 row 5, R-02
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		g := w.stored(wire.IntentNewClaim, a, 1)
		w.at(1000)
		want(t, w.stored(wire.IntentRenew, a, 2), g)
		got := *w.row()
		if got.content != 2 || got.generation != g || got.updatedAt != t0+1000 || got.Version == wire.Version(kvstore.Revision(g).String()) {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestLocationNewClaimOfLiveRowIsRejected(t *testing.T) { // 4 row 6, R-01, R-06
	t.Parallel()
	eachLocation(t, func(_ *testing.T, w *locationWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, a, 1)
		w.refused(wire.StatusRejectedConflict, wire.IntentNewClaim, b, 1)
		w.refused(wire.StatusRejectedConflict, wire.IntentNewClaim, b, 2)
		w.refused(wire.StatusRejectedConflict, wire.IntentNewClaim, a, 2) // its own
	})
}

func TestLocationClaimBeginsGeneration(t *testing.T) { // 4 row 7, R-05, R-07, R-08
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		rising := []wire.Generation{
			w.stored(wire.IntentTakeover, a, 1), // of an absent row
			w.stored(wire.IntentTakeover, a, 2), // of its own, with other content
			w.stored(wire.IntentTakeover, b, 2), // of a live one
		}
		w.release(b)
		b2 := w.claim("owner-b")
		rising = append(rising, w.stored(wire.IntentNewClaim, b2, 2)) // of an older token of the same owner
		w.release(b2)
		rising = append(rising, w.stored(wire.IntentNewClaim, a, 2))
		w.at(30_000) // nobody takes the lapsed lease away
		rising = append(rising, w.stored(wire.IntentNewClaim, w.claim("owner-c"), 2))
		if !slices.IsSorted(rising) || len(slices.Compact(slices.Clone(rising))) != len(rising) {
			t.Fatalf("generations %d, want them to rise", rising)
		}
	})
}

func TestLocationRowThatIsDamagedIsLost(t *testing.T) { // 1.5
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a := w.claim("owner-a")
		w.stored(wire.IntentNewClaim, a, 1)
		value := w.view().Row(w.f.key).Value
		for name, spoil := range unreadable {
			t.Log(name)
			w.plant(w.f.key, spoil(slices.Clone(value)), 0)
			w.quiet(func() {
				for _, intent := range intents {
					_, err := w.f.update(w.world, intent, a, 1)
					wantLost(t, err, w.f.key)
				}
				_, err := w.f.remove(w.world, a)
				wantLost(t, err, w.f.key)
			})
			_, err := w.f.rows(w.view(), true)
			wantLost(t, err, w.f.key)
			if w.f.resolve != nil {
				_, err = w.f.resolve(w.view())
				wantLost(t, err, w.f.key)
			}
		}
	})
}

func TestLocationUpdateMeetsDamagedLeases(t *testing.T) { // 1.5
	t.Parallel()
	eachLocation(t, func(t *testing.T, w *locationWorld) {
		a, b := w.claim("owner-a"), w.claim("owner-b")
		w.stored(wire.IntentNewClaim, a, 1)
		k := domain.LeaseKey("owner-a")
		w.plant(k, []byte("x"), 0)
		w.quiet(func() {
			for _, token := range []wire.OwnerToken{a, b} { // of the writer, of the row
				_, err := w.f.update(w.world, wire.IntentNewClaim, token, 2)
				wantLost(t, err, k)
			}
		})
		_, err := w.f.rows(w.view(), false)
		wantLost(t, err, k)
		w.stored(wire.IntentTakeover, b, 2) // does not ask for it
	})
}

func TestLocationRowsNeedRevisions(t *testing.T) { // L-10, 1.3
	t.Parallel()
	for name, f := range locationFamilies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &locationWorld{newWorldAt(t, kvstore.MaxRevision-2), f}
			a := w.claim("owner-a")
			g := w.stored(wire.IntentNewClaim, a, 1)
			w.quiet(func() {
				for _, intent := range []wire.Intent{wire.IntentRenew, wire.IntentTakeover} {
					if _, err := f.update(w.world, intent, a, 2); !errors.Is(err, kvstore.ErrExhausted) {
						t.Errorf("%s: error %v, want that no revision is left", intent, err)
					}
				}
				want(t, w.put(wire.IntentNewClaim, a, 1).Generation, g) // needs none
			})
		})
	}
}
