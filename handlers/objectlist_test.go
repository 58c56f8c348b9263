package handlers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// keysOf are the keys of a page of authorities.
func keysOf(page *wire.AuthorityListReply) string {
	var all []string
	for _, item := range page.Items {
		all = append(all, strings.TrimPrefix(item.Key, wire.KeyTextPrefix))
	}
	return strings.Join(all, " ")
}

func TestAuthorityPagesShowOneInstant(t *testing.T) { // P-06, 5.1, 1.9
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	var last reservation
	for _, id := range []string{"a1", "a2", "a3", "a4", "a5", "a6"} {
		last = f.reserved(id, "n1", a)
	}
	f.ready("r1", "n1", a)
	next := func(cursor string, limit uint32) *wire.AuthorityListReply {
		t.Helper()
		page := answerTo[wire.AuthorityListReply](f, subjects.AuthorityList, wire.AuthorityListRequest{Prefix: "zla1:a:", Cursor: cursor, Limit: limit})
		if page.Kind != wire.KindPage {
			t.Fatalf("page %+v", page)
		}
		return page
	}
	first := next("", 2)
	answerTo[wire.ObjectAbortReply](f, subjects.ObjectAbort, last.abort())
	if got := f.read("a6"); got.Kind != wire.KindMissing {
		t.Fatalf("read after the removal: %+v", got)
	}
	f.reserved("a7", "n1", a)
	f.clock.Advance(30 * time.Second) // the lease lapses
	second := next(first.NextCursor, 3)
	third := next(second.NextCursor, 1000)
	if got := keysOf(first) + "," + keysOf(second) + "," + keysOf(third); got != "a:2:a1 a:2:a2,a:2:a3 a:2:a4 a:2:a5,a:2:a6" || third.NextCursor != "" {
		t.Errorf("pages %s, and then %q", got, third.NextCursor)
	}
	for _, item := range append(second.Items, third.Items...) {
		if s := item.Snapshot; item.Key != s.Key || s.Live == nil || !*s.Live || int64(s.StoreNow) != testT0 {
			t.Errorf("item %+v, want it live at the instant of the first page", item)
		}
	}
	if got := keysOf(next(first.NextCursor, 1)); got != "a:2:a3" { // a cursor may be used again
		t.Errorf("second page again: %s", got)
	}
	if got := keysOf(next("", 1000)); got != "a:2:a1 a:2:a2 a:2:a3 a:2:a4 a:2:a5 a:2:a7" {
		t.Errorf("another list: %s", got)
	}
}

func TestAuthorityListAnswersScanExpiredAsAResult(t *testing.T) { // 1.9
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	for _, id := range []string{"a1", "a2", "r1", "r2"} {
		f.reserved(id, "n1", a)
	}
	cursor := answerTo[wire.AuthorityListReply](f, subjects.AuthorityList, wire.AuthorityListRequest{Prefix: "zla1:a:", Limit: 1}).NextCursor
	objects := answerTo[wire.ObjectListReply](f, subjects.ObjectList,
		wire.ObjectListRequest{ObjectKind: wire.ObjectActor, PageRequest: wire.PageRequest{PageSize: 1}}).ContinuationToken
	for why, req := range map[string]wire.AuthorityListRequest{
		"malformed":                  {Prefix: "zla1:a:", Cursor: "zz", Limit: 1},
		"cut off":                    {Prefix: "zla1:a:", Cursor: cursor[:20], Limit: 1},
		"of another prefix":          {Prefix: "zla1:s:", Cursor: cursor, Limit: 1},
		"of a longer prefix":         {Prefix: "zla1:a:2", Cursor: cursor, Limit: 1},
		"of object.list":             {Prefix: "zla1:a:", Cursor: objects, Limit: 1},
		"of an instance that is not": {Prefix: "zla1:a:", Cursor: tokenOf("two"), Limit: 1},
	} {
		reply := f.call(subjects.AuthorityList, payload(t, req), nil)
		if got := resultOf[wire.AuthorityListReply](reply); got.Kind != wire.KindScanExpired || got.Items != nil || got.NextCursor != "" {
			t.Errorf("cursor %s: %+v", why, got)
		}
		if got, want := reply.revision(), f.store.Status().Revision.String(); got != want {
			t.Errorf("cursor %s: revision %s, want %s", why, got, want)
		}
	}
	f.call(subjects.AuthorityList, `{"prefix":"zla1:a:9","limit":5}`, nil).want(map[string]string{"kind": "page", "items": "[]"})
	for request, field := range map[string]string{
		`{"prefix":"","limit":0}`:                                              "limit",
		`{"prefix":"","limit":1001}`:                                           "limit",
		`{"prefix":"","limit":1,"cursor":""}`:                                  "cursor",
		`{"limit":1}`:                                                          "prefix",
		`{"limit":1,"prefix":"` + strings.Repeat("z", 777) + `"}`:              "prefix",
		`{"prefix":"","limit":1,"cursor":"` + strings.Repeat("a", 4097) + `"}`: "cursor",
	} {
		f.call(subjects.AuthorityList, request, nil).refused(wire.CodeInvalidArgument, field)
	}
}

