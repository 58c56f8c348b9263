package client_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// authorities follows authorities as the other families are.
func authorities(request client.AuthorityWatchRequest, prefix string) func(*testing.T, *client.Client, *client.Client) func() {
	return following(
		func(c *client.Client, ctx context.Context) iter.Seq2[client.Event[string, wire.Authority], error] {
			return c.Authorities.Watch(ctx, request)
		},
		func(c *client.Client, ctx context.Context) iter.Seq2[wire.Authority, error] {
			return func(yield func(wire.Authority, error) bool) {
				for item, err := range c.Authorities.All(ctx, wire.AuthorityListRequest{Prefix: prefix}) {
					if !yield(item.Snapshot, err) {
						return
					}
				}
			}
		},
		func(a *wire.Authority) (string, string, wire.RowState) {
			return a.Key, a.OwnerID, wire.RowState{Version: a.StoreVersion, Live: *a.Live}
		},
	)
}

func TestWatchOfAuthorities(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c, watching := connected(t, n), connected(t, n)
	token := claimed(t, c, "o")
	target := (&world{Client: c}).node(t, token)
	room(t, c, target, "r1")
	before := claimed(t, c, "p")
	all := authorities(client.AuthorityWatchRequest{Kind: wire.LookupSpot}, "zla1:s:")(t, watching, c)
	one := authorities(client.AuthorityWatchRequest{Kind: wire.LookupSpot, GlobalID: "r1"}, "zla1:s:2:r1")(t, watching, c)
	await := func() { t.Helper(); all(); one() }
	await()
	room(t, c, target, "r2")
	await()
	release(t, c, before)
	await()
	release(t, c, token)
	await()
	restore(t, c, "r2", token) // written, but not live
	await()
	restore(t, c, "r1", token)
	await()
	late := authorities(client.AuthorityWatchRequest{Kind: wire.LookupSpot}, "zla1:s:")(t, watching, c)
	restore(t, c, "r1", token)
	await()
	late()
	next := claimed(t, c, "o")
	(&world{Client: c}).node(t, next)
	key := wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}
	exchange(t, c, key, wire.AuthorityMutation{Kind: wire.AuthorityRebind, Payload: wire.Bytes{}, ExpectedOwner: &token, TargetOwner: &next})
	await()
	late()
	exchange(t, c, key, wire.AuthorityMutation{Kind: wire.AuthorityDelete})
	await()
	late()
}

func restore(t *testing.T, c *client.Client, id string, owner wire.OwnerToken) {
	t.Helper()
	exchange(t, c, wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: id}, wire.AuthorityMutation{Kind: wire.AuthorityRestore, Payload: wire.Bytes{}, ExpectedOwner: &owner})
}

// exchange changes an object as it is now.
func exchange(t *testing.T, c *client.Client, key wire.ObjectKey, m wire.AuthorityMutation) {
	t.Helper()
	a, err := c.Authorities.Read(t.Context(), wire.AuthorityReadRequest{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Authorities.CompareExchange(t.Context(), wire.AuthorityCompareExchangeRequest{Key: key, ExpectedStoreVersion: a.StoreVersion, Mutation: m})
	if err != nil || r.Kind != wire.KindStored && r.Kind != wire.KindDeleted {
		t.Fatalf("%s of %+v: %+v, %v", m.Kind, a, r, err)
	}
}

func TestWatchOfALease(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c := connected(t, n)
	token := claimed(t, c, "o")
	m := reflect(t, func(ctx context.Context) iter.Seq2[client.Event[string, wire.OwnerLease], error] {
		return connected(t, n).Leases.Watch(ctx, wire.LeaseReadRequest{OwnerID: "o"})
	}, func(l *wire.OwnerLease) wire.Version { return wire.Version(rune(l.LeaseGeneration)) }, func(l *wire.OwnerLease) string { return l.OwnerID }, nil)
	lease := func(want map[string]held) {
		t.Helper()
		m.awaitState(func() (map[string]held, error) { return want, nil })
	}
	lease(map[string]held{"o": {wire.Version(rune(token.LeaseGeneration)), true}})
	claimed(t, c, "p")
	release(t, c, token)
	lease(map[string]held{})
	token = claimed(t, c, "o")
	lease(map[string]held{"o": {wire.Version(rune(token.LeaseGeneration)), true}})
}

func TestWatchEndsWithWhatDoesNotPass(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	bare := n.Connect(t)
	c := connected(t, n)
	ends := func(c *client.Client, request wire.MeshNodeListRequest) (err error) {
		for _, e := range c.MeshNodes.Watch(t.Context(), request) {
			if e != nil {
				err = e
			}
		}
		return err
	}
	if err := ends(c, wire.MeshNodeListRequest{MeshName: "play"}); err == nil {
		t.Error("no error without a service")
	}
	serve(t, n, "a", 1)
	if err := ends(c, wire.MeshNodeListRequest{}); !errors.Is(err, client.ErrInvalidArgument) {
		t.Errorf("no mesh: got %v, want %v", err, client.ErrInvalidArgument)
	}
	for _, err := range c.Authorities.Watch(t.Context(), client.AuthorityWatchRequest{Kind: "x"}) {
		if !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("no kind: got %v, want %v", err, client.ErrInvalidArgument)
		}
	}
	without, err := client.New(bare, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ends(without, wire.MeshNodeListRequest{MeshName: "play"}); err == nil {
		t.Error("no error without JetStream")
	}
	for range c.MeshNodes.Watch(t.Context(), wire.MeshNodeListRequest{MeshName: "play"}) {
		break // the receiver has enough
	}
}
