package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// name names a change.
func name(c *client.Change) string {
	return fmt.Sprintf("%d-%d %s %s %s %s", c.Revision, c.Index, c.Type, c.Kind, c.Scope, c.ID)
}

// pushed lists what is in the stream.
func pushed(t *testing.T, s jetstream.Stream) (all []string) {
	t.Helper()
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		what, err := subjects.DefaultPrefix.ParseChange(m.Subject)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s-%s %s %s %s %s", m.Header.Get(wire.HeaderRevision), m.Header.Get(wire.HeaderIndex),
			m.Header.Get(wire.HeaderChange), what.Kind, what.Scope, what.ID))
	}
	return all
}

// follow finds the place of a request.
func follow(t *testing.T, c *client.Client, r client.ChangesRequest) *client.Changes {
	t.Helper()
	x, err := c.Changes(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// next reads n changes.
func next(t *testing.T, x *client.Changes, n int) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range n {
		c, err := x.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, name(c))
	}
	return all
}

func TestEachChangeComesOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	relay := testenv.Proxy(t, n.URL())
	c := connected(t, n)
	x := follow(t, connected(t, relay), client.ChangesRequest{From: client.FromOldest})
	w := startWorkload(t, c)
	got := next(t, x, 20)
	relay.Cut()
	w.await(50)
	relay.Heal()
	got = append(got, next(t, x, 50)...)
	n.Kill()
	n.Start()
	got = append(got, next(t, x, 50)...)
	relay.Pause()
	w.await(50)
	relay.Resume()
	w.await(50)
	w.stop()
	release(t, c, claimed(t, c, "last")) // what was committed before it is out when it is
	testenv.Eventually(t, patience, func() bool {
		return slices.ContainsFunc(pushed(t, changesOf(t, n)), func(change string) bool {
			return strings.HasSuffix(change, " removed owner-lease owner last")
		})
	}, "the last change")
	want := pushed(t, changesOf(t, n))
	got = append(got, next(t, x, len(want)-len(got))...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes: -pushed +received\n%s", diff)
	}
}

func TestChangesBeginWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c := connected(t, n)
	token := claimed(t, c, "o")
	stored := func(id string) wire.Revision {
		if _, err := c.Spots.Update(t.Context(), spotOf(token, id, "t", 1)); err != nil {
			t.Fatal(err)
		}
		return c.Revision()
	}
	stored("one")
	after := stored("two")
	stored("three")
	release(t, c, token) // one commit with four events
	testenv.Eventually(t, patience, func() bool { return len(pushed(t, changesOf(t, n))) == 8 }, "all events")
	all := pushed(t, changesOf(t, n))
	for what, row := range map[string]struct {
		r    client.ChangesRequest
		want []string
	}{
		"oldest":   {client.ChangesRequest{From: client.FromOldest}, all},
		"revision": {client.ChangesRequest{From: client.FromRevision, After: after}, all[3:]},
		"zero":     {client.ChangesRequest{From: client.FromRevision}, all},
		"kind":     {client.ChangesRequest{From: client.FromOldest, Kind: subjects.ChangeOwnerLease}, []string{all[0], all[4]}},
		"id":       {client.ChangesRequest{From: client.FromOldest, Kind: subjects.ChangeSpot, Scope: "play", ID: "two"}, []string{all[2], all[7]}},
	} {
		if diff := cmp.Diff(row.want, next(t, follow(t, c, row.r), len(row.want))); diff != "" {
			t.Errorf("%s: -want +got\n%s", what, diff)
		}
	}
	x := follow(t, c, client.ChangesRequest{})
	claimed(t, c, "new")
	if got := next(t, x, 1); got[0] != fmt.Sprintf("%d-0 upserted owner-lease owner new", c.Revision()) {
		t.Errorf("from now: got %v", got)
	}
}

