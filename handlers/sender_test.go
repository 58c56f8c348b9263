package handlers_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// guarded is the prefix of a service with owner subjects on, over the store of one where they are off.
const guarded subjects.Prefix = "guarded.v1"

// acted is a fixture whose store has a second service with owner subjects on, an owner "a" with the node n1, and an owner "b" with
// n2.
type acted struct {
	*fixture
	a, b wire.OwnerToken
}

func startActed(t *testing.T) *acted {
	t.Helper()
	f := start(t, nil)
	f.serve("two", f.store, func(o *handlers.Options) { o.Prefix, o.OwnerSubjects = guarded, true })
	return &acted{f, f.hosts("n1", "a", 0), f.hosts("n2", "b", 0)}
}

// acting is one thing that a request does, and for whom it then acts.
type acting struct {
	op    subjects.Operation
	what  string // tells the rows of an operation apart
	owner string // empty: nobody
	// request makes what has to be there before, and returns the request.
	request func(*acted) string
}

// body is a request that needs nothing to be there.
func body(text string) func(*acted) string { return func(*acted) string { return text } }

// of is a request made of wire types.
func of[Req any](request func(*acted) Req) func(*acted) string {
	return func(w *acted) string { return payload(w.t, request(w)) }
}

// fields is a request of fields.
func fields(request func(*acted) object) func(*acted) string {
	return func(w *acted) string {
		text, err := dialects[0].encode(request(w))
		if err != nil {
			w.t.Fatal(err)
		}
		return string(text)
	}
}

// token is an owner's in fields.
func token(t wire.OwnerToken) object {
	return object{"ownerId": t.OwnerID, "leaseGeneration": uint64(t.LeaseGeneration)}
}

// actions are the writes of the table of 14, row by row.
func actions() []acting {
	all := []acting{
		{"lease.claim", "", "c", body(`{"ownerId":"c","leaseTtlMs":30000}`)},
		{"lease.renew", "", "a", of(func(w *acted) any { return wire.LeaseRenewRequest{Token: w.a, TTL: 60_000} })},
		{"lease.release", "", "a", of(func(w *acted) any { return wire.LeaseReleaseRequest{Token: w.a} })},
		{"owner.remove-all", "", "a", of(func(w *acted) any { return wire.OwnerRemoveAllRequest{Owner: w.a} })},
		{"mesh-node.update", "", "a", fields(func(w *acted) object {
			return object{"intent": "newClaim", "descriptor": descriptor("n3", "a", uint64(w.a.LeaseGeneration), 1)}
		})},
		{"mesh-node.remove", "", "a", fields(func(w *acted) object {
			return object{"meshName": "play", "rid": "n1", "owner": token(w.a)}
		})},
	}
	for _, c := range channelGroups {
		all = append(all,
			acting{subjects.Operation(c.group + ".update"), "", "a", fields(func(w *acted) object {
				return object{"intent": "newClaim", "descriptor": member(c.rid, "n1", "a", uint64(w.a.LeaseGeneration))}
			})},
			acting{subjects.Operation(c.group + ".remove"), "", "a", fields(func(w *acted) object {
				w.join(c.group, c.rid, payload(w.t, w.a), "n1")
				return object{"channelName": "match", c.rid: "n1", "owner": token(w.a)}
			})})
	}
	for _, l := range locations {
		all = append(all,
			acting{subjects.Operation(l.group + ".update"), "", "a", func(w *acted) string {
				return updateRow(w.t, l, "x", payload(w.t, w.a))
			}},
			acting{subjects.Operation(l.group + ".remove"), "", "a", fields(func(w *acted) object {
				w.storeRow(l, "x", payload(w.t, w.a))
				request := object{"owner": token(w.a)}
				maps.Copy(request, l.key)
				return request
			})})
	}
	all = append(all, objectActions()...)
	all = append(all, authorityActions()...)
	all = append(all, aggregateActions()...)
	return append(all, otherActions()...)
}

