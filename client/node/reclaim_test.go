package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// withRooms is a runtime with node n1, some active rooms and a row of each family.
func (w *world) withRooms(o node.Options, rooms ...string) *node.Runtime {
	w.t.Helper()
	r := w.started(o)
	if err := r.PublishMeshNode(context.Background(), meshNode("n1")); err != nil {
		w.t.Fatal(err)
	}
	for _, id := range rooms {
		w.room(id)
	}
	w.everyRow(r)
	w.told()
	w.line.forget()
	return r
}

// bound tells whether a room is bound to the lease that is live.
func (w *world) bound(id string) bool {
	w.t.Helper()
	a := w.authority(id)
	return a.Kind == wire.KindSnapshot && *a.Live && a.OwnerLeaseGeneration == w.lease("host").LeaseGeneration
}

// U-02.
func TestFreshClaimBringsBackDescriptorsThenAuthoritiesThenRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1", "r2", "r3")
		before := w.authority("r1")
		w.released("host")
		if w.liveRows() != 0 || len(w.nodes()) != 0 {
			t.Fatal("something is live without a lease")
		}
		time.Sleep(5 * time.Second)
		told := w.told()
		equal(t, "lease events", []string{told[0], told[len(told)-1]}, []string{"ownerLeaseRenewalFailed", "ownerLeaseRenewed"})
		ops := slices.Compact(w.line.operations())
		equal(t, "requests", ops, []subjects.Operation{
			subjects.LeaseRenew, subjects.LeaseClaim, subjects.MeshNodeUpdate, subjects.AuthorityList, subjects.AuthorityCompareExchange,
			subjects.PeerUpdate, subjects.SpotUpdate, subjects.ActorUpdate, subjects.RouteUpdate,
		})
		for _, id := range []string{"r1", "r2", "r3"} {
			if !w.bound(id) {
				t.Errorf("room %s is not bound: %+v", id, w.authority(id))
			}
		}
		var bound []string
		for _, e := range told[:len(told)-1] { // before the renewal
			if strings.HasPrefix(e, "objectBound ") {
				bound = append(bound, e)
			}
		}
		slices.Sort(bound)
		lease := w.lease("host").LeaseGeneration
		equal(t, "objects that the host was told of", bound, []string{
			fmt.Sprintf("objectBound zla1:s:2:r1 %d", lease), fmt.Sprintf("objectBound zla1:s:2:r2 %d", lease),
			fmt.Sprintf("objectBound zla1:s:2:r3 %d", lease),
		})
		if after := w.authority("r1"); string(after.Payload) != "ready" || after.AuthorityOwnerGeneration != before.AuthorityOwnerGeneration {
			t.Errorf("got %+v, want the payload and generations of %+v", after, before)
		}
		if n := w.liveRows(); n != 4 || len(w.nodes()) != 1 || !r.Status().Ready {
			t.Errorf("%d live rows, nodes %v, status %+v; want 4, 1, ready", n, w.nodes(), r.Status())
		}
		equal(t, "descriptors", w.published(), []string{"newClaim 1 serving"})
		// It is done once.
		w.line.forget()
		time.Sleep(6 * time.Second)
		equal(t, "requests of the next heartbeat", w.line.operations(), []subjects.Operation{subjects.LeaseRenew})
	})
}

// What somebody has brought back before the runtime comes to it is not written again.
func TestFreshClaimSkipsWhatIsCurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1", "r2")
		before := *w.lease("host")
		w.released("host")
		w.line.on(once(func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
			if reply, err := r.PutSpot(ctx, spotRow("s1"), node.AutoIntent); err != nil || reply.Status != wire.StatusStored {
				t.Errorf("put: %+v, %v", reply, err)
			}
			reply, err := w.look.Authorities.CompareExchange(ctx, wire.AuthorityCompareExchangeRequest{
				Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}, ExpectedStoreVersion: w.authority("r1").StoreVersion,
				Mutation: wire.AuthorityMutation{
					Kind: wire.AuthorityRebind, Payload: wire.Bytes("mine"), ExpectedOwner: &before, TargetOwner: w.lease("host"),
				},
			})
			if err != nil || reply.Kind != wire.KindStored {
				t.Errorf("rebind: %+v, %v", reply, err)
			}
			return next(ctx, m)
		}), subjects.AuthorityList)
		time.Sleep(6 * time.Second)
		if n := len(requests[wire.SpotUpdateRequest](t, w.line, subjects.SpotUpdate)); n != 1 {
			t.Errorf("the row was written %d times, want once", n)
		}
		bound := requests[wire.AuthorityCompareExchangeRequest](t, w.line, subjects.AuthorityCompareExchange)
		if len(bound) != 1 || bound[0].Key.GlobalID != "r2" || string(w.authority("r1").Payload) != "mine" {
			t.Errorf("bound %+v, r1 is %+v; want r2 alone", bound, w.authority("r1"))
		}
		if n := w.liveRows(); n != 4 || !w.bound("r1") || !w.bound("r2") || !r.Status().Ready {
			t.Errorf("%d live rows, bound %v, %v; want everything back", n, w.bound("r1"), w.bound("r2"))
		}
	})
}

func TestPayloadsAreRewrittenWhenTheyAreBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.withRooms(node.Options{RewritePayload: func(_ context.Context, a *wire.Authority) (wire.Bytes, error) {
			if strings.HasSuffix(a.Key, "bad") {
				return nil, errors.New("cannot be read")
			}
			return append(wire.Bytes("again "), a.Payload...), nil
		}}, "good", "bad")
		w.released("host")
		time.Sleep(6 * time.Second)
		if a := w.authority("good"); string(a.Payload) != "again ready" || !w.bound("good") {
			t.Errorf("got payload %q, want it rewritten", a.Payload)
		}
		if w.bound("bad") {
			t.Error("bound without its payload")
		}
		if n := w.liveRows(); n != 4 {
			t.Errorf("%d live rows, want 4: a failure does not stop the rest", n)
		}
	})
}

