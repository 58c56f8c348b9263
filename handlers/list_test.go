package handlers_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// publish stores a mesh node of an owner, whose token is in JSON.
func (f *fixture) publish(token, rid string, edits ...func(object)) {
	f.t.Helper()
	f.call(subjects.MeshNodeUpdate, update(f.t, token, rid, edits...), nil).want(map[string]string{"status": "stored"})
}

// update is the request, in JSON, that claims a mesh node for an owner, whose token is in JSON.
func update(t *testing.T, token, rid string, edits ...func(object)) string {
	t.Helper()
	var owner struct{ OwnerID, LeaseGeneration string }
	if err := json.Unmarshal([]byte(token), &owner); err != nil {
		t.Fatal(err)
	}
	d := descriptor(rid, owner.OwnerID, 0, 1)
	d["leaseGeneration"] = owner.LeaseGeneration
	for _, edit := range edits {
		edit(d)
	}
	payload, err := json.Marshal(decimal(object{"descriptor": d, "intent": "newClaim"}))
	if err != nil {
		t.Fatal(err)
	}
	return string(payload)
}

// nodeOf is the node of such a request.
func nodeOf(t *testing.T, token, rid string) wire.MeshNodeDescriptor {
	t.Helper()
	var req wire.MeshNodeUpdateRequest
	if err := wire.Unmarshal(wire.JSON, []byte(update(t, token, rid)), &req); err != nil {
		t.Fatal(err)
	}
	return req.Descriptor
}

// page asks for one page of the nodes of "play".
func page(size int, token string) string {
	if token == "" {
		return fmt.Sprintf(`{"meshName":"play","pageSize":%d}`, size)
	}
	return fmt.Sprintf(`{"meshName":"play","pageSize":%d,"continuationToken":%q}`, size, token)
}

func rids(page object) string {
	var all []string
	for _, item := range page["items"].([]any) {
		all = append(all, item.(object)["rid"].(string))
	}
	return strings.Join(all, " ")
}

func TestPagesShowOneInstant(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	for _, rid := range []string{"n1", "n2", "n3", "n4"} {
		f.publish(a, rid)
	}
	first := f.call(subjects.MeshNodeList, page(1, ""), nil).fields()
	f.publish(a, "n5")
	f.clock.Set(testT0 + 30_000) // the lease lapses
	second := f.call(subjects.MeshNodeList, page(2, first["continuationToken"].(string)), nil)
	body := second.fields()
	if got := rids(first) + "," + rids(body); got != "n1,n2 n3" {
		t.Errorf("pages %s", got)
	}
	if second.revision() != "5" || body["revision"] != first["revision"] || body["storeNow"] != first["storeNow"] {
		t.Errorf("page 2 shows %v at %v, page 1 %v at %v", body["revision"], body["storeNow"], first["revision"], first["storeNow"])
	}
	if body["items"].([]any)[0].(object)["live"] != true {
		t.Error("live is not judged at the instant of the first page")
	}
	last := f.call(subjects.MeshNodeList, page(9, body["continuationToken"].(string)), nil).fields()
	if _, more := last["continuationToken"]; more || rids(last) != "n4" {
		t.Errorf("last page %v", last)
	}
}

func TestTokenThatLeadsNowhereIsExpired(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	f.publish(a, "n1")
	f.publish(a, "n2")
	token := f.call(subjects.MeshNodeList, page(1, ""), nil).fields()["continuationToken"].(string)
	for _, c := range []struct {
		why, request string
		op           subjects.Operation
	}{
		{"malformed", page(1, "abc"), subjects.MeshNodeList},
		{"not base64url", page(1, "§"), subjects.MeshNodeList},
		{"cut off", page(1, token[:20]), subjects.MeshNodeList},
		{"another filter", strings.Replace(page(1, token), "play", "lab", 1), subjects.MeshNodeList},
		{"another liveOnly", strings.Replace(page(1, token), "{", `{"liveOnly":true,`, 1), subjects.MeshNodeList},
		{"another operation", page(1, token), subjects.TopologyList},
	} {
		t.Run(c.why, func(t *testing.T) {
			f.call(c.op, c.request, nil).refused(wire.CodeScanExpired, "")
		})
	}
	f.call(subjects.MeshNodeList, page(7, token), nil).fields()
	f.call(subjects.MeshNodeList, page(1, strings.Repeat("a", 4097)), nil).
		refused(wire.CodeInvalidArgument, "continuationToken")
}

func TestScanAnswersExpiredAsAResult(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.call(subjects.StoreWrite, `{"mutations":[{"kind":"put","key":"YWE=","bytes":""},{"kind":"put","key":"YWI=","bytes":""}]}`, nil).
		want(map[string]string{"kind": "applied"})
	got := f.call(subjects.StoreScan, `{"prefix":"YQ==","limit":1}`, nil).want(map[string]string{"kind": "page"})
	for _, request := range []string{
		`{"prefix":"","limit":1,"cursor":"zz"}`,
		fmt.Sprintf(`{"prefix":"Yg==","limit":1,"cursor":%q}`, got["nextCursor"]),
	} {
		reply := f.call(subjects.StoreScan, request, nil)
		reply.want(map[string]string{"kind": "expired"})
		if reply.revision() != "2" {
			t.Errorf("revision %s, want 2", reply.revision())
		}
	}
	rest := f.call(subjects.StoreScan, fmt.Sprintf(`{"prefix":"YQ==","limit":5,"cursor":%q}`, got["nextCursor"]), nil).fields()
	if items := rest["items"].([]any); len(items) != 1 || items[0].(object)["key"] != "YWI=" {
		t.Errorf("rest of the scan: %v", rest)
	}
	f.call(subjects.StoreScan, `{"prefix":"eA==","limit":5}`, nil).want(map[string]string{"kind": "page", "items": "[]"})
}

