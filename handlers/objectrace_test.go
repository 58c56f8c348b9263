package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// said is the kind and the reason of a reply to object.reserve or object.place.
func said(a answer) string {
	r := resultOf[wire.ObjectReserveReply](a)
	if r.Reason != "" {
		return fmt.Sprintf("%s %s", r.Kind, r.Reason)
	}
	return string(r.Kind)
}

func wantCounts(t *testing.T, got, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// TestOneOfManyReservesAnObject: whoever is refused has been told of the reservation that there is. 1.1, 6.1 row 5
func TestOneOfManyReservesAnObject(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		const callers = 64
		a := p.hosts("n1", "a", 0)
		var mu sync.Mutex
		versions := make(map[wire.Version]bool) // guarded by mu
		got := race(callers, func(i int) string {
			req := reserveOf("r1", "n1", a)
			req.ReservationID = reservationID("r1", i)
			reply := p.to(i, subjects.ObjectReserve, req)
			r := resultOf[wire.ObjectReserveReply](reply)
			mu.Lock()
			defer mu.Unlock()
			if r.Creating != nil {
				versions[r.Creating.StoreVersion] = true
			} else {
				versions[r.Current.StoreVersion] = true
			}
			return said(reply)
		})
		wantCounts(t, got, map[string]int{"reserved": 1, "conflict reserved": callers - 1})
		if _, _, rooms := p.usage("n1"); len(versions) != 1 || rooms != (wire.Usage{Reserved: 1}) {
			t.Errorf("%d versions, in use %+v", len(versions), rooms)
		}
	})
}

// TestNoMoreThanTheRoomThereIs has callers of either instance, some of whose requests are forwarded, race for the last places. 1.10,
// 6.1 row 10, C-11
func TestNoMoreThanTheRoomThereIs(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		const callers, room = 200, 50
		a := p.hosts("n1", "a", room)
		before := max(p.view(0).Revision(), p.view(1).Revision()) // both have the node
		done := make(chan struct{})
		var lists atomic.Int32
		var watching sync.WaitGroup
		watching.Go(func() {
			for {
				if _, _, rooms := p.usageAt("n1", nil); rooms.Active+rooms.Reserved > room {
					t.Errorf("in use %+v, want at most %d", rooms, room)
				}
				lists.Add(1)
				select {
				case <-done:
					return
				default:
				}
			}
		})
		got := race(callers, func(i int) string {
			req := reserveOf(fmt.Sprintf("r%d", i), "n1", a)
			if i%4 > 1 {
				return said(p.call(subjects.ObjectReserve, payload(t, req), nil))
			}
			return said(p.to(i, subjects.ObjectReserve, req))
		})
		close(done)
		watching.Wait()
		wantCounts(t, got, map[string]int{"reserved": room, "placementCapacityExhausted": callers - room})
		for i := range pairIDs {
			v := p.view(i)
			if n := v.Count(domain.FamilyAuthority); n != room || v.Revision() != before+room {
				t.Errorf("%s: %d objects in %d commits, want %d in as many", pairIDs[i], n, v.Revision()-before, room)
			}
		}
		if _, _, rooms := p.usage("n1"); rooms != (wire.Usage{Limit: room, Reserved: room}) {
			t.Errorf("in use %+v, want %d", rooms, room)
		}
		t.Logf("%d lists meanwhile", lists.Load())
	})
}

// TestPlacingFillsEveryNode: 20 of 64 find room. 6.6, C-16
func TestPlacingFillsEveryNode(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		const callers, nodes, room = 64, 4, 5
		owner := p.hosts("n0", "a", room)
		for n := 1; n < nodes; n++ {
			p.hostsBy(owner, wire.RID(fmt.Sprintf("n%d", n)), room)
		}
		got := race(callers, func(i int) string {
			return said(p.to(i, subjects.ObjectPlace, placeOf(fmt.Sprintf("r%d", i))))
		})
		wantCounts(t, got, map[string]int{"reserved": nodes * room, "placementCapacityExhausted": callers - nodes*room})
		for n := range nodes {
			if _, _, rooms := p.usage(wire.RID(fmt.Sprintf("n%d", n))); rooms != (wire.Usage{Limit: room, Reserved: room}) {
				t.Errorf("n%d has %+v in use, want %d", n, rooms, room)
			}
		}
	})
}