func objectActions() []acting {
	return []acting{
		{"object.reserve", "", "a", of(func(w *acted) any { return reserveOf("r1", "n1", w.a) })},
		{"object.commit", "", "a", of(func(w *acted) any { return w.reserved("r1", "n1", w.a).commit() })},
		{"object.abort", "", "a", of(func(w *acted) any { return w.reserved("r1", "n1", w.a).abort() })},
		{"object.complete-creation", "", "a", of(func(w *acted) any {
			return w.reserved("a1", "n1", w.a).complete(wire.CompletionCreated, 1, wire.Instant(testenv.T0))
		})},
		{"object.place", "", "", of(func(*acted) any { return placeOf("r1") })},
		{"object.release-ended", "", "", of(func(w *acted) any {
			r := w.reserved("r1", "n1", w.a)
			w.call(subjects.LeaseRelease, payload(w.t, wire.LeaseReleaseRequest{Token: w.a}), nil).want(map[string]string{"kind": "released"})
			return r.releaseEnded()
		})},
	}
}

func authorityActions() []acting {
	room := func(change func(w *acted, m *wire.AuthorityCompareExchangeRequest)) func(*acted) string {
		return of(func(w *acted) any {
			req := mutation("r1", w.ready("r1", "n1", w.a).StoreVersion, wire.AuthorityDelete)
			change(w, req)
			return req
		})
	}
	return []acting{
		{"authority.compare-exchange", "put", "a", room(func(w *acted, m *wire.AuthorityCompareExchangeRequest) {
			*m = *mutation("r1", m.ExpectedStoreVersion, wire.AuthorityPut)
		})},
		{"authority.compare-exchange", "delete", "a", room(func(*acted, *wire.AuthorityCompareExchangeRequest) {})},
		{"authority.compare-exchange", "reincarnate", "a", room(func(_ *acted, m *wire.AuthorityCompareExchangeRequest) {
			m.Mutation = wire.AuthorityMutation{Kind: wire.AuthorityReincarnate, Payload: wire.Bytes("again")}
		})},
		{"authority.compare-exchange", "restore", "a", room(func(w *acted, m *wire.AuthorityCompareExchangeRequest) {
			m.Mutation = wire.AuthorityMutation{Kind: wire.AuthorityRestore, Payload: wire.Bytes("back"), ExpectedOwner: &w.a}
		})},
		{"authority.compare-exchange", "rebindOwnerLease", "a", room(func(w *acted, m *wire.AuthorityCompareExchangeRequest) {
			w.call(subjects.LeaseRelease, payload(w.t, wire.LeaseReleaseRequest{Token: w.a}), nil).want(map[string]string{"kind": "released"})
			next := w.hosts("n1", "a", 0)
			m.Mutation = wire.AuthorityMutation{
				Kind: wire.AuthorityRebind, Payload: wire.Bytes("bound"), ExpectedOwner: &w.a, TargetOwner: &next,
			}
		})},
		{"authority.compare-exchange", "after a move", "b", of(func(w *acted) any {
			w.moves(w.ready("r1", "n1", w.a), 60_000)
			w.call(subjects.AggregateCommit, payload(w.t, wire.AggregateCommitRequest{Fence: moveFence}), nil).
				want(map[string]string{"kind": "committed"})
			return mutation("r1", w.read("r1").StoreVersion, wire.AuthorityPut)
		})},
	}
}

// moves prepares the move of a room to n2.
func (w *acted) moves(room *wire.Authority, ttl wire.Millis) {
	w.t.Helper()
	w.call(subjects.AggregatePrepare, payload(w.t, w.moveOf(room, ttl)), nil).want(map[string]string{"kind": "prepared"})
}

func (w *acted) moveOf(room *wire.Authority, ttl wire.Millis) *wire.AggregatePrepareRequest {
	_, takes := sortOf(keyOf("r1"))
	return &wire.AggregatePrepareRequest{
		Fence: moveFence, Participants: stageOf(room).Participants, InventoryDigest: digestOf("inventory"),
		TargetDescriptor:                    wire.DescriptorKey{MeshName: "play", RID: "n2"},
		TargetDescriptorLifecycleGeneration: 7, Capacity: takes, TargetOwner: w.b, PrepareTTL: ttl,
	}
}

func stageOf(room *wire.Authority) *wire.AggregateStageRequest {
	return &wire.AggregateStageRequest{Fence: moveFence, Participants: []wire.AggregateParticipant{{
		AuthorityKey: keyOf("r1"), ExpectedStoreVersion: room.StoreVersion, OwnerTransition: wire.OwnerNew,
		AuthorityPayload: wire.Bytes("moved"), MembershipMutation: wire.Bytes{},
	}}}
}

