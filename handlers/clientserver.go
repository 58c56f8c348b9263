package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func clientServerEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.ClientServerUpdate, domain.ValidateClientServerUpdate, domain.UpdateClientServer),
		write(subjects.ClientServerRemove, domain.ValidateClientServerRemove, domain.RemoveClientServer),
		list(subjects.ClientServerList, domain.ValidateClientServerList,
			func(req *wire.ClientServerListRequest) *wire.PageRequest { return &req.PageRequest },
			domain.ListClientServers,
			func(items []wire.ClientServerItem, p wire.Page) any {
				return &wire.ClientServerListReply{Items: items, Page: p}
			}),
	}
}
