package handlers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// channelGroups are the groups of channel descriptors, with the name of the routing id and the kind of stamp of each.
var channelGroups = []struct{ group, rid, stamp string }{
	{"client-server", "serverRid", "clientServer"},
	{"fanout-publisher", "publisherRid", "fanoutPublisher"},
}

// member is a descriptor of channel "match" with all its required fields; ridName is the name of its routing id.
func member(ridName, rid, owner string, leaseGeneration any) object {
	d := object{
		"channelName": "match", ridName: rid, "lifecycleGeneration": uint64(7), "descriptorRevision": uint64(1),
		"endpoint": "tcp://" + rid + ":7000", "state": "serving", "securityIdentity": "s",
		"ownerId": owner, "leaseGeneration": leaseGeneration,
	}
	if ridName == "serverRid" {
		d["weight"] = 100
	}
	return d
}

// join stores a member of channel "match" for an owner, whose token is in JSON.
func (f *fixture) join(group, ridName, token, rid string) {
	f.t.Helper()
	var owner struct{ OwnerID, LeaseGeneration string }
	if err := json.Unmarshal([]byte(token), &owner); err != nil {
		f.t.Fatal(err)
	}
	payload, err := json.Marshal(decimal(object{
		"descriptor": member(ridName, rid, owner.OwnerID, owner.LeaseGeneration), "intent": "newClaim",
	}))
	if err != nil {
		f.t.Fatal(err)
	}
	f.call(subjects.Operation(group+".update"), string(payload), nil).want(map[string]string{"status": "stored"})
}

// TestChannelOperations lets a client in each encoding go through the operations of channel descriptors. 3
func TestChannelOperations(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		for _, c := range channelGroups {
			t.Run(d.name+" "+c.group, func(t *testing.T) {
				t.Parallel()
				f := start(t, nil)
				ask := func(op string, request object) object {
					t.Helper()
					payload, err := d.encode(request)
					if err != nil {
						t.Fatal(err)
					}
					return f.call(subjects.Operation(op), string(payload), headers{"Content-Type": d.contentType}).fields()
				}
				check := func(got object, name string, want any) {
					t.Helper()
					if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got[name])); diff != "" {
						t.Errorf("%s (-want +got): %s in %v", name, diff, got)
					}
				}
				ask("lease.claim", object{"ownerId": "a", "leaseTtlMs": 30000})
				token := object{"ownerId": "a", "leaseGeneration": uint64(1)}
				sent := member(c.rid, "n1", "a", uint64(1))
				stored := ask(c.group+".update", object{"descriptor": sent, "intent": "newClaim"})
				check(stored, "status", "stored")
				check(stored, "generation", 2)

				list := ask(c.group+".list", object{"channelName": "match", "pageSize": 1})
				check(list, "revision", 2)
				item := list["items"].([]any)[0].(object)
				for name, want := range sent { // content as sent
					check(item, name, want)
				}
				check(item, "generation", 2)
				check(item, "updatedAt", stored["updatedAt"])
				check(item, "live", true)
				check(item, "version", "2")
				if want := len(sent) + 4; len(item) != want {
					t.Errorf("item of %d fields, want %d: %v", len(item), want, item)
				}
				check(ask("change-stamp.get", object{"kind": c.stamp, "channelName": "match"}), "stamp", 2)
				check(ask("status.get", object{}), "rows", 2)

				sent["descriptorRevision"], sent["state"] = uint64(2), "draining"
				check(ask(c.group+".update", object{"descriptor": sent, "intent": "renew"}), "generation", 2)
				check(ask(c.group+".update", object{"descriptor": sent, "intent": "newClaim"}), "status", "stored")
				sent["endpoint"] = "x"
				check(ask(c.group+".update", object{"descriptor": sent, "intent": "renew"}), "status", "ignoredStale")
				remove := object{"channelName": "match", c.rid: "n1", "owner": token}
				check(ask(c.group+".remove", remove), "status", "stored")
				check(ask(c.group+".remove", remove), "status", "ignoredStale")
				check(ask(c.group+".update", object{"descriptor": sent, "intent": "renew"}), "status", "rejectedConflict")
				check(ask(c.group+".update", object{"descriptor": sent, "intent": "newClaim"}), "status", "stored")
				check(ask("owner.remove-all", object{"owner": token}), "removed", 1)
				check(ask(c.group+".list", object{"channelName": "match"}), "items", "[]")
			})
		}
	}
}

