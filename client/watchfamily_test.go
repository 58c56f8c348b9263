package client_test

import (
	"context"
	"iter"
	"testing"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// family is one family of rows, with what a test does to it: put makes or changes row i, remove removes it.
type family struct {
	put, remove func(t *testing.T, c *client.Client, token wire.OwnerToken, i int)
	// follow begins a watch and returns a wait for the state of the list.
	follow func(t *testing.T, watching, c *client.Client) (await func())
}

// following is follow for a watch and a list.
func following[K comparable, R any](
	watch func(*client.Client, context.Context) iter.Seq2[client.Event[K, R], error],
	list func(*client.Client, context.Context) iter.Seq2[R, error],
	row func(*R) (key K, owner string, state wire.RowState),
) func(*testing.T, *client.Client, *client.Client) func() {
	return func(t *testing.T, watching, c *client.Client) func() {
		m := reflect(t, func(ctx context.Context) iter.Seq2[client.Event[K, R], error] { return watch(watching, ctx) },
			func(r *R) wire.Version { _, _, s := row(r); return s.Version }, func(r *R) string { _, o, _ := row(r); return o }, nil)
		m.awaitEvent(client.EventSynced, 1)
		return func() {
			t.Helper()
			m.awaitState(func() (map[K]held, error) {
				all := make(map[K]held)
				for r, err := range list(c.Leader(), t.Context()) {
					if err != nil {
						return nil, err
					}
					key, _, state := row(&r)
					all[key] = held{state.Version, state.Live}
				}
				return all, nil
			})
		}
	}
}

func rid(i int) wire.RID { return wire.RID([]string{"n0", "n:1", "\xff2"}[i]) }

// stored fails the test unless an update was.
func stored(t *testing.T, r *wire.UpdateReply, err error) {
	t.Helper()
	if err != nil || r.Status != wire.StatusStored {
		t.Fatalf("update: %+v, %v", r, err)
	}
}

// removed fails the test unless a row was.
func removed(t *testing.T, r *wire.RemoveReply, err error) {
	t.Helper()
	if err != nil || r.Status != wire.StatusStored {
		t.Fatalf("remove: %+v, %v", r, err)
	}
}

func peerKey(i int) wire.PeerKey {
	if i == 0 {
		return wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: wire.PeerSpot, Endpoint: "e"}
	}
	return wire.PeerKey{AutoConnectType: wire.ConnectRouteMesh, MeshName: "play", Role: []wire.PeerRole{"", wire.PeerSpot, wire.PeerRouter}[i], NodeRID: "n"}
}

