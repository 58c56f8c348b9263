package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func fanoutPublisherEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.FanoutPublisherUpdate, domain.ValidateFanoutPublisherUpdate, domain.UpdateFanoutPublisher),
		write(subjects.FanoutPublisherRemove, domain.ValidateFanoutPublisherRemove, domain.RemoveFanoutPublisher),
		list(subjects.FanoutPublisherList, domain.ValidateFanoutPublisherList,
			func(req *wire.FanoutPublisherListRequest) *wire.PageRequest { return &req.PageRequest },
			domain.ListFanoutPublishers,
			func(items []wire.FanoutPublisherItem, p wire.Page) any {
				return &wire.FanoutPublisherListReply{Items: items, Page: p}
			}),
	}
}
