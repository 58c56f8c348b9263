package client_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/client"
	"github.com/zlink/zlink-nats/wire"
)

// claim claims the lease of an owner, long enough for every test.
func (w *world) claim(t *testing.T, owner string) wire.OwnerToken {
	t.Helper()
	r, err := w.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: owner, TTL: 3_600_000})
	if err != nil || r.Kind != wire.KindClaimed {
		t.Fatalf("claim: %+v, %v", r, err)
	}
	return *r.Token
}

func spot(token wire.OwnerToken, typ string) wire.SpotUpdateRequest {
	return wire.SpotUpdateRequest{Intent: wire.IntentNewClaim, Spot: wire.Spot{
		MeshName: "play", SpotID: "s1", SpotGeneration: 1, SpotType: typ, OwnerNodeRID: "n1", OwnerNodeGeneration: 1,
		SpotKind: wire.SpotKindUser, OwnerToken: token,
	}}
}

func TestLostReplyOfAClaimCostsNothing(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string][]fault{
		"request": {lostRequest}, "reply": {lostReply}, "both, again and again": {lostReply, lostRequest, nobody, lostReply},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, client.Options{Timeout: time.Minute})
			w.line.expect(lost...)
			token := w.claim(t, "a")
			r, err := w.Leases.Read(t.Context(), wire.LeaseReadRequest{OwnerID: "a"})
			if err != nil || r.Kind != wire.KindFound || *r.Token != token {
				t.Errorf("%s lost: the lease is %+v, %v; want %+v", name, r, err, token)
			}
		})
	}
}

func TestLostReplyOfAReservationCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		token := w.claim(t, "a")
		target := w.node(t, token)
		w.line.expect(lostReply)
		r, err := w.Objects.Reserve(t.Context(), reservation(target))
		if err != nil || r.Kind != wire.KindReserved || len(w.line.tries()) != 2 {
			t.Errorf("reserve: %+v, %v after %d tries; want reserved after 2", r, err, len(w.line.tries()))
		}
	})
}

// node publishes the descriptor of a node with room for anything.
func (w *world) node(t *testing.T, token wire.OwnerToken) wire.Target {
	t.Helper()
	r, err := w.MeshNodes.Update(t.Context(), wire.MeshNodeUpdateRequest{Intent: wire.IntentNewClaim, Descriptor: w.descriptor(token)})
	if err != nil || r.Status != wire.StatusStored {
		t.Fatalf("node: %+v, %v", r, err)
	}
	return wire.Target{MeshName: "play", NodeRID: "n1", NodeLifecycleGeneration: 1, Owner: token}
}

func (w *world) descriptor(token wire.OwnerToken) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName: "play", RID: "n1", LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "tcp://n1:1", ObjectRole: wire.RoleServer,
		PlacementWeight: 100, ActivationConcurrency: wire.ActivationConcurrency{Limit: 1}, State: wire.StateServing, SecurityIdentity: "s",
		PopulationCapacity: wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{{ObjectKind: wire.SpotUser, StableType: "room"}}},
		OwnerToken:         token,
	}
}

func reservation(target wire.Target) wire.ObjectReserveRequest {
	return wire.ObjectReserveRequest{
		Key: wire.ObjectKey{Kind: wire.ObjectUserSpot, GlobalID: "r1"}, Target: target,
		Intent:   wire.CreationIntent{StableType: "room", RequestContentReference: "x", RequestSHA256: make([]byte, 32)},
		Capacity: wire.Capacity{Spots: 1, SpotType: &wire.SpotCapacity{ObjectKind: wire.SpotUser, StableType: "room", Count: 1}},
	}
}

// exchange reserves and commits a room, and returns a put of it.
func (w *world) exchange(t *testing.T) wire.AuthorityCompareExchangeRequest {
	t.Helper()
	target := w.node(t, w.claim(t, "a"))
	request := reservation(target)
	r, err := w.Objects.Reserve(t.Context(), request)
	if err != nil || r.Kind != wire.KindReserved {
		t.Fatalf("reserve: %+v, %v", r, err)
	}
	c, err := w.Objects.Commit(t.Context(), wire.ObjectCommitRequest{
		Key: request.Key, ReservationID: r.ReservationID, ExpectedStoreVersion: r.Creating.StoreVersion, Target: target,
	})
	if err != nil || c.Kind != wire.KindCommitted {
		t.Fatalf("commit: %+v, %v", c, err)
	}
	return wire.AuthorityCompareExchangeRequest{
		Key: request.Key, ExpectedStoreVersion: c.Ready.StoreVersion,
		Mutation: wire.AuthorityMutation{Kind: wire.AuthorityPut, Payload: []byte("p"), GenerationTransition: wire.GenerationPreserve},
	}
}

