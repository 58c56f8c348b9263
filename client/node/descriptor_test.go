package node_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/client/node"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// published are the descriptors of nodes that were sent, as "intent revision state".
func (w *world) published() []string {
	w.t.Helper()
	var list []string
	for _, r := range requests[wire.MeshNodeUpdateRequest](w.t, w.line, subjects.MeshNodeUpdate) {
		list = append(list, string(r.Intent)+" "+text(r.Descriptor.DescriptorRevision)+" "+string(r.Descriptor.State))
	}
	return list
}

func TestDescriptorIsClaimedFirstAndThenRenewedWithTheNextRevision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		d := meshNode("n1")
		for _, change := range []func(){
			func() {}, // the first time
			func() {}, // no change
			func() { d.PopulationCapacity.Actors.Active = 7; d.PopulationCapacity.SpotTypes[0].Reserved = 1 }, // usage is none
			func() { d.State = wire.StateRelocating },
			func() { d.PlacementWeight = 5 },
			func() { d.ActivationConcurrency.Active = 1 },
		} {
			change()
			if err := r.PublishMeshNode(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "sent", w.published(), []string{"newClaim 1 serving", "renew 2 relocating", "renew 3 relocating", "renew 4 relocating"})
		nodes := w.nodes()
		if len(nodes) != 1 || nodes[0].PlacementWeight != 5 || nodes[0].LifecycleGeneration != r.Lifecycle() || nodes[0].OwnerToken != *w.lease("host") {
			t.Errorf("got %+v, want the node under the lease, in its life", nodes)
		}
		if !r.Status().Ready {
			t.Error("not ready")
		}
	})
}

func TestDescriptorsOfEveryFamilyArePublishedAndWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		server := wire.ClientServerDescriptor{ChannelName: "chat", ServerRID: "s1", Endpoint: "tcp://s1:1", State: wire.StateServing, SecurityIdentity: "s"}
		publisher := wire.FanoutPublisherDescriptor{ChannelName: "news", PublisherRID: "p1", Endpoint: "tcp://p1:1", State: wire.StateServing, SecurityIdentity: "s"}
		if err := errors.Join(r.PublishMeshNode(t.Context(), meshNode("n1")), r.PublishClientServer(t.Context(), server), r.PublishFanoutPublisher(t.Context(), publisher)); err != nil {
			t.Fatal(err)
		}
		count := func() int {
			servers, err1 := w.look.ClientServers.List(t.Context(), wire.ClientServerListRequest{ChannelName: "chat"})
			publishers, err2 := w.look.FanoutPublishers.List(t.Context(), wire.FanoutPublisherListRequest{ChannelName: "news"})
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			return len(w.nodes()) + len(servers.Items) + len(publishers.Items)
		}
		if n := count(); n != 3 || r.Status().Published != 3 {
			t.Errorf("%d rows, status %+v, want 3 published", n, r.Status())
		}
		for _, k := range []node.Key{node.MeshNodeKey("play", "n1"), node.ClientServerKey("chat", "s1"), node.FanoutPublisherKey("news", "p1")} {
			if err := r.Withdraw(t.Context(), k); err != nil {
				t.Error(err)
			}
		}
		if n := count(); n != 0 || r.Status().Published != 0 {
			t.Errorf("%d rows, status %+v, want none", n, r.Status())
		}
		// The revisions go on.
		if err := r.PublishMeshNode(t.Context(), meshNode("n1")); err != nil {
			t.Fatal(err)
		}
		equal(t, "sent", w.published(), []string{"newClaim 1 serving", "newClaim 2 serving"})
	})
}

func TestNothingIsWrittenWithoutAUsableLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.line.on(lostRequest, subjects.LeaseClaim)
		r := w.started(node.Options{})
		w.line.forget()
		ctx := t.Context()
		_, peer := r.PutPeer(ctx, wire.Peer{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: "n1", Role: wire.PeerRouter, Endpoint: "e"}, node.AutoIntent)
		_, spot := r.PutSpot(ctx, spotRow("s1"), node.AutoIntent)
		_, actor := r.PutActor(ctx, actorRow("a1"), node.AutoIntent)
		_, route := r.PutRoute(ctx, wire.Route{RouteKind: wire.RouteSpotName, RouteKey: "k", OwnerNodeRID: "n1"}, node.AutoIntent)
		_, removed := r.Remove(ctx, node.SpotKey("play", "s1"))
		_, exchanged := r.CompareExchange(ctx, wire.AuthorityCompareExchangeRequest{})
		for what, err := range map[string]error{
			"descriptor": r.PublishMeshNode(ctx, meshNode("n1")), "peer": peer, "spot": spot, "actor": actor, "route": route, "removal": removed,
			"authority": exchanged, "withdrawal": r.Withdraw(ctx, node.MeshNodeKey("play", "n1")), "again": r.RepublishPeer(ctx, node.Key{}),
		} {
			if !errors.Is(err, node.ErrNotLeased) {
				t.Errorf("%s: got %v, want %v", what, err, node.ErrNotLeased)
			}
		}
		equal(t, "requests", w.line.operations(), nil)
		// The descriptor is remembered.
		w.line.on(nil, subjects.LeaseClaim)
		if err := r.AwaitReady(ctx); err != nil || len(w.nodes()) != 1 {
			t.Errorf("got %v and nodes %v, want the node once there is a lease", err, w.nodes())
		}
	})
}

// U-09.
func TestUnconfirmedPublicationIsSentAgainAsItWas(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"answered outcomeUnknown": refused(wire.CodeOutcomeUnknown, "who knows"), "the request lost": lostRequest, "the reply lost": lostReply,
		"refused for now": refused(wire.CodeInternal, "a bug"),
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			r := w.started(node.Options{})
			w.line.on(f, subjects.MeshNodeUpdate)
			ctx, cancel := contextWithTimeout(t, time.Second)
			defer cancel()
			if err := r.PublishMeshNode(ctx, meshNode("n1")); !errors.Is(err, node.ErrUnconfirmed) {
				t.Errorf("%s: got %v, want unconfirmed", name, err)
			}
			d := meshNode("n1")
			d.State = wire.StateRelocating
			if err := r.PublishMeshNode(ctx, d); err == nil {
				t.Errorf("%s: the change was published", name)
			}
			if s := r.Status(); s.Ready || !s.OwnerLeaseHealthy || s.Pending != 1 {
				t.Errorf("%s: got status %+v, want the lease, and not ready", name, s)
			}
			w.line.on(nil, subjects.MeshNodeUpdate)
			time.Sleep(5 * time.Second)
			if err := r.AwaitReady(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			sent := w.published()
			for _, s := range sent[:len(sent)-1] {
				if s != "newClaim 1 serving" {
					t.Errorf("%s: sent %v, want the same again and again until it is answered", name, sent)
				}
			}
			if last := sent[len(sent)-1]; len(sent) < 3 || last != "renew 2 relocating" {
				t.Errorf("%s: sent %v, want the change last", name, sent)
			}
		})
	}
}

func TestRenewalOfADescriptorThatIsRefusedIsTriedAsANewClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		d := meshNode("n1")
		if err := r.PublishMeshNode(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if _, err := w.look.MeshNodes.Remove(t.Context(), wire.MeshNodeRemoveRequest{MeshName: "play", RID: "n1", Owner: *w.lease("host")}); err != nil {
			t.Fatal(err)
		}
		d.PlacementWeight = 1
		if err := r.PublishMeshNode(t.Context(), d); err != nil || len(w.nodes()) != 1 {
			t.Errorf("got %v and nodes %v, want the node again", err, w.nodes())
		}
		equal(t, "sent", w.published(), []string{"newClaim 1 serving", "renew 2 serving", "newClaim 2 serving"})
		equal(t, "events", w.told(), nil)
	})
}

// taken has another owner take over the descriptor of n1.
func (w *world) taken() wire.OwnerToken {
	w.t.Helper()
	other := w.claimed("other")
	d := meshNode("n1")
	d.OwnerToken, d.LifecycleGeneration, d.DescriptorRevision = other, 1, 1
	r, err := w.look.MeshNodes.Update(context.Background(), wire.MeshNodeUpdateRequest{Descriptor: d, Intent: wire.IntentTakeover})
	if err != nil || r.Status != wire.StatusStored {
		w.t.Fatalf("take over: %+v, %v", r, err)
	}
	return other
}

