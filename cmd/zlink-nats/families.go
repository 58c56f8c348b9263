package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// families are the lists of the protocol that people read.
var families = []*family{
	{
		name: "mesh-node", scope: []scope{{name: "MESH", phrase: "in mesh", needed: true}},
		what: "mesh nodes", hint: "a node appears with mesh-node.update; 'zlink-nats topology' shows all meshes",
		op: subjects.MeshNodeList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.MeshNodeListRequest{MeshName: s[0], PageRequest: p}
		},
		head: meshNodeHead, row: rowOf(meshNodeCells),
	},
	{
		name: "client-server", scope: []scope{{name: "CHANNEL", phrase: "in channel", needed: true}},
		what: "servers", hint: "a server appears with client-server.update",
		op: subjects.ClientServerList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.ClientServerListRequest{ChannelName: s[0], PageRequest: p}
		},
		head: words("SERVER ENDPOINT STATE WEIGHT LIFECYCLE LIVE OWNER LEASE UPDATED"),
		row: rowOf(func(d *wire.ClientServerItem) []string {
			return owned([]string{
				shown(d.ServerRID), shown(d.Endpoint), string(d.State), number(d.Weight), number(d.LifecycleGeneration),
			}, d.Live, d.OwnerToken, at(d.UpdatedAt))
		}),
	},
	{
		name: "fanout-publisher", scope: []scope{{name: "CHANNEL", phrase: "in channel", needed: true}},
		what: "publishers", hint: "a publisher appears with fanout-publisher.update",
		op: subjects.FanoutPublisherList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.FanoutPublisherListRequest{ChannelName: s[0], PageRequest: p}
		},
		head: words("PUBLISHER ENDPOINT STATE LIFECYCLE LIVE OWNER LEASE UPDATED"),
		row: rowOf(func(d *wire.FanoutPublisherItem) []string {
			return owned([]string{
				shown(d.PublisherRID), shown(d.Endpoint), string(d.State), number(d.LifecycleGeneration),
			}, d.Live, d.OwnerToken, at(d.UpdatedAt))
		}),
	},
	{
		name: "peer", scope: []scope{{name: "MESH", phrase: "in mesh"}},
		what: "peers", hint: "a peer appears with peer.update",
		op: subjects.PeerList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.PeerListRequest{Filter: &wire.PeerFilter{MeshName: s[0]}, PageRequest: p}
		},
		head: words("MESH CONNECTS ROLE NODE ENDPOINT WEIGHT DRAINING GENERATION LIVE OWNER LEASE UPDATED"),
		row: rowOf(func(p *wire.PeerItem) []string {
			return owned([]string{
				shown(p.MeshName), string(p.AutoConnectType), string(p.Role), optional(p.NodeRID), shown(p.Endpoint),
				number(p.Weight), yesNo(p.Draining), number(p.Generation),
			}, p.Live, p.OwnerToken, at(p.UpdatedAt))
		}),
	},
	{
		name: "spot", scope: []scope{{name: "MESH", phrase: "in mesh"}},
		what: "rows of spots", hint: "a row appears with spot.update; 'zlink-nats list object userSpot' and 'instanceSpot' show the objects themselves",
		op: subjects.SpotList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.SpotListRequest{Filter: &wire.SpotFilter{MeshName: s[0]}, PageRequest: p}
		},
		head: words("MESH SPOT KIND TYPE NODE GENERATION LIVE OWNER LEASE UPDATED"),
		row: rowOf(func(s *wire.SpotItem) []string {
			return owned([]string{
				shown(s.MeshName), shown(s.SpotID), string(s.SpotKind), shown(s.SpotType), shown(s.OwnerNodeRID), number(s.Generation),
			}, s.Live, s.OwnerToken, at(s.UpdatedAt))
		}),
	},
	{
		name: "actor", scope: []scope{{name: "MESH", phrase: "in mesh"}},
		what: "rows of actors", hint: "a row appears with actor.update; 'zlink-nats list object actor' shows the objects themselves",
		op: subjects.ActorList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.ActorListRequest{Filter: &wire.ActorFilter{MeshName: s[0]}, PageRequest: p}
		},
		head: words("MESH ACTOR TYPE NODE SPOT EPOCH GENERATION LIVE OWNER LEASE UPDATED"),
		row: rowOf(func(a *wire.ActorItem) []string {
			return owned([]string{
				shown(a.MeshName), shown(a.ActorID), shown(a.ActorType), shown(a.OwnerNodeRID), shown(a.SpotID),
				number(a.MembershipEpoch), number(a.Generation),
			}, a.Live, a.OwnerToken, at(a.UpdatedAt))
		}),
	},
	{
		name: "route", scope: []scope{{name: "KIND", phrase: "of kind", values: wire.RouteKind("").Values()}},
		what: "routes", hint: "a route appears with route.update",
		op: subjects.RouteList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.RouteListRequest{Filter: &wire.RouteFilter{RouteKind: wire.RouteKind(s[0])}, PageRequest: p}
		},
		head: words("KIND KEY NODE BYTES GENERATION LIVE OWNER LEASE UPDATED"),
		row: rowOf(func(r *wire.RouteItem) []string {
			return owned([]string{
				string(r.RouteKind), shown(r.RouteKey), shown(r.OwnerNodeRID), strconv.Itoa(len(r.Value)), number(r.Generation),
			}, r.Live, r.OwnerToken, at(r.UpdatedAt))
		}),
	},
	{
		name: "authority", scope: []scope{{name: "PREFIX", phrase: "with keys that begin with"}},
		what: "authorities", hint: "an object's authority appears with object.reserve or object.place, under a key like zla1:a:7:user%3A42",
		op: subjects.AuthorityList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.AuthorityListRequest{Prefix: s[0], Cursor: p.ContinuationToken, Limit: p.PageSize}
		},
		head: words("KEY KIND TYPE STATE PHASE MESH NODE VERSION LIVE OWNER LEASE"),
		row:  rowOf(authorityCells),
		isLive: func(raw json.RawMessage) (bool, error) {
			var item wire.AuthorityItem
			err := understand(raw, &item)
			return item.Snapshot.Live != nil && *item.Snapshot.Live, err
		},
	},
	{
		name: "object", scope: []scope{
			{name: "KIND", phrase: "of kind", needed: true, values: wire.ObjectKind("").Values()},
			{name: "TYPE", phrase: "and type"},
		},
		what: "objects", hint: "an object appears with object.reserve or object.place",
		op: subjects.ObjectList,
		request: func(s []string, p wire.PageRequest) any {
			return &wire.ObjectListRequest{ObjectKind: wire.ObjectKind(s[0]), StableType: s[1], PageRequest: p}
		},
		head: words("ID TYPE STATE MESH NODE GENERATION"),
		row: rowOf(func(e *wire.ObjectEntry) []string {
			return []string{
				shown(e.GlobalID), shown(e.StableType), string(e.State), shown(e.MeshName), shown(e.NodeRID), number(e.ObjectGeneration),
			}
		}),
	},
}

