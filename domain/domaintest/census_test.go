package domaintest_test

import (
	"fmt"
	"slices"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// census is everything that a view shows, as lists and reads show it.
type census struct {
	revision kvstore.Revision
	now      kvstore.Instant
	leases   map[string]wire.OwnerToken // the live ones
	objects  []wire.AuthorityItem
	nodes    []wire.MeshNodeItem
	rows     map[kvstore.Key]ownedRow // of all families that carry a token, nodes included
	// transfers are the active ones by their actors.
	transfers map[string]*wire.ActorTransferRecord
	moving    map[string]wire.DescriptorKey // where objects go that aggregates hold room for, by their keys
}

// ownedRow is what the rows that carry a token have in common.
type ownedRow struct {
	token      wire.OwnerToken
	generation wire.Generation
	wire.RowState
}

// lister makes lists of a view, and keeps the rows that carry a token and the first
// error.
type lister struct {
	view kvstore.View
	rows map[kvstore.Key]ownedRow
	err  error
}

// listed are all items of a list.
func listed[Q, I any](l *lister, of list[Q, I], req *Q) []I {
	items, err := of.whole(l.view, req, domain.MaxPageItems)
	if l.err == nil {
		l.err = err
	}
	return items
}

// add adds rows that carry a token.
func add[Q, I any](l *lister, of list[Q, I], req *Q, row func(*I) (kvstore.Key, ownedRow)) []I {
	items := listed(l, of, req)
	for i := range items {
		k, r := row(&items[i])
		l.rows[k] = r
	}
	return items
}

// count takes the census of a view.
func count(v kvstore.View) (census, error) {
	l := &lister{view: v, rows: make(map[kvstore.Key]ownedRow)}
	s := census{revision: v.Revision(), now: v.Now(), leases: make(map[string]wire.OwnerToken), rows: l.rows}
	for _, owner := range owners {
		r, err := domain.ReadLease(v, &wire.LeaseReadRequest{OwnerID: owner})
		if err != nil {
			return s, err
		}
		if r.Kind == wire.KindFound {
			s.leases[owner] = *r.Token
		}
	}
	if err := s.countTransfers(v); err != nil {
		return s, err
	}
	s.objects = listed(l, domain.ListAuthorities, &wire.AuthorityListRequest{Limit: 1000})
	for _, mesh := range meshes {
		s.nodes = append(s.nodes, add(l, domain.ListMeshNodes, &wire.MeshNodeListRequest{MeshName: mesh},
			func(i *wire.MeshNodeItem) (kvstore.Key, ownedRow) {
				return domain.MeshNodeKey(i.MeshName, i.RID), ownedRow{i.OwnerToken, i.Generation, i.RowState}
			})...)
	}
	l.addChannels()
	l.addLocations()
	if l.err == nil {
		s.moving, l.err = movingIn(v)
	}
	return s, l.err
}

// stagedRow is what a staged participant's row holds.
type stagedRow struct {
	AuthorityKey         string               `json:"authorityKey"`
	ExpectedStoreVersion wire.Version         `json:"expectedStoreVersion"`
	OwnerTransition      wire.OwnerTransition `json:"ownerTransition"`
	AuthorityPayload     wire.Bytes           `json:"authorityPayload"`
	MembershipMutation   wire.Bytes           `json:"membershipMutation"`
	Membership           *wire.Membership     `json:"membership,omitzero"`
}

// movingIn finds the objects that move with aggregates that are prepared. 8.4
func movingIn(v kvstore.View) (map[string]wire.DescriptorKey, error) {
	all := make(map[string]wire.DescriptorKey)
	for r := range v.Scan(kvstore.Prefix(domain.FamilyParticipant), "") {
		var staged stagedRow
		if err := wire.Unmarshal(wire.CBOR, r.Value[2:], &staged); err != nil {
			return nil, err
		}
		k, err := wire.ParseObjectKey(staged.AuthorityKey)
		if err != nil {
			return nil, err
		}
		found, err := domain.FindAggregate(v, &wire.AggregateFindRequest{Key: k})
		if err != nil {
			return nil, err
		}
		if a := found.Aggregate; a != nil && a.State == wire.AggregatePrepared && staged.OwnerTransition == wire.OwnerNew &&
			r.Key.HasPrefix(kvstore.Prefix(domain.FamilyParticipant, a.Fence.AggregateID, fmt.Sprint(a.Fence.AggregateGeneration))) {
			all[staged.AuthorityKey] = a.TargetDescriptor
		}
	}
	return all, nil
}

func (l *lister) addChannels() {
	for _, channel := range channels {
		add(l, domain.ListClientServers, &wire.ClientServerListRequest{ChannelName: channel},
			func(i *wire.ClientServerItem) (kvstore.Key, ownedRow) {
				return domain.ClientServerKey(i.ChannelName, i.ServerRID), ownedRow{i.OwnerToken, i.Generation, i.RowState}
			})
		add(l, domain.ListFanoutPublishers, &wire.FanoutPublisherListRequest{ChannelName: channel},
			func(i *wire.FanoutPublisherItem) (kvstore.Key, ownedRow) {
				return domain.FanoutPublisherKey(i.ChannelName, i.PublisherRID), ownedRow{i.OwnerToken, i.Generation, i.RowState}
			})
	}
}

func (l *lister) addLocations() {
	add(l, domain.ListPeers, &wire.PeerListRequest{}, func(i *wire.PeerItem) (kvstore.Key, ownedRow) {
		k := wire.PeerKey{AutoConnectType: i.AutoConnectType, MeshName: i.MeshName, Role: i.Role, NodeRID: i.NodeRID, Endpoint: i.Endpoint}
		return domain.PeerKey(k), ownedRow{i.OwnerToken, i.Generation, i.RowState}
	})
	add(l, domain.ListSpots, &wire.SpotListRequest{}, func(i *wire.SpotItem) (kvstore.Key, ownedRow) {
		return domain.SpotKey(i.MeshName, i.SpotID), ownedRow{i.OwnerToken, i.Generation, i.RowState}
	})
	add(l, domain.ListActors, &wire.ActorListRequest{}, func(i *wire.ActorItem) (kvstore.Key, ownedRow) {
		return domain.ActorKey(i.MeshName, i.ActorID), ownedRow{i.OwnerToken, i.Generation, i.RowState}
	})
	add(l, domain.ListRoutes, &wire.RouteListRequest{}, func(i *wire.RouteItem) (kvstore.Key, ownedRow) {
		return domain.RouteKey(i.RouteKind, i.RouteKey), ownedRow{i.OwnerToken, i.Generation, i.RowState}
	})
}

// object is the record of a key; nil when there is none.
func (s *census) object(key string) *wire.Authority {
	i := slices.IndexFunc(s.objects, func(i wire.AuthorityItem) bool { return i.Key == key })
	if i < 0 {
		return nil
	}
	return &s.objects[i].Snapshot
}

// node is a descriptor; nil when there is none.
func (s *census) node(k wire.DescriptorKey) *wire.MeshNodeItem {
	i := slices.IndexFunc(s.nodes, func(n wire.MeshNodeItem) bool { return n.MeshName == k.MeshName && n.RID == k.RID })
	if i < 0 {
		return nil
	}
	return &s.nodes[i]
}

// use is what of something is in use at a node.
type use struct{ active, reserved uint32 }

// what is counted at nodes: actors, spots, or a type of spots.
const (
	countedActors = "actors"
	countedSpots  = "spots"
)

func countedType(kind wire.SpotObjectKind, stableType string) string {
	return string(kind) + " " + stableType
}

// taken adds up what objects take of a node, and what those that are to move there will.
func (s *census) taken(k wire.DescriptorKey) map[string]use {
	sums := make(map[string]use)
	for i := range s.objects {
		a := s.objects[i].Snapshot.Allocation
		here := a.Descriptor == k
		if to, ok := s.moving[s.objects[i].Key]; !here && (!ok || to != k) {
			continue
		}
		plus := func(what string, n uint32) {
			u := sums[what]
			if here && a.State == wire.AllocationActive {
				u.active += n
			} else {
				u.reserved += n
			}
			sums[what] = u
		}
		plus(countedActors, a.Capacity.Actors)
		plus(countedSpots, a.Capacity.Spots)
		if t := a.Capacity.SpotType; t != nil {
			plus(countedType(t.ObjectKind, t.StableType), t.Count)
		}
	}
	return sums
}

// limited is a count that a descriptor has a limit for, and shows.
type limited struct {
	what  string
	shown wire.Usage
}

func countsOf(n *wire.MeshNodeItem) []limited {
	p := &n.PopulationCapacity
	all := []limited{{countedActors, p.Actors}, {countedSpots, p.Spots}}
	for _, t := range p.SpotTypes {
		all = append(all, limited{countedType(t.ObjectKind, t.StableType), t.Usage})
	}
	return all
}
