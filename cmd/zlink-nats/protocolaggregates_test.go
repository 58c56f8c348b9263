package main

import (
	"strings"

	"github.com/zlink/zlink-nats/subjects"
)

// Owners of n3 and n4, between which rooms move.
const (
	tokenD = ref("d.token")
	tokenE = ref("e.token")
)

// moves is what an aggregate does to a user spot of the version of an earlier reply.
func moves(id string, version ref, more object) object {
	return edited(object{
		"authorityKey": objectKey("userSpot", id), "expectedStoreVersion": version, "ownerTransition": "newOwner",
		"authorityPayload": []byte("moved"), "membershipMutation": []byte{},
	}, more)
}

// stays is what an aggregate does to an actor that only gets a membership.
func stays(id string, version ref, membership object) object {
	return object{
		"authorityKey": "zla1:a:2:" + id, "expectedStoreVersion": version, "ownerTransition": "preserve",
		"authorityPayload": []byte("joined"), "membershipMutation": []byte("m"), "membership": membership,
	}
}

func stage(id string, start int, participants ...any) object {
	return object{"aggregateId": id, "aggregateGeneration": 1, "startIndex": start, "participants": participants}
}

// prepare asks for a move of so many rooms to n4.
func prepare(id string, rooms int, more object) object {
	capacity := object{"actors": 0, "spots": rooms, "spotType": object{"objectKind": "userSpot", "stableType": "room", "count": rooms}}
	return edited(object{
		"aggregateId": id, "aggregateGeneration": 1, "inventoryDigest": make([]byte, 32),
		"targetDescriptor": object{"meshName": "play", "rid": "n4"}, "targetDescriptorLifecycleGeneration": 7, "targetOwner": tokenE,
		"capacity": capacity, "prepareTtlMs": 3600000,
	}, more)
}

func fenceOf(id string) object {
	return object{"fence": object{"aggregateId": id, "aggregateGeneration": 1}}
}

// aggregateSteps: section 5, aggregates.
func aggregateSteps() (all []step) {
	all = append(all, aggregateWorldSteps()...)
	all = append(all, stagingSteps()...)
	all = append(all, movingSteps()...)
	all = append(all, abortingSteps()...)
	return append(all, refusedAggregateSteps()...)
}

// aggregateWorldSteps make two nodes, the rooms r3 and r4 and the actor a3 on n3.
func aggregateWorldSteps() []step {
	n3 := target("n3", tokenD)
	steps := []step{
		{op: "lease.claim", request: object{"ownerId": "d", "leaseTtlMs": 60000}, want: object{"kind": "claimed"}, as: "d"},
		{op: "lease.claim", request: object{"ownerId": "e", "leaseTtlMs": 60000}, want: object{"kind": "claimed"}, as: "e"},
		{op: "mesh-node.update", request: object{"descriptor": meshNode("n3", tokenD), "intent": "newClaim"}, want: object{"status": "stored"}},
		{op: "mesh-node.update", request: object{"descriptor": meshNode("n4", tokenE), "intent": "newClaim"}, want: object{"status": "stored"}},
		{op: "object.reserve", request: reserve("actor", "a3", "hero", n3), want: object{"kind": "reserved"}, as: "a3"},
		{op: "object.complete-creation", as: "a3", want: object{"kind": "created"}, request: settle(
			"actor", "a3", "a3", n3, completion("created", 30, object{"readyPayload": []byte("r")}),
		)},
	}
	for _, id := range []string{"r3", "r4"} {
		reply := ref(id)
		steps = append(steps,
			step{op: "object.reserve", request: reserve("userSpot", id, "room", n3), want: object{"kind": "reserved"}, as: id},
			step{op: "object.commit", request: settle("userSpot", id, reply, n3, object{"readyPayload": []byte("r")}), want: object{"kind": "committed"}, as: id})
	}
	return steps
}

