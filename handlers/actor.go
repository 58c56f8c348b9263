package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func actorEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.ActorUpdate, domain.ValidateActorUpdate, domain.UpdateActor),
		write(subjects.ActorRemove, domain.ValidateActorRemove, domain.RemoveActor),
		read(subjects.ActorResolve, domain.ValidateActorResolve, domain.ResolveActor),
		list(subjects.ActorList, domain.ValidateActorList,
			func(req *wire.ActorListRequest) *wire.PageRequest {
				req.Filter = filterOf(req.Filter)
				return &req.PageRequest
			},
			domain.ListActors,
			func(items []wire.ActorItem, p wire.Page) any {
				return &wire.ActorListReply{Items: items, Page: p}
			}),
	}
}
