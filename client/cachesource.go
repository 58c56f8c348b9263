package client

import (
	"context"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// cached is what a cache has to know of its answers.
type cached[Key, Value any] struct {
	subject func(Key) string // of the changes
	read    func(context.Context, *Client, Key) (*answer[Value], error)
}

// answer is one that can be kept.
type answer[Value any] struct {
	value    *Value
	revision wire.Revision
	useful   bool     // the caller can do with it what it wants
	depends  []string // subjects of other changes that end it
	began    time.Time
}

// NewObjectCache returns a cache of authorities: where an object is, under which generations and whose. The payload is left out.
// Errors: options that break their rules, a client whose connection is no [*nats.Conn], those of subscribing.
func NewObjectCache(c *Client, o CacheOptions) (*Cache[wire.ObjectKey, wire.Authority], error) {
	return newCache(c, o, cached[wire.ObjectKey, wire.Authority]{
		subject: func(key wire.ObjectKey) string {
			scope := wire.LookupActor
			if key.IsSpot() {
				scope = wire.LookupSpot
			}
			return c.prefix.Change(subjects.ChangeAuthority, string(scope), key.GlobalID)
		},
		read: func(ctx context.Context, c *Client, key wire.ObjectKey) (*answer[wire.Authority], error) {
			request := wire.AuthorityReadRequest{Key: key}
			v, revision, err := callAt[wire.Authority](ctx, c, subjects.AuthorityRead, operations[subjects.AuthorityRead], &request)
			if err != nil {
				return nil, err
			}
			v.Payload = nil
			a := &answer[wire.Authority]{value: v, revision: revision}
			if v.Kind == wire.KindSnapshot && v.Allocation != nil {
				at := v.Allocation.Descriptor
				a.useful = v.Live != nil && *v.Live && v.Allocation.State == wire.AllocationActive
				a.depends = []string{
					c.prefix.Change(subjects.ChangeOwnerLease, subjects.OwnerScope, v.OwnerID),
					c.prefix.Change(subjects.ChangeMeshNode, at.MeshName, string(at.RID)),
				}
			}
			return a, nil
		},
	})
}

// NewRouteCache returns a cache of routes. Errors: those of [NewObjectCache].
func NewRouteCache(c *Client, o CacheOptions) (*Cache[RouteKey, wire.RouteResolveReply], error) {
	return newCache(c, o, cached[RouteKey, wire.RouteResolveReply]{
		subject: func(key RouteKey) string {
			return c.prefix.Change(subjects.ChangeRoute, string(key.RouteKind), key.RouteKey)
		},
		read: func(ctx context.Context, c *Client, key RouteKey) (*answer[wire.RouteResolveReply], error) {
			request := wire.RouteResolveRequest(key)
			v, revision, err := callAt[wire.RouteResolveReply](ctx, c, subjects.RouteResolve, operations[subjects.RouteResolve], &request)
			if err != nil {
				return nil, err
			}
			a := &answer[wire.RouteResolveReply]{value: v, revision: revision}
			if v.Route != nil {
				a.useful = v.Route.Live
				a.depends = []string{c.prefix.Change(subjects.ChangeOwnerLease, subjects.OwnerScope, v.Route.OwnerID)}
			}
			return a, nil
		},
	})
}