var meshNodeHead = words("NODE ENDPOINT STATE DRAINING ROLE WEIGHT ACTORS SPOTS LIFECYCLE LIVE OWNER LEASE UPDATED")

func meshNodeCells(d *wire.MeshNodeItem) []string {
	p := &d.PopulationCapacity
	return owned([]string{
		shown(d.RID), shown(d.Endpoint), string(d.State), yesNo(isDraining(d.State)), string(d.ObjectRole), number(d.PlacementWeight),
		usage(p.Actors), usage(p.Spots), number(d.LifecycleGeneration),
	}, d.Live, d.OwnerToken, at(d.UpdatedAt))
}

// isDraining tells whether a node gives its objects away, as topology.list has it.
func isDraining(s wire.NodeState) bool {
	return s == wire.StateDraining || s == wire.StateRelocating || s == wire.StateRelocated
}

func authorityCells(i *wire.AuthorityItem) []string {
	s := &i.Snapshot
	a := s.Allocation
	if a == nil {
		a = new(wire.Allocation) // not from this service
	}
	return owned([]string{
		shown(i.Key), string(a.ObjectKind), shown(a.StableType), string(a.State), string(s.Phase),
		shown(a.Descriptor.MeshName), shown(a.Descriptor.RID), shown(s.StoreVersion),
	}, s.Live != nil && *s.Live, wire.OwnerToken{OwnerID: s.OwnerID, LeaseGeneration: s.OwnerLeaseGeneration})
}

// owned ends a row with whose it is.
func owned(cells []string, live bool, token wire.OwnerToken, more ...string) []string {
	return append(append(cells, yesNo(live), shown(token.OwnerID), number(token.LeaseGeneration)), more...)
}

// usage is "active+reserved/limit", of which the last two may be left out.
func usage(u wire.Usage) string {
	text := number(u.Active)
	if u.Reserved > 0 {
		text += "+" + number(u.Reserved)
	}
	if u.Limit > 0 {
		text += "/" + number(u.Limit)
	}
	return text
}

func number[N ~uint32 | ~uint64](n N) string { return fmt.Sprint(uint64(n)) }

func words(text string) []string { return strings.Fields(text) }
