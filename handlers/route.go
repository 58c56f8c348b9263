package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func routeEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.RouteUpdate, domain.ValidateRouteUpdate, domain.UpdateRoute),
		write(subjects.RouteRemove, domain.ValidateRouteRemove, domain.RemoveRoute),
		read(subjects.RouteResolve, domain.ValidateRouteResolve, domain.ResolveRoute),
		list(subjects.RouteList, domain.ValidateRouteList,
			func(req *wire.RouteListRequest) *wire.PageRequest {
				req.Filter = filterOf(req.Filter)
				return &req.PageRequest
			},
			domain.ListRoutes,
			func(items []wire.RouteItem, p wire.Page) any {
				return &wire.RouteListReply{Items: items, Page: p}
			}),
	}
}