// TestBadMemberWritesNothing has one fault of each operation; the full tables are those of the domain. 1.6
func TestBadMemberWritesNothing(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	unchanged := f.unchanged()
	for _, c := range channelGroups {
		bad, foreign := member(c.rid, "n1", "a", uint64(1)), member(c.rid, "n1", "a", uint64(1))
		bad["state"] = "sleeping"
		foreign["placementWeight"] = 1
		for _, r := range []struct {
			field, verb string
			request     object
		}{
			{"descriptor.state", "update", object{"intent": "newClaim", "descriptor": bad}},
			{"descriptor.placementWeight", "update", object{"intent": "newClaim", "descriptor": foreign}},
			{"intent", "update", object{"descriptor": member(c.rid, "n1", "a", uint64(1))}},
			{c.rid, "remove", object{"channelName": "match", "owner": object{"ownerId": "a", "leaseGeneration": uint64(1)}}},
			{"channelName", "list", object{}},
			{"pageSize", "list", object{"channelName": "match", "pageSize": 0}},
			{"pageSize", "list", object{"channelName": "match", "pageSize": 1001}},
		} {
			for _, d := range dialects {
				payload, err := d.encode(r.request)
				if err != nil {
					t.Fatal(err)
				}
				f.call(subjects.Operation(c.group+"."+r.verb), string(payload), headers{"Content-Type": d.contentType}).
					refused(wire.CodeInvalidArgument, r.field)
			}
		}
	}
	weight := member("publisherRid", "n1", "a", uint64(1))
	weight["weight"] = 1 // only servers have one
	payload, err := json.Marshal(decimal(object{"intent": "newClaim", "descriptor": weight}))
	if err != nil {
		t.Fatal(err)
	}
	f.call(subjects.FanoutPublisherUpdate, string(payload), nil).refused(wire.CodeInvalidArgument, "descriptor.weight")
	unchanged()
}

// TestTokenBelongsToItsChannelList: to its operation, channel and liveOnly. P-03, P-04, 1.9
func TestTokenBelongsToItsChannelList(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.claim("a")
	for _, c := range channelGroups {
		f.join(c.group, c.rid, a, "n1")
		f.join(c.group, c.rid, a, "n2")
	}
	ask := func(group, rest string) answer {
		return f.call(subjects.Operation(group+".list"), `{"pageSize":1,`+rest+`}`, nil)
	}
	for i, c := range channelGroups {
		first := ask(c.group, `"channelName":"match"`).fields()
		token := fmt.Sprintf(`,"continuationToken":%q`, first["continuationToken"])
		ask(channelGroups[1-i].group, `"channelName":"match"`+token).refused(wire.CodeScanExpired, "")
		ask(c.group, `"channelName":"chat"`+token).refused(wire.CodeScanExpired, "")
		ask(c.group, `"channelName":"match","liveOnly":true`+token).refused(wire.CodeScanExpired, "")
		f.call(subjects.Operation(c.group+".remove"), fmt.Sprintf(`{"channelName":"match",%q:"n2","owner":%s}`, c.rid, a), nil).
			want(map[string]string{"status": "stored"})
		f.clock.Advance(1)
		second := ask(c.group, `"channelName":"match"`+token).fields() // still shows what was removed
		item := second["items"].([]any)[0].(object)
		if _, more := second["continuationToken"]; more || item[c.rid] != "n2" ||
			second["revision"] != first["revision"] || second["storeNow"] != first["storeNow"] {
			t.Errorf("second page %v after %v", second, first)
		}
	}
}

// TestMembersArePushed has an owner store a member of each kind and release its lease. 13
func TestMembersArePushed(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one")
	a := d.claim("a")
	for _, c := range channelGroups {
		d.fixture.join(c.group, c.rid, a, "n:1")
	}
	d.call(subjects.ClientServerRemove, `{"channelName":"match","serverRid":"n:1","owner":`+a+`}`, nil).want(map[string]string{"status": "stored"})
	d.call(subjects.LeaseRelease, `{"token":`+a+`}`, nil).want(map[string]string{"kind": "released"})
	got := d.whats(d.pushed(), []int{4, 5})
	want := []string{
		`upserted owner-lease owner "a"`,
		`upserted client-server match "n:1"`,
		`upserted fanout-publisher match "n:1"`,
		`removed client-server match "n:1"`,
		`removed owner-lease owner "a"`,
		`expired fanout-publisher match "n:1"`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