func TestChangesThatAreGone(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c, stream := connected(t, n), changesOf(t, n)
	revisions := make([]wire.Revision, 5)
	for i := range revisions {
		revisions[i] = wire.Revision(claimed(t, c, fmt.Sprint(i)).LeaseGeneration)
	}
	testenv.Eventually(t, patience, func() bool { return len(pushed(t, stream)) == 5 }, "all events")
	behind := follow(t, c, client.ChangesRequest{From: client.FromOldest, Kind: subjects.ChangeOwnerLease})
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(4)); err != nil {
		t.Fatal(err)
	}
	_, err := behind.Next(t.Context())
	gone, ok := errors.AsType[*client.HistoryGoneError](err)
	if !ok || !errors.Is(err, client.ErrHistoryGone) || gone.Oldest != revisions[3] || gone.Replaced {
		t.Errorf("behind: got %v, want %v with revision %d", err, client.ErrHistoryGone, revisions[3])
	}
	_, err = c.Changes(t.Context(), client.ChangesRequest{From: client.FromRevision, After: revisions[1]})
	if gone, ok := errors.AsType[*client.HistoryGoneError](err); !ok || gone.After != revisions[1] || gone.Oldest != revisions[3] {
		t.Errorf("after revision %d: got %v, want what is gone", revisions[1], err)
	}
	follow(t, c, client.ChangesRequest{From: client.FromRevision, After: revisions[3]})
}

func TestQuietChangesAreNotTakenForLost(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c, stream := connected(t, n), changesOf(t, n)
	x := follow(t, c, client.ChangesRequest{Kind: subjects.ChangeOwnerLease, Scope: subjects.OwnerScope, ID: "rare"})
	client.LookOften(x, 10*time.Millisecond)
	token := claimed(t, c, "frequent")
	for i := range 5 {
		if _, err := c.Spots.Update(t.Context(), spotOf(token, fmt.Sprint(i), "t", 1)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, patience, func() bool { return len(pushed(t, stream)) == 6 }, "all events")
	testenv.Eventually(t, patience, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := x.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want nothing", err)
		}
		return client.Position(x) == 7
	}, "everything looked at")
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(6)); err != nil {
		t.Fatal(err)
	}
	claimed(t, c, "rare")
	if got := next(t, x, 1); got[0] != fmt.Sprintf("%d-0 upserted owner-lease owner rare", c.Revision()) {
		t.Errorf("got %v", got)
	}
}

func TestChangesEndWithTheConnection(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	conn := n.Connect(t)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(conn, client.Options{JetStream: js})
	if err != nil {
		t.Fatal(err)
	}
	x := follow(t, c, client.ChangesRequest{})
	ended := make(chan error, 1)
	go func() {
		_, err := x.Next(t.Context())
		ended <- err
	}()
	testenv.Eventually(t, patience, func() bool {
		info, err := changesOf(t, n).Info(t.Context())
		return err == nil && info.State.Consumers == 1
	}, "consumer")
	conn.Close()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the connection", err)
		}
	case <-time.After(patience):
		t.Error("still waits")
	}
}

// A consumer is kept for as long as changes are followed, however often a wait for the next one ends, and not longer.
func TestConsumerEndsWithTheChanges(t *testing.T) {
	t.Parallel()
	n := testenv.Server(t, testenv.ServerOptions{})
	serve(t, n, "a", 1)
	c := connected(t, n)
	consumers := func() int {
		info, err := changesOf(t, n).Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Consumers
	}
	x := follow(t, c, client.ChangesRequest{})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := x.Next(ctx)
			ended <- err
		}()
		testenv.Eventually(t, patience, func() bool { return consumers() > 0 }, "consumer")
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	}
	if got := consumers(); got != 1 {
		t.Errorf("%d consumers after three waits, want 1", got)
	}
	claimed(t, c, "o1")
	if got := next(t, x, 1); !strings.Contains(got[0], "o1") {
		t.Errorf("got %v, want the claim", got)
	}
	x.Close()
	if got := consumers(); got != 0 {
		t.Errorf("%d consumers after the end, want none", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range c.MeshNodes.Watch(ctx, wire.MeshNodeListRequest{MeshName: "play"}) {
		cancel() // at EventSynced
	}
	if got := consumers(); got != 0 {
		t.Errorf("%d consumers after the end of a watch, want none", got)
	}
}