// TestTokenOfAnotherInstanceGoesThere: the queue group picks either instance, and every page shows the snapshot of "one".
func TestTokenOfAnotherInstanceGoesThere(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	for i := range 30 {
		f.publish(a, fmt.Sprintf("n%02d", i))
	}
	two := f.serve("two", f.store, nil)
	one := subjects.DefaultPrefix.Instance("one", subjects.MeshNodeList)
	body := f.send(one, []byte(page(1, "")), nil).fields()
	revision, all := body["revision"], rids(body)
	for body["continuationToken"] != nil {
		f.clock.Advance(1)
		body = f.call(subjects.MeshNodeList, page(1, body["continuationToken"].(string)), nil).fields()
		all += " " + rids(body)
		if body["revision"] != revision || body["storeNow"] != float64(testT0) {
			t.Fatalf("page shows %v at %v", body["revision"], body["storeNow"])
		}
	}
	if n := len(strings.Fields(all)); n != 30 {
		t.Errorf("%d nodes, want 30: %s", n, all)
	}
	var forwarded uint64
	for _, o := range two.Counters().Operations {
		forwarded += o.Outcomes[handlers.OutcomeForwarded]
	}
	if forwarded == 0 {
		t.Error("no page was forwarded")
	}
}

func TestTokenOfAnInstanceThatIsGoneIsExpired(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	f.publish(a, "n1")
	f.publish(a, "n2")
	gone := f.serve("gone", f.store, func(o *handlers.Options) { o.Prefix = "gone.v1" })
	list := subjects.Prefix("gone.v1").Instance("gone", subjects.MeshNodeList)
	token := f.send(list, []byte(page(1, "")), nil).fields()["continuationToken"].(string)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := gone.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	f.call(subjects.MeshNodeList, page(1, token), nil).refused(wire.CodeScanExpired, "")
	// What was forwarded is not forwarded again, wherever its token points.
	f.send(subjects.DefaultPrefix.Instance("one", subjects.MeshNodeList), []byte(page(1, token)), nil).
		refused(wire.CodeScanExpired, "")
}

// tokenOf is a token of a snapshot that nobody keeps, laid out as tokens are, that names an instance.
func tokenOf(instance string) string {
	b := make([]byte, 9)
	b[0] = 1
	for _, id := range []string{instance, "NOSUCHSNAPSHOT"} {
		b = append(append(b, byte(len(id))), id...)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, "mesh-node\x00play\x00n1"...))
}

// TestTokenOutlivesNoInstance: one that came back under its name has other snapshots.
func TestTokenOutlivesNoInstance(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	f.publish(a, "n1")
	f.publish(a, "n2")
	token := f.call(subjects.MeshNodeList, page(1, ""), nil).fields()["continuationToken"].(string)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := f.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	f.Service = f.serve("one", f.store, nil)
	f.call(subjects.MeshNodeList, page(1, token), nil).refused(wire.CodeScanExpired, "")
	f.call(subjects.MeshNodeList, page(1, tokenOf("one")), nil).refused(wire.CodeScanExpired, "")
}

func TestTokenShowsItsSnapshotWhateverTheHeadersSay(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	f.publish(a, "n1")
	f.publish(a, "n2")
	first := f.call(subjects.MeshNodeList, page(1, ""), nil).fields()
	f.publish(a, "n3")
	second := f.call(subjects.MeshNodeList, page(5, first["continuationToken"].(string)), headers{
		"Zlink-Min-Revision": "9223372036854775807", "Zlink-Consistency": "leader",
	}).want(map[string]string{"revision": "3"})
	if got := rids(second); got != "n2" {
		t.Errorf("second page %s, want n2", got)
	}
}

// TestScanShowsOneInstant goes on with another limit and in the other encoding, when a key of the rest has expired. 12, 1.9.
func TestScanShowsOneInstant(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.call(subjects.StoreWrite, `{"mutations":[{"kind":"put","key":"YQ==","bytes":""},
		{"kind":"put","key":"Yg==","bytes":"","retentionMs":20}, {"kind":"put","key":"Yw==","bytes":""}]}`, nil).
		want(map[string]string{"kind": "applied"})
	first := f.call(subjects.StoreScan, `{"prefix":"","limit":1}`, nil).want(map[string]string{"kind": "page"})
	f.clock.Set(testT0 + 20)
	payload, err := cbor.Marshal(object{"prefix": []byte{}, "limit": 2, "cursor": first["nextCursor"]})
	if err != nil {
		t.Fatal(err)
	}
	rest := f.call(subjects.StoreScan, string(payload), headers{"Content-Type": "application/cbor"}).
		want(map[string]string{"kind": "page", "storeNow": fmt.Sprint(testT0)})
	items := rest["items"].([]any)
	if len(items) != 2 || fmt.Sprint(items[0].(object)["expiresAt"]) != fmt.Sprint(testT0+20) {
		t.Errorf("rest of the scan: %v", items)
	}
	if n := len(f.call(subjects.StoreScan, `{"prefix":"","limit":9}`, nil).fields()["items"].([]any)); n != 2 {
		t.Errorf("a new scan has %d items, want 2", n)
	}
}