func TestFencedWriteIsAskedAgainForAProof(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		faults []fault
		want   error
	}{
		"the request was lost: the second one proves that it was the first": {[]fault{lostRequest}, nil},
		"the service did not start it in time":                              {[]fault{refused(wire.CodeDeadlineExceeded)}, nil},
		"the service had too much to do":                                    {[]fault{refused(wire.CodeOverloaded)}, nil},
		"nobody served":                                                     {[]fault{nobody, nobody}, nil},
		"the service did not know, and it had not happened":                 {[]fault{refused(wire.CodeOutcomeUnknown)}, nil},
		"the reply was lost: nobody knows whose the new version is":         {[]fault{lostReply}, client.ErrOutcomeUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, client.Options{})
			request := w.exchange(t)
			w.line.expect(row.faults...)
			r, err := w.Authorities.CompareExchange(t.Context(), request)
			if !errors.Is(err, row.want) || err == nil && r.Kind != wire.KindStored {
				t.Errorf("%s: got %+v, %v; want %v", name, r, err, row.want)
			}
		})
	}
}

func TestConflictWithoutALostReplyIsAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		request := w.exchange(t)
		request.ExpectedStoreVersion = "1"
		r, err := w.Authorities.CompareExchange(t.Context(), request)
		if err != nil || r.Kind != wire.KindConflict || r.Current == nil {
			t.Errorf("got %+v, %v; want a conflict with the record", r, err)
		}
	})
}

func TestUnfencedWriteIsNotRepeated(t *testing.T) {
	t.Parallel()
	put := wire.StoreWriteRequest{Mutations: []wire.StoreMutation{{Kind: wire.MutationPut, Key: []byte("k"), Bytes: []byte("v")}}}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.line.expect(refused(wire.CodeOverloaded), nobody, lostReply)
		_, err := w.Store.Write(t.Context(), put)
		if !errors.Is(err, client.ErrOutcomeUnknown) || len(w.line.tries()) != 3 {
			t.Errorf("got %v after %d tries, want %v after 3", err, len(w.line.tries()), client.ErrOutcomeUnknown)
		}
		for _, promise := range []error{client.ErrUnavailable, client.ErrDeadlineExceeded, client.ErrOverloaded} {
			if errors.Is(err, promise) {
				t.Errorf("%v also matches %v, which promises that nothing was written", err, promise)
			}
		}
	})
}

// The connection may have been closed after the request was carried out and before the reply came.
func TestClosedConnectionPromisesNothingOfAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.line.expect(func(ctx context.Context, l *line, m *nats.Msg) (*nats.Msg, error) {
			if _, err := l.local.RequestMsgWithContext(ctx, m); err != nil {
				return nil, err
			}
			return nil, nats.ErrConnectionClosed
		})
		_, err := w.Leases.Claim(t.Context(), wire.LeaseClaimRequest{OwnerID: "a", TTL: 1000})
		if !errors.Is(err, client.ErrOutcomeUnknown) || errors.Is(err, client.ErrUnavailable) || !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("got %v, want %v because of %v", err, client.ErrOutcomeUnknown, nats.ErrConnectionClosed)
		}
	})
}

func TestErrorOfACancelledCall(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		call func(context.Context, *world) error
		want error
	}{
		"read": {func(ctx context.Context, w *world) error {
			_, err := w.Leases.Read(ctx, wire.LeaseReadRequest{OwnerID: "a"})
			return err
		}, client.ErrDeadlineExceeded},
		"write": {func(ctx context.Context, w *world) error {
			_, err := w.Leases.Claim(ctx, wire.LeaseClaimRequest{OwnerID: "a", TTL: 1000})
			return err
		}, client.ErrOutcomeUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, client.Options{})
			w.line.expect(lostRequest)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if err := row.call(ctx, w); !errors.Is(err, row.want) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want %v and %v", name, err, row.want, context.Canceled)
			}
			w.line.expect(lostRequest)
			if err := row.call(ctx, w); !errors.Is(err, client.ErrDeadlineExceeded) || len(w.line.tries()) > 0 {
				t.Errorf("%s with a context that has ended: got %v after %d tries, want %v without any",
					name, err, len(w.line.tries()), client.ErrDeadlineExceeded)
			}
		})
	}
}

func TestTimeoutBoundsAllTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{Timeout: 3 * time.Second})
		w.line.expect(nobody, lostRequest, lostRequest, lostRequest, lostRequest)
		start := time.Now()
		_, err := w.Leases.Read(t.Context(), wire.LeaseReadRequest{OwnerID: "a"})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 3*time.Second {
			t.Errorf("got %v after %v, want %v within 3s", err, took, context.DeadlineExceeded)
		}
	})
}

// The store's clock of these tests is hours ahead, so that a deadline by the machine's own would have passed on arrival.
func TestDeadlinesAreInTheStoresTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.claim(t, "a")
		header := w.line.tries()[0].Header[wire.HeaderDeadline]
		if len(header) != 1 {
			t.Fatalf("deadline %q, want one", header)
		}
		at, err := strconv.ParseInt(header[0], 10, 64)
		left := time.UnixMilli(at).Sub(time.Now().Add(ahead))
		if err != nil || left <= client.DefaultTryTimeout/2 || left >= client.DefaultTryTimeout {
			t.Errorf("the try ends in %v of the store's time, %v; want a little less than %v", left, err, client.DefaultTryTimeout)
		}
	})
}

