package handlers_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/nats-io/nats.go/micro"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

func (f *fixture) ask(subject string, reply any) {
	f.t.Helper()
	if err := json.Unmarshal(f.send(subject, nil, nil).Data, reply); err != nil {
		f.t.Fatal(err)
	}
}

func TestServiceIsFoundByTheFramework(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	var ping micro.Ping
	f.ask("$SRV.PING.zlink", &ping)
	want := map[string]string{"instance": "one", "prefix": "zlink.v1"}
	if ping.Name != "zlink" || ping.Version != "1.2.3" || !cmp.Equal(want, ping.Metadata) {
		t.Errorf("ping %+v", ping)
	}
	var info micro.Info
	f.ask("$SRV.INFO.zlink", &info)
	served := make(map[string]bool)
	for _, e := range info.Endpoints {
		op := subjects.Operation(e.Metadata["operation"])
		if e.Subject != subjects.DefaultPrefix.Operation(op) || e.QueueGroup == "" {
			t.Errorf("endpoint %+v", e)
		}
		if want := subjects.DefaultPrefix.AsWildcard(op); e.Metadata["owner_subject"] != want {
			t.Errorf("owner subject of %s: got %q, want %q", e.Name, e.Metadata["owner_subject"], want)
		}
		served[e.Name] = true
	}
	if !served["lease-claim"] || len(served) != len(f.Counters().Operations) {
		t.Errorf("endpoints %v", served)
	}
}

// schemas returns the schema of its request that each endpoint publishes.
func (f *fixture) schemas() map[string]*jsonschema.Resolved {
	f.t.Helper()
	var info micro.Info
	f.ask("$SRV.INFO.zlink", &info)
	schemas := make(map[string]*jsonschema.Resolved)
	for _, e := range info.Endpoints {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(e.Metadata["request_schema"]), &s); err != nil {
			f.t.Fatalf("%s: %v", e.Name, err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			f.t.Fatalf("%s: %v", e.Name, err)
		}
		schemas[e.Metadata["operation"]] = resolved
	}
	return schemas
}

// TestSchemasSayWhatIsAccepted validates requests against the schema that their endpoint publishes.
func TestSchemasSayWhatIsAccepted(t *testing.T) {
	t.Parallel()
	schemas := start(t, nil).schemas()
	update := object{"descriptor": descriptor("n1", "a", 1, 1), "intent": "newClaim"}
	badIntent := object{"descriptor": descriptor("n1", "a", 1, 1), "intent": "grab"}
	for _, c := range []struct {
		why, op string
		request object
		ok      bool
	}{
		{"all fields", "lease.claim", object{"ownerId": "a", "leaseTtlMs": 1, "claimId": "c"}, true},
		{"optional field left out", "lease.claim", object{"ownerId": "a", "leaseTtlMs": 1}, true},
		{"required field left out", "lease.claim", object{"ownerId": "a"}, false},
		{"unknown field", "lease.claim", object{"ownerId": "a", "leaseTtlMs": 1, "x": 1}, false},
		{"stamped fields left out", "mesh-node.update", update, true},
		{"not of the enumeration", "mesh-node.update", badIntent, false},
		{"generation as a number", "lease.release", object{"token": object{"ownerId": "a", "leaseGeneration": 1}}, true},
		{"generation as a boolean", "lease.release", object{"token": object{"ownerId": "a", "leaseGeneration": true}}, false},
		{"embedded fields", "mesh-node.list", object{"meshName": "play", "pageSize": 1, "liveOnly": true}, true},
		{"routing id in hexadecimal", "topology.list", object{"nodeRid": object{"hex": "00"}}, true},
		{"bytes", "store.write", object{"mutations": []any{object{"kind": "put", "key": []byte{0}, "bytes": []byte{}}}}, true},
		{"key as text", "authority.read", object{"key": "zla1:a:7:user%3A42"}, true},
		{"key as a map", "authority.read", object{"key": object{"kind": "actor", "globalId": "user:42"}}, true},
		{"text for another map", "object.read-terminal", object{"operation": "zla1:a:7:user%3A42"}, false},
		{"a list of routing ids", "actor-transfer.prepare", transferOf(1, "a1"), true},
		{"what the service writes", "actor-transfer.prepare", func() object {
			request := transferOf(1, "a1")
			request["state"] = "prepared"
			return request
		}(), false},
		{"nothing", "status.get", object{}, true},
	} {
		data, err := json.Marshal(decimal(c.request))
		if err != nil {
			t.Fatal(err)
		}
		var instance any
		if err := json.Unmarshal(data, &instance); err != nil {
			t.Fatal(err)
		}
		if err := schemas[c.op].Validate(instance); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.op, c.why, err)
		}
	}
}

func TestStatisticsCountWhatBecameOfRequests(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	f.claim("a")
	f.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"kind": "conflict"})
	f.call(subjects.LeaseClaim, "{}", nil)
	own := subjects.DefaultPrefix.Instance("one", subjects.LeaseClaim)
	f.send(own, []byte("{}"), nil)

	want := map[string]uint64{handlers.OutcomeOK: 2, "invalidArgument": 2}
	testenv.Eventually(t, patience, func() bool { return cmp.Equal(want, f.outcomes(subjects.LeaseClaim)) }, "outcomes", want)
	var stats micro.Stats
	f.ask("$SRV.STATS.zlink", &stats)
	for _, e := range stats.Endpoints {
		if e.Name != "lease-claim" {
			continue
		}
		var data struct {
			Requests uint64            `json:"num_requests"`
			Errors   uint64            `json:"num_errors"`
			Outcomes map[string]uint64 `json:"outcomes"`
			Total    int64             `json:"processing_time"`
			Average  int64             `json:"average_processing_time"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.Requests != 4 || data.Errors != 2 || !cmp.Equal(want, data.Outcomes) || data.Average != data.Total/4 || data.Total <= 0 {
			t.Errorf("statistics %s", e.Data)
		}
		return
	}
	t.Error("no statistics of lease-claim")
}
