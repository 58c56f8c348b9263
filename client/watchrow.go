package client

import (
	"context"
	"iter"
	"strconv"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// SpotKey names the row of a spot.
type SpotKey struct{ MeshName, SpotID string }

// ActorKey names the row of an actor.
type ActorKey struct{ MeshName, ActorID string }

// RouteKey names a route.
type RouteKey struct {
	RouteKind wire.RouteKind
	RouteKey  string
}

// rows is what a family of rows with owners has to say for a watch.
type rows[Key comparable, Row any] struct {
	op    subjects.Operation
	state func(*Row) *wire.RowState
	key   func(*Row) Key
	// event reads an event: its key, and the row if it holds one.
	event func(any) (Key, *Row)
	// match tells whether the watch is about a row, and about a key without one; nil is always.
	match func(Key, *Row) bool
}

// watchRows watches the rows of a family whose changes have the subject.
func watchRows[Reply, Request any, K comparable, Row any](
	ctx context.Context, c *Client, subject string, request *Request, p *wire.PageRequest, items func(*Reply) ([]Row, string), r rows[K, Row],
) iter.Seq2[Event[K, Row], error] {
	liveOnly := p.LiveOnly
	return watch(ctx, c, source[K, Row]{
		filters: []string{subject},
		list:    listOf(r.op, request, &p.ContinuationToken, items),
		listed: func(row *Row) Event[K, Row] {
			return Event[K, Row]{Key: r.key(row), Row: row, Live: r.state(row).Live}
		},
		changed: func(change *Change) (Event[K, Row], bool, error) {
			e, wanted := r.changed(change, liveOnly)
			return e, wanted, nil
		},
	})
}

// changed makes the event of a change. A row that is written has a live owner, and its revision is its version.
func (r *rows[Key, Row]) changed(change *Change, liveOnly bool) (e Event[Key, Row], wanted bool) {
	e.Key, e.Row = r.event(change.Event)
	wanted = true
	if r.match != nil {
		wanted = r.match(e.Key, e.Row)
	}
	switch {
	case e.Row != nil && wanted:
		e.Type, e.Live = EventUpserted, true
		*r.state(e.Row) = wire.RowState{Live: true, Version: wire.Version(strconv.FormatUint(uint64(change.Revision), 10))}
	case e.Row != nil, change.Type != wire.ChangeExpired, liveOnly:
		// A row that does not match may have matched before.
		wanted = wanted || e.Row != nil
		e.Type, e.Row = EventRemoved, nil
	default:
		e.Type = EventExpired
	}
	return e, wanted
}

// Watch lists the nodes of a mesh and then tells their changes, across reconnects and whatever else happens, until ctx ends or the
// receiver breaks off. An error ends it: that of ctx, or one that trying on does not mend. The usage in a descriptor
// (active and reserved) is only shown by listed rows: it changes without an event. It needs [Options.JetStream].
func (g MeshNodes) Watch(ctx context.Context, request wire.MeshNodeListRequest) iter.Seq2[Event[wire.RID, wire.MeshNodeItem], error] {
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangeMeshNode, request.MeshName, ""), &request, &request.PageRequest,
		func(r *wire.MeshNodeListReply) ([]wire.MeshNodeItem, string) { return r.Items, r.ContinuationToken },
		rows[wire.RID, wire.MeshNodeItem]{
			op:    subjects.MeshNodeList,
			state: func(n *wire.MeshNodeItem) *wire.RowState { return &n.RowState },
			key:   func(n *wire.MeshNodeItem) wire.RID { return n.RID },
			event: func(event any) (wire.RID, *wire.MeshNodeItem) {
				e := event.(*wire.MeshNodeEvent)
				if e.Value == nil {
					return e.RID, nil
				}
				return e.RID, &wire.MeshNodeItem{MeshNodeDescriptor: *e.Value}
			},
		})
}