func TestDescriptorThatSomebodyElseHasIsLostOnceAndComesBackWhenTheyAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		d := meshNode("n1")
		if err := r.PublishMeshNode(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.taken()
		d.PlacementWeight = 1
		if err := r.PublishMeshNode(t.Context(), d); !errors.Is(err, node.ErrRefused) {
			t.Errorf("got %v, want %v", err, node.ErrRefused)
		}
		time.Sleep(11 * time.Second)
		var lost int
		for _, e := range w.told() {
			if e == "ownershipLost "+node.MeshNodeKey("play", "n1").String() {
				lost++
			}
		}
		if s := r.Status(); lost != 1 || s.Ready || s.Pending != 1 {
			t.Errorf("ownership lost %d times, status %+v, want once and pending", lost, s)
		}
		if n := w.count("zlink.location.store.errors")["operation=compare_exchange"]; n != 3 {
			t.Errorf("got %d errors of compare_exchange, want 3: the refusal, and one a heartbeat", n)
		}
		w.released("other")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if s := r.Status(); !s.Ready {
			t.Errorf("got status %+v, want ready once the other is gone", s)
		}
	})
}

// A descriptor that is rejected was never the host's: nothing is lost, but it counts as an error.
func TestDescriptorThatIsRejectedIsNoLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.withRooms(node.Options{}, "r1")
		d := meshNode("n2")
		d.EntrySpotID = "r1" // there is such a room
		if err := r.PublishMeshNode(t.Context(), d); !errors.Is(err, node.ErrRefused) {
			t.Errorf("got %v, want %v", err, node.ErrRefused)
		}
		equal(t, "events", w.told(), nil)
		if n := w.count("zlink.location.store.errors")["operation=compare_exchange"]; n != 1 || r.Status().Ready {
			t.Errorf("got %d errors of compare_exchange, status %+v; want 1, not ready", n, r.Status())
		}
	})
}

func TestMalformedDescriptorIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		d := meshNode("n1")
		d.Endpoint = ""
		if err := r.PublishMeshNode(t.Context(), d); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("got %v, want %v", err, client.ErrInvalidArgument)
		}
		time.Sleep(20 * time.Second)
		if sent := w.published(); len(sent) != 1 {
			t.Errorf("sent %v, want it once", sent)
		}
		if err := r.PublishMeshNode(t.Context(), d); !errors.Is(err, client.ErrInvalidArgument) || len(w.published()) != 1 {
			t.Errorf("got %v after %v, want the same error without a request", err, w.published())
		}
		d.Endpoint = "tcp://n1:1"
		if err := r.PublishMeshNode(t.Context(), d); err != nil || !r.Status().Ready {
			t.Errorf("mended: %v, status %+v", err, r.Status())
		}
	})
}

func TestHostWhoseRevisionsAreUsedUpPublishesNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		d := meshNode("n1")
		if err := r.PublishMeshNode(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		r.SetRevision(node.MeshNodeKey("play", "n1"), math.MaxInt64-1)
		d.PlacementWeight = 1
		if err := r.PublishMeshNode(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		d.PlacementWeight = 2
		if err := r.PublishMeshNode(t.Context(), d); !errors.Is(err, node.ErrRevisions) {
			t.Errorf("got %v, want %v", err, node.ErrRevisions)
		}
		time.Sleep(10 * time.Second)
		if s := r.Status(); s.State != node.StateError || s.Ready || len(w.published()) != 2 || w.nodes()[0].DescriptorRevision != math.MaxInt64 {
			t.Errorf("got status %+v after %v, want error", s, w.published())
		}
	})
}

// A publication does not hold up heartbeats, and a state change meanwhile waits for it.
func TestSlowPublicationDoesNotHoldUpHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		w.line.on(func(ctx context.Context, m *nats.Msg, next send) (*nats.Msg, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, subjects.MeshNodeUpdate)
		ctx, cancel := contextWithTimeout(t, 30*time.Second)
		defer cancel()
		if err := r.PublishMeshNode(ctx, meshNode("n1")); !errors.Is(err, node.ErrUnconfirmed) {
			t.Errorf("got %v, want unconfirmed", err)
		}
		if n := len(requests[wire.LeaseRenewRequest](t, w.line, subjects.LeaseRenew)); n < 5 || !r.Usable() {
			t.Errorf("%d renewals, usable %v; want 5 or more", n, r.Usable())
		}
	})
}

// What is withdrawn is published again by whoever comes next, at any moment.
func TestDescriptorIsPublishedAndWithdrawnAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.started(node.Options{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := r.PublishMeshNode(t.Context(), meshNode("n1")); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := r.Withdraw(t.Context(), node.MeshNodeKey("play", "n1")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s, n := r.Status(), len(w.nodes()); s.Published != n || s.Pending != 0 {
			t.Errorf("got status %+v with %d nodes in the directory, want them to agree", s, n)
		}
	})
}
