package main

import (
	"maps"

	"github.com/zlink/zlink-nats/subjects"
)

// protocolSteps is a story in which every operation of sections 2 to 5 of the protocol
// has its part. Owners a and b live, c has ended.
func protocolSteps() (all []step) {
	all = append(all, lapsingTransfer())
	all = append(all, leaseSteps()...)
	for _, group := range []string{"mesh-node", "client-server", "fanout-publisher"} {
		all = append(all, descriptorSteps(group)...)
	}
	for _, group := range []string{"peer", "spot", "actor", "route"} {
		all = append(all, locationSteps(group)...)
	}
	all = append(all, nodeSteps()...)
	all = append(all, reservationSteps()...)
	all = append(all, actorSteps()...)
	all = append(all, authoritySteps()...)
	all = append(all, endedSteps()...)
	all = append(all, transferSteps()...)
	return append(all, aggregateSteps()...)
}

// owner gives a row an owner.
func owner(row object, token ref) object {
	row = maps.Clone(row)
	row["ownerId"], row["leaseGeneration"] = token+".ownerId", token+".leaseGeneration"
	return row
}

// Tokens of the owners.
const (
	tokenA  = ref("a.token")
	tokenB  = ref("b.token")
	tokenC  = ref("c.token")
	tokenA2 = ref("a2.token") // of owner a, later
)

func leaseSteps() []step {
	return []step{
		{op: "lease.claim", request: object{"ownerId": "a", "leaseTtlMs": 60000, "claimId": "1"}, want: object{"kind": "claimed", "token.ownerId": "a"}, as: "a"},
		{op: "lease.claim", request: object{"ownerId": "a", "leaseTtlMs": 60000, "claimId": "1"}, want: object{"kind": "claimed", "token.leaseGeneration": tokenA + ".leaseGeneration"}},
		{op: "lease.claim", request: object{"ownerId": "a", "leaseTtlMs": 60000}, want: object{"kind": "conflict"}},
		{op: "lease.claim", request: object{"ownerId": "b", "leaseTtlMs": 60000}, want: object{"kind": "claimed"}, as: "b"},
		{op: "lease.claim", request: object{"ownerId": "c", "leaseTtlMs": 60000}, want: object{"kind": "claimed"}, as: "c"},
		{op: "lease.claim", request: object{"ownerId": "", "leaseTtlMs": 1}, want: object{"code": "400", "error.code": "invalidArgument", "error.field": "ownerId"}},
		{op: "lease.read", request: object{"ownerId": "a"}, want: object{"kind": "found", "token.leaseGeneration": tokenA + ".leaseGeneration"}},
		{op: "lease.read", request: object{"ownerId": "nobody"}, want: object{"kind": "missing"}},
		{op: "lease.renew", request: object{"token": tokenA, "leaseTtlMs": 60000}, want: object{"kind": "renewed"}},
		{op: "lease.release", request: object{"token": tokenC}, want: object{"kind": "released"}},
		{op: "lease.release", request: object{"token": tokenC}, want: object{"kind": "stale"}},
		{op: "lease.renew", request: object{"token": tokenC, "leaseTtlMs": 60000}, want: object{"kind": "stale"}},
	}
}

// meshNode is a descriptor in mesh "play" that has room for one actor.
func meshNode(rid string, token ref) object {
	return owner(object{
		"meshName": "play", "rid": rid, "lifecycleGeneration": 7, "descriptorRevision": 1, "endpoint": "tcp://" + rid + ":7000",
		"objectRole": "server", "placementWeight": 100,
		"populationCapacity": object{"actors": object{"limit": 1}, "spots": object{"limit": 0}, "spotTypes": []any{
			object{"objectKind": "userSpot", "stableType": "room", "limit": 0},
			object{"objectKind": "instanceSpot", "stableType": "chat", "limit": 0},
		}},
		"activationConcurrency": object{"active": 0, "limit": 8}, "channelWeights": object{"match": 5}, "applicationVersion": 1,
		"spotTypes": []any{"room"}, "objectCapabilities": []any{}, "state": "serving", "securityIdentity": "s",
	}, token)
}

// channelMember is a descriptor in channel "match".
func channelMember(rid string, token ref) object {
	return owner(object{
		"channelName": "match", rid: "n1", "lifecycleGeneration": 7, "descriptorRevision": 1, "endpoint": "tcp://n1:7000",
		"state": "serving", "securityIdentity": "s",
	}, token)
}

// descriptorOf is a descriptor of a group, with the names of the parts of its key.
func descriptorOf(group string, token ref) (row object, scope, rid string) {
	switch group {
	case "mesh-node":
		return meshNode("n1", token), "meshName", "rid"
	case "client-server":
		row = channelMember("serverRid", token)
		row["weight"] = 100
		return row, "channelName", "serverRid"
	default:
		return channelMember("publisherRid", token), "channelName", "publisherRid"
	}
}

