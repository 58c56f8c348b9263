package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func meshNodeEndpoints() []*endpoint {
	return []*endpoint{
		write(subjects.MeshNodeUpdate, domain.ValidateMeshNodeUpdate, domain.UpdateMeshNode),
		write(subjects.MeshNodeRemove, domain.ValidateMeshNodeRemove, domain.RemoveMeshNode),
		list(subjects.MeshNodeList, domain.ValidateMeshNodeList,
			func(req *wire.MeshNodeListRequest) *wire.PageRequest { return &req.PageRequest },
			domain.ListMeshNodes,
			func(items []wire.MeshNodeItem, p wire.Page) any {
				return &wire.MeshNodeListReply{Items: items, Page: p}
			}),
	}
}
