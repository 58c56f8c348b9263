package peers_test

import (
	"context"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/wire"
)

const lists, asks = "peer.list", "change-stamp.get"

// counted compares how often an operation was asked for since.
func (w *world) counted(op string, want int, why string) {
	w.Helper()
	if got := w.conn.count(op); got != want {
		w.Errorf("%d times %s, want %d: %s", got, op, want, why)
	}
}

func TestTickIsSkippedWhenNothingHasChanged(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start(host())
		w.counted(lists, 1, "the first")
		w.pass(10 * tick)
		w.counted(lists, 0, "nothing has changed")
		w.counted(asks, 2*11, "one for rows and one for leases, every second")

		other := peer()
		other.MeshName = "lab"
		row := w.add(other)
		w.pass(tick)
		w.counted(lists, 1, "an owner has become live")
		row.Weight = 2
		w.put(row, wire.IntentRenew)
		w.pass(2 * tick)
		w.counted(lists, 0, "a row of another mesh")

		row.MeshName = "play"
		row = w.put(row, wire.IntentNewClaim)
		w.pass(2 * tick)
		w.counted(lists, 1, "a row")
		w.remove(row)
		w.pass(2 * tick)
		w.counted(lists, 1, "a row removed")
	})
}

func TestTickIsNotSkippedWhenOwnersChange(t *testing.T) {
	inWorld(t, func(w *world) {
		token := w.claim("one", 15_000)
		w.start(host())
		w.counted(lists, 1, "the first")
		w.pass(3 * tick)
		if _, err := w.c.Leases.Renew(w.Context(), wire.LeaseRenewRequest{Token: token, TTL: 15_000}); err != nil {
			t.Fatal(err)
		}
		w.pass(14 * tick)
		w.counted(lists, 0, "a renewal changes nobody")
		w.pass(3 * tick)
		w.counted(lists, 1, "the lease has lapsed")
	})
}

func TestTickIsNotSkippedWhileTheOwnRowIsMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		o := host()
		o.Republish = func(context.Context) error { return nil }
		w.start(o)
		w.pass(5 * tick)
		w.counted(lists, 6, "the own row is not published")
		w.add(router(hostRID, hostEndpoint, wire.OwnerToken{}))
		w.pass(tick)
		w.counted(lists, 1, "the own row is new")
		w.pass(5 * tick)
		w.counted(lists, 0, "the own row is published")
	})
}

func TestTickIsNotSkippedAfterAFailedStamp(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start(host())
		w.conn.fail(asks)
		w.counted(lists, 1, "the first")
		w.pass(tick)
		w.counted(lists, 1, "nobody knows whether anything has changed")
		w.conn.mend()
		w.pass(tick)
		w.counted(lists, 1, "the stamp failed the last time")
		w.pass(5 * tick)
		w.counted(lists, 0, "nothing has changed")
	})
}

func TestTickIsNotSkippedAfterAFailedListing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.conn.fail(lists)
		w.start(host())
		w.pass(2 * tick)
		w.counted(lists, 3, "it fails")
		w.conn.mend()
		w.pass(tick)
		w.counted(lists, 1, "the last one failed")
		w.pass(5 * tick)
		w.counted(lists, 0, "nothing has changed")
	})
}

func TestTicksComeOneAtATimeAndPauseInBetween(t *testing.T) {
	inWorld(t, func(w *world) {
		w.conn.delay(lists, 1500*time.Millisecond)
		s := w.start(host())
		s.Changed(0)
		w.pass(tick)
		w.counted(lists, 1, "it is on its way")
		w.pass(540 * time.Millisecond)
		w.counted(lists, 0, "there is a pause after it")
		w.pass(20 * time.Millisecond)
		w.counted(lists, 1, "something has changed meanwhile")
	})
}

func TestChangeEventsShortenTheWait(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.start(host())
		s.Watching(true)
		w.pass(tick / 2)
		w.net.happened()
		p := w.add(peer())
		revision := wire.Revision(p.Generation)
		w.happened()
		s.Changed(revision)
		w.pass(0)
		w.happened("dial " + peerEndpoint)

		w.conn.count(lists)
		s.Changed(revision)
		w.pass(tick)
		w.counted(lists, 0, "the listing has shown this revision")
		for range 100 {
			s.Changed(revision + 1)
			w.pass(time.Millisecond)
		}
		w.pass(tick)
		if n := w.conn.count(lists); n < 2 || n > 4 {
			t.Errorf("%d listings for 100 events in 100 ms, want some 3", n)
		}
	})
}

func TestEventOfWhatAListingOnItsWayShowsAsksForNoOther(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.start(host())
		s.Watching(true)
		w.pass(tick)
		p := w.add(peer())
		w.conn.delay(asks, 100*time.Millisecond)
		w.conn.count(lists)
		s.Changed(0)
		w.pass(tick / 10)
		s.Changed(wire.Revision(p.Generation)) // before the listing, which comes after the stamps
		w.pass(5 * tick)
		w.counted(lists, 1, "it has shown the row")
	})
}

func TestNothingIsPolledWhileChangeEventsCome(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.start(host())
		w.counted(lists, 1, "the first")
		s.Watching(true)
		w.pass(tick)
		w.counted(lists, 1, "what changed before the events came")
		w.counted(asks, 4, "with either")
		w.pass(28 * tick)
		w.counted(asks, 0, "events would tell")
		w.pass(2 * tick)
		w.counted(asks, 2, "the safety net")

		s.Watching(false)
		w.pass(5 * tick)
		if n := w.conn.count(asks); n < 10 {
			t.Errorf("%d questions in 5 s without events, want two every second", n)
		}
	})
}
