package client_test

import (
	"context"
	"iter"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// narrow is a server with a user who may do what the guide says, and nothing else.
const narrow = `
accounts { A { jetstream: enabled, users: [
	{ user: service, password: s }
	{ user: program, password: p, permissions {
		publish: [
			"zlink.v1.*.*"
			"$JS.API.STREAM.INFO.ZLINK_CHANGES", "$JS.API.DIRECT.GET.ZLINK_CHANGES"
			"$JS.API.CONSUMER.*.ZLINK_CHANGES.>", "$JS.API.CONSUMER.MSG.NEXT.ZLINK_CHANGES.>"
		]
		subscribe: ["_INBOX.>", "zlink.v1.changes.>"]
	} }
] } }
no_auth_user: service
`

func TestPermissionsOfTheGuideAreEnough(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{Config: narrow})
	serve(t, n, "a", 1)
	refused := func(_ *nats.Conn, s *nats.Subscription, err error) { t.Error(s, err) }
	conn := n.Connect(t, nats.UserInfo("program", "p"), nats.ErrorHandler(refused))
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(conn, client.Options{JetStream: js})
	if err != nil {
		t.Fatal(err)
	}
	token := claimed(t, c, "a")
	spot, lease := mirrorSpots(t, c, nil, nil), reflect(t, func(ctx context.Context) iter.Seq2[client.Event[string, wire.Authority], error] {
		return c.Authorities.Watch(ctx, client.AuthorityWatchRequest{Kind: wire.LookupSpot})
	}, func(*wire.Authority) wire.Version { return "" }, func(*wire.Authority) string { return "" }, nil)
	spot.awaitEvent(client.EventSynced, 1)
	lease.awaitEvent(client.EventSynced, 1)
	if _, err := c.Spots.Update(t.Context(), spotOf(token, "s", "t", 1)); err != nil {
		t.Fatal(err)
	}
	after := c.Revision() - 1
	release(t, c, token)
	spot.awaitEvent(client.EventExpired, 1)
	lease.awaitEvent(client.EventExpired, 1)
	next(t, follow(t, c, client.ChangesRequest{From: client.FromRevision, After: after}), 1)
	k, err := client.NewObjectCache(c, client.DefaultCacheOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := k.Get(t.Context(), actor("x")); err != nil {
		t.Error(err)
	}
}
