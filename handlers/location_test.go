package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// The location rows of an owner: required fields only.

func peerRow(rid, owner string, generation uint64) object {
	return object{
		"autoConnectType": "routeMesh", "meshName": "play", "nodeRid": rid, "role": "router", "endpoint": "tcp://" + rid + ":1",
		"weight": 100, "draining": false, "value": uint64(1), "ownerId": owner, "leaseGeneration": generation,
	}
}

func spotRow(id, owner string, generation uint64) object {
	return object{
		"meshName": "play", "spotId": id, "spotGeneration": uint64(1), "spotType": "room", "ownerNodeRid": "n1",
		"ownerNodeGeneration": uint64(7), "spotKind": "user", "ownerId": owner, "leaseGeneration": generation,
	}
}

func actorRow(id, owner string, generation uint64) object {
	return object{
		"meshName": "play", "actorId": id, "actorType": "hero",
		"actorRef":     object{"actorId": id, "objectGeneration": uint64(3), "meshName": "play", "nodeRid": "n1"},
		"ownerNodeRid": "n1", "ownerNodeGeneration": uint64(7), "spotKind": "user", "spotId": "r1", "spotGeneration": uint64(2),
		"membershipEpoch": uint64(0), "ownerId": owner, "leaseGeneration": generation,
	}
}

func routeRow(key, owner string, generation uint64) object {
	return object{
		"routeKind": "actorSession", "routeKey": key, "ownerNodeRid": "n1", "value": []byte{0, 255},
		"ownerId": owner, "leaseGeneration": generation,
	}
}

// location is one family of location rows as a client sees it.
type location struct {
	group, field string
	row          func(id, owner string, generation uint64) object
	key          object // of the row "x"; its fields are those of resolve
	filters      []object
	stamp        object
}

var locations = []location{
	{
		"peer", "peer", peerRow,
		object{"key": object{"autoConnectType": "routeMesh", "meshName": "play", "role": "router", "nodeRid": "x"}},
		[]object{{}, {"meshName": "play", "role": "router"}, {"nodeRid": "x", "endpoint": "tcp://x:1"}},
		object{"kind": "peer", "meshName": "play"},
	},
	{
		"spot", "spot", spotRow,
		object{"meshName": "play", "spotId": "x"},
		[]object{{}, {"meshName": "play", "spotType": "room", "nodeRid": "n1", "spotKind": "user"}},
		object{"kind": "spot", "meshName": "play"},
	},
	{
		"actor", "actor", actorRow,
		object{"meshName": "play", "actorId": "x"},
		[]object{{}, {"meshName": "play", "actorType": "hero", "nodeRid": "n1", "spotId": "r1", "spotKind": "user"}},
		object{"kind": "actor", "meshName": "play"},
	},
	{
		"route", "route", routeRow,
		object{"routeKind": "actorSession", "routeKey": "x"},
		[]object{{}, {"routeKind": "actorSession", "ownerNodeRid": "n1", "ownerId": "a"}},
		object{"kind": "route"},
	},
}