// TestOneEndOfACreation lets commit, completions and abort race: one of them takes effect. 6
func TestOneEndOfACreation(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		const objects = 16
		now := wire.Instant(p.stores[0].Clock().Now())
		a := p.hosts("n1", "a", 0)
		race(objects, func(i int) string {
			// Of a spot and of an actor: the ends, each by both instances.
			r, c := p.reserved(fmt.Sprintf("r%d", i), "n1", a), p.reserved(fmt.Sprintf("a%d", i), "n1", a)
			spot := race(4, func(n int) string {
				if n < 2 {
					return string(resultOf[wire.ObjectCommitReply](p.to(n, subjects.ObjectCommit, r.commit())).Kind)
				}
				return string(resultOf[wire.ObjectAbortReply](p.to(n, subjects.ObjectAbort, r.abort())).Kind)
			})
			actor := race(4, func(n int) string {
				kind := []wire.CompletionKind{wire.CompletionCreated, wire.CompletionFailed}[n%2]
				if n < 2 {
					req := c.complete(kind, uint64(2*i+n+1), now)
					return string(resultOf[wire.ObjectCompleteCreationReply](p.to(n, subjects.ObjectCompleteCreation, req)).Kind)
				}
				return string(resultOf[wire.ObjectAbortReply](p.to(n, subjects.ObjectAbort, c.abort())).Kind)
			})
			for _, end := range []struct {
				got     map[string]int
				allowed []map[string]int
			}{
				{spot, []map[string]int{
					{"committed": 1, "alreadyCommitted": 1, "stale": 2},
					{"aborted": 1, "alreadyAborted": 1, "stale": 2},
				}},
				{actor, []map[string]int{
					{"created": 1, "stale": 3},
					{"failed": 1, "stale": 3},
					{"aborted": 1, "alreadyAborted": 1, "stale": 2},
				}},
			} {
				if !containsCounts(end.allowed, end.got) {
					t.Errorf("object %d: %v, want one of %v", i, end.got, end.allowed)
				}
			}
			if live := p.read(r.key.GlobalID).Kind == wire.KindSnapshot; live != (spot["committed"] == 1) {
				t.Errorf("r%d is there: %t, after %v", i, live, spot)
			}
			if live := p.read(c.key.GlobalID).Kind == wire.KindSnapshot; live != (actor["created"] == 1) {
				t.Errorf("a%d is there: %t, after %v", i, live, actor)
			}
			return ""
		})
	})
}

func containsCounts(all []map[string]int, got map[string]int) bool {
	for _, want := range all {
		if cmp.Equal(want, got) {
			return true
		}
	}
	return false
}

// TestCommitAndReleaseRaceAsTheLeaseLapses: exactly one wins. E-04
func TestCommitAndReleaseRaceAsTheLeaseLapses(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		const objects = 24
		running, stop := context.WithCancel(t.Context())
		var sweeps sync.WaitGroup
		defer sweeps.Wait()
		defer stop()
		for _, s := range p.stores {
			sweeps.Go(func() {
				if err := kvstore.Sweep(running, s, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		a := p.hosts("n1", "a", 0)
		reservations := make([]reservation, objects)
		for i := range reservations {
			reservations[i] = p.reserved(fmt.Sprintf("r%d", i), "n1", a)
		}
		reply := p.call(subjects.LeaseRenew, payload(t, wire.LeaseRenewRequest{Token: a, TTL: 200}), nil)
		lapses := kvstore.Instant(resultOf[wire.LeaseRenewReply](reply).LeaseExpiresAt)
		var committed, released [objects]atomic.Bool
		race(2*objects, func(i int) string {
			n, r := i/2, reservations[i/2]
			if i%2 == 0 { // commits are spread over the time around the lapse
				at := lapses + 8*kvstore.Instant(n-objects/2)
				if err := p.stores[n%2].Clock().Wait(t.Context(), at); err != nil {
					t.Error(err)
				}
				got := resultOf[wire.ObjectCommitReply](p.to(n, subjects.ObjectCommit, r.commit()))
				committed[n].Store(got.Kind == wire.KindCommitted)
				return string(got.Kind)
			}
			for { // releases are tried until something has become of the object
				got := resultOf[wire.ObjectReleaseEndedReply](p.to(n+1, subjects.ObjectReleaseEnded, r.releaseEnded()))
				released[n].Store(got.Kind == wire.KindReleased)
				now := p.read(r.key.GlobalID)
				if got.Kind == wire.KindReleased || now.Kind == wire.KindMissing || now.Allocation.State == wire.AllocationActive {
					return string(got.Kind)
				}
			}
		})
		n := 0
		for i := range objects {
			if committed[i].Load() == released[i].Load() {
				t.Errorf("r%d: committed %t, released %t, want one of them", i, committed[i].Load(), released[i].Load())
			}
			if committed[i].Load() {
				n++
			}
		}
		t.Logf("%d of %d were committed", n, objects)
		if got := p.view(1).Count(domain.FamilyAuthority); got != n {
			t.Errorf("%d objects are there, %d were committed", got, n)
		}
	})
}

// TestAwaitOnAnotherInstance hears of a commit that this one did not make. 6.8, C-13
func TestAwaitOnAnotherInstance(t *testing.T) {
	t.Parallel()
	onPairs(t, func(t *testing.T, p *pair) {
		a := p.hosts("n1", "a", 0)
		for i := range 10 {
			r := p.reserved(fmt.Sprintf("r%d", i), "n1", a)
			var wg sync.WaitGroup
			for n := range 2 * len(pairIDs) {
				wg.Go(func() {
					reply := p.send(subjects.DefaultPrefix.Instance(pairIDs[n%2], subjects.ObjectAwait),
						[]byte(payload(t, settled(r.key.GlobalID))), headers{wire.HeaderMinRevision: string(r.version)})
					got := resultOf[wire.Authority](reply)
					if got.Kind != wire.KindSnapshot || got.Allocation.State != wire.AllocationActive || reply.revision() != string(got.StoreVersion) {
						t.Errorf("answer %+v at revision %s", got, reply.revision())
					}
				})
			}
			if got := resultOf[wire.ObjectCommitReply](p.to(i, subjects.ObjectCommit, r.commit())); got.Kind != wire.KindCommitted {
				t.Errorf("commit: %+v", got)
			}
			wg.Wait()
		}
	})
}
