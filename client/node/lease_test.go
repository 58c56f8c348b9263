package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func TestTimesThatDoNotFitAreRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		o    node.Options
		fits bool
	}{
		"the defaults": {node.Options{}, true},
		"U-08":         {node.Options{RenewInterval: 5 * time.Second, RenewTimeout: 3 * time.Second, LeaseTTL: 13 * time.Second}, false},
		"one millisecond more": {
			node.Options{RenewInterval: 5 * time.Second, RenewTimeout: 3 * time.Second, LeaseTTL: 13001 * time.Millisecond}, true,
		},
		"a timeout above the interval counts twice": {node.Options{RenewInterval: time.Second, RenewTimeout: 5 * time.Second}, false},
		"no margin at all":                          {node.Options{LeaseTTL: 8001 * time.Millisecond, FencingMargin: node.NoFencingMargin}, true},
		"no time for the interval":                  {node.Options{RenewInterval: -time.Second}, false},
		"no time for a renewal":                     {node.Options{RenewTimeout: -1}, false},
		"no time to live":                           {node.Options{LeaseTTL: -time.Second}, false},
		"a margin below zero":                       {node.Options{FencingMargin: -time.Second}, false},
		"a part of a millisecond":                   {node.Options{LeaseTTL: 15*time.Second + time.Microsecond}, false},
		"no time to clean up":                       {node.Options{CleanupTimeout: -1}, false},
		"margin as long as a lease":                 {node.Options{FencingMargin: 15 * time.Second}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			row.o.Client = w.look
			_, err := node.New(row.o)
			if row.fits != (err == nil) || err != nil && !errors.Is(err, node.ErrTimes) {
				t.Errorf("%s: got %v, want fitting %v", name, err, row.fits)
			}
		})
	}
}

func TestOwnerIDIsARandomUUIDWithoutDashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		seen := make(map[string]bool)
		for range 2 {
			r, err := node.New(node.Options{Client: w.look})
			if err != nil {
				t.Fatal(err)
			}
			id := r.OwnerID()
			if len(id) != 32 || id[12] != '4' || seen[id] {
				t.Errorf("got owner id %q, want 32 digits of a new random UUID", id)
			}
			seen[id] = true
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, row := range map[string]struct {
		started, completed time.Duration
		expires, now       wire.Instant
		margin, want       time.Duration
	}{
		"as in the rules":              {400 * ms, 600 * ms, 115_000, 100_000, 5000 * ms, 10_400 * ms},
		"at once":                      {0, 0, 115_000, 100_000, 5000 * ms, 10_000 * ms},
		"without a margin":             {0, 100 * ms, 1000, 0, 0, 1000 * ms},
		"slower than the lease lives":  {0, 12_000 * ms, 15_000, 0, 5000 * ms, 12_000 * ms},
		"a lease that has lapsed":      {0, 10 * ms, 1000, 2000, 5000 * ms, 10 * ms},
		"a margin longer than it is":   {0, 10 * ms, 3000, 0, 5000 * ms, 10 * ms},
		"a replay late in the lease":   {9000 * ms, 9100 * ms, 15_000, 9000, 5000 * ms, 10_000 * ms},
		"the store's clock is no ours": {0, 0, -1_000, -16_000, 5000 * ms, 10_000 * ms},
	} {
		if got := node.DeadlineOf(row.started, row.completed, row.expires, row.now, row.margin); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// The lease that Start has claimed is good until the deadline, by the clock at the moment of the question.
func TestLeaseIsUsableUntilItsDeadlineWhateverFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.line.on(refused(wire.CodeUnavailable, "store unreachable"), everything...)
		time.Sleep(10*time.Second - 1)
		if token, err := r.Admit(); err != nil || token != *w.lease("host") {
			t.Errorf("before the deadline: got %v, %v", token, err)
		}
		if _, err := r.ResolveSpot(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"}); err == nil {
			t.Error("a read succeeded, want it to fail")
		}
		time.Sleep(time.Nanosecond)
		if _, err := r.Admit(); !errors.Is(err, node.ErrNotLeased) || r.Usable() {
			t.Errorf("at the deadline: got %v, want %v", err, node.ErrNotLeased)
		}
		// The renewal is tried all the same, and the lease is good again.
		w.line.on(nil, everything...)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !r.Usable() {
			t.Error("the lease is not usable after a renewal")
		}
	})
}

// A clock that jumps by the time that the process stood still ends the lease at once, before any timer.
func TestTimeThatTheProcessStoodStillCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		clock := newHostClock()
		r := w.started(node.Options{Clock: clock.now})
		if !r.Usable() {
			t.Fatal("not usable at the start")
		}
		clock.stand(time.Hour)
		if r.Usable() {
			t.Error("usable after an hour that the process stood still")
		}
	})
}

func TestDefaultClockMovesOn(t *testing.T) {
	t.Parallel()
	clock := node.Monotonic()
	before := clock()
	<-time.After(2 * time.Millisecond)
	if passed := clock() - before; passed < 2*time.Millisecond || passed > time.Hour {
		t.Errorf("the clock moved by %v in 2ms or more", passed)
	}
}

