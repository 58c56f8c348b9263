package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// atAnyTime leaves the time of a reply out of a comparison.
var atAnyTime = cmpopts.IgnoreFields(wire.Authority{}, "StoreNow")

func TestReserveIsRepeatable(t *testing.T) { // C-08
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	req := reserveOf("r1", "n1", a)
	first := answerTo[wire.ObjectReserveReply](f, subjects.ObjectReserve, req)
	if first.Kind != wire.KindReserved || first.ReservationID != req.ReservationID {
		t.Fatalf("reserve: %+v", first)
	}
	unchanged := f.unchanged()
	f.clock.Advance(1)
	if diff := cmp.Diff(first, answerTo[wire.ObjectReserveReply](f, subjects.ObjectReserve, req), atAnyTime); diff != "" {
		t.Errorf("repeated (-first +second):\n%s", diff)
	}
	other := *req
	other.CreatingPayload = wire.Bytes("another")
	f.call(subjects.ObjectReserve, payload(t, other), nil).want(map[string]string{"kind": "conflict", "reason": "reserved"})
	for _, id := range []string{strings.ToUpper("abcdef12-0000-4000-8000-000000000001"), "1", ""} {
		text := strings.Replace(payload(t, req), `"`+req.ReservationID+`"`, `"`+id+`"`, 1)
		f.call(subjects.ObjectReserve, text, nil).refused(wire.CodeInvalidArgument, "reservationId")
	}
	unchanged()
}

func TestPlaceIsRepeatable(t *testing.T) { // 6.6, C-08
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n0", "a", 0)
	for i := range 7 {
		f.hostsBy(a, wire.RID(fmt.Sprintf("n%d", i+1)), 0)
	}
	first := answerTo[wire.ObjectReserveReply](f, subjects.ObjectPlace, placeOf("r1"))
	if first.Kind != wire.KindReserved || first.Target == nil || first.Target.NodeRID != first.Creating.Allocation.Descriptor.RID {
		t.Fatalf("place: %+v", first)
	}
	unchanged := f.unchanged()
	for range 8 { // were it drawn anew, it would be another node of the eight sooner or later
		if diff := cmp.Diff(first, answerTo[wire.ObjectReserveReply](f, subjects.ObjectPlace, placeOf("r1"))); diff != "" {
			t.Errorf("repeated (-first +again):\n%s", diff)
		}
	}
	unchanged()
}

func TestReservationWithoutAnIDGetsARandomOne(t *testing.T) { // 6.1
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for i := range 50 {
		id, op, req := fmt.Sprintf("r%d", i), subjects.ObjectReserve, any(nil)
		if i%2 == 0 {
			reserve := reserveOf(id, "n1", a)
			reserve.ReservationID = ""
			req = reserve
		} else {
			place := placeOf(id)
			place.ReservationID = ""
			op, req = subjects.ObjectPlace, place
		}
		got := answerTo[wire.ObjectReserveReply](f, op, req)
		if !version4.MatchString(got.ReservationID) || seen[got.ReservationID] || got.Creating.PendingCreation.ReservationID != got.ReservationID {
			t.Errorf("reservation id %q of %+v", got.ReservationID, got)
		}
		seen[got.ReservationID] = true
		// Without an id nothing can be repeated.
		f.call(op, payload(t, req), nil).want(map[string]string{"kind": "conflict", "reason": "reserved"})
	}
}

