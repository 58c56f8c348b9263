package node_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

// U-01.
func TestFailedRenewalsLeaveTheLeaseUntilItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		token := *w.lease("host")
		w.line.on(refused(wire.CodeUnavailable, "store unreachable"), subjects.LeaseRenew)
		time.Sleep(9 * time.Second)
		s := r.Status()
		if got, err := r.Admit(); got != token || err != nil || s.StoreHealthy || !strings.Contains(s.LastError, "store unreachable") {
			t.Errorf("got token %v, %v, status %+v; want the lease, and an unhealthy store", got, err, s)
		}
		equal(t, "events", w.told(), []string{"ownerLeaseRenewalFailed"})
		w.line.on(nil, subjects.LeaseRenew)
		time.Sleep(2 * time.Second)
		if s := r.Status(); !s.StoreHealthy || s.LastError != "" || !s.OwnerLeaseHealthy {
			t.Errorf("got status %+v, want healthy", s)
		}
	})
}

func TestRenewalMovesTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		first := r.Status().OwnerLeaseRenewed
		time.Sleep(5 * time.Second)
		synctest.Wait()
		equal(t, "events", w.told(), []string{"ownerLeaseRenewed"})
		if moved := r.Status().OwnerLeaseRenewed - first; moved != 5000 {
			t.Errorf("renewed %d ms after the claim, want 5000", moved)
		}
		w.line.on(lostRequest, subjects.LeaseRenew)
		time.Sleep(10*time.Second - 1)
		if !r.Usable() {
			t.Error("not usable right before 10 s after the renewal")
		}
		time.Sleep(time.Nanosecond)
		if r.Usable() {
			t.Error("usable 10 s after the renewal")
		}
	})
}

// U-02, the lease's part; the rest is in reclaim_test.go.
func TestStaleRenewalClaimsInTheSameHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		before, life := *w.lease("host"), r.Lifecycle()
		w.released("host")
		w.line.forget()
		time.Sleep(5 * time.Second)
		equal(t, "events", w.told(), []string{"ownerLeaseRenewalFailed", "ownerLeaseRenewed"})
		ops := w.line.operations()
		equal(t, "requests", ops[:2], []subjects.Operation{subjects.LeaseRenew, subjects.LeaseClaim})
		token, err := r.Admit()
		if err != nil || token == before || token != *w.lease("host") {
			t.Errorf("got token %v, %v, want the new lease %v", token, err, w.lease("host"))
		}
		if got := r.Lifecycle(); got != life {
			t.Errorf("got life %d, want %d for as long as the process runs", got, life)
		}
	})
}

// Somebody else has taken the owner: the runtime has no lease, whatever its deadline, and asks on with fresh claim ids.
func TestStaleRenewalWithAConflictIsDegraded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.released("host")
		other := w.claimed("host")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if s := r.Status(); s.State != node.StateDegraded || s.OwnerLeaseHealthy || !s.StoreHealthy || !strings.Contains(s.LastError, "conflict") {
			t.Errorf("got status %+v, want degraded by a conflict", s)
		}
		claims := requests[wire.LeaseClaimRequest](t, w.line, subjects.LeaseClaim)
		ids := make(map[string]bool)
		for _, c := range claims {
			ids[c.ClaimID] = true
		}
		if len(claims) != 4 || len(ids) != 4 {
			t.Errorf("got %d claims with %d ids, want 4 and 4: an answer ends the use of an id", len(claims), len(ids))
		}
		if _, err := w.look.Leases.Release(t.Context(), wire.LeaseReleaseRequest{Token: other}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !r.Usable() {
			t.Error("not usable after the other has released")
		}
	})
}

// U-03.
func TestRenewalThatNeverAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{RenewTimeout: 10 * time.Millisecond})
		w.line.on(after(time.Hour), subjects.LeaseRenew) // not even the end of its context impresses it
		time.Sleep(5*time.Second + 11*time.Millisecond)
		if s := r.Status(); !strings.Contains(s.LastError, "exceeded 10ms") || !s.OwnerLeaseHealthy || s.State != node.StateLeased {
			t.Errorf("got status %+v, want exceeded 10ms and the lease", s)
		}
		equal(t, "events", w.told(), []string{"ownerLeaseRenewalFailed"})
		time.Sleep(5 * time.Second)
		if n := len(requests[wire.LeaseRenewRequest](t, w.line, subjects.LeaseRenew)); n != 2 {
			t.Errorf("%d renewals after two heartbeats, want 2", n)
		}
		w.stop(r)
		time.Sleep(2 * time.Hour) // for what was slept through
	})
}