// Another writer is faster than the binding: what it has written is bound.
func TestBindingTriesAgainOnWhatIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		writes := 3
		w.withRooms(node.Options{RewritePayload: func(ctx context.Context, a *wire.Authority) (wire.Bytes, error) {
			if writes--; writes < 0 {
				return a.Payload, nil
			}
			reply, err := w.look.Authorities.CompareExchange(ctx, wire.AuthorityCompareExchangeRequest{
				Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}, ExpectedStoreVersion: a.StoreVersion,
				Mutation: wire.AuthorityMutation{
					Kind: wire.AuthorityRestore, Payload: append(a.Payload, '!'),
					ExpectedOwner: &wire.OwnerToken{OwnerID: a.OwnerID, LeaseGeneration: a.OwnerLeaseGeneration},
				},
			})
			if err != nil || reply.Kind != wire.KindStored {
				t.Errorf("restore: %+v, %v", reply, err)
			}
			return a.Payload, nil
		}}, "r1")
		w.released("host")
		time.Sleep(7 * time.Second)
		if a := w.authority("r1"); !w.bound("r1") || string(a.Payload) != "ready!!!" {
			t.Errorf("got payload %q, bound %v; want ready!!!, bound", a.Payload, w.bound("r1"))
		}
	})
}

func TestWhatCouldNotBeBroughtBackIsTriedWithTheNextHeartbeat(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]subjects.Operation{
		"descriptor": subjects.MeshNodeUpdate, "list of authorities": subjects.AuthorityList, "authority": subjects.AuthorityCompareExchange,
		"row": subjects.SpotUpdate,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			r := w.withRooms(node.Options{}, "r1", "r2")
			w.released("host")
			w.line.on(refused(wire.CodeInternal, "not now"), op)
			time.Sleep(6 * time.Second)
			if n := w.liveRows(); op != subjects.SpotUpdate && n != 4 || op == subjects.SpotUpdate && n != 3 {
				t.Errorf("%s: %d live rows, want all but those that failed", name, n)
			}
			if s := r.Status(); !strings.Contains(s.LastError, "not now") {
				t.Errorf("%s: got status %+v, want the failure", name, s)
			}
			w.line.on(nil, op)
			time.Sleep(5 * time.Second)
			if n := w.liveRows(); n != 4 || !w.bound("r1") || !w.bound("r2") || !r.Status().Ready {
				t.Errorf("%s: %d live rows, bound %v, %v, status %+v; want everything back", name, n, w.bound("r1"), w.bound("r2"), r.Status())
			}
		})
	}
}

func TestListOfAuthoritiesThatIsLostBeginsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.withRooms(node.Options{}, "r1")
		w.released("host")
		w.line.on(once(refused(wire.CodeScanExpired, "gone")), subjects.AuthorityList)
		time.Sleep(6 * time.Second)
		if n := len(requests[wire.AuthorityListRequest](t, w.line, subjects.AuthorityList)); n != 2 || !w.bound("r1") {
			t.Errorf("listed %d times, bound %v; want 2, true", n, w.bound("r1"))
		}
	})
}

// While a node drains, nothing is bound to it; a node that is only being prepared is bound to once it serves.
func TestAuthoritiesAreBoundOnlyToNodesThatServe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1")
		d := meshNode("n1")
		d.State = wire.StatePreparing
		if err := r.PublishMeshNode(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.released("host")
		time.Sleep(6 * time.Second)
		if n := len(requests[wire.AuthorityCompareExchangeRequest](t, w.line, subjects.AuthorityCompareExchange)); n != 0 || w.bound("r1") {
			t.Errorf("%d changes, bound %v; want none", n, w.bound("r1"))
		}
		if err := r.PublishMeshNode(t.Context(), meshNode("n1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if !w.bound("r1") {
			t.Error("not bound once the node serves")
		}
	})
}

// An authority that is locked by a move is bound when the move has been given up.
func TestLockedAuthorityIsBoundOnceItIsNotLockedAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.withRooms(node.Options{}, "r1", "r2")
		fence := w.lock("r1")
		w.released("host")
		time.Sleep(6 * time.Second)
		if w.bound("r1") || !w.bound("r2") {
			t.Errorf("bound: r1 %v, r2 %v; want r2 alone", w.bound("r1"), w.bound("r2"))
		}
		if reply, err := w.look.Aggregates.Abort(t.Context(), wire.AggregateAbortRequest{Fence: fence}); err != nil || reply.Kind != wire.KindAborted {
			t.Fatalf("abort: %+v, %v", reply, err)
		}
		time.Sleep(5 * time.Second)
		if !w.bound("r1") {
			t.Error("r1 is not bound after the move was given up")
		}
	})
}

// A lease that is lost again while things are brought back under it is given up for the next one.
func TestFreshClaimDuringAFreshClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1", "r2")
		w.released("host")
		w.line.on(lostRequest, subjects.AuthorityCompareExchange)
		time.Sleep(6 * time.Second)
		w.released("host")
		w.line.on(nil, subjects.AuthorityCompareExchange)
		time.Sleep(20 * time.Second)
		if n := w.liveRows(); n != 4 || !w.bound("r1") || !w.bound("r2") || !r.Status().Ready {
			t.Errorf("%d live rows, bound %v, %v; want everything back", n, w.bound("r1"), w.bound("r2"))
		}
	})
}
