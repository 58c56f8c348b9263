package client_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// sends makes a call of a method, whatever it answers.
func sends[Request, Reply any](method func(context.Context, Request) (*Reply, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		var request Request
		_, err := method(ctx, request)
		return err
	}
}

// methods has the method of each operation, in the order of [subjects.Operations].
func methods(c *client.Client) []func(context.Context) error {
	return []func(context.Context) error{
		sends(c.Leases.Claim), sends(c.Leases.Read), sends(c.Leases.Renew), sends(c.Leases.Release),
		sends(c.MeshNodes.Update), sends(c.MeshNodes.Remove), sends(c.MeshNodes.List),
		sends(c.ClientServers.Update), sends(c.ClientServers.Remove), sends(c.ClientServers.List),
		sends(c.FanoutPublishers.Update), sends(c.FanoutPublishers.Remove), sends(c.FanoutPublishers.List),
		sends(c.Peers.Update), sends(c.Peers.Remove), sends(c.Peers.List),
		sends(c.Spots.Update), sends(c.Spots.Remove), sends(c.Spots.Resolve), sends(c.Spots.List),
		sends(c.Actors.Update), sends(c.Actors.Remove), sends(c.Actors.Resolve), sends(c.Actors.List),
		sends(c.Routes.Update), sends(c.Routes.Remove), sends(c.Routes.Resolve), sends(c.Routes.List),
		sends(c.Authorities.Read), sends(c.Authorities.List), sends(c.Authorities.CompareExchange),
		sends(c.Objects.Reserve), sends(c.Objects.Commit), sends(c.Objects.Abort), sends(c.Objects.CompleteCreation), sends(c.Objects.ReadTerminal),
		sends(c.Objects.Find), sends(c.Objects.List), sends(c.Objects.Await), sends(c.Objects.Place), sends(c.Objects.ReleaseEnded),
		sends(c.Aggregates.Stage), sends(c.Aggregates.Prepare), sends(c.Aggregates.Commit), sends(c.Aggregates.Abort), sends(c.Aggregates.Find),
		sends(c.Transfers.Prepare), sends(c.Transfers.Commit), sends(c.Transfers.Activate),
		sends(c.Transfers.Abort), sends(c.Transfers.TakeOver), sends(c.Transfers.Resolve),
		sends(c.Owners.RemoveAll), sends(c.Directory.ChangeStamp), sends(c.Directory.Nodes), sends(c.Directory.Meshes), sends(c.Directory.SelectNode),
		sends(c.Store.Read), sends(c.Store.Write), sends(c.Store.Scan),
		func(ctx context.Context) error { _, err := c.Directory.Status(ctx); return err },
	}
}

// The service refuses the empty requests, which shows that each arrived, and is understood.
func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.line.expect()
		for _, call := range methods(w.Client) {
			if err := call(t.Context()); err != nil && !errors.Is(err, client.ErrInvalidArgument) {
				t.Error(err)
			}
		}
		var got []string
		for _, m := range w.line.tries() {
			got = append(got, strings.TrimPrefix(m.Subject, "zlink.v1."))
		}
		var want []string
		for _, op := range subjects.Operations() {
			if op != subjects.StatusGet { // the line does not record it
				want = append(want, string(op))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("operations (-want +sent):\n%s", diff)
		}
	})
}

func TestOwnerSubjects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{OwnerID: "a.b"})
		token := w.claim(t, "a.b")
		if _, err := w.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: "c", TTL: 1000}); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("claim for another owner: got %v, want %v", err, client.ErrForbidden)
		}
		r, err := w.Leases.Read(t.Context(), wire.LeaseReadRequest{OwnerID: "a.b"})
		if err != nil || r.Token == nil || *r.Token != token {
			t.Errorf("read: %+v, %v; want %+v", r, err, token)
		}
		for _, m := range w.line.tries() {
			if !strings.HasPrefix(m.Subject, "zlink.v1.as.a=2Eb.") {
				t.Errorf("sent on %s", m.Subject)
			}
		}
	})
}

// owners is how many owners have rows in the lists below: more than a page.
const owners = 5

// count counts what a list has, and stops at the first error.
func count[Item any](t *testing.T, name string, list iter.Seq2[Item, error]) int {
	t.Helper()
	n := 0
	for _, err := range list {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n++
	}
	return n
}

func TestListsGoOnToTheLastPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		ctx, page := t.Context(), wire.PageRequest{PageSize: 2}
		for i := range owners {
			w.fill(t, string(rune('a'+i)))
		}
		for name, got := range map[string]int{
			"mesh nodes":        count(t, "mesh nodes", w.MeshNodes.All(ctx, wire.MeshNodeListRequest{MeshName: "play", PageRequest: page})),
			"client servers":    count(t, "client servers", w.ClientServers.All(ctx, wire.ClientServerListRequest{ChannelName: "play", PageRequest: page})),
			"fanout publishers": count(t, "fanout publishers", w.FanoutPublishers.All(ctx, wire.FanoutPublisherListRequest{ChannelName: "play", PageRequest: page})),
			"peers":             count(t, "peers", w.Peers.All(ctx, wire.PeerListRequest{PageRequest: page})),
			"spots":             count(t, "spots", w.Spots.All(ctx, wire.SpotListRequest{PageRequest: page})),
			"actors":            count(t, "actors", w.Actors.All(ctx, wire.ActorListRequest{PageRequest: page})),
			"routes":            count(t, "routes", w.Routes.All(ctx, wire.RouteListRequest{PageRequest: page})),
			"authorities":       count(t, "authorities", w.Authorities.All(ctx, wire.AuthorityListRequest{Limit: 2})),
			"objects":           count(t, "objects", w.Objects.All(ctx, wire.ObjectListRequest{ObjectKind: wire.ObjectUserSpot, PageRequest: page})),
			"nodes":             count(t, "nodes", w.Directory.AllNodes(ctx, wire.TopologyListRequest{PageRequest: page})),
			"meshes":            count(t, "meshes", w.Directory.AllMeshes(ctx, wire.TopologySummaryRequest{PageRequest: page})) + owners - 1,
			"opaque keys":       count(t, "opaque keys", w.Store.All(ctx, wire.StoreScanRequest{Limit: 2})),
		} {
			if got != owners {
				t.Errorf("%s: listed %d, want %d", name, got, owners)
			}
		}
	})
}

