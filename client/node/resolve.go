package node

import (
	"context"

	"github.com/zlink/zlink-nats/client/peers"
	"github.com/zlink/zlink-nats/wire"
)

// ResolveSpot looks up the row of a spot, live or not. Without a live one there is an event too.
func (r *Runtime) ResolveSpot(ctx context.Context, request wire.SpotResolveRequest) (*wire.SpotResolveReply, error) {
	reply, err := r.o.Client.Spots.Resolve(ctx, request)
	r.looked(SpotKey(request.MeshName, request.SpotID), err, err == nil && reply.Spot != nil && reply.Spot.Live)
	return reply, err
}

// ResolveActor is [Runtime.ResolveSpot] for the row of an actor.
func (r *Runtime) ResolveActor(ctx context.Context, request wire.ActorResolveRequest) (*wire.ActorResolveReply, error) {
	reply, err := r.o.Client.Actors.Resolve(ctx, request)
	r.looked(ActorKey(request.MeshName, request.ActorID), err, err == nil && reply.Actor != nil && reply.Actor.Live)
	return reply, err
}

// ResolveRoute is [Runtime.ResolveSpot] for a route.
func (r *Runtime) ResolveRoute(ctx context.Context, request wire.RouteResolveRequest) (*wire.RouteResolveReply, error) {
	reply, err := r.o.Client.Routes.Resolve(ctx, request)
	r.looked(RouteKey(request.RouteKind, request.RouteKey), err, err == nil && reply.Route != nil && reply.Route.Live)
	return reply, err
}

// looked records the outcome of looking up a row.
func (r *Runtime) looked(key Key, err error, live bool) {
	r.asked(OpRead, err)
	if err == nil && !live {
		r.events.tell(Event{Kind: rowEvents[key.Kind].miss, Key: key})
	}
}

// Observe records the outcome of a request that the host has made without the runtime, for [Runtime.Status] and the metrics; nil is
// any answer.
func (r *Runtime) Observe(op Operation, err error) { r.asked(op, err) }

// DesiredSetChanged tells the host's handler of events that other peers are to be connected to, in the order of the other events:
// it is for OnChange of [peers.Options]. Without an endpoint there is no event.
func (r *Runtime) DesiredSetChanged(s peers.DesiredSetChanged) {
	if len(s.ConnectedEndpoints)+len(s.DisconnectedEndpoints) > 0 {
		r.events.tell(Event{Kind: EventDesiredSetChanged, Desired: &s})
	}
}