// TestLocationOperations lets a client in each encoding go through every operation of each family.
func TestLocationOperations(t *testing.T) { // P-01, P-02
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			ask := func(group, verb string, request object) object {
				t.Helper()
				payload, err := d.encode(request)
				if err != nil {
					t.Fatal(err)
				}
				return f.call(subjects.Operation(group+"."+verb), string(payload), headers{"Content-Type": d.contentType}).fields()
			}
			claimed := ask("lease", "claim", object{"ownerId": "a", "leaseTtlMs": 30000})
			generation, err := d.number(claimed["token"].(object)["leaseGeneration"])
			if err != nil {
				t.Fatal(err)
			}
			owner, now := object{"ownerId": "a", "leaseGeneration": generation}, claimed["storeNow"]
			for _, l := range locations {
				check := func(got object, name string, want any) {
					t.Helper()
					if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got[name])); diff != "" {
						t.Errorf("%s %s (-want +got): %s in %v", l.group, name, diff, got)
					}
				}
				with := func(request, more object) object {
					request = maps.Clone(request)
					maps.Copy(request, more)
					return request
				}
				check(ask("change-stamp", "get", l.stamp), "stamp", 0)
				row := l.row("x", "a", generation)
				stored := ask(l.group, "update", object{l.field: row, "intent": "newClaim"})
				check(stored, "status", "stored")
				check(ask("change-stamp", "get", l.stamp), "stamp", stored["generation"])
				check(ask(l.group, "update", object{l.field: row, "intent": "renew"}), "generation", stored["generation"])
				for _, filter := range l.filters {
					items := ask(l.group, "list", object{"filter": filter})["items"].([]any)
					if len(items) != 1 {
						t.Fatalf("%s: %d rows match %v, want 1", l.group, len(items), filter)
					}
					for name, value := range row {
						if _, ok := value.([]byte); ok && d.name == "JSON" {
							value = "AP8="
						}
						if _, nested := value.(object); !nested {
							check(items[0].(object), name, value)
						}
					}
					check(items[0].(object), "live", true)
					check(items[0].(object), "version", stored["generation"])
				}
				if l.group != "peer" {
					found := ask(l.group, "resolve", l.key)
					check(found, "kind", "found")
					check(found[l.field].(object), "generation", stored["generation"])
				}
				check(ask(l.group, "remove", with(l.key, object{"owner": owner})), "status", "stored")
				check(ask(l.group, "remove", with(l.key, object{"owner": owner})), "status", "ignoredStale")
				if l.group != "peer" {
					check(ask(l.group, "resolve", l.key), "kind", "missing")
					check(ask(l.group, "resolve", l.key), "storeNow", now)
				}
				check(ask(l.group, "list", object{}), "items", "[]")
			}
		})
	}
}

// storeRow stores a location row for an owner, whose token is in JSON.
func (f *fixture) storeRow(l location, id, token string, edits ...func(object)) {
	f.t.Helper()
	f.call(subjects.Operation(l.group+".update"), updateRow(f.t, l, id, token, edits...), nil).want(map[string]string{"status": "stored"})
}

// updateRow is the request, in JSON, that claims a location row for an owner, whose token is in JSON.
func updateRow(t *testing.T, l location, id, token string, edits ...func(object)) string {
	t.Helper()
	var owner struct{ OwnerID, LeaseGeneration string }
	if err := json.Unmarshal([]byte(token), &owner); err != nil {
		t.Fatal(err)
	}
	row := l.row(id, owner.OwnerID, 0)
	row["leaseGeneration"] = owner.LeaseGeneration
	for _, edit := range edits {
		edit(row)
	}
	payload, err := json.Marshal(decimal(object{l.field: row, "intent": "newClaim"}))
	if err != nil {
		t.Fatal(err)
	}
	return string(payload)
}

func TestLocationPagesShowOneInstant(t *testing.T) { // P-03, P-04, P-05
	t.Parallel()
	f := start(t, nil)
	a, b := f.claim("a"), f.claim("b")
	for _, l := range locations {
		f.storeRow(l, "x", a)
		f.storeRow(l, "y", b)
	}
	for i, l := range locations {
		list := subjects.Operation(l.group + ".list")
		first := f.call(list, `{"filter":{},"pageSize":1}`, nil).fields()
		token := fmt.Sprint(first["continuationToken"])
		next := fmt.Sprintf(`{"filter":{},"pageSize":1,"continuationToken":%q}`, token)
		f.clock.Advance(1)
		second := f.call(list, next, nil).want(map[string]string{
			"revision": fmt.Sprint(first["revision"]), "storeNow": fmt.Sprint(first["storeNow"]),
		})
		if _, more := second["continuationToken"]; more || len(second["items"].([]any)) != 1 {
			t.Errorf("%s: second page %v", l.group, second)
		}
		other := locations[(i+1)%len(locations)]
		f.call(subjects.Operation(other.group+".list"), next, nil).refused(wire.CodeScanExpired, "")
		narrowed, err := json.Marshal(l.filters[1])
		if err != nil {
			t.Fatal(err)
		}
		f.call(list, strings.Replace(next, "{}", string(narrowed), 1), nil).refused(wire.CodeScanExpired, "")
		f.call(list, `{"filter":{},"continuationToken":"abc"}`, nil).refused(wire.CodeScanExpired, "")
		f.call(list, `{"filter":{},"pageSize":0}`, nil).refused(wire.CodeInvalidArgument, "pageSize")
		f.call(list, `{"filter":{},"pageSize":1001}`, nil).refused(wire.CodeInvalidArgument, "pageSize")
		f.call(list, `{"filter":{"mesh":"play"}}`, nil).refused(wire.CodeInvalidArgument, "filter.mesh")
	}
	f.call(subjects.LeaseRelease, `{"token":`+a+`}`, nil).want(map[string]string{"kind": "released"})
	for _, l := range locations {
		live := f.call(subjects.Operation(l.group+".list"), `{"filter":{},"liveOnly":true}`, nil).fields()["items"].([]any)
		if len(live) != 1 || live[0].(object)["ownerId"] != "b" {
			t.Errorf("%s: live rows %v", l.group, live)
		}
	}
}