// stagingSteps stage a move of all three, the last participants first.
func stagingSteps() []step {
	member := object{"spotId": "r3", "spotGeneration": ref("r3.ready.objectGeneration"), "spotKind": "user"}
	r3, r4, a3 := moves("r3", "r3.ready.storeVersion", nil), moves("r4", "r4.ready.storeVersion", nil), stays("a3", "a3.ready.storeVersion", member)
	counted := object{"participantCount": 3}
	return []step{
		{op: "aggregate.find", request: object{"key": "zla1:s:2:r3"}, want: object{"kind": "missing", "aggregate": nil}},
		{op: "aggregate.stage", request: stage("all", 1, r3, r4), want: object{"kind": "staged", "count": 2}},
		{op: "aggregate.stage", request: stage("all", 1, r3, r4), want: object{"kind": "staged", "count": 2}},
		{op: "aggregate.stage", request: stage("all", 2, r3), want: object{"kind": "conflict", "count": nil}},
		{op: "aggregate.prepare", request: prepare("all", 2, counted), want: object{"kind": "conflict", "fence": nil}},
		{op: "aggregate.stage", request: stage("all", 0, a3), want: object{"kind": "staged", "count": 3}},
		{op: "aggregate.commit", request: fenceOf("all"), want: object{"kind": "stale"}},
		{op: "aggregate.prepare", request: prepare("all", 1, counted), want: object{"kind": "conflict"}},
		{op: "aggregate.prepare", request: prepare("all", 2, object{"participantCount": 2}), want: object{"kind": "conflict"}},
		{op: "aggregate.prepare", request: prepare("all", 2, edited(counted, object{"targetOwner": tokenD})), want: object{"kind": "conflict"}},
		{op: "aggregate.prepare", request: prepare("all", 2, edited(counted, object{"targetDescriptorLifecycleGeneration": 8})), want: object{"kind": "conflict"}},
		{op: "aggregate.prepare", request: prepare("all", 2, counted), want: object{
			"kind": "prepared", "fence.aggregateId": "all", "fence.aggregateGeneration": 1,
		}},
		{op: "aggregate.prepare", request: prepare("all", 2, counted), want: object{"kind": "alreadyPrepared", "fence.aggregateId": "all"}},
		{op: "aggregate.prepare", request: prepare("all", 2, object{"participants": []any{a3, r3, r4}}), want: object{"kind": "alreadyPrepared"}},
		{op: "aggregate.prepare", request: prepare("all", 2, object{"participants": []any{a3, r3}}), want: object{"kind": "conflict"}},
		{op: "aggregate.stage", request: stage("all", 3, r4), want: object{"kind": "conflict"}},
	}
}

// movingSteps commit the move, with a look at it before and after.
func movingSteps() []step {
	put := object{"kind": "put", "payload": []byte("p"), "generationTransition": "preserve"}
	exchange := func(id string, version ref) object {
		return object{"key": objectKey("userSpot", id), "expectedStoreVersion": version, "mutation": put}
	}
	return []step{
		{op: "aggregate.find", request: object{"key": "zla1:s:2:r3"}, want: object{
			"kind": "found", "ownerTransition": "newOwner", "aggregate.fence.aggregateId": "all", "aggregate.fence.aggregateGeneration": 1,
			"aggregate.state": "prepared", "aggregate.participantCount": 3, "aggregate.targetDescriptor.rid": "n4",
			"aggregate.targetDescriptor.meshName": "play", "aggregate.targetOwner.ownerId": "e",
			"aggregate.targetOwner.leaseGeneration": tokenE + ".leaseGeneration",
		}, as: "found"},
		{op: "aggregate.find", request: object{"key": objectKey("actor", "a3")}, want: object{"kind": "found", "ownerTransition": "preserve"}},
		{op: "authority.read", request: object{"key": "zla1:s:2:r3"}, want: object{
			"storeVersion": ref("r3.ready.storeVersion"), "ownerId": "d", "payload": []byte("r"), "allocation.descriptor.rid": "n3",
		}},
		{op: "authority.compare-exchange", request: exchange("r3", "r3.ready.storeVersion"), want: object{
			"kind": "conflict", "current.storeVersion": ref("r3.ready.storeVersion"),
		}},
		{op: "mesh-node.list", request: object{"meshName": "play"}, want: object{
			"items.2.rid": "n3", "items.2.populationCapacity.spots.active": 2, "items.2.populationCapacity.actors.active": 1,
			"items.3.rid": "n4", "items.3.populationCapacity.spots.active": 0, "items.3.populationCapacity.spots.reserved": 2,
		}},
		{op: "aggregate.prepare", request: prepare("other", 1, object{"participants": []any{moves("r3", "r3.ready.storeVersion", nil)}}), want: object{"kind": "conflict"}},
		{op: "aggregate.commit", request: fenceOf("all"), want: object{"kind": "committed"}},
		{op: "aggregate.commit", request: fenceOf("all"), want: object{"kind": "alreadyCommitted"}},
		{op: "aggregate.abort", request: fenceOf("all"), want: object{"kind": "stale"}},
		{op: "aggregate.prepare", request: prepare("all", 2, object{"participantCount": 3}), want: object{"kind": "stale", "fence": nil}},
		{op: "aggregate.stage", request: stage("all", 3, moves("r4", "r4.ready.storeVersion", nil)), want: object{"kind": "conflict"}},
		{op: "authority.read", request: object{"key": "zla1:s:2:r3"}, as: "moved", want: object{
			"ownerId": "e", "payload": []byte("moved"), "allocation.descriptor.rid": "n4", "live": true,
			"authorityOwnerGeneration": ref("moved.storeVersion"), "objectGeneration": ref("r3.ready.objectGeneration"),
		}},
		{op: "authority.read", request: object{"key": "zla1:a:2:a3"}, want: object{
			"ownerId": "d", "payload": []byte("joined"), "membership.spotId": "r3", "storeVersion": ref("moved.storeVersion"),
			"authorityOwnerGeneration": ref("a3.ready.authorityOwnerGeneration"), "allocation.descriptor.rid": "n3",
		}},
		{op: "mesh-node.list", request: object{"meshName": "play"}, want: object{
			"items.2.populationCapacity.spots.active": 0, "items.2.populationCapacity.actors.active": 1,
			"items.3.populationCapacity.spots.active": 2, "items.3.populationCapacity.spots.reserved": 0,
		}},
		{op: "authority.compare-exchange", request: exchange("r3", "moved.storeVersion"), want: object{"kind": "stored", "ownerId": "e"}, as: "own"},
	}
}