var families = map[string]family{
	"mesh nodes": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.MeshNodes.Update(t.Context(), wire.MeshNodeUpdateRequest{Intent: wire.IntentTakeover, Descriptor: wire.MeshNodeDescriptor{
				MeshName: "play", RID: rid(i), LifecycleGeneration: 1, DescriptorRevision: wire.Revision(c.Revision()) + 1, Endpoint: "e",
				ObjectRole: wire.RoleServer, ActivationConcurrency: wire.ActivationConcurrency{Limit: 1}, State: wire.StateServing,
				SecurityIdentity: "s", OwnerToken: token,
			}})
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.MeshNodes.Remove(t.Context(), wire.MeshNodeRemoveRequest{MeshName: "play", RID: rid(i), Owner: token})
			removed(t, r, err)
		},
		follow: following(
			func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[wire.RID, wire.MeshNodeItem], error] {
				return c.MeshNodes.Watch(ctx, wire.MeshNodeListRequest{MeshName: "play"})
			},
			func(c *client.Client, ctx context.Context) iter.Seq2[wire.MeshNodeItem, error] {
				return c.MeshNodes.All(ctx, wire.MeshNodeListRequest{MeshName: "play"})
			},
			func(r *wire.MeshNodeItem) (wire.RID, string, wire.RowState) { return r.RID, r.OwnerID, r.RowState },
		),
	},
	"client servers": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.ClientServers.Update(t.Context(), wire.ClientServerUpdateRequest{Intent: wire.IntentTakeover, Descriptor: wire.ClientServerDescriptor{
				ChannelName: "chat", ServerRID: rid(i), LifecycleGeneration: 1, DescriptorRevision: wire.Revision(c.Revision()) + 1, Endpoint: "e",
				State: wire.StateServing, SecurityIdentity: "s", OwnerToken: token,
			}})
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.ClientServers.Remove(t.Context(), wire.ClientServerRemoveRequest{ChannelName: "chat", ServerRID: rid(i), Owner: token})
			removed(t, r, err)
		},
		follow: following(
			func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[wire.RID, wire.ClientServerItem], error] {
				return c.ClientServers.Watch(ctx, wire.ClientServerListRequest{ChannelName: "chat"})
			},
			func(c *client.Client, ctx context.Context) iter.Seq2[wire.ClientServerItem, error] {
				return c.ClientServers.All(ctx, wire.ClientServerListRequest{ChannelName: "chat"})
			},
			func(r *wire.ClientServerItem) (wire.RID, string, wire.RowState) {
				return r.ServerRID, r.OwnerID, r.RowState
			},
		),
	},
	"fanout publishers": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.FanoutPublishers.Update(t.Context(), wire.FanoutPublisherUpdateRequest{Intent: wire.IntentTakeover, Descriptor: wire.FanoutPublisherDescriptor{
				ChannelName: "news", PublisherRID: rid(i), LifecycleGeneration: 1, DescriptorRevision: wire.Revision(c.Revision()) + 1, Endpoint: "e",
				State: wire.StateServing, SecurityIdentity: "s", OwnerToken: token,
			}})
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.FanoutPublishers.Remove(t.Context(), wire.FanoutPublisherRemoveRequest{ChannelName: "news", PublisherRID: rid(i), Owner: token})
			removed(t, r, err)
		},
		follow: following(
			func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[wire.RID, wire.FanoutPublisherItem], error] {
				return c.FanoutPublishers.Watch(ctx, wire.FanoutPublisherListRequest{ChannelName: "news"})
			},
			func(c *client.Client, ctx context.Context) iter.Seq2[wire.FanoutPublisherItem, error] {
				return c.FanoutPublishers.All(ctx, wire.FanoutPublisherListRequest{ChannelName: "news"})
			},
			func(r *wire.FanoutPublisherItem) (wire.RID, string, wire.RowState) {
				return r.PublisherRID, r.OwnerID, r.RowState
			},
		),
	},
	"peers": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			k := peerKey(i)
			r, err := c.Peers.Update(t.Context(), wire.PeerUpdateRequest{Intent: wire.IntentTakeover, Peer: wire.Peer{
				AutoConnectType: k.AutoConnectType, MeshName: k.MeshName, NodeRID: k.NodeRID, Role: k.Role, Endpoint: "e",
				Value: wire.U64(c.Revision()), OwnerToken: token,
			}})
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.Peers.Remove(t.Context(), wire.PeerRemoveRequest{Key: peerKey(i), Owner: token})
			removed(t, r, err)
		},
		follow: following(
			func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[wire.PeerKey, wire.PeerItem], error] {
				return c.Peers.Watch(ctx, wire.PeerListRequest{Filter: &wire.PeerFilter{Role: wire.PeerSpot}})
			},
			func(c *client.Client, ctx context.Context) iter.Seq2[wire.PeerItem, error] {
				return c.Peers.All(ctx, wire.PeerListRequest{Filter: &wire.PeerFilter{Role: wire.PeerSpot}})
			},
			func(r *wire.PeerItem) (wire.PeerKey, string, wire.RowState) {
				k := wire.PeerKey{AutoConnectType: r.AutoConnectType, MeshName: r.MeshName, NodeRID: r.NodeRID, Role: r.Role}
				if k.NodeRID == "" {
					k.Endpoint = r.Endpoint
				}
				return k, r.OwnerID, r.RowState
			},
		),
	},
	"spots": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.Spots.Update(t.Context(), spotOf(token, string('a'+rune(i)), "t", uint64(c.Revision())+1))
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.Spots.Remove(t.Context(), wire.SpotRemoveRequest{MeshName: "play", SpotID: string('a' + rune(i)), Owner: token})
			removed(t, r, err)
		},
		follow: func(t *testing.T, watching, c *client.Client) func() {
			m := mirrorSpots(t, watching, filteredBy("play"), nil)
			m.awaitEvent(client.EventSynced, 1)
			return func() { t.Helper(); m.awaitState(spots(t, c, filteredBy("play"))) }
		},
	},
	"actors": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			id := string('a' + rune(i))
			r, err := c.Actors.Update(t.Context(), wire.ActorUpdateRequest{Intent: wire.IntentTakeover, Actor: wire.Actor{
				MeshName: "play", ActorID: id, ActorType: "t", ActorRef: wire.ActorRef{ActorID: id, ObjectGeneration: 1, MeshName: "play", NodeRID: "n"},
				OwnerNodeRID: "n", OwnerNodeGeneration: 1, SpotKind: wire.SpotKindUser, SpotID: "s", SpotGeneration: 1,
				MembershipEpoch: wire.U64(c.Revision()), OwnerToken: token,
			}})
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.Actors.Remove(t.Context(), wire.ActorRemoveRequest{MeshName: "play", ActorID: string('a' + rune(i)), Owner: token})
			removed(t, r, err)
		},
		follow: following(
			func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[client.ActorKey, wire.ActorItem], error] {
				return c.Actors.Watch(ctx, wire.ActorListRequest{Filter: &wire.ActorFilter{SpotID: "s"}})
			},
			func(c *client.Client, ctx context.Context) iter.Seq2[wire.ActorItem, error] {
				return c.Actors.All(ctx, wire.ActorListRequest{Filter: &wire.ActorFilter{SpotID: "s"}})
			},
			func(r *wire.ActorItem) (client.ActorKey, string, wire.RowState) {
				return client.ActorKey{MeshName: r.MeshName, ActorID: r.ActorID}, r.OwnerID, r.RowState
			},
		),
	},
	"routes": {
		put: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.Routes.Update(t.Context(), routeOf(token, string('a'+rune(i)), int(c.Revision())))
			stored(t, r, err)
		},
		remove: func(t *testing.T, c *client.Client, token wire.OwnerToken, i int) {
			r, err := c.Routes.Remove(t.Context(), wire.RouteRemoveRequest{RouteKind: wire.RouteSpotName, RouteKey: string('a' + rune(i)), Owner: token})
			removed(t, r, err)
		},
		follow: following(
			func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[client.RouteKey, wire.RouteItem], error] {
				return c.Routes.Watch(ctx, wire.RouteListRequest{Filter: &wire.RouteFilter{OwnerID: "o"}})
			},
			func(c *client.Client, ctx context.Context) iter.Seq2[wire.RouteItem, error] {
				return c.Routes.All(ctx, wire.RouteListRequest{Filter: &wire.RouteFilter{OwnerID: "o"}})
			},
			func(r *wire.RouteItem) (client.RouteKey, string, wire.RowState) {
				return client.RouteKey{RouteKind: r.RouteKind, RouteKey: r.RouteKey}, r.OwnerID, r.RowState
			},
		),
	},
}