// U-04: a heartbeat that is held up by the one before it is late, and the rhythm stays.
func TestHeartbeatsKeepTheirRhythm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.runtime(node.Options{RenewInterval: 100 * time.Millisecond})
		start := time.Now()
		var begun []time.Duration
		slow := once(after(150 * time.Millisecond))
		w.line.on(func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
			begun = append(begun, time.Since(start))
			return slow(ctx, m, next)
		}, subjects.LeaseRenew)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.PublishMeshNode(t.Context(), meshNode("n1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(450 * time.Millisecond)
		synctest.Wait()
		w.stop(r)
		const ms = time.Millisecond
		equal(t, "heartbeats", begun, []time.Duration{100 * ms, 250 * ms, 300 * ms, 400 * ms})
		late := w.count("zlink.location.owner_lease.renew.lateness")
		if n, sum := late["scope_kind=mesh,scope_name=play"], late["ms scope_kind=mesh,scope_name=play"]; n != 4 || sum != 50 {
			t.Errorf("got lateness of %d ms in %d heartbeats, want 50 in 4: %v", sum, n, late)
		}
	})
}

// One renewal is in flight at a time, and a claim begins the rhythm anew.
func TestClaimBeginsTheRhythmAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		start := time.Now()
		var begun []string
		note := func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
			begun = append(begun, m.Subject[len("zlink.v1.lease."):]+" "+at(start))
			return after(time.Second)(ctx, m, next)
		}
		r := w.runtime(node.Options{})
		w.line.on(note, subjects.LeaseClaim, subjects.LeaseRenew)
		if err := r.Start(t.Context()); err != nil { // until 1 s
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.released("host")
		time.Sleep(12 * time.Second)
		w.stop(r)
		equal(t, "requests", begun, []string{"claim at 0s", "renew at 6s", "claim at 7s", "renew at 13s"})
	})
}

func TestHeartbeatAfterTheDeadlineFailsOnceAndIsTriedAllTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		clock := newHostClock()
		r := w.started(node.Options{Clock: clock.now})
		time.Sleep(time.Second)
		clock.stand(12 * time.Second) // the lease lives for 2 s more, which is less than the margin
		time.Sleep(time.Second)
		equal(t, "events", w.told(), []string{"ownerLeaseRenewalFailed", "ownerLeaseRenewed", "ownerLeaseRenewed"})
		if s := r.Status(); !s.OwnerLeaseHealthy || s.LastError != "" {
			t.Errorf("got status %+v, want the lease and no error", s)
		}
		if n := w.count("zlink.location.store.errors")["operation=lease_renew"]; n != 1 {
			t.Errorf("got %d errors of lease_renew, want 1 for the deadline", n)
		}
		// A renewal that fails as well is no second failure of the heartbeat.
		w.line.on(refused(wire.CodeInternal, "no"), subjects.LeaseRenew)
		clock.stand(12 * time.Second)
		time.Sleep(time.Second)
		told := w.told()
		if len(told) == 0 || told[0] != "ownerLeaseRenewalFailed" {
			t.Fatalf("got events %v, want failures", told)
		}
		if renewals := requests[wire.LeaseRenewRequest](t, w.line, subjects.LeaseRenew); len(told) != len(renewals)-2 {
			t.Errorf("got %d failures in %d heartbeats: %v", len(told), len(renewals)-2, told)
		}
	})
}

// A claim of which the reply was lost is found again with its own expiry, and is not relied on for longer.
func TestLostReplyOfAClaimDoesNotStretchTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.line.on(lostReply, subjects.LeaseClaim)
		r := w.started(node.Options{})
		w.line.on(nil, subjects.LeaseClaim)
		w.line.on(lostRequest, subjects.LeaseRenew)
		for range 3000 {
			time.Sleep(10 * time.Millisecond)
			if r.Usable() && w.lease("host") == nil {
				t.Fatal("the lease is relied on after its end")
			}
		}
	})
}

func TestFailedRenewalsAreCountedByScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{Scopes: []node.Scope{{Kind: "channel", Name: "chat"}, {Kind: "mesh", Name: "play"}}})
		w.line.on(refused(wire.CodeInternal, "no"), subjects.LeaseRenew)
		time.Sleep(11 * time.Second)
		failures := w.count("zlink.location.owner_lease.renew.failures")
		for _, scope := range []string{"scope_kind=channel,scope_name=chat", "scope_kind=mesh,scope_name=play"} {
			if failures[scope] != 2 {
				t.Errorf("got %v, want 2 for %s", failures, scope)
			}
		}
		if n := w.count("zlink.location.store.errors")["operation=lease_renew"]; n != 3 {
			t.Errorf("got %d errors of lease_renew, want 3: two renewals, and the deadline at 10 s", n)
		}
		_ = r
	})
}
