package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
)

// target is a node as its owner knows it.
func target(rid string, token ref) object {
	return object{"meshName": "play", "nodeRid": rid, "nodeLifecycleGeneration": 7, "owner": token}
}

func objectKey(kind, id string) object { return object{"kind": kind, "globalId": id} }

func intentOf(stableType string) object {
	return object{"stableType": stableType, "requestContentReference": "r", "requestSha256": make([]byte, 32), "requestEncodedSize": 1}
}

var capacities = map[string]object{
	"actor":        {"actors": 1, "spots": 0},
	"userSpot":     {"actors": 0, "spots": 1, "spotType": object{"objectKind": "userSpot", "stableType": "room", "count": 1}},
	"instanceSpot": {"actors": 0, "spots": 1, "spotType": object{"objectKind": "instanceSpot", "stableType": "chat", "count": 1}},
}

// edited is a request with some fields changed.
func edited(request, more object) object {
	out := maps.Clone(request)
	maps.Copy(out, more)
	return out
}

func reserve(kind, id, stableType string, to object) object {
	return object{
		"key": objectKey(kind, id), "intent": intentOf(stableType), "target": to, "creatingPayload": []byte("c"), "capacity": capacities[kind],
	}
}

// place asks for any node but n2.
func place(kind, id, stableType string) object {
	request := edited(reserve(kind, id, stableType, nil), object{
		"meshName": "play", "exclude": []any{object{"rid": "n2", "lifecycleGeneration": 7}},
	})
	delete(request, "target")
	return request
}

// settle ends the reservation that an earlier reply made.
func settle(kind, id string, reply ref, to object, more object) object {
	return edited(object{
		"key": objectKey(kind, id), "reservationId": reply + ".reservationId", "expectedStoreVersion": reply + ".creating.storeVersion", "target": to,
	}, more)
}

func operation(low int) object {
	return object{"sourceNodeRid": "n1", "sourceNodeGeneration": 7, "operationId": object{"high": 0, "low": low}}
}

func completion(kind string, low int, more object) object {
	envelope := fmt.Appendf(nil, "envelope %d", low)
	sum := sha256.Sum256(envelope)
	return object{"completion": edited(object{"kind": kind, "terminal": object{
		"operation": operation(low), "terminalEnvelope": envelope, "terminalEnvelopeSha256": sum[:], "operationDeadline": 4102444800000,
	}}, more)}
}

// nodeSteps publish two nodes; n2 has an entry spot.
func nodeSteps() []step {
	n2 := meshNode("n2", tokenB)
	n2["entrySpotId"] = "e1"
	selected := object{"meshName": "play", "objectKind": "actor", "stableType": "hero", "capacity": capacities["actor"]}
	return []step{
		{op: "mesh-node.update", request: object{"descriptor": meshNode("n1", tokenA), "intent": "newClaim"}, want: object{"status": "stored"}},
		{op: "mesh-node.update", request: object{"descriptor": n2, "intent": "newClaim"}, want: object{"status": "stored"}},
		{op: "placement.select", request: edited(selected, object{"exclude": []any{object{"rid": "n2", "lifecycleGeneration": 7}}}), want: object{
			"kind": "selected", "target.nodeRid": "n1", "target.owner.ownerId": "a",
		}},
		{op: "placement.select", request: edited(selected, object{"meshName": "lab"}), want: object{"kind": "none", "reason": "noNode"}},
	}
}

