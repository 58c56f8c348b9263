package wire_test

import (
	"testing"

	"github.com/zlink/zlink-nats/wire"
)

func TestUnmarshalRefusesAggregateRequests(t *testing.T) {
	t.Parallel()
	const (
		stage, prepare, staged, commit = "aggregate.stage", "aggregate.prepare", "aggregate.prepare-staged", "aggregate.commit"

		actor  = `{"kind":"actor","globalId":"user:42"}`
		joined = `{"spotId":"r1","spotGeneration":"44","spotKind":"user"}`
		fence  = `"fence":{"aggregateId":"move-1","aggregateGeneration":"9223372036854775807"}`
	)
	for _, m := range []misprint{
		{"no aggregate", stage, ``, `"aggregateId":"move-1",`, "aggregateId", "missing"},
		{"no generation", stage, ``, `"aggregateGeneration":"9223372036854775807",`, "aggregateGeneration", "missing"},
		{"generation beyond 64 bits", stage, `"18446744073709551616"`, `"9223372036854775807"`, "aggregateGeneration", "decimal string"},
		{"stage under a fence", stage, fence + `,"startIndex"`, `"startIndex"`, "fence", "only fields"},
		{"no start", stage, ``, `"startIndex":999998,`, "startIndex", "missing"},
		{"negative start", stage, `-1`, `999998`, "startIndex", "want an integer 0..4294967295"},
		{"start beyond 32 bits", stage, `4294967296`, `999998`, "startIndex", "want an integer 0..4294967295"},
		{"participants are a map", stage, `"participants":{},"x":[`, `"participants":[`, "participants", `got "a map"`},
		{"participants under another name", stage, `"members":`, `"participants":`, "members", "only fields"},
		{"a number for a participant", stage, `"participants":[7,`, `"participants":[`, "participants[0]", `got "a number"`},
		{"participant without a key", stage, ``, `"authorityKey":` + actor + `,`, "participants[0].authorityKey", "missing"},
		{"participant with another key", stage, `"key":`, `"authorityKey":`, "participants[0].key", "only fields"},
		{"key as damaged text", stage, `"zla1:a:01:A"`, actor, "participants[0].authorityKey", "zla1"},
		{"participant without a version", stage, ``, `"expectedStoreVersion":"45",`, "participants[0].expectedStoreVersion", "missing"},
		{"participant without a transition", stage, ``, `"ownerTransition":"newOwner",`, "participants[0].ownerTransition", "missing"},
		{"unknown transition", stage, `"keep"`, `"newOwner"`, "participants[0].ownerTransition", "want one of preserve, newOwner"},
		{"transition in another case", stage, `"NewOwner"`, `"newOwner"`, "participants[0].ownerTransition", "want one of preserve, newOwner"},
		{"no payload", stage, ``, `"authorityPayload":"bW92ZWQ=",`, "participants[0].authorityPayload", "missing"},
		{"payload without padding", stage, `"bW92ZWQ"`, `"bW92ZWQ="`, "participants[0].authorityPayload", "base64"},
		{"no mutation", stage, ``, `"membershipMutation":"AP8=",`, "participants[0].membershipMutation", "missing"},
		{"empty membership", stage, `{}`, joined, "participants[0].membership.spotId", "missing"},
		{"membership in an instance spot", stage, `"instance"`, `"user"`, "participants[0].membership.spotKind", "want one of entry, user"},
		{"second participant is blamed", stage, `"preserves"`, `"preserve"`, "participants[1].ownerTransition", "want one of"},

		{"none are staged", staged, `"participantCount":0`, `"participantCount":1000000`, "participantCount", "leave it out instead"},
		{"count is negative", staged, `-1`, `1000000`, "participantCount", "want an integer 0..4294967295"},
		{"prepare without a digest", staged, ``, `"inventoryDigest":"AP8A/wD/AP8A/wD/AP8A/wD/AP8A/wD/AP8A/wD/AP8=",`, "inventoryDigest", "missing"},
		{"prepare without a target", staged, ``, `"targetDescriptor":{"meshName":"play","rid":{"hex":"00ff"}},`, "targetDescriptor", "missing"},
		{"target of no mesh", staged, ``, `"meshName":"play",`, "targetDescriptor.meshName", "missing"},
		{"target under another name", staged, `"nodeRid":`, `"rid":`, "targetDescriptor.nodeRid", "only fields"},
		{"target of no lifecycle", staged, ``, `"targetDescriptorLifecycleGeneration":"7",`, "targetDescriptorLifecycleGeneration", "missing"},
		{"no capacity", staged, ``, `"capacity":{"actors":0,"spots":0},`, "capacity", "missing"},
		{"capacity without spots", staged, ``, `,"spots":0`, "capacity.spots", "missing"},
		{"prepare without an owner", staged, `"x":`, `"targetOwner":`, "x", "only fields"},
		{"owner without a lease", staged, ``, `,"leaseGeneration":"42"`, "targetOwner.leaseGeneration", "missing"},
		{"no time to live", prepare, `"prepareTtlMs":0`, `"prepareTtlMs":3600000`, "prepareTtlMs", "leave it out instead"}, // 1.6: 1..3,600,000
		{"half a time to live", prepare, `0.5`, `3600000`, "prepareTtlMs", "want an integer"},

		{"commit without a fence", commit, ``, fence, "fence", "missing"},
		{"commit of an id", commit, `"aggregateId":"move-1"`, fence, "aggregateId", "only fields"},
		{"fence without a generation", commit, ``, `,"aggregateGeneration":"9223372036854775807"`, "fence.aggregateGeneration", "missing"},
		{"abort with a reason", "aggregate.abort", `"reason":"x",` + fence, fence, "reason", "only fields"},
		{"find by a fence", "aggregate.find", fence + `,"key"`, `"key"`, "fence", "only fields"},
	} {
		t.Run(m.why, func(t *testing.T) {
			t.Parallel()
			m.check(t)
		})
	}
}

// Empty lists are told from absent ones, so that an empty one is refused.
func TestEmptyParticipantsAreNotAbsent(t *testing.T) { // 8.3: exactly one of participants and participantCount
	t.Parallel()
	for text, want := range map[string]bool{`"participants":[],`: false, `"participants":null,`: true, ``: true} {
		var req wire.AggregatePrepareRequest
		err := wire.Unmarshal(wire.JSON, []byte(`{`+text+`"aggregateId":"m","aggregateGeneration":"1","inventoryDigest":"",`+
			`"targetDescriptor":{"meshName":"play","rid":"n1"},"targetDescriptorLifecycleGeneration":"7",`+
			`"capacity":{"actors":0,"spots":0},"targetOwner":{"ownerId":"a","leaseGeneration":"1"}}`), &req)
		if err != nil || (req.Participants == nil) != want {
			t.Errorf("%q: participants %v, %v", text, req.Participants, err)
		}
	}
}

func TestTargetOfAnAggregate(t *testing.T) {
	t.Parallel()
	req := wire.AggregatePrepareRequest{
		TargetDescriptor: wire.DescriptorKey{MeshName: "play", RID: "n1"}, TargetDescriptorLifecycleGeneration: 7, TargetOwner: objectOwner,
	}
	if got := req.Target(); got != sampleTarget {
		t.Errorf("target %+v, want %+v", got, sampleTarget)
	}
}