// TestBadLocationRowsAreNamed has one request of each kind of fault; the full tables are the domain's.
func TestBadLocationRowsAreNamed(t *testing.T) { // 1.6, R-09
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	unchanged := f.unchanged()
	set := func(name string, value any) func(object) { return func(row object) { row[name] = value } }
	for _, c := range []struct {
		l     location
		edit  func(object)
		field string
	}{
		{locations[0], set("role", "king"), "peer.role"},
		{locations[0], set("metadata", object{"": "v"}), `peer.metadata[""]`},
		{locations[0], set("nodeRid", ""), "peer.nodeRid"},
		{locations[1], set("spotKind", "userSpot"), "spot.spotKind"},
		{locations[2], set("actorId", "other"), "actor.actorRef.actorId"},
		{locations[3], set("routeKey", ""), "route.routeKey"},
		{locations[3], func(row object) { delete(row, "value") }, "route.value"},
	} {
		f.call(subjects.Operation(c.l.group+".update"), updateRow(t, c.l, "x", a, c.edit), nil).refused(wire.CodeInvalidArgument, c.field)
	}
	f.call(subjects.RouteUpdate, updateRow(t, locations[3], "x", a, set("value", make([]byte, 1<<20+1))), nil).refused(wire.CodeTooLarge, "route.value")
	f.call(subjects.RouteUpdate, updateRow(t, locations[3], "x", a, set("value", make([]byte, 1<<20))), nil).refused(wire.CodeTooLarge, "route")
	f.call(subjects.PeerRemove, `{"key":{"autoConnectType":"fanout","meshName":"m","role":"pub"},"owner":`+a+`}`, nil).
		refused(wire.CodeInvalidArgument, "key.nodeRid")
	unchanged()
	f.storeRow(locations[3], "x", a, set("value", make([]byte, 1<<20-1024)))
}

// TestLocationRowsArePushed has a lease lapse, and the longest names there are. 7, 13, Z-01.
func TestLocationRowsArePushed(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one")
	a := d.claim("a")
	for _, l := range locations {
		d.storeRow(l, "x", a)
	}
	mesh, endpoint := strings.Repeat(" ", 255), strings.Repeat(":", 1024)
	d.storeRow(locations[0], "", a, func(row object) {
		delete(row, "nodeRid")
		row["meshName"], row["endpoint"] = mesh, endpoint
	})
	d.call(subjects.LeaseRenew, fmt.Sprintf(`{"token":%s,"leaseTtlMs":200}`, a), nil).want(map[string]string{"kind": "renewed"})
	testenv.Eventually(t, patience, func() bool { return len(d.changes()) > 6 }, "events of the lapse")
	want := []string{
		`upserted owner-lease owner "a"`,
		`upserted peer play "x"`,
		`upserted spot play "x"`,
		`upserted actor play "x"`,
		`upserted route actorSession "x"`,
		fmt.Sprintf("upserted peer %s %q", mesh, endpoint),
		`expired owner-lease owner "a"`,
		`expired actor play "x"`,
		fmt.Sprintf("expired peer %s %q", mesh, endpoint),
		`expired peer play "x"`,
		`expired route actorSession "x"`,
		`expired spot play "x"`,
	}
	if diff := cmp.Diff(want, d.whats(d.pushed(), []int{6, 7, 8, 9, 10, 11})); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
}