// reservationSteps: section 4, the creation of spots.
func reservationSteps() []step {
	n1 := target("n1", tokenA)
	r1 := reserve("userSpot", "r1", "room", n1)
	ready := object{"readyPayload": []byte("r")}
	return []step{
		{op: "authority.read", request: object{"key": "zla1:s:2:r1"}, want: object{"kind": "missing", "payload": nil}},
		{op: "authority.read", request: object{"key": "zla1:s:02:r1"}, want: object{"code": "400", "error.field": "key"}},
		{op: "object.find", request: object{"kind": "spot", "globalId": "r1"}, want: object{"kind": "missing"}},
		{op: "object.await", request: object{"key": objectKey("userSpot", "r1"), "until": "settled"}, want: object{"kind": "missing"}},

		{op: "object.reserve", request: edited(r1, object{"target": target("n1", tokenC)}), want: object{
			"kind": "conflict", "reason": "targetUnavailable", "current.kind": "missing",
		}},
		{op: "object.reserve", request: reserve("userSpot", "e1", "room", n1), want: object{"kind": "conflict", "reason": "entrySpot", "current.kind": "missing"}},
		{op: "object.reserve", request: r1, as: "r1", want: object{
			"kind": "reserved", "creating.key": "zla1:s:2:r1", "creating.payload": []byte("c"), "creating.phase": "steady", "creating.live": true,
			"creating.ownerId": "a", "creating.allocation.state": "reserved", "creating.allocation.descriptor.rid": "n1",
			"creating.allocation.capacity.spotType.count": 1, "creating.pendingCreation.requestContentReference": "r", "target": nil,
		}},
		{op: "object.reserve", request: edited(r1, object{"reservationId": ref("r1.reservationId")}), want: object{
			"kind": "reserved", "reservationId": ref("r1.reservationId"), "creating.storeVersion": ref("r1.creating.storeVersion"),
		}},
		{op: "object.reserve", request: r1, want: object{"kind": "conflict", "reason": "reserved", "current.storeVersion": ref("r1.creating.storeVersion")}},
		{op: "object.reserve", request: reserve("userSpot", "r1", "hall", n1), want: object{"kind": "typeMismatch", "current.kind": "snapshot"}},
		{op: "object.find", request: object{"kind": "spot", "globalId": "r1"}, want: object{
			"kind": "found", "entry.globalId": "r1", "entry.state": "creating", "entry.meshName": "play", "entry.nodeRid": "n1", "entry.stableType": "room",
		}},
		{op: "object.release-ended", request: object{"key": "zla1:s:2:r1", "expectedStoreVersion": ref("r1.creating.storeVersion")}, want: object{"kind": "stale"}},
		{op: "object.abort", request: settle("userSpot", "r1", "r1", target("n2", tokenB), nil), want: object{"kind": "stale"}},
		{op: "object.commit", request: settle("userSpot", "r1", "r1", target("n2", tokenB), ready), want: object{"kind": "stale"}},
		{op: "object.commit", request: settle("userSpot", "r1", "r1", n1, ready), as: "ready", want: object{
			"kind": "committed", "ready.allocation.state": "active", "ready.payload": []byte("r"), "ready.pendingCreation": nil,
			"ready.objectGeneration": ref("r1.creating.objectGeneration"),
		}},
		{op: "object.commit", request: settle("userSpot", "r1", "r1", n1, ready), want: object{
			"kind": "alreadyCommitted", "ready.storeVersion": ref("ready.ready.storeVersion"),
		}},
		{op: "object.reserve", request: r1, want: object{"kind": "alreadyExists", "current.allocation.state": "active"}},
		{op: "object.commit", request: settle("actor", "a1", "r1", n1, ready), want: object{"code": "400", "error.field": "key.kind"}},

		{op: "object.place", request: place("instanceSpot", "i1", "chat"), as: "i1", want: object{
			"kind": "reserved", "target.nodeRid": "n1", "creating.allocation.objectKind": "instanceSpot",
		}},
		{op: "object.abort", request: settle("instanceSpot", "i1", "i1", n1, nil), want: object{"kind": "aborted"}},
		{op: "object.abort", request: settle("instanceSpot", "i1", "i1", n1, nil), want: object{"kind": "alreadyAborted"}},
		{op: "object.list", request: object{"objectKind": "userSpot", "stableType": "room", "meshName": "play", "liveOnly": true}, want: object{
			"items.0.globalId": "r1", "items.0.state": "ready", "items.1": nil,
		}},
		{op: "object.list", request: object{"objectKind": "actor", "continuationToken": "abc"}, want: object{"code": "410"}},
		{op: "object.await", request: object{"key": "zla1:s:2:r1", "until": "changed", "sinceVersion": ref("r1.creating.storeVersion")}, want: object{
			"kind": "snapshot", "storeVersion": ref("ready.ready.storeVersion"),
		}},
	}
}

