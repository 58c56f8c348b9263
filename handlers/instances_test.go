package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// openStore runs one instance's store of the bucket until the test ends.
func openStore(t *testing.T, node *testenv.Node, id string, edits ...func(*jetkv.Options)) *jetkv.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o := jetkv.Options{
		Conn: node.Connect(t, nats.ReconnectBufSize(-1)), Bucket: "zlink", InstanceID: id,
		Schema: domain.Schema(), Logger: slog.New(slog.DiscardHandler),
	}
	for _, edit := range edits {
		edit(&o)
	}
	store, err := jetkv.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- store.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("store %s: %v", id, err)
		}
	})
	return store
}

// TestTwoInstancesShareTheLoad: callers do not notice that two instances write into one bucket, nor that one of them stops.
func TestTwoInstancesShareTheLoad(t *testing.T) {
	t.Parallel()
	const callers, claims = 16, 30
	node := testenv.Server(t, testenv.ServerOptions{})
	f := &fixture{t: t, node: node, client: node.Connect(t), log: new(logs)}
	f.Service = f.serve("one", openStore(t, node, "one"), nil)
	two := f.serve("two", openStore(t, node, "two"), nil)

	var wg sync.WaitGroup
	generations := make(chan any, callers*claims)
	for caller := range callers {
		wg.Go(func() {
			for i := range claims {
				owner := fmt.Sprintf("o%d-%d", caller, i)
				reply := f.call(subjects.LeaseClaim, fmt.Sprintf(`{"ownerId":%q,"leaseTtlMs":30000}`, owner), nil)
				got := reply.want(map[string]string{"kind": "claimed"})
				generations <- got["token"].(object)["leaseGeneration"]
				f.call(subjects.LeaseRead, fmt.Sprintf(`{"ownerId":%q}`, owner), headers{"Zlink-Min-Revision": reply.revision()}).
					want(map[string]string{"kind": "found"})
			}
		})
	}
	testenv.Eventually(t, patience, func() bool { return len(generations) > callers*claims/2 }, "half of the claims")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := two.Stop(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()

	close(generations)
	seen := make(map[any]bool)
	for g := range generations {
		if seen[g] {
			t.Errorf("generation %v given twice", g)
		}
		seen[g] = true
	}
	if len(seen) != callers*claims {
		t.Errorf("%d claims, want %d", len(seen), callers*claims)
	}
	forwarded := f.outcomes(subjects.LeaseClaim)[handlers.OutcomeForwarded]
	for _, o := range two.Counters().Operations {
		forwarded += o.Outcomes[handlers.OutcomeForwarded]
	}
	if forwarded == 0 {
		t.Error("nothing was forwarded")
	}
	t.Logf("%d of %d claims were forwarded", forwarded, callers*claims)
}
