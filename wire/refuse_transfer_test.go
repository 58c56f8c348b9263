package wire_test

import "testing"

func TestUnmarshalRefusesTransferRequests(t *testing.T) {
	t.Parallel()
	const (
		target = `"target":{"actorId":"user:42","objectGeneration":"9223372036854775807","meshName":"lab","nodeRid":{"hex":"00ff"}},`

		prepare, commit = "actor-transfer.prepare", "actor-transfer.commit"
		takeOver, find  = "actor-transfer.take-over", "actor-transfer.resolve"
		found, stored   = "actor-transfer.resolve.found", "actor-transfer.prepare.stored"
	)
	for _, m := range []misprint{
		{"no mesh", prepare, `{`, `{"meshName":"play",`, "meshName", "missing or empty, want text"},
		{"no transfer id", prepare, ``, `"transferId":"` + sampleTransferID + `",`, "transferId", "missing"},
		{"no target", prepare, ``, target, "target", "missing"},
		{"target is null", prepare, `"target":null,`, target, "target", "missing"},
		{"target is text", prepare, `"target":"n2",`, target, "target", `got "text", want a map`},
		{"source without an actor", prepare, `"source":{`, `"source":{"actorId":"user:42",`, "source.actorId", "missing"},
		{"source without a node", prepare, ``, `,"nodeRid":"n1"`, "source.nodeRid", "missing"},
		{"source with an owner", prepare, `"source":{"ownerId":"a",`, `"source":{`, "source.ownerId", "only fields"},
		{"no generation", prepare, ``, `"expectedActorGeneration":"43",`, "expectedActorGeneration", "missing"},
		{"no epoch", prepare, ``, `"expectedMembershipEpoch":"9223372036854775807",`, "expectedMembershipEpoch", "missing"},
		{"negative epoch", prepare, `"expectedMembershipEpoch":-1`, `"expectedMembershipEpoch":"9223372036854775807"`, "expectedMembershipEpoch", "want an integer 0.."},
		{"no participants", prepare, ``, `"participants":["n1",{"hex":"00ff"}],`, "participants", "missing or empty, want an array"},
		{"participants are null", prepare, `null`, `["n1",{"hex":"00ff"}]`, "participants", "missing"},
		{"one participant that is no list", prepare, `"n1"`, `["n1",{"hex":"00ff"}]`, "participants", `got "text", want an array`},
		{"participant is a number", prepare, `["n1",7]`, `["n1",{"hex":"00ff"}]`, "participants[1]", "a routing id"},
		{"no recovery owner", prepare, ``, `"recoveryOwnerId":"recovery-é",`, "recoveryOwnerId", "missing"},
		{"no recovery lease", prepare, ``, `,"recoveryLeaseTtlMs":30000`, "recoveryLeaseTtlMs", "missing"},
		{"recovery lease as text", prepare, `"30000"`, `30000`, "recoveryLeaseTtlMs", `got "text"`},
		{"state in a request", prepare, `{"state":"prepared",`, `{`, "state", "only fields"},
		{"expiry in a request", prepare, `"recoveryLeaseExpiresAt":`, `"recoveryLeaseTtlMs":`, "recoveryLeaseExpiresAt", "only fields"},

		{"commit without a recovery owner", commit, ``, `,"recoveryOwnerId":"recovery-é"`, "recoveryOwnerId", "missing"},
		{"commit with a lease", commit, `{"recoveryLeaseTtlMs":1,`, `{`, "recoveryLeaseTtlMs", "only fields"},
		{"commit by a successor", commit, `"successorOwnerId":`, `"recoveryOwnerId":`, "successorOwnerId", "only fields"},
		{"take-over by the recovery owner", takeOver, `"recoveryOwnerId":`, `"successorOwnerId":`, "recoveryOwnerId", "only fields"},
		{"take-over without a lease", takeOver, ``, `,"recoveryLeaseTtlMs":1`, "recoveryLeaseTtlMs", "missing"},
		{"resolve of a transfer", find, `{"transferId":"` + sampleTransferID + `",`, `{`, "transferId", "only fields"},
		{"resolve without an actor", find, ``, `,"actorId":"user:42"`, "actorId", "missing"},

		{"record in an unknown state", found, `"moving"`, `"committed"`, "record.state", "want one of prepared, committed, activated, aborted"},
		{"record without an expiry", found, ``, `,"recoveryLeaseExpiresAt":1783036830000`, "record.recoveryLeaseExpiresAt", "missing"},
		{"unknown status", stored, `"ignoredStale"`, `"stored"`, "status", "want one of stored, notFound, rejectedConflict, invalidState"},
	} {
		t.Run(m.why, func(t *testing.T) {
			t.Parallel()
			m.check(t)
		})
	}
}