// TestCursorOfAnotherInstanceGoesThere: every page shows the snapshot of "one". 1.9
func TestCursorOfAnotherInstanceGoesThere(t *testing.T) {
	t.Parallel()
	const objects = 30
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	for i := range objects {
		f.reserved(fmt.Sprintf("r%02d", i), "n1", a)
	}
	two := f.serve("two", f.store, nil)
	one := subjects.DefaultPrefix.Instance("one", subjects.AuthorityList)
	req := wire.AuthorityListRequest{Limit: 1}
	reply := f.send(one, []byte(payload(t, req)), nil)
	revision, seen := reply.revision(), make(map[string]bool)
	for {
		page := resultOf[wire.AuthorityListReply](reply)
		for _, item := range page.Items {
			seen[item.Key] = true
			if int64(item.Snapshot.StoreNow) != testT0 || reply.revision() != revision {
				t.Fatalf("page shows %d at revision %s", item.Snapshot.StoreNow, reply.revision())
			}
		}
		if req.Cursor = page.NextCursor; req.Cursor == "" {
			break
		}
		f.clock.Advance(1)
		f.reserved(fmt.Sprintf("r%02d-%d", len(seen), len(seen)), "n1", a)
		reply = f.call(subjects.AuthorityList, payload(t, req), nil)
	}
	if len(seen) != objects {
		t.Errorf("%d objects, want %d: %v", len(seen), objects, seen)
	}
	var forwarded uint64
	for _, o := range two.Counters().Operations {
		forwarded += o.Outcomes[handlers.OutcomeForwarded]
	}
	if forwarded == 0 {
		t.Error("no page was forwarded")
	}
}

// entriesOf are the entries of a page of objects.
func entriesOf(page *wire.ObjectListReply) string {
	var all []string
	for _, e := range page.Items {
		all = append(all, fmt.Sprintf("%s %s %s", e.GlobalID, e.NodeRID, e.State))
	}
	return strings.Join(all, ", ")
}

func TestObjectListByPages(t *testing.T) { // 6.8, 1.9, C-14
	t.Parallel()
	f := start(t, nil)
	a, b := f.hosts("n1", "a", 0), f.hosts("n2", "b", 0)
	f.ready("r1", "n1", a)
	f.ready("r2", "n2", b)
	r3 := f.reserved("r3", "n1", a)
	f.reserved("r4", "n2", b)
	f.reserved("a1", "n1", a)
	f.call(subjects.LeaseRelease, payload(t, wire.LeaseReleaseRequest{Token: b}), nil).want(map[string]string{"kind": "released"})
	list := func(req wire.ObjectListRequest) *wire.ObjectListReply {
		t.Helper()
		return answerTo[wire.ObjectListReply](f, subjects.ObjectList, req)
	}
	rooms := wire.ObjectListRequest{ObjectKind: wire.ObjectUserSpot, StableType: "room", MeshName: "play"}
	rooms.PageSize = 3
	first := list(rooms)
	if got := entriesOf(first); got != "r1 n1 ready, r2 n2 unavailable, r3 n1 creating" {
		t.Errorf("first page: %s", got)
	}
	answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, r3.commit())
	rooms.ContinuationToken, rooms.PageSize = first.ContinuationToken, 1000
	second := list(rooms)
	if got := entriesOf(second); got != "r4 n2 creating" || second.ContinuationToken != "" || second.Revision != first.Revision || second.StoreNow != first.StoreNow {
		t.Errorf("second page: %s at %d, first at %d", got, second.Revision, first.Revision)
	}
	live := wire.ObjectListRequest{ObjectKind: wire.ObjectUserSpot}
	live.LiveOnly = true
	if got := entriesOf(list(live)); got != "r1 n1 ready, r3 n1 ready" {
		t.Errorf("live: %s", got)
	}
	for why, edit := range map[string]func(*wire.ObjectListRequest){
		"of another type":     func(r *wire.ObjectListRequest) { r.StableType = "hall" },
		"of all types":        func(r *wire.ObjectListRequest) { r.StableType = "" },
		"of all meshes":       func(r *wire.ObjectListRequest) { r.MeshName = "" },
		"of another kind":     func(r *wire.ObjectListRequest) { r.ObjectKind = wire.ObjectInstanceSpot },
		"of those that live":  func(r *wire.ObjectListRequest) { r.LiveOnly = true },
		"that leads nowhere":  func(r *wire.ObjectListRequest) { r.ContinuationToken = "abc" },
		"of an instance gone": func(r *wire.ObjectListRequest) { r.ContinuationToken = tokenOf("gone") },
	} {
		t.Run("token "+why, func(t *testing.T) {
			req := rooms
			edit(&req)
			f.call(subjects.ObjectList, payload(t, req), nil).refused(wire.CodeScanExpired, "")
		})
	}
	if got := list(wire.ObjectListRequest{ObjectKind: wire.ObjectInstanceSpot}); got.Items == nil || len(got.Items) != 0 {
		t.Errorf("instance spots: %+v", got)
	}
	if got := entriesOf(list(wire.ObjectListRequest{ObjectKind: wire.ObjectActor})); got != "a1 n1 creating" {
		t.Errorf("actors: %s", got)
	}
}