// abortingSteps end an aggregate while it is collecting, and one that is prepared.
func abortingSteps() []step {
	r3 := moves("r3", "own.storeVersion", nil) // it is settled
	inline := object{"participants": []any{r3}}
	return []step{
		{op: "aggregate.abort", request: fenceOf("unknown"), want: object{"kind": "stale"}},
		{op: "aggregate.stage", request: stage("early", 0, r3), want: object{"kind": "staged", "count": 1}},
		{op: "aggregate.abort", request: fenceOf("early"), want: object{"kind": "aborted"}},
		{op: "aggregate.abort", request: fenceOf("early"), want: object{"kind": "alreadyAborted"}},
		{op: "aggregate.prepare", request: prepare("early", 1, inline), want: object{"kind": "conflict"}},
		{op: "aggregate.prepare", request: prepare("late", 1, inline), want: object{"kind": "prepared"}},
		{op: "aggregate.abort", request: fenceOf("late"), want: object{"kind": "aborted"}},
		{op: "aggregate.commit", request: fenceOf("late"), want: object{"kind": "stale"}},
		{op: "aggregate.find", request: object{"key": "zla1:s:2:r3"}, want: object{"kind": "missing"}},
		{op: "authority.read", request: object{"key": "zla1:s:2:r3"}, want: object{"storeVersion": ref("own.storeVersion")}},
	}
}

// refusedAggregateSteps are requests that name what is wrong with them.
func refusedAggregateSteps() (steps []step) {
	refused := func(op subjects.Operation, request object, field string) {
		steps = append(steps, step{op: op, request: request, want: object{"code": "400", "error.code": "invalidArgument", "error.field": field}})
	}
	member := object{"spotId": "r3", "spotGeneration": 1, "spotKind": "user"}
	r3, r4 := moves("r3", "moved.storeVersion", nil), moves("r4", "moved.storeVersion", nil)
	with := func(more object) object { return stage("no", 0, r3, moves("r4", "moved.storeVersion", more)) }

	refused("aggregate.stage", edited(stage("no", 0, r3), object{"aggregateId": ""}), "aggregateId")
	refused("aggregate.stage", edited(stage("no", 0, r3), object{"aggregateGeneration": 0}), "aggregateGeneration")
	refused("aggregate.stage", stage("no", 999999, r3, r4), "startIndex")
	refused("aggregate.stage", edited(stage("no", 0), object{"participants": []any{}}), "participants")
	refused("aggregate.stage", stage("no", 0, r4, r3), "participants[1].authorityKey")
	refused("aggregate.stage", stage("no", 0, r3, r3), "participants[1].authorityKey")
	refused("aggregate.stage", with(object{"authorityKey": "zla1:s:02:r4"}), "participants[1].authorityKey")
	refused("aggregate.stage", with(object{"expectedStoreVersion": ""}), "participants[1].expectedStoreVersion")
	refused("aggregate.stage", with(object{"ownerTransition": "leave"}), "participants[1].ownerTransition")
	refused("aggregate.stage", with(object{"membership": member}), "participants[1].membership")
	refused("aggregate.stage", with(object{"x": 1}), "participants[1].x")

	inline := object{"participants": []any{r3}}
	refused("aggregate.prepare", prepare("no", 1, nil), "participants")
	refused("aggregate.prepare", prepare("no", 1, edited(inline, object{"participantCount": 1})), "participantCount")
	refused("aggregate.prepare", prepare("no", 1, object{"participantCount": 1000001}), "participantCount")
	refused("aggregate.prepare", prepare("no", 1, object{"participants": []any{r3, r3}}), "participants[1].authorityKey")
	refused("aggregate.prepare", prepare("no", 1, edited(inline, object{"inventoryDigest": make([]byte, 31)})), "inventoryDigest")
	refused("aggregate.prepare", prepare("no", 1, edited(inline, object{"targetDescriptor": object{"meshName": "", "rid": "n4"}})), "targetDescriptor.meshName")
	refused("aggregate.prepare", prepare("no", 1, edited(inline, object{"targetDescriptorLifecycleGeneration": 0})), "targetDescriptorLifecycleGeneration")
	refused("aggregate.prepare", prepare("no", 1, edited(inline, object{"targetOwner": object{"ownerId": "", "leaseGeneration": 1}})), "targetOwner.ownerId")
	refused("aggregate.prepare", prepare("no", 0, inline), "capacity.spotType.count")
	refused("aggregate.prepare", prepare("no", 1, edited(inline, object{"prepareTtlMs": 3600001})), "prepareTtlMs")

	nameless := object{"fence": object{"aggregateId": strings.Repeat("a", 256), "aggregateGeneration": 1}}
	refused("aggregate.commit", nameless, "fence.aggregateId")
	refused("aggregate.abort", nameless, "fence.aggregateId")
	refused("aggregate.find", object{"key": "zla1:x:2:r3"}, "key")
	return steps
}
