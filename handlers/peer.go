package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func peerEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.PeerUpdate, domain.ValidatePeerUpdate, domain.UpdatePeer),
		write(subjects.PeerRemove, domain.ValidatePeerRemove, domain.RemovePeer),
		list(subjects.PeerList, domain.ValidatePeerList,
			func(req *wire.PeerListRequest) *wire.PageRequest {
				req.Filter = filterOf(req.Filter)
				return &req.PageRequest
			},
			domain.ListPeers,
			func(items []wire.PeerItem, p wire.Page) any {
				return &wire.PeerListReply{Items: items, Page: p}
			}),
	}
}