func aggregateActions() []acting {
	abort := wire.AggregateAbortRequest{Fence: moveFence}
	return []acting{
		{"aggregate.stage", "", "", of(func(w *acted) any { return stageOf(w.ready("r1", "n1", w.a)) })},
		{"aggregate.prepare", "", "b", of(func(w *acted) any { return w.moveOf(w.ready("r1", "n1", w.a), 60_000) })},
		{"aggregate.commit", "", "b", of(func(w *acted) any {
			w.moves(w.ready("r1", "n1", w.a), 60_000)
			return wire.AggregateCommitRequest{Fence: moveFence}
		})},
		{"aggregate.abort", "before the deadline", "b", of(func(w *acted) any {
			w.moves(w.ready("r1", "n1", w.a), 60_000)
			return abort
		})},
		{"aggregate.abort", "at the deadline", "", of(func(w *acted) any {
			w.moves(w.ready("r1", "n1", w.a), 1000)
			w.clock.Advance(time.Second)
			return abort
		})},
		{"aggregate.abort", "collecting", "", of(func(w *acted) any {
			w.call(subjects.AggregateStage, payload(w.t, stageOf(w.ready("r1", "n1", w.a))), nil).want(map[string]string{"kind": "staged"})
			return abort
		})},
	}
}

func otherActions() []acting {
	prepared := func(w *acted, steps ...subjects.Operation) {
		w.call(subjects.ActorTransferPrepare, fields(func(*acted) object { return transferOf(1, "a1") })(w), nil).
			want(map[string]string{"status": "stored"})
		for _, op := range steps {
			w.call(op, fields(func(*acted) object { return stepOf(1, "a1", "ra") })(w), nil).want(map[string]string{"status": "stored"})
		}
	}
	step := func(steps ...subjects.Operation) func(*acted) string {
		return fields(func(w *acted) object { prepared(w, steps...); return stepOf(1, "a1", "ra") })
	}
	return []acting{
		{"actor-transfer.prepare", "", "ra", fields(func(*acted) object { return transferOf(1, "a1") })},
		{"actor-transfer.commit", "", "ra", step()},
		{"actor-transfer.activate", "", "ra", step("actor-transfer.commit")},
		{"actor-transfer.abort", "", "ra", step()},
		{"actor-transfer.take-over", "", "rb", fields(func(w *acted) object {
			prepared(w)
			w.clock.Advance(30 * time.Second)
			return takeOverOf(1, "a1", "rb")
		})},
		{"store.write", "", "", body(`{"mutations":[{"kind":"put","key":"YQ==","bytes":""}]}`)},
	}
}

// reads has a request of each operation that writes nothing.
var reads = map[subjects.Operation]string{
	"lease.read": `{"ownerId":"a"}`, "mesh-node.list": `{"meshName":"play"}`,
	"client-server.list": `{"channelName":"c"}`, "fanout-publisher.list": `{"channelName":"c"}`,
	"peer.list": `{}`, "spot.list": `{}`, "actor.list": `{}`, "route.list": `{}`,
	"spot.resolve":  `{"meshName":"play","spotId":"s"}`,
	"actor.resolve": `{"meshName":"play","actorId":"s"}`, "route.resolve": `{"routeKind":"spotName","routeKey":"s"}`,
	"authority.read": `{"key":"zla1:a:1:x"}`, "authority.list": `{"prefix":"","limit":1}`,
	"object.read-terminal": `{"operation":{"sourceNodeRid":"n1","sourceNodeGeneration":"1","operationId":{"high":"0","low":"1"}}}`,
	"object.find":          `{"kind":"actor","globalId":"x"}`, "object.list": `{"objectKind":"actor"}`,
	"object.await": `{"key":"zla1:a:1:x","until":"settled"}`, "aggregate.find": `{"key":"zla1:a:1:x"}`,
	"actor-transfer.resolve": `{"meshName":"play","actorId":"x"}`, "change-stamp.get": `{"kind":"meshNode","meshName":"play"}`,
	"topology.list": `{}`, "topology.summary": `{}`,
	"placement.select": `{"meshName":"play","objectKind":"actor","stableType":"hero","capacity":{"actors":1,"spots":0}}`,
	"store.read":       `{"key":"YQ=="}`, "store.scan": `{"prefix":"","limit":1}`, "status.get": `{}`,
}