// Watch lists the servers of a channel and then tells their changes; see [MeshNodes.Watch].
func (g ClientServers) Watch(ctx context.Context, request wire.ClientServerListRequest) iter.Seq2[Event[wire.RID, wire.ClientServerItem], error] {
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangeClientServer, request.ChannelName, ""), &request, &request.PageRequest,
		func(r *wire.ClientServerListReply) ([]wire.ClientServerItem, string) {
			return r.Items, r.ContinuationToken
		},
		rows[wire.RID, wire.ClientServerItem]{
			op:    subjects.ClientServerList,
			state: func(s *wire.ClientServerItem) *wire.RowState { return &s.RowState },
			key:   func(s *wire.ClientServerItem) wire.RID { return s.ServerRID },
			event: func(event any) (wire.RID, *wire.ClientServerItem) {
				e := event.(*wire.ClientServerEvent)
				if e.Value == nil {
					return e.ServerRID, nil
				}
				return e.ServerRID, &wire.ClientServerItem{ClientServerDescriptor: *e.Value}
			},
		})
}

// Watch lists the publishers of a channel and then tells their changes; see [MeshNodes.Watch].
func (g FanoutPublishers) Watch(ctx context.Context, request wire.FanoutPublisherListRequest) iter.Seq2[Event[wire.RID, wire.FanoutPublisherItem], error] {
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangeFanoutPublisher, request.ChannelName, ""), &request, &request.PageRequest,
		func(r *wire.FanoutPublisherListReply) ([]wire.FanoutPublisherItem, string) {
			return r.Items, r.ContinuationToken
		},
		rows[wire.RID, wire.FanoutPublisherItem]{
			op:    subjects.FanoutPublisherList,
			state: func(p *wire.FanoutPublisherItem) *wire.RowState { return &p.RowState },
			key:   func(p *wire.FanoutPublisherItem) wire.RID { return p.PublisherRID },
			event: func(event any) (wire.RID, *wire.FanoutPublisherItem) {
				e := event.(*wire.FanoutPublisherEvent)
				if e.Value == nil {
					return e.PublisherRID, nil
				}
				return e.PublisherRID, &wire.FanoutPublisherItem{FanoutPublisherDescriptor: *e.Value}
			},
		})
}

// Watch lists the peers of a filter and then tells their changes; see [MeshNodes.Watch].
func (g Peers) Watch(ctx context.Context, request wire.PeerListRequest) iter.Seq2[Event[wire.PeerKey, wire.PeerItem], error] {
	var f wire.PeerFilter
	if request.Filter != nil {
		f = *request.Filter
	}
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangePeer, f.MeshName, string(f.NodeRID)), &request, &request.PageRequest,
		func(r *wire.PeerListReply) ([]wire.PeerItem, string) { return r.Items, r.ContinuationToken },
		rows[wire.PeerKey, wire.PeerItem]{
			op:    subjects.PeerList,
			state: func(p *wire.PeerItem) *wire.RowState { return &p.RowState },
			key: func(p *wire.PeerItem) wire.PeerKey {
				k := wire.PeerKey{AutoConnectType: p.AutoConnectType, MeshName: p.MeshName, Role: p.Role, NodeRID: p.NodeRID}
				if k.NodeRID == "" {
					k.Endpoint = p.Endpoint
				}
				return k
			},
			event: func(event any) (wire.PeerKey, *wire.PeerItem) {
				e := event.(*wire.PeerEvent)
				if e.Value == nil {
					return e.PeerKey, nil
				}
				return e.PeerKey, &wire.PeerItem{Peer: *e.Value}
			},
			match: func(k wire.PeerKey, p *wire.PeerItem) bool {
				return allows(f.AutoConnectType, k.AutoConnectType) && allows(f.MeshName, k.MeshName) && allows(f.Role, k.Role) &&
					allows(f.NodeRID, k.NodeRID) && (p == nil || allows(f.Endpoint, p.Endpoint))
			},
		})
}