// TestCreationWhoseRepliesAreLost lets a client repeat what it got no reply to, until the object is there: each step took effect
// once. L-03, C-08, C-01
func TestCreationWhoseRepliesAreLost(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	relay := testenv.Proxy(t, f.node.URL())
	nc := relay.Connect(t)
	twice := func(op subjects.Operation, rows kvstore.Revision, req any) answer {
		t.Helper()
		m := request(subjects.DefaultPrefix.Operation(op), []byte(payload(t, req)), nil)
		before := f.store.Status().Revision
		relay.DropReplies(true)
		ctx, cancel := context.WithCancel(t.Context())
		lost := make(chan error, 1)
		go func() {
			_, err := nc.RequestMsgWithContext(ctx, m)
			lost <- err
		}()
		testenv.Eventually(t, patience, func() bool { return f.store.Status().Revision == before+rows }, op, "took effect")
		cancel()
		if err := <-lost; !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: reply arrived: %v", op, err)
		}
		relay.Cut()
		testenv.Eventually(t, patience, func() bool { return !nc.IsConnected() }, "cut noticed")
		relay.DropReplies(false)
		relay.Heal()
		testenv.Eventually(t, patience, nc.IsConnected, "connected anew")
		ctx, cancel = context.WithTimeout(t.Context(), patience)
		defer cancel()
		reply, err := nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		if got := f.store.Status().Revision; got != before+rows {
			t.Errorf("%s: revision %d after it was repeated, want %d", op, got, before+rows)
		}
		return answer{t, reply}
	}
	claimed := resultOf[wire.LeaseClaimReply](twice(subjects.LeaseClaim, 1, wire.LeaseClaimRequest{OwnerID: "a", TTL: 30_000, ClaimID: "c1"}))
	if claimed.Kind != wire.KindClaimed || claimed.Token.LeaseGeneration != 1 {
		t.Fatalf("claim: %+v", claimed)
	}
	f.hostsBy(*claimed.Token, "n1", 0)
	reserved := resultOf[wire.ObjectReserveReply](twice(subjects.ObjectPlace, 1, placeOf("r1")))
	if reserved.Kind != wire.KindReserved || reserved.Target.NodeRID != "n1" {
		t.Fatalf("place: %+v", reserved)
	}
	r1 := reservation{keyOf("r1"), reserved.ReservationID, reserved.Creating.StoreVersion, *reserved.Target}
	committed := resultOf[wire.ObjectCommitReply](twice(subjects.ObjectCommit, 1, r1.commit()))
	if committed.Kind != wire.KindAlreadyCommitted || committed.Ready.OwnerLeaseGeneration != claimed.Token.LeaseGeneration {
		t.Errorf("commit: %+v", committed)
	}
	a1 := f.reserved("a1", "n1", *claimed.Token)
	rejected := a1.complete(wire.CompletionRejected, 1, wire.Instant(testT0))
	completed := resultOf[wire.ObjectCompleteCreationReply](twice(subjects.ObjectCompleteCreation, 2, rejected))
	if completed.Kind != wire.KindAlreadyCompleted || completed.Terminal.ReservationID != a1.id {
		t.Errorf("complete: %+v", completed)
	}
	a2 := f.reserved("a2", "n1", *claimed.Token)
	if aborted := resultOf[wire.ObjectAbortReply](twice(subjects.ObjectAbort, 2, a2.abort())); aborted.Kind != wire.KindAlreadyAborted {
		t.Errorf("abort: %+v", aborted)
	}
	if actors, spots, _ := f.usage("n1"); actors != (wire.Usage{}) || spots != (wire.Usage{Active: 1}) {
		t.Errorf("in use: actors %+v, spots %+v", actors, spots)
	}
}