func TestWatchOfLiveRows(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c := connected(t, n)
	token, other := claimed(t, c, "o"), claimed(t, c, "other")
	put := families["spots"].put
	put(t, c, token, 0)
	request := wire.SpotListRequest{PageRequest: wire.PageRequest{LiveOnly: true}}
	await := following(
		func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[client.SpotKey, wire.SpotItem], error] {
			return c.Spots.Watch(ctx, request)
		},
		func(c *client.Client, ctx context.Context) iter.Seq2[wire.SpotItem, error] {
			return c.Spots.All(ctx, request)
		},
		func(s *wire.SpotItem) (client.SpotKey, string, wire.RowState) {
			return client.SpotKey{MeshName: s.MeshName, SpotID: s.SpotID}, s.OwnerID, s.RowState
		},
	)(t, connected(t, n), c)
	put(t, c, other, 1)
	await()
	release(t, c, token)
	await()
	put(t, c, other, 0)
	await()
}

func filteredBy(mesh string) *wire.SpotFilter { return &wire.SpotFilter{MeshName: mesh} }

func TestWatchOfEachFamily(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	for name, f := range families {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connected(t, n)
			token, other := claimed(t, c, "o"+name), claimed(t, c, "other "+name)
			if name == "routes" {
				token = claimed(t, c, "o") // that of the filter
			}
			f.put(t, c, token, 0)
			await := f.follow(t, connected(t, n), c)
			await()
			f.put(t, c, token, 1)
			f.put(t, c, other, 2)
			f.put(t, c, token, 0)
			await()
			f.remove(t, c, token, 0)
			await()
			f.put(t, c, token, 0)
			release(t, c, token)
			await()
			f.remove(t, c, token, 1)
			f.put(t, c, other, 0) // taken over
			await()
		})
	}
}

func release(t *testing.T, c *client.Client, token wire.OwnerToken) {
	t.Helper()
	if r, err := c.Leases.Release(t.Context(), wire.LeaseReleaseRequest{Token: token}); err != nil || r.Kind != wire.KindReleased {
		t.Fatalf("release: %+v, %v", r, err)
	}
}
