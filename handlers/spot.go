package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func spotEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.SpotUpdate, domain.ValidateSpotUpdate, domain.UpdateSpot),
		write(subjects.SpotRemove, domain.ValidateSpotRemove, domain.RemoveSpot),
		read(subjects.SpotResolve, domain.ValidateSpotResolve, domain.ResolveSpot),
		list(subjects.SpotList, domain.ValidateSpotList,
			func(req *wire.SpotListRequest) *wire.PageRequest {
				req.Filter = filterOf(req.Filter)
				return &req.PageRequest
			},
			domain.ListSpots,
			func(items []wire.SpotItem, p wire.Page) any {
				return &wire.SpotListReply{Items: items, Page: p}
			}),
	}
}
