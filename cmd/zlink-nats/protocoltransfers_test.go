package main

// transfer is a transfer of an actor of "play" from n1 to n2.
func transfer(actor, id string) object {
	at := func(rid string) object {
		return object{"actorId": actor, "objectGeneration": 3, "meshName": "play", "nodeRid": rid}
	}
	return object{
		"meshName": "play", "actorId": actor, "transferId": id, "source": at("n1"), "target": at("n2"),
		"expectedActorGeneration": 3, "expectedMembershipEpoch": 5, "participants": []any{"n1", "n2"},
		"recoveryOwnerId": "ra", "recoveryLeaseTtlMs": 60000,
	}
}

const (
	t1 = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	t2 = "00000000-0000-0000-0000-000000000000"
)

// lapsingTransfer is to be taken over at the end of the story: by then its recovery lease
// has lapsed.
func lapsingTransfer() step {
	request := edited(transfer("a2", t1), object{"recoveryLeaseTtlMs": 1})
	return step{op: "actor-transfer.prepare", request: request, want: object{"status": "stored", "record.recoveryOwnerId": "ra"}}
}

// transferSteps: section 5, transfers of actors.
func transferSteps() []step {
	actor := object{"meshName": "play", "actorId": "a1"}
	by := func(id, owner string) object {
		return edited(actor, object{"transferId": id, "recoveryOwnerId": owner})
	}
	takeOver := edited(actor, object{"transferId": t1, "successorOwnerId": "rb", "recoveryLeaseTtlMs": 1})
	return []step{
		{op: "actor-transfer.resolve", request: actor, want: object{"kind": "missing", "record": nil}},
		{op: "actor-transfer.prepare", request: edited(transfer("a1", t1), object{"participants": []any{"n1", "n1"}}), want: object{
			"code": "400", "error.code": "invalidArgument", "error.field": "participants[1]",
		}},
		{op: "actor-transfer.prepare", request: transfer("a1", t1), as: "t1", want: object{
			"status": "stored", "record.meshName": "play", "record.actorId": "a1", "record.transferId": t1, "record.state": "prepared",
			"record.source.nodeRid": "n1", "record.target.objectGeneration": 3, "record.expectedActorGeneration": 3,
			"record.expectedMembershipEpoch": 5, "record.participants": "[n1 n2]", "record.recoveryOwnerId": "ra",
		}},
		{op: "actor-transfer.prepare", request: edited(transfer("a1", t1), object{"participants": []any{"n2", "n1"}}), want: object{
			"status": "stored", "record.participants": "[n1 n2]", "record.recoveryLeaseExpiresAt": ref("t1.record.recoveryLeaseExpiresAt"),
		}},
		{op: "actor-transfer.prepare", request: transfer("a1", t2), want: object{"status": "rejectedConflict", "record.transferId": t1}},
		{op: "actor-transfer.activate", request: by(t1, "ra"), want: object{"status": "invalidState", "record.state": "prepared"}},
		{op: "actor-transfer.commit", request: by(t1, "rb"), want: object{"status": "rejectedConflict", "record.recoveryOwnerId": "ra"}},
		{op: "actor-transfer.commit", request: by(t2, "ra"), want: object{"status": "notFound", "record": nil}},
		{op: "actor-transfer.commit", request: by(t1, "ra"), want: object{"status": "stored", "record.state": "committed"}, as: "committed"},
		{op: "actor-transfer.abort", request: by(t1, "ra"), want: object{"status": "invalidState", "record.state": "committed"}},
		{op: "actor-transfer.take-over", request: takeOver, want: object{"status": "rejectedConflict"}},
		{op: "actor-transfer.resolve", request: actor, want: object{
			"kind": "found", "record.state": "committed", "record.updatedAt": ref("committed.record.updatedAt"),
		}},
		{op: "actor-transfer.activate", request: by(t1, "ra"), want: object{"status": "stored", "record.state": "activated"}},
		{op: "actor-transfer.resolve", request: actor, want: object{"kind": "missing"}},
		{op: "actor-transfer.take-over", request: takeOver, want: object{"status": "invalidState", "record.state": "activated"}},

		{op: "actor-transfer.take-over", request: edited(takeOver, object{"actorId": "a2"}), want: object{"status": "stored", "record.recoveryOwnerId": "rb"}},
		{op: "actor-transfer.abort", request: edited(by(t1, "rb"), object{"actorId": "a2"}), want: object{"status": "stored", "record.state": "aborted"}},
	}
}