// ways are the subjects on which an operation can be asked for, and whether that may act for an owner; empty is nobody.
func ways(op subjects.Operation, owner string) map[string]bool {
	own := owner != ""
	return map[string]bool{
		subjects.DefaultPrefix.Operation(op):                         true,
		subjects.DefaultPrefix.As(owner, op):                         true,
		subjects.DefaultPrefix.As("other", op):                       !own,
		guarded.Operation(op):                                        !own,
		guarded.As(owner, op):                                        true,
		guarded.As("other", op):                                      !own,
		guarded.As(strings.ToUpper(owner)+"X", op):                   !own,
		guarded.As("", op):                                           !own,
		strings.Replace(guarded.As("x", op), ".x.", ".=61.", 1):      !own, // not how "a" is written
		guarded.Instance("two", op):                                  !own,
		guarded.InstancePrefix("two").As(owner, op):                  true,
		guarded.InstancePrefix("two").As("other", op):                !own,
		subjects.DefaultPrefix.InstancePrefix("one").As("other", op): !own,
	}
}

// TestEveryWriteActsForWhom: on the subject of its owner, and with owner subjects off on the plain one, a request is carried out;
// anywhere else it is forbidden and changes nothing. 14
func TestEveryWriteActsForWhom(t *testing.T) {
	t.Parallel()
	known := make(map[subjects.Operation]bool)
	for _, a := range actions() {
		known[a.op] = true
		all := ways(a.op, a.owner)
		for subject, allowed := range all {
			if !allowed {
				continue
			}
			t.Run(strings.TrimSpace(subject+" "+a.what), func(t *testing.T) {
				t.Parallel()
				w := startActed(t)
				request := []byte(a.request(w))
				unchanged := w.unchanged()
				for subject, allowed := range all {
					if !allowed {
						w.send(subject, request, headers{"Zlink-Owner": a.owner}).refused(wire.CodeForbidden, "")
					}
				}
				unchanged()
				before := w.store.Status().Revision
				reply := w.send(subject, request, nil)
				reply.fields()
				if w.store.Status().Revision == before {
					t.Errorf("nothing changed: %s", reply.Data)
				}
			})
		}
	}
	for _, op := range subjects.Operations() {
		if _, read := reads[op]; read == known[op] {
			t.Errorf("%s must be either a row of the actions or a read", op)
		}
	}
}

func TestReadsActForNobody(t *testing.T) {
	t.Parallel()
	w := startActed(t)
	for op, request := range reads {
		w.send(guarded.Operation(op), []byte(request), nil).fields()
		w.send(guarded.As("other", op), []byte(request), nil).fields()
		w.send(subjects.DefaultPrefix.As("other", op), []byte(request), nil).fields()
	}
}

// TestMissingRowsActForNobody: there is nothing to protect, and the answer is the same for everybody.
func TestMissingRowsActForNobody(t *testing.T) {
	t.Parallel()
	w := startActed(t)
	for op, request := range map[subjects.Operation]any{
		"authority.compare-exchange": mutation("r9", "1", wire.AuthorityPut),
		"aggregate.commit":           wire.AggregateCommitRequest{Fence: moveFence},
		"aggregate.abort":            wire.AggregateAbortRequest{Fence: moveFence},
	} {
		kind := "stale"
		if op == "authority.compare-exchange" {
			kind = "conflict"
		}
		text := []byte(payload(t, request))
		w.send(guarded.Operation(op), text, nil).want(map[string]string{"kind": kind})
		w.send(guarded.As("other", op), text, nil).want(map[string]string{"kind": kind})
	}
}

// TestRestoreActsForTheOwnerItExpects: also when the object is somebody else's by now.
func TestRestoreActsForTheOwnerItExpects(t *testing.T) {
	t.Parallel()
	w := startActed(t)
	req := mutation("r1", w.ready("r1", "n1", w.a).StoreVersion, wire.AuthorityDelete)
	req.Mutation = wire.AuthorityMutation{Kind: wire.AuthorityRestore, Payload: wire.Bytes("back"), ExpectedOwner: &w.b}
	w.send(guarded.As("a", "authority.compare-exchange"), []byte(payload(t, req)), nil).refused(wire.CodeForbidden, "")
	w.send(guarded.As("b", "authority.compare-exchange"), []byte(payload(t, req)), nil).want(map[string]string{"kind": "conflict"})
}