// descriptorSteps: section 3, descriptors.
func descriptorSteps(group string) []step {
	mine, scope, rid := descriptorOf(group, tokenA)
	other, _, _ := descriptorOf(group, tokenB)
	dead, _, _ := descriptorOf(group, tokenC)
	next := maps.Clone(mine)
	next["descriptorRevision"], next["state"] = 2, "draining"
	update, remove, list := subjects.Operation(group+".update"), subjects.Operation(group+".remove"), subjects.Operation(group+".list")
	key := func(token ref) object { return object{scope: mine[scope], rid: "n1", "owner": token} }
	return []step{
		{op: update, request: object{"descriptor": mine, "intent": "newClaim"}, want: object{"status": "stored"}, as: group},
		{op: update, request: object{"descriptor": other, "intent": "newClaim"}, want: object{"status": "ignoredStale", "generation": 0}},
		{op: update, request: object{"descriptor": dead, "intent": "takeover"}, want: object{"status": "rejectedConflict", "generation": 0}},
		{op: update, request: object{"descriptor": next, "intent": "renew"}, want: object{"status": "stored", "generation": ref(group + ".generation")}},
		{op: update, request: object{"descriptor": mine, "intent": "again"}, want: object{"code": "400", "error.field": "intent"}},
		{op: list, request: object{scope: mine[scope], "pageSize": 1, "liveOnly": true}, as: "page", want: object{
			"items.0." + rid: "n1", "items.0.live": true, "items.0.state": "draining", "items.0.ownerId": "a", "items.1": nil, "continuationToken": nil,
		}},
		{op: list, request: object{scope: "nowhere"}, want: object{"items": "[]"}},
		{op: list, request: object{scope: "nowhere", "continuationToken": "abc"}, want: object{"code": "410", "error.code": "scanExpired"}},
		{op: remove, request: key(tokenB), want: object{"status": "ignoredStale"}},
		{op: remove, request: key(tokenA), want: object{"status": "stored"}},
		{op: update, request: object{"descriptor": mine, "intent": "renew"}, want: object{"status": "rejectedConflict"}},
	}
}

// locationRowOf is a row of a group, and what names it in requests.
func locationRowOf(group string, token ref) (row, key object) {
	switch group {
	case "peer":
		key = object{"autoConnectType": "routeMesh", "meshName": "play", "role": "router", "nodeRid": "n1"}
		row = object{"endpoint": "tcp://n1:7001", "weight": 100, "draining": false, "value": 9, "metadata": object{"zone": "eu"}, "capabilities": []any{"x"}}
	case "spot":
		key = object{"meshName": "play", "spotId": "r1"}
		row = object{"spotGeneration": 1, "spotType": "room", "ownerNodeRid": "n1", "ownerNodeGeneration": 7, "spotKind": "user"}
	case "actor":
		key = object{"meshName": "play", "actorId": "a1"}
		row = object{
			"actorType": "hero", "ownerNodeRid": "n1", "ownerNodeGeneration": 7, "spotKind": "user", "spotId": "r1", "spotGeneration": 1,
			"actorRef":        object{"actorId": "a1", "objectGeneration": 1, "meshName": "play", "nodeRid": "n1"},
			"membershipEpoch": 0,
		}
	default:
		key = object{"routeKind": "spotName", "routeKey": "lobby"}
		row = object{"ownerNodeRid": "n1", "value": []byte{0, 255}}
	}
	maps.Copy(row, key)
	return owner(row, token), key
}

// locationSteps: section 3, location rows.
func locationSteps(group string) []step {
	mine, key := locationRowOf(group, tokenA)
	other, _ := locationRowOf(group, tokenB)
	op := func(verb string) subjects.Operation { return subjects.Operation(group + "." + verb) }
	remove := func(token ref) object { return edited(key, object{"owner": token}) }
	if group == "peer" {
		remove = func(token ref) object { return object{"key": key, "owner": token} }
	}
	steps := []step{
		{op: op("update"), request: object{group: mine, "intent": "newClaim"}, want: object{"status": "stored"}, as: group},
		{op: op("update"), request: object{group: other, "intent": "newClaim"}, want: object{"status": "rejectedConflict", "generation": 0}},
		{op: op("update"), request: object{group: other, "intent": "renew"}, want: object{"status": "ignoredStale"}},
		{op: op("update"), request: object{group: mine, "intent": "renew"}, want: object{"status": "stored", "generation": ref(group + ".generation")}},
		{op: op("update"), request: object{group: edited(mine, object{"x": 1}), "intent": "renew"}, want: object{"code": "400", "error.field": group + ".x"}},
		{op: op("list"), request: object{"filter": object{}, "liveOnly": true}, want: object{"items.0.live": true, "items.0.ownerId": "a", "items.1": nil}},
		{op: op("list"), request: object{"filter": object{}, "continuationToken": "abc"}, want: object{"code": "410", "error.code": "scanExpired"}},
	}
	if group != "peer" {
		missing := maps.Clone(key)
		for name := range key {
			if name != "routeKind" {
				missing[name] = "other"
			}
		}
		steps = append(steps,
			step{op: op("resolve"), request: key, want: object{"kind": "found", group + ".live": true, group + ".ownerNodeRid": "n1"}},
			step{op: op("resolve"), request: missing, want: object{"kind": "missing"}})
	}
	return append(steps,
		step{op: op("remove"), request: remove(tokenB), want: object{"status": "ignoredStale"}},
		step{op: op("remove"), request: remove(tokenA), want: object{"status": "stored"}})
}