// TestConnectionIsCutBetweenRequestAndReply: the request takes effect, and repeating it says what it did. C-08
func TestConnectionIsCutBetweenRequestAndReply(t *testing.T) {
	t.Parallel()
	held, goOn := make(chan struct{}), make(chan struct{})
	var store *stub
	f := start(t, func(o *handlers.Options) {
		store = &stub{Store: o.Store}
		o.Store = store
	})
	a := f.hosts("n1", "a", 0)
	store.update = func(ctx context.Context, o kvstore.UpdateOptions, fn func(*kvstore.Tx) error) (kvstore.Revision, error) {
		close(held)
		<-goOn
		return store.Store.Update(ctx, o, fn)
	}
	relay := testenv.Proxy(t, f.node.URL())
	nc := relay.Connect(t)
	text := payload(t, reserveOf("r1", "n1", a))
	if err := nc.PublishRequest(subjects.DefaultPrefix.Operation(subjects.ObjectReserve), nc.NewInbox(), []byte(text)); err != nil {
		t.Fatal(err)
	}
	<-held
	relay.Cut()
	testenv.Eventually(t, patience, func() bool { return !nc.IsConnected() }, "cut noticed")
	close(goOn)
	testenv.Eventually(t, patience, func() bool { return f.store.Status().Revision == 3 }, "the request took effect")
	testenv.Eventually(t, patience, func() bool { return f.Counters().InFlight == 0 }, "the reply is out")
	store.update = nil
	relay.Heal()
	testenv.Eventually(t, patience, nc.IsConnected, "connected anew")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reply, err := nc.RequestWithContext(ctx, subjects.DefaultPrefix.Operation(subjects.ObjectReserve), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := resultOf[wire.ObjectReserveReply](answer{t, reply})
	if got.Kind != wire.KindReserved || got.Creating.StoreVersion != "3" || f.store.Status().Revision != 3 {
		t.Errorf("repeated: %+v at revision %d, want the reservation of version 3", got, f.store.Status().Revision)
	}
}

// TestReserveIsForwardedOnce lets the instance "one" leave its writes to "two", and "two" do them.
func TestReserveIsForwardedOnce(t *testing.T) {
	t.Parallel()
	const objects = 20
	var store *stub
	f := start(t, func(o *handlers.Options) {
		store = &stub{Store: o.Store, writer: "two"}
		o.Store = store
	})
	two := f.serve("two", f.store, nil)
	a := f.hosts("n1", "a", 0)
	before := f.store.Status().Revision
	own := len(store.updatesSeen())
	for i := range objects {
		req := reserveOf(fmt.Sprintf("r%d", i), "n1", a)
		req.ReservationID = ""
		if got := answerTo[wire.ObjectReserveReply](f, subjects.ObjectReserve, req); got.Kind != wire.KindReserved {
			t.Errorf("reserve: %+v", got)
		}
	}
	if got := f.store.Status().Revision; got != before+objects {
		t.Errorf("%d commits, want one for each of %d objects", got-before, objects)
	}
	forwarded := f.outcomes(subjects.ObjectReserve)[handlers.OutcomeForwarded]
	for _, o := range two.Counters().Operations {
		if o.Operation == subjects.ObjectReserve && o.Outcomes[handlers.OutcomeOK] != objects {
			t.Errorf("two carried out %d, want all %d", o.Outcomes[handlers.OutcomeOK], objects)
		}
	}
	if forwarded == 0 || len(store.updatesSeen()) != own {
		t.Errorf("%d forwarded, %d carried out by the other instance", forwarded, len(store.updatesSeen())-own)
	}
}

// damage makes the records of objects unreadable.
func (f *fixture) damage(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		put(f.t, f.store, domain.AuthorityKey(keyOf(id)), "not a record")
	}
}

// TestDamagedAuthority is never taken for a result. 1.5
func TestDamagedAuthority(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	f.ready("r2", "n1", a)
	r1, a1 := f.reserved("r1", "n1", a), f.reserved("a1", "n1", a)
	f.damage("r1", "a1")
	unchanged := f.unchanged()
	for i, c := range []struct {
		op  subjects.Operation
		req any
		id  string // of the record that is damaged
	}{
		{subjects.AuthorityRead, wire.AuthorityReadRequest{Key: r1.key}, "r1"},
		{subjects.AuthorityList, wire.AuthorityListRequest{Prefix: "zla1:s:2:r", Limit: 9}, "r1"},
		{subjects.AuthorityCompareExchange, mutation("r1", r1.version, wire.AuthorityDelete), "r1"},
		{subjects.ObjectReserve, reserveOf("r1", "n1", a), "r1"},
		{subjects.ObjectPlace, placeOf("r1"), "r1"},
		{subjects.ObjectCommit, r1.commit(), "r1"},
		{subjects.ObjectAbort, r1.abort(), "r1"},
		{subjects.ObjectCompleteCreation, a1.complete(wire.CompletionRejected, 1, wire.Instant(testT0)), "a1"},
		{subjects.ObjectFind, wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r1"}, "r1"},
		{subjects.ObjectList, wire.ObjectListRequest{ObjectKind: wire.ObjectUserSpot}, "r1"},
		{subjects.ObjectList, wire.ObjectListRequest{ObjectKind: wire.ObjectActor}, "a1"},
		{subjects.ObjectAwait, settled("r1"), "r1"},
		{subjects.ObjectReleaseEnded, r1.releaseEnded(), "r1"},
	} {
		f.call(c.op, payload(t, c.req), nil).refused(wire.CodeDataLost, "")
		logged := f.log.errors()
		if len(logged) != i+1 || logged[i]["key"] != string(domain.AuthorityKey(keyOf(c.id))) || logged[i]["op"] != string(c.op) {
			t.Fatalf("%s: logged %q", c.op, logged)
		}
	}
	unchanged()
	// What does not have to do with them goes on.
	if got := f.read("r2"); got.Kind != wire.KindSnapshot {
		t.Errorf("another object: %+v", got)
	}
	list := answerTo[wire.AuthorityListReply](f, subjects.AuthorityList, wire.AuthorityListRequest{Prefix: "zla1:s:2:r2", Limit: 9})
	if len(list.Items) != 1 {
		t.Errorf("list of another prefix: %+v", list)
	}
}