// U-07.
func TestStartWithAnUnreachableStoreSucceedsAndClaimsLaterUnderTheSameID(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"refused": refused(wire.CodeUnavailable, "store unreachable"), "lost": lostRequest, "carried out, the reply lost": lostReply,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.line.on(f, subjects.LeaseClaim)
			r := w.started(node.Options{})
			if s := r.Status(); s.State != node.StateDegraded || s.Ready || s.OwnerLeaseHealthy || s.StoreHealthy || s.LastError == "" {
				t.Errorf("%s: got status %+v, want degraded and not ready", name, s)
			}
			w.line.on(nil, subjects.LeaseClaim)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if s := r.Status(); s.State != node.StateLeased || !s.Ready || !s.StoreHealthy || s.LastError != "" {
				t.Errorf("%s: got status %+v, want leased and ready", name, s)
			}
			ids := make(map[string]bool)
			for _, c := range requests[wire.LeaseClaimRequest](t, w.line, subjects.LeaseClaim) {
				ids[c.ClaimID] = true
			}
			if len(ids) != 1 {
				t.Errorf("%s: got %d claim ids, want 1", name, len(ids))
			}
			if got, want := r.Lifecycle(), w.lease("host").LeaseGeneration; got != want {
				t.Errorf("%s: got life %d, want that of the first claim %d", name, got, want)
			}
		})
	}
}

func TestStartWithAConflictStopsAndNamesTheResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.claimed("host")
		r := w.runtime(node.Options{})
		err := r.Start(t.Context())
		refused, ok := errors.AsType[*node.ClaimError](err)
		if !ok || refused.Result != wire.KindConflict || refused.OwnerID != "host" {
			t.Errorf("got %v, want a conflict", err)
		}
		if s := r.Status(); s.State != node.StateStopped || !s.CleanupComplete {
			t.Errorf("got status %+v, want stopped", s)
		}
		// The other owner's lease is left alone, and once it is over the same runtime can start.
		if err := r.Stop(t.Context()); err != nil || w.lease("host") == nil {
			t.Errorf("stop: %v, lease %v; want the other's lease", err, w.lease("host"))
		}
		w.released("host")
		if err := r.Start(t.Context()); err != nil {
			t.Error(err)
		}
		w.stop(r)
	})
}

// exhausted is a service that has no generation left.
func exhausted(context.Context, *nats.Msg, send) (*nats.Msg, error) {
	body, err := wire.Marshal(wire.CBOR, wire.LeaseClaimReply{Kind: wire.KindGenerationExhausted})
	return &nats.Msg{Data: body, Header: nats.Header{wire.HeaderContentType: {wire.CBOR.ContentType()}}}, err
}

func TestClaimWithoutAGenerationLeftIsAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.line.on(exhausted, subjects.LeaseClaim)
		r := w.runtime(node.Options{})
		refused, ok := errors.AsType[*node.ClaimError](r.Start(t.Context()))
		if s := r.Status(); !ok || refused.Result != wire.KindGenerationExhausted || s.State != node.StateStopped || !s.StoreHealthy {
			t.Errorf("start: got %v, status %+v; want it stopped for the lack of generations", refused, s)
		}
		// A heartbeat records it and asks on, each time anew.
		w.line.on(lostRequest, subjects.LeaseClaim)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.line.on(exhausted, subjects.LeaseClaim)
		w.line.forget()
		time.Sleep(12 * time.Second)
		if s := r.Status(); s.State != node.StateDegraded || !s.StoreHealthy || !strings.Contains(s.LastError, string(wire.KindGenerationExhausted)) {
			t.Errorf("heartbeat: got status %+v, want degraded for the lack of generations", s)
		}
		claims := requests[wire.LeaseClaimRequest](t, w.line, subjects.LeaseClaim)
		if len(claims) != 2 || claims[0].ClaimID == claims[1].ClaimID {
			t.Errorf("got claims %+v, want one a heartbeat, with an id of its own after an answer", claims)
		}
		// The failed start, the claim without an answer, and two refusals.
		if n := w.count("zlink.location.store.errors")["operation=lease_renew"]; n != 4 {
			t.Errorf("got %d errors of lease_renew, want 4", n)
		}
		w.stop(r)
	})
}

func TestStartThatIsCancelledReleasesATokenThatComesLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.line.on(after(1500*time.Millisecond), subjects.LeaseClaim)
		r := w.runtime(node.Options{})
		ctx, cancel := contextWithTimeout(t, time.Second)
		defer cancel()
		if err := r.Start(ctx); !errors.Is(err, ctx.Err()) {
			t.Errorf("got %v, want %v", err, ctx.Err())
		}
		if s := r.Status().State; s != node.StateStopped {
			t.Errorf("got state %s, want stopped", s)
		}
		time.Sleep(time.Hour)
		equal(t, "requests", w.line.operations(), []subjects.Operation{subjects.LeaseClaim, subjects.LeaseRelease})
		if w.lease("host") != nil {
			t.Error("the lease is still there")
		}
	})
}

func TestStartOfAStartedRuntimeDoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		if err := r.Start(t.Context()); err != nil {
			t.Error(err)
		}
		equal(t, "requests", w.line.operations(), []subjects.Operation{subjects.LeaseClaim})
	})
}

func TestOwnerOfTheClientIsThatOfTheRuntime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, err := client.New(w.line, client.Options{OwnerID: "bound"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := node.New(node.Options{Client: c}); err != nil || r.OwnerID() != "bound" {
			t.Errorf("got %v, %v, want the owner of the client", r, err)
		}
		if _, err := node.New(node.Options{Client: c, OwnerID: "another"}); err == nil {
			t.Error("a runtime of another owner than the client's was made")
		}
	})
}