// actorSteps: section 4, the creation of actors.
func actorSteps() []step {
	n1 := target("n1", tokenA)
	complete := func(reply ref, kind string, low int, more object) object {
		return settle("actor", "a1", reply, n1, completion(kind, low, more))
	}
	ready := object{"readyPayload": []byte("r"), "membership": object{
		"spotId": "r1", "spotGeneration": ref("ready.ready.objectGeneration"), "spotKind": "user",
	}}
	return []step{
		{op: "object.place", request: edited(place("actor", "a1", "hero"), object{"meshName": "lab"}), want: object{"kind": "noTarget"}},
		{op: "object.place", request: place("actor", "a1", "hero"), want: object{"kind": "reserved", "target.nodeRid": "n1"}, as: "a1"},
		{op: "object.place", request: place("actor", "a2", "hero"), want: object{"kind": "placementCapacityExhausted"}},
		{op: "object.reserve", request: reserve("actor", "a2", "hero", n1), want: object{"kind": "placementCapacityExhausted"}},
		{op: "object.complete-creation", request: complete("a1", "rejected", 1, nil), want: object{
			"kind": "rejected", "terminal.state": "rejected", "terminal.objectKind": "actor", "terminal.reservationId": ref("a1.reservationId"), "ready": nil,
		}},
		{op: "object.complete-creation", request: complete("a1", "failed", 2, nil), want: object{"kind": "stale", "terminal": nil}},
		{op: "object.place", request: place("actor", "a1", "hero"), want: object{"kind": "reserved"}, as: "a1"},
		{op: "object.complete-creation", request: complete("a1", "failed", 2, nil), want: object{"kind": "failed", "terminal.state": "failed"}},
		{op: "object.place", request: place("actor", "a1", "hero"), want: object{"kind": "reserved"}, as: "a1"},
		{op: "object.complete-creation", request: complete("a1", "created", 1, ready), want: object{"kind": "alreadyCompleted", "terminal.state": "rejected"}},
		{op: "object.complete-creation", request: complete("a1", "created", 3, ready), want: object{
			"kind": "created", "ready.allocation.state": "active", "ready.membership.spotId": "r1", "terminal.state": "created",
			"terminal.terminalEnvelope": []byte("envelope 3"), "terminal.expiresAt": 4102445100000,
		}},
		{op: "object.complete-creation", request: settle("userSpot", "r1", "r1", n1, completion("failed", 4, nil)), want: object{"code": "400", "error.field": "key.kind"}},
		{op: "object.read-terminal", request: object{"operation": operation(3)}, want: object{"kind": "found", "record.state": "created", "record.operation.operationId.low": 3}},
		{op: "object.read-terminal", request: object{"operation": operation(9)}, want: object{"kind": "missing", "record": nil}},
	}
}

// exchangeAt is a mutation of r1 at the version of an earlier reply.
func exchangeAt(version ref, mutation object) object {
	return object{"key": objectKey("userSpot", "r1"), "expectedStoreVersion": version, "mutation": mutation}
}

// authoritySteps: section 4, authorities.
func authoritySteps() []step {
	put := object{"kind": "put", "payload": []byte("p"), "generationTransition": "preserve"}
	return []step{
		{op: "authority.compare-exchange", request: exchangeAt("ready.ready.storeVersion", put), as: "put", want: object{
			"kind": "stored", "payload": []byte("p"), "phase": "steady", "objectGeneration": ref("ready.ready.objectGeneration"), "current": nil,
		}},
		{op: "authority.compare-exchange", request: exchangeAt("ready.ready.storeVersion", put), want: object{
			"kind": "conflict", "current.kind": "snapshot", "current.storeVersion": ref("put.storeVersion"),
		}},
		{op: "authority.compare-exchange", request: exchangeAt("put.storeVersion", object{"kind": "reincarnate", "payload": []byte{}}), as: "anew", want: object{
			"kind": "stored", "objectGeneration": ref("anew.storeVersion"), "authorityOwnerGeneration": ref("anew.storeVersion"),
		}},
		{op: "authority.read", request: object{"key": "zla1:s:2:r1"}, as: "read", want: object{
			"kind": "snapshot", "key": "zla1:s:2:r1", "storeVersion": ref("anew.storeVersion"), "payload": []byte{}, "live": true,
		}},
		{op: "authority.list", request: object{"prefix": "", "limit": 1}, want: object{"kind": "page", "items.0.key": "zla1:a:2:a1", "items.0.snapshot.live": true}, as: "page"},
		{op: "authority.list", request: object{"prefix": "", "limit": 1, "cursor": ref("page.nextCursor")}, want: object{
			"kind": "page", "items.0.key": "zla1:s:2:r1", "items.0.snapshot.storeVersion": ref("anew.storeVersion"), "nextCursor": nil,
		}},
		{op: "authority.list", request: object{"prefix": "", "limit": 1, "cursor": "abc"}, want: object{"kind": "scanExpired", "items": nil}},
		{op: "authority.list", request: object{"prefix": "", "limit": 0}, want: object{"code": "400", "error.field": "limit"}},
	}
}