// TestOwnersWithOddNames: a subject token holds any id, and no id is taken for another.
func TestOwnersWithOddNames(t *testing.T) {
	t.Parallel()
	w := startActed(t)
	odd := []string{".", "a.b", "a b", "*", ">", "=", "=3A", "a=", "\u00e9", "\u65e5\u672c", "A", strings.Repeat("*", 255), strings.Repeat("\u00e9", 127)}
	for i, owner := range odd {
		request := []byte(payload(t, wire.LeaseClaimRequest{OwnerID: owner, TTL: 30_000}))
		for _, other := range append(odd[:i:i], odd[i+1:]...) {
			w.send(guarded.As(other, "lease.claim"), request, nil).refused(wire.CodeForbidden, "")
		}
		w.send(guarded.As(owner, "lease.claim"), request, nil).want(map[string]string{"kind": "claimed"})
	}
}

// TestBadInputIsNamedBeforeItIsForbidden: what is wrong with a request does not depend on who sends it.
func TestBadInputIsNamedBeforeItIsForbidden(t *testing.T) {
	t.Parallel()
	w := startActed(t)
	bad := []byte(`{"ownerId":"c","leaseTtlMs":0}`)
	w.send(guarded.Operation("lease.claim"), bad, nil).refused(wire.CodeInvalidArgument, "leaseTtlMs")
	w.send(guarded.As("other", "lease.claim"), bad, nil).refused(wire.CodeInvalidArgument, "leaseTtlMs")
}

// TestForbiddenBeforeAnythingIsRead: the store is not even asked when the request says for whom it acts.
func TestForbiddenBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	var store *stub
	f := start(t, func(o *handlers.Options) {
		store = &stub{Store: o.Store}
		o.Store, o.OwnerSubjects = store, true
	})
	f.call(subjects.LeaseClaim, claimA, nil).refused(wire.CodeForbidden, "")
	f.call(subjects.OwnerRemoveAll, `{"owner":{"ownerId":"a","leaseGeneration":1}}`, nil).refused(wire.CodeForbidden, "")
	if n := len(store.updatesSeen()) + len(store.viewsSeen()); n != 0 {
		t.Errorf("the store was asked %d times, want never", n)
	}
}

// TestRelayKeepsTheSubjectsOwner: another instance is told by the subject, which no client may publish on, and not by a header.
func TestRelayKeepsTheSubjectsOwner(t *testing.T) {
	t.Parallel()
	r := startRivals(t, canned, 0)
	for _, subject := range []string{"as.a=2Eb.lease.claim", "as.=.lease.claim", "lease.claim"} {
		r.send("zlink.v1."+subject, []byte(claimA), headers{"Zlink-Owner": "a"}).want(map[string]string{"by": "two"})
		if sent, want := (<-r.sent).Subject, "zlink.v1.instance.two."+subject; sent != want {
			t.Errorf("relayed on %s, want %s", sent, want)
		}
	}
}

// TestOwnerSubjectsWithoutNATS: a service in the process has the same rules.
func TestOwnerSubjectsWithoutNATS(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	l, err := handlers.NewLocal(handlers.Options{Store: f.store, InstanceID: "local", OwnerSubjects: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const p = subjects.DefaultPrefix
	for _, c := range []struct{ subject, code string }{
		{p.Operation("lease.claim"), "403"},
		{p.As("b", "lease.claim"), "403"},
		{p.As("a", "lease.claim"), ""},
	} {
		reply, err := l.RequestMsgWithContext(t.Context(), request(c.subject, []byte(claimA), nil))
		if err != nil || reply.Header.Get(wire.HeaderErrorCode) != c.code {
			t.Errorf("%s: %+v, %v, want code %q", c.subject, reply, err, c.code)
		}
	}
}

// TestOwnerSubjectsOfPairs: what one of two instances relays to the other keeps its owner, whichever of them writes.
func TestOwnerSubjectsOfPairs(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	p := startPair(t, 1, func(o *handlers.Options) { o.OwnerSubjects = true }, node, node)
	kindOf := func(owner, subject string) string {
		reply := p.send(subject, []byte(payload(t, wire.LeaseClaimRequest{OwnerID: owner, TTL: 30_000})), nil)
		if code := reply.Header.Get(wire.HeaderErrorCode); code != "" {
			return code
		}
		return fmt.Sprint(reply.fields()["kind"])
	}
	counts := race(16, func(i int) string {
		owner := fmt.Sprintf("o%d", i)
		return strings.Join([]string{
			kindOf(owner, subjects.DefaultPrefix.As("o", "lease.claim")),
			kindOf(owner, subjects.DefaultPrefix.Operation("lease.claim")),
			kindOf(owner, subjects.DefaultPrefix.As(owner, "lease.claim")),
		}, " ")
	})
	wantCounts(t, counts, map[string]int{"403 403 claimed": 16})
}
