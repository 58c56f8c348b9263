package subjects

import (
	"slices"
	"strings"
)

// Operation names a request of the service as "<group>.<verb>".
type Operation string

// The operations of the protocol, group by group.
const (
	LeaseClaim   Operation = "lease.claim"
	LeaseRead    Operation = "lease.read"
	LeaseRenew   Operation = "lease.renew"
	LeaseRelease Operation = "lease.release"

	MeshNodeUpdate Operation = "mesh-node.update"
	MeshNodeRemove Operation = "mesh-node.remove"
	MeshNodeList   Operation = "mesh-node.list"

	ClientServerUpdate Operation = "client-server.update"
	ClientServerRemove Operation = "client-server.remove"
	ClientServerList   Operation = "client-server.list"

	FanoutPublisherUpdate Operation = "fanout-publisher.update"
	FanoutPublisherRemove Operation = "fanout-publisher.remove"
	FanoutPublisherList   Operation = "fanout-publisher.list"

	PeerUpdate Operation = "peer.update"
	PeerRemove Operation = "peer.remove"
	PeerList   Operation = "peer.list"

	SpotUpdate  Operation = "spot.update"
	SpotRemove  Operation = "spot.remove"
	SpotResolve Operation = "spot.resolve"
	SpotList    Operation = "spot.list"

	ActorUpdate  Operation = "actor.update"
	ActorRemove  Operation = "actor.remove"
	ActorResolve Operation = "actor.resolve"
	ActorList    Operation = "actor.list"

	RouteUpdate  Operation = "route.update"
	RouteRemove  Operation = "route.remove"
	RouteResolve Operation = "route.resolve"
	RouteList    Operation = "route.list"

	AuthorityRead            Operation = "authority.read"
	AuthorityList            Operation = "authority.list"
	AuthorityCompareExchange Operation = "authority.compare-exchange"

	ObjectReserve          Operation = "object.reserve"
	ObjectCommit           Operation = "object.commit"
	ObjectAbort            Operation = "object.abort"
	ObjectCompleteCreation Operation = "object.complete-creation"
	ObjectReadTerminal     Operation = "object.read-terminal"
	ObjectFind             Operation = "object.find"
	ObjectList             Operation = "object.list"
	ObjectAwait            Operation = "object.await"
	ObjectPlace            Operation = "object.place"
	ObjectReleaseEnded     Operation = "object.release-ended"

	AggregateStage   Operation = "aggregate.stage"
	AggregatePrepare Operation = "aggregate.prepare"
	AggregateCommit  Operation = "aggregate.commit"
	AggregateAbort   Operation = "aggregate.abort"
	AggregateFind    Operation = "aggregate.find"

	ActorTransferPrepare  Operation = "actor-transfer.prepare"
	ActorTransferCommit   Operation = "actor-transfer.commit"
	ActorTransferActivate Operation = "actor-transfer.activate"
	ActorTransferAbort    Operation = "actor-transfer.abort"
	ActorTransferTakeOver Operation = "actor-transfer.take-over"
	ActorTransferResolve  Operation = "actor-transfer.resolve"

	OwnerRemoveAll  Operation = "owner.remove-all"
	ChangeStampGet  Operation = "change-stamp.get"
	TopologyList    Operation = "topology.list"
	TopologySummary Operation = "topology.summary"
	PlacementSelect Operation = "placement.select"
	StoreRead       Operation = "store.read"
	StoreWrite      Operation = "store.write"
	StoreScan       Operation = "store.scan"
	StatusGet       Operation = "status.get"
)

var operations = []Operation{
	LeaseClaim, LeaseRead, LeaseRenew, LeaseRelease,
	MeshNodeUpdate, MeshNodeRemove, MeshNodeList,
	ClientServerUpdate, ClientServerRemove, ClientServerList,
	FanoutPublisherUpdate, FanoutPublisherRemove, FanoutPublisherList,
	PeerUpdate, PeerRemove, PeerList,
	SpotUpdate, SpotRemove, SpotResolve, SpotList,
	ActorUpdate, ActorRemove, ActorResolve, ActorList,
	RouteUpdate, RouteRemove, RouteResolve, RouteList,
	AuthorityRead, AuthorityList, AuthorityCompareExchange,
	ObjectReserve, ObjectCommit, ObjectAbort, ObjectCompleteCreation, ObjectReadTerminal,
	ObjectFind, ObjectList, ObjectAwait, ObjectPlace, ObjectReleaseEnded,
	AggregateStage, AggregatePrepare, AggregateCommit, AggregateAbort, AggregateFind,
	ActorTransferPrepare, ActorTransferCommit, ActorTransferActivate,
	ActorTransferAbort, ActorTransferTakeOver, ActorTransferResolve,
	OwnerRemoveAll, ChangeStampGet, TopologyList, TopologySummary, PlacementSelect,
	StoreRead, StoreWrite, StoreScan, StatusGet,
}

// Operations returns every operation of the protocol, group by group. The caller owns the slice.
func Operations() []Operation { return slices.Clone(operations) }

// Group returns the part before the dot: "lease" of "lease.claim".
func (o Operation) Group() string {
	group, _, _ := strings.Cut(string(o), ".")
	return group
}

// Verb returns the part after the dot: "claim" of "lease.claim".
func (o Operation) Verb() string {
	_, verb, _ := strings.Cut(string(o), ".")
	return verb
}
