package feed_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// With the rules of the directory: a lease that lapses is told, without anybody asking.
func TestLapseOfLeaseIsPushed(t *testing.T) {
	t.Parallel()
	nc := testenv.Server(t, testenv.ServerOptions{}).Connect(t)
	s := memkv.New(memkv.Options{Schema: domain.Schema()})
	f := start(t, newFeed(t, nc, "a", func(o *feed.Options) { o.Events = nil }), s)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { _ = kvstore.Sweep(ctx, s, slog.New(slog.DiscardHandler)) })

	rev, err := s.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		_, err := domain.ClaimLease(tx, &wire.LeaseClaimRequest{OwnerID: "o/1", TTL: 200})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.out(rev + 1)
	want := []string{"1-0 upserted o/1", "2-0 expired o/1"}
	if d := cmp.Diff(contents(t, nc), want); d != "" {
		t.Errorf("events in the stream (-got +want):\n%s", d)
	}
}