// fill claims a lease and stores one row of each family.
func (w *world) fill(t *testing.T, id string) {
	t.Helper()
	ctx, token, rid := t.Context(), w.claim(t, id), wire.RID(id)
	node := w.descriptor(token)
	node.RID = rid
	target := wire.Target{MeshName: "play", NodeRID: rid, NodeLifecycleGeneration: 1, Owner: token}
	room := reservation(target)
	room.Key.GlobalID = id
	s := spot(token, "room")
	s.Spot.SpotID = id
	for name, store := range map[string]func() (*wire.UpdateReply, error){
		"node": func() (*wire.UpdateReply, error) {
			return w.MeshNodes.Update(ctx, wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: node})
		},
		"server": func() (*wire.UpdateReply, error) {
			return w.ClientServers.Update(ctx, wire.ClientServerUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: wire.ClientServerDescriptor{
				ChannelName: "play", ServerRID: rid, LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "e", State: wire.StateServing,
				SecurityIdentity: "s", OwnerToken: token,
			}})
		},
		"publisher": func() (*wire.UpdateReply, error) {
			return w.FanoutPublishers.Update(ctx, wire.FanoutPublisherUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: wire.FanoutPublisherDescriptor{
				ChannelName: "play", PublisherRID: rid, LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "e", State: wire.StateServing,
				SecurityIdentity: "s", OwnerToken: token,
			}})
		},
		"peer": func() (*wire.UpdateReply, error) {
			return w.Peers.Update(ctx, wire.PeerUpdateRequest{Intent: wire.IntentNewClaim, Peer: wire.Peer{
				AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", NodeRID: rid, Role: wire.PeerRouter, Endpoint: "e", OwnerToken: token,
			}})
		},
		"spot": func() (*wire.UpdateReply, error) { return w.Spots.Update(ctx, s) },
		"actor": func() (*wire.UpdateReply, error) {
			return w.Actors.Update(ctx, wire.ActorUpdateRequest{Intent: wire.IntentNewClaim, Actor: wire.Actor{
				MeshName: "play", ActorID: id, ActorType: "hero", OwnerNodeRID: rid, OwnerNodeGeneration: 1, SpotKind: wire.SpotKindEntry,
				ActorRef: wire.ActorRef{ActorID: id, ObjectGeneration: 1, MeshName: "play", NodeRID: rid}, SpotID: "e", SpotGeneration: 1, OwnerToken: token,
			}})
		},
		"route": func() (*wire.UpdateReply, error) {
			return w.Routes.Update(ctx, wire.RouteUpdateRequest{Intent: wire.IntentNewClaim, Route: wire.Route{
				RouteKind: wire.RouteActorSession, RouteKey: id, OwnerNodeRID: rid, OwnerToken: token,
			}})
		},
	} {
		if r, err := store(); err != nil || r.Status != wire.StatusStored {
			t.Fatalf("%s of %s: %+v, %v", name, id, r, err)
		}
	}
	if r, err := w.Objects.Reserve(ctx, room); err != nil || r.Kind != wire.KindReserved {
		t.Fatalf("room of %s: %+v, %v", id, r, err)
	}
	put := wire.StoreMutation{Kind: wire.MutationPut, Key: []byte(id), Bytes: []byte{}}
	if r, err := w.Store.Write(ctx, wire.StoreWriteRequest{Mutations: []wire.StoreMutation{put}}); err != nil || r.Kind != wire.KindApplied {
		t.Fatalf("key %s: %+v, %v", id, r, err)
	}
}

// answered is a service that answers with a reply.
func answered(reply any) fault {
	return func(context.Context, *line, *nats.Msg) (*nats.Msg, error) {
		body, err := wire.Marshal(wire.CBOR, reply)
		return &nats.Msg{Data: body, Header: nats.Header{wire.HeaderContentType: {wire.CBOR.ContentType()}}}, err
	}
}

func TestListThatIsForgottenEndsWithAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		for i := range owners {
			w.fill(t, string(rune('a'+i)))
		}
		for name, row := range map[string]struct {
			forgotten fault
			list      func() error
		}{
			"page": {refused(wire.CodeScanExpired), func() error {
				return last(w.Spots.All(t.Context(), wire.SpotListRequest{PageRequest: wire.PageRequest{PageSize: 2}}))
			}},
			"cursor": {answered(wire.AuthorityListReply{Kind: wire.KindScanExpired}), func() error {
				return last(w.Authorities.All(t.Context(), wire.AuthorityListRequest{Limit: 2}))
			}},
			"scan": {answered(wire.StoreScanReply{Kind: wire.KindExpired}), func() error {
				return last(w.Store.All(t.Context(), wire.StoreScanRequest{Limit: 2}))
			}},
		} {
			w.line.expect(nil, row.forgotten)
			if err := row.list(); !errors.Is(err, client.ErrScanExpired) || len(w.line.tries()) != 2 {
				t.Errorf("%s: got %v after %d pages, want %v after 2", name, err, len(w.line.tries()), client.ErrScanExpired)
			}
		}
	})
}

// last is the last error of a list.
func last[Item any](list iter.Seq2[Item, error]) (err error) {
	for _, err = range list {
	}
	return err
}
