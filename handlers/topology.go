package handlers

import (
	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

func topologyEndpoints() []*endpoint {
	return []*endpoint{
		list(subjects.TopologyList, domain.ValidateTopologyList,
			func(req *wire.TopologyListRequest) *wire.PageRequest { return &req.PageRequest },
			domain.ListTopology,
			func(items []wire.TopologyNode, p wire.Page) any {
				return &wire.TopologyListReply{Items: items, Page: p}
			}),
		list(subjects.TopologySummary, domain.ValidateTopologySummary,
			func(req *wire.TopologySummaryRequest) *wire.PageRequest { return &req.PageRequest },
			domain.SummarizeTopology,
			func(items []wire.TopologyMesh, p wire.Page) any {
				return &wire.TopologySummaryReply{Items: items, Page: p}
			}),
	}
}