// Watch lists the spots of a filter and then tells their changes; see [MeshNodes.Watch].
func (g Spots) Watch(ctx context.Context, request wire.SpotListRequest) iter.Seq2[Event[SpotKey, wire.SpotItem], error] {
	var f wire.SpotFilter
	if request.Filter != nil {
		f = *request.Filter
	}
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangeSpot, f.MeshName, ""), &request, &request.PageRequest,
		func(r *wire.SpotListReply) ([]wire.SpotItem, string) { return r.Items, r.ContinuationToken },
		rows[SpotKey, wire.SpotItem]{
			op:    subjects.SpotList,
			state: func(s *wire.SpotItem) *wire.RowState { return &s.RowState },
			key:   func(s *wire.SpotItem) SpotKey { return SpotKey{s.MeshName, s.SpotID} },
			event: func(event any) (SpotKey, *wire.SpotItem) {
				e := event.(*wire.SpotEvent)
				if e.Value == nil {
					return SpotKey{e.MeshName, e.SpotID}, nil
				}
				return SpotKey{e.MeshName, e.SpotID}, &wire.SpotItem{Spot: *e.Value}
			},
			match: func(_ SpotKey, s *wire.SpotItem) bool {
				return s == nil || allows(f.SpotType, s.SpotType) && allows(f.NodeRID, s.OwnerNodeRID) && allows(f.SpotKind, s.SpotKind)
			},
		})
}

// Watch lists the actors of a filter and then tells their changes; see [MeshNodes.Watch].
func (g Actors) Watch(ctx context.Context, request wire.ActorListRequest) iter.Seq2[Event[ActorKey, wire.ActorItem], error] {
	var f wire.ActorFilter
	if request.Filter != nil {
		f = *request.Filter
	}
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangeActor, f.MeshName, ""), &request, &request.PageRequest,
		func(r *wire.ActorListReply) ([]wire.ActorItem, string) { return r.Items, r.ContinuationToken },
		rows[ActorKey, wire.ActorItem]{
			op:    subjects.ActorList,
			state: func(a *wire.ActorItem) *wire.RowState { return &a.RowState },
			key:   func(a *wire.ActorItem) ActorKey { return ActorKey{a.MeshName, a.ActorID} },
			event: func(event any) (ActorKey, *wire.ActorItem) {
				e := event.(*wire.ActorEvent)
				if e.Value == nil {
					return ActorKey{e.MeshName, e.ActorID}, nil
				}
				return ActorKey{e.MeshName, e.ActorID}, &wire.ActorItem{Actor: *e.Value}
			},
			match: func(_ ActorKey, a *wire.ActorItem) bool {
				return a == nil || allows(f.ActorType, a.ActorType) && allows(f.NodeRID, a.OwnerNodeRID) &&
					allows(f.SpotID, a.SpotID) && allows(f.SpotKind, a.SpotKind)
			},
		})
}

// Watch lists the routes of a filter and then tells their changes; see [MeshNodes.Watch].
func (g Routes) Watch(ctx context.Context, request wire.RouteListRequest) iter.Seq2[Event[RouteKey, wire.RouteItem], error] {
	var f wire.RouteFilter
	if request.Filter != nil {
		f = *request.Filter
	}
	return watchRows(ctx, g.c, g.c.prefix.ChangesWildcard(subjects.ChangeRoute, string(f.RouteKind), ""), &request, &request.PageRequest,
		func(r *wire.RouteListReply) ([]wire.RouteItem, string) { return r.Items, r.ContinuationToken },
		rows[RouteKey, wire.RouteItem]{
			op:    subjects.RouteList,
			state: func(r *wire.RouteItem) *wire.RowState { return &r.RowState },
			key:   func(r *wire.RouteItem) RouteKey { return RouteKey{r.RouteKind, r.RouteKey} },
			event: func(event any) (RouteKey, *wire.RouteItem) {
				e := event.(*wire.RouteEvent)
				if e.Value == nil {
					return RouteKey{e.RouteKind, e.RouteKey}, nil
				}
				return RouteKey{e.RouteKind, e.RouteKey}, &wire.RouteItem{Route: *e.Value}
			},
			match: func(_ RouteKey, r *wire.RouteItem) bool {
				return r == nil || allows(f.OwnerNodeRID, r.OwnerNodeRID) && allows(f.OwnerID, r.OwnerID)
			},
		})
}

// allows tells whether a field of a filter, which the zero value leaves out, lets a value pass.
func allows[T comparable](wanted, value T) bool {
	var any T
	return wanted == any || wanted == value
}