// endedSteps: section 4, objects of owners that have ended.
func endedSteps() []step {
	n2 := target("n2", tokenB)
	closing := object{"kind": "put", "payload": []byte("p"), "generationTransition": "preserve", "phase": "closing"}
	restore := object{"kind": "restore", "payload": []byte("p"), "expectedOwner": tokenA, "phase": "steady"}
	rebind := object{"kind": "rebindOwnerLease", "payload": []byte("p"), "expectedOwner": tokenA, "targetOwner": tokenA2}
	release := edited(reserve("userSpot", "r1", "room", n2), object{"endedOwner": "release"})
	return []step{
		{op: "authority.compare-exchange", request: exchangeAt("anew.storeVersion", closing), want: object{"kind": "stored", "phase": "closing"}, as: "closing"},
		{op: "object.reserve", request: reserve("instanceSpot", "i1", "chat", target("n1", tokenA)), want: object{"kind": "reserved"}, as: "i1"},
		{op: "lease.release", request: object{"token": tokenA}, want: object{"kind": "released"}},
		{op: "object.find", request: object{"kind": "spot", "globalId": "r1"}, want: object{"kind": "found", "entry.state": "unavailable"}},
		{op: "object.release-ended", request: object{"key": "zla1:s:2:i1", "expectedStoreVersion": ref("i1.creating.storeVersion")}, want: object{"kind": "released"}},
		{op: "object.reserve", request: release, want: object{"kind": "unavailable", "reason": "notSteady", "current.phase": "closing"}},
		{op: "authority.compare-exchange", request: exchangeAt("closing.storeVersion", restore), want: object{"kind": "stored", "phase": "steady", "live": false}, as: "restored"},

		{op: "lease.claim", request: object{"ownerId": "a", "leaseTtlMs": 60000}, want: object{"kind": "claimed"}, as: "a2"},
		{op: "authority.compare-exchange", request: exchangeAt("restored.storeVersion", rebind), want: object{"kind": "conflict"}},
		{op: "mesh-node.update", request: object{"descriptor": meshNode("n1", tokenA2), "intent": "newClaim"}, want: object{"status": "stored"}},
		{op: "authority.compare-exchange", request: exchangeAt("restored.storeVersion", rebind), as: "rebound", want: object{
			"kind": "stored", "live": true, "ownerLeaseGeneration": tokenA2 + ".leaseGeneration", "authorityOwnerGeneration": ref("anew.storeVersion"),
		}},
		{op: "lease.release", request: object{"token": tokenA2}, want: object{"kind": "released"}},
		{op: "object.reserve", request: edited(release, object{"endedOwner": "keep"}), want: object{"kind": "alreadyExists", "current.live": false}},
		{op: "object.reserve", request: release, want: object{"kind": "reserved", "creating.ownerId": "b", "creating.allocation.descriptor.rid": "n2"}, as: "r1"},
		{op: "object.commit", request: settle("userSpot", "r1", "r1", n2, object{"readyPayload": []byte{}}), want: object{"kind": "committed"}, as: "last"},
		{op: "authority.compare-exchange", request: exchangeAt("last.ready.storeVersion", object{"kind": "delete"}), want: object{
			"kind": "deleted", "storeVersion": ref("last.ready.storeVersion"),
		}},
		{op: "authority.compare-exchange", request: exchangeAt("last.ready.storeVersion", object{"kind": "delete"}), want: object{
			"kind": "conflict", "current.kind": "missing",
		}},
	}
}