// A try that was given up must not take effect behind the back of the next one.
func TestTryThatWasGivenUpTakesNoEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		token := w.claim(t, "a")
		var late *nats.Msg
		w.line.expect(func(ctx context.Context, _ *line, m *nats.Msg) (*nats.Msg, error) {
			late = m
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if r, err := w.Spots.Update(t.Context(), spot(token, "room")); err != nil || r.Status != wire.StatusStored {
			t.Fatalf("update: %+v, %v", r, err)
		}
		if r, err := w.Spots.Remove(t.Context(), wire.SpotRemoveRequest{MeshName: "play", SpotID: "s1", Owner: token}); err != nil || r.Status != wire.StatusStored {
			t.Fatalf("remove: %+v, %v", r, err)
		}
		answer, err := w.line.local.RequestMsgWithContext(t.Context(), late)
		if err != nil || len(answer.Header[wire.HeaderErrorCode]) == 0 {
			t.Errorf("the late request: %+v, %v; want a refusal", answer, err)
		}
		if r, err := w.Spots.Resolve(t.Context(), wire.SpotResolveRequest{MeshName: "play", SpotID: "s1"}); err != nil || r.Kind != wire.KindMissing {
			t.Errorf("the spot is %+v, %v; want missing", r, err)
		}
	})
}

func TestReadsShowWhatRepliesHaveShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.claim(t, "a")
		seen := w.Revision()
		w.line.expect()
		for _, c := range []*client.Client{w.Client, w.Leader()} {
			if _, err := c.Leases.Read(t.Context(), wire.LeaseReadRequest{OwnerID: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		tries := w.line.tries()
		for i, want := range []string{"", wire.ConsistencyLeader} {
			h := tries[i].Header
			if got := h.Get(wire.HeaderMinRevision); got != strconv.FormatUint(uint64(seen), 10) || seen == 0 {
				t.Errorf("read %d asks for revision %q, want %d", i, got, seen)
			}
			if got := h.Get(wire.HeaderConsistency); got != want {
				t.Errorf("read %d asks for consistency %q, want %q", i, got, want)
			}
		}
	})
}

// A store that was restored from a backup may not come to a revision again for a long time: reads wait for it once, not for ever.
func TestReadsGoOnAfterTheStoreWasSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		w.line.expect(func(ctx context.Context, l *line, m *nats.Msg) (*nats.Msg, error) { // before it was set back
			answer, err := l.local.RequestMsgWithContext(ctx, m)
			if err != nil {
				return nil, err
			}
			header := maps.Clone(answer.Header) // the service keeps it
			header.Set(wire.HeaderRevision, "1000000")
			return &nats.Msg{Data: answer.Data, Header: header}, nil
		})
		w.claim(t, "a")
		for i, tries := range []int{2, 1} {
			w.line.expect()
			if r, err := w.Leases.Read(t.Context(), wire.LeaseReadRequest{OwnerID: "a"}); err != nil || r.Kind != wire.KindFound {
				t.Errorf("read %d: got %+v, %v; want the lease", i, r, err)
			}
			if sent := w.line.tries(); len(sent) != tries {
				t.Errorf("read %d took %d tries, want %d", i, len(sent), tries)
			}
		}
		if got := w.Revision(); got == 0 || got >= 1_000_000 {
			t.Errorf("got revision %d, want that of the store", got)
		}
	})
}

func TestStoreWriteIsFencedByItsConditions(t *testing.T) {
	t.Parallel()
	type (
		conditions = []wire.StoreCondition
		mutations  = []wire.StoreMutation
	)
	missing := wire.StoreCondition{Kind: wire.ConditionMissing, Key: []byte("k")}
	version := wire.StoreCondition{Kind: wire.ConditionVersion, Key: []byte("k"), Expected: "1"}
	put := wire.StoreMutation{Kind: wire.MutationPut, Key: []byte("k")}
	brief := wire.StoreMutation{Kind: wire.MutationPut, Key: []byte("k"), Retention: 1}
	other := wire.StoreMutation{Kind: wire.MutationPut, Key: []byte("l")}
	remove := wire.StoreMutation{Kind: wire.MutationDelete, Key: []byte("k")}
	for name, row := range map[string]struct {
		c    conditions
		m    mutations
		want bool
	}{
		"no condition":                              {nil, mutations{put}, false},
		"stores what was missing":                   {conditions{missing}, mutations{other, put}, true},
		"stores what was missing and expires again": {conditions{missing}, mutations{brief}, false},
		"removes what is missing":                   {conditions{missing}, mutations{remove}, false},
		"changes the version":                       {conditions{version}, mutations{put}, true},
		"changes the version, and expires":          {conditions{version}, mutations{brief}, true},
		"removes the version":                       {conditions{version}, mutations{remove}, true},
		"changes another key":                       {conditions{version}, mutations{other}, false},
	} {
		if got := client.SelfFenced(wire.StoreWriteRequest{Conditions: row.c, Mutations: row.m}); got != row.want {
			t.Errorf("%s: fenced %v, want %v", name, got, row.want)
		}
	}
}
