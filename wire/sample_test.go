package wire_test

import (
	"slices"

	"github.com/zlink/zlink-nats/wire"
)

// sampleDescriptor returns the descriptor of a node with every field set.
func sampleDescriptor(rid wire.RID) wire.MeshNodeDescriptor {
	return wire.MeshNodeDescriptor{
		MeshName:            "play",
		RID:                 rid,
		LifecycleGeneration: 7,
		DescriptorRevision:  1,
		Endpoint:            "tcp://n1.play.example:7000",
		ObjectRole:          wire.RoleServer,
		EntrySpotID:         "lobby",
		PlacementWeight:     100,
		PopulationCapacity: wire.PopulationCapacity{
			Actors: wire.Usage{Limit: 5000, Active: 12, Reserved: 3},
			Spots:  wire.Usage{Limit: 200},
			SpotTypes: []wire.SpotTypeUsage{
				{ObjectKind: wire.SpotUser, StableType: "room", Usage: wire.Usage{Limit: 64, Active: 1}},
				{ObjectKind: wire.SpotInstance, StableType: "chat"},
			},
		},
		ActivationConcurrency: wire.ActivationConcurrency{Active: 2, Limit: 8},
		ChannelWeights:        map[string]uint32{"match": 100, "chat": 5},
		ApplicationVersion:    1<<63 - 1,
		SpotTypes:             []string{"room", "chat"},
		ObjectCapabilities: []wire.ObjectCapability{
			{ObjectKind: wire.ObjectActor, StableType: "hero", Policy: wire.PolicySnapshot, HasSnapshotAdapter: true},
			{ObjectKind: wire.ObjectUserSpot, StableType: "room", Policy: wire.PolicyDisabled, Limit: 64},
		},
		MaintenanceWave:  "w1",
		State:            wire.StateServing,
		SecurityIdentity: "spiffe://play/n1",
		OwnerToken:       wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42},
		Generation:       43,
		UpdatedAt:        1783036800000,
	}
}

// sampleServer returns the descriptor of a server with every field set.
func sampleServer(rid wire.RID) wire.ClientServerDescriptor {
	return wire.ClientServerDescriptor{
		ChannelName: "match", ServerRID: rid, LifecycleGeneration: 7, DescriptorRevision: 1<<63 - 1,
		Endpoint: "tcp://s1.match.example:7000", Weight: 100, State: wire.StateServing, SecurityIdentity: "spiffe://match/s1",
		OwnerToken: wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42}, Generation: 43, UpdatedAt: 1783036800000,
	}
}

// samplePublisher returns the descriptor of a publisher with every field set.
func samplePublisher(rid wire.RID) wire.FanoutPublisherDescriptor {
	return wire.FanoutPublisherDescriptor{
		ChannelName: "news", PublisherRID: rid, LifecycleGeneration: 7, DescriptorRevision: 1,
		Endpoint: "tcp://p1.news.example:7000", State: wire.StateDraining, SecurityIdentity: "spiffe://news/p1",
		OwnerToken: wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42}, Generation: 43, UpdatedAt: 1783036800000,
	}
}

// sample is a message with a name of its own, for tests over all types.
type sample struct {
	name    string
	message any // a pointer to a struct
}

// samples has every message of the protocol that the package knows, in every form.
func samples() []sample {
	const now = wire.Instant(1783036800000)
	token := wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 42}
	node, raw := sampleDescriptor("n1"), sampleDescriptor("\x00\xff")
	least := wire.MeshNodeDescriptor{
		MeshName: "m", RID: "r", LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "e", ObjectRole: wire.RoleNone,
		ActivationConcurrency: wire.ActivationConcurrency{Limit: 1}, State: wire.StateStopped, SecurityIdentity: "s", OwnerToken: token,
		ChannelWeights: map[string]uint32{}, SpotTypes: []string{}, ObjectCapabilities: []wire.ObjectCapability{},
		PopulationCapacity: wire.PopulationCapacity{SpotTypes: []wire.SpotTypeUsage{}},
	}
	server, publisher := sampleServer("s1"), samplePublisher("p1")
	page := wire.Page{ContinuationToken: "t", Revision: 44, StoreNow: now}
	asked := wire.PageRequest{PageSize: 1000, ContinuationToken: "t", LiveOnly: true}
	head := wire.EventHead{Revision: 43, Kind: wire.EventMeshNode, Change: wire.ChangeUpserted, StoreTime: now}
	leaseHead := wire.EventHead{Revision: 43, Kind: wire.EventOwnerLease, Change: wire.ChangeExpired, StoreTime: now}
	serverHead := wire.EventHead{Revision: 43, Kind: wire.EventClientServer, Change: wire.ChangeUpserted, StoreTime: now}
	publisherHead := wire.EventHead{Revision: 43, Kind: wire.EventFanoutPublisher, Change: wire.ChangeRemoved, StoreTime: now}
	return slices.Concat(allObjectSamples(), locationSamples(), transferSamples(), []sample{
		{"mesh-node.descriptor", &node},
		{"mesh-node.descriptor-raw-rid", &raw},
		{"mesh-node.descriptor-least", &least},
		{"lease.claim", &wire.LeaseClaimRequest{OwnerID: "owner-a", TTL: 30000, ClaimID: "c1"}},
		{"lease.claim-least", &wire.LeaseClaimRequest{OwnerID: "owner-a", TTL: 1}},
		{"lease.claim.claimed", &wire.LeaseClaimReply{Kind: wire.KindClaimed, Token: &token, LeaseExpiresAt: now + 30000, StoreNow: now}},
		{"lease.claim.conflict", &wire.LeaseClaimReply{Kind: wire.KindConflict, StoreNow: now}},
		{"lease.claim.exhausted", &wire.LeaseClaimReply{Kind: wire.KindGenerationExhausted}},
		{"lease.read", &wire.LeaseReadRequest{OwnerID: "öwner"}},
		{"lease.read.found", &wire.LeaseReadReply{Kind: wire.KindFound, Token: &token, LeaseExpiresAt: now + 1, StoreNow: now}},
		{"lease.read.missing", &wire.LeaseReadReply{Kind: wire.KindMissing, StoreNow: now}},
		{"lease.renew", &wire.LeaseRenewRequest{Token: token, TTL: 15000}},
		{"lease.renew.renewed", &wire.LeaseRenewReply{Kind: wire.KindRenewed, LeaseExpiresAt: now + 15000, StoreNow: now}},
		{"lease.renew.stale", &wire.LeaseRenewReply{Kind: wire.KindStale}},
		{"lease.release", &wire.LeaseReleaseRequest{Token: token}},
		{"lease.release.released", &wire.LeaseReleaseReply{Kind: wire.KindReleased}},
		{"mesh-node.update", &wire.MeshNodeUpdateRequest{Descriptor: node, Intent: wire.IntentNewClaim}},
		{"mesh-node.update.reply", &wire.UpdateReply{Status: wire.StatusRejectedConflict, UpdatedAt: now}},
		{"mesh-node.remove", &wire.MeshNodeRemoveRequest{MeshName: "play", RID: "n1", Owner: token}},
		{"mesh-node.remove.reply", &wire.RemoveReply{Status: wire.StatusIgnoredStale}},
		{"mesh-node.list", &wire.MeshNodeListRequest{MeshName: "play", PageRequest: asked}},
		{"mesh-node.list-least", &wire.MeshNodeListRequest{MeshName: "play"}},
		{"mesh-node.list.reply", &wire.MeshNodeListReply{
			Items: []wire.MeshNodeItem{{MeshNodeDescriptor: least, RowState: wire.RowState{Live: true, Version: "43"}}}, Page: page,
		}},
		{"client-server.update", &wire.ClientServerUpdateRequest{Descriptor: server, Intent: wire.IntentTakeover}},
		{"client-server.update-least", &wire.ClientServerUpdateRequest{
			Descriptor: wire.ClientServerDescriptor{
				ChannelName: "c", ServerRID: "\x00\xff", LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "e",
				State: wire.StateStopped, SecurityIdentity: "s", OwnerToken: token,
			},
			Intent: wire.IntentRenew,
		}},
		{"client-server.remove", &wire.ClientServerRemoveRequest{ChannelName: "match", ServerRID: "s1", Owner: token}},
		{"client-server.list", &wire.ClientServerListRequest{ChannelName: "match", PageRequest: asked}},
		{"client-server.list-least", &wire.ClientServerListRequest{ChannelName: "match"}},
		{"client-server.list.reply", &wire.ClientServerListReply{
			Items: []wire.ClientServerItem{{ClientServerDescriptor: server, RowState: wire.RowState{Live: true, Version: "43"}}}, Page: page,
		}},
		{"fanout-publisher.update", &wire.FanoutPublisherUpdateRequest{Descriptor: publisher, Intent: wire.IntentNewClaim}},
		{"fanout-publisher.update-least", &wire.FanoutPublisherUpdateRequest{
			Descriptor: wire.FanoutPublisherDescriptor{
				ChannelName: "c", PublisherRID: "\x00\xff", LifecycleGeneration: 1, DescriptorRevision: 1, Endpoint: "e",
				State: wire.StateError, SecurityIdentity: "s", OwnerToken: token,
			},
			Intent: wire.IntentRenew,
		}},
		{"fanout-publisher.remove", &wire.FanoutPublisherRemoveRequest{ChannelName: "news", PublisherRID: "p1", Owner: token}},
		{"fanout-publisher.list", &wire.FanoutPublisherListRequest{ChannelName: "news", PageRequest: asked}},
		{"fanout-publisher.list-least", &wire.FanoutPublisherListRequest{ChannelName: "news"}},
		{"fanout-publisher.list.reply", &wire.FanoutPublisherListReply{
			Items: []wire.FanoutPublisherItem{{FanoutPublisherDescriptor: publisher, RowState: wire.RowState{Version: "43"}}}, Page: page,
		}},
		{"owner.remove-all", &wire.OwnerRemoveAllRequest{Owner: token}},
		{"owner.remove-all.reply", &wire.OwnerRemoveAllReply{Removed: 70000}},
		{"change-stamp.get", &wire.ChangeStampGetRequest{Kind: wire.StampMeshNode, MeshName: "play"}},
		{"change-stamp.get-channel", &wire.ChangeStampGetRequest{Kind: wire.StampClientServer, ChannelName: "match"}},
		{"change-stamp.get.reply", &wire.ChangeStampGetReply{}},
		{"topology.list", &wire.TopologyListRequest{MeshName: "play", NodeRID: "\xff", State: wire.TopologyLost, PageRequest: asked}},
		{"topology.list-least", &wire.TopologyListRequest{}},
		{"topology.list.reply", &wire.TopologyListReply{
			Items: []wire.TopologyNode{{MeshName: "play", NodeRID: "n1", Endpoint: "e", Draining: true, State: wire.TopologyReady, UpdatedAt: now}},
			Page:  page,
		}},
		{"topology.summary", &wire.TopologySummaryRequest{MeshName: "play", PageRequest: asked}},
		{"topology.summary.reply", &wire.TopologySummaryReply{
			Items: []wire.TopologyMesh{{MeshName: "play", TotalCount: 3, ReadyCount: 1, ErrorCount: 1, StoppedCount: 1, LastUpdatedAt: now}},
			Page:  wire.Page{Revision: 44, StoreNow: now},
		}},
		{"store.read", &wire.StoreReadRequest{Key: wire.Bytes("k\x00\xff")}},
		{"store.read.found", &wire.StoreReadReply{Kind: wire.KindFound, Bytes: wire.Bytes{}, Version: "7", ExpiresAt: now + 20, StoreNow: now}},
		{"store.write", &wire.StoreWriteRequest{
			Conditions: []wire.StoreCondition{
				{Kind: wire.ConditionMissing, Key: wire.Bytes("a")}, {Kind: wire.ConditionVersion, Key: wire.Bytes("b"), Expected: "7"},
			},
			Mutations: []wire.StoreMutation{
				{Kind: wire.MutationPut, Key: wire.Bytes("a"), Bytes: wire.Bytes("value"), Retention: 20},
				{Kind: wire.MutationPut, Key: wire.Bytes("c"), Bytes: wire.Bytes{}},
				{Kind: wire.MutationDelete, Key: wire.Bytes("b")},
			},
		}},
		{"store.write.applied", &wire.StoreWriteReply{
			Kind: wire.KindApplied, PutVersions: []wire.PutVersion{{Key: wire.Bytes("a"), Version: "8"}}, StoreNow: now,
		}},
		{"store.scan", &wire.StoreScanRequest{Prefix: wire.Bytes{}, Cursor: "c", Limit: 1000}},
		{"store.scan.page", &wire.StoreScanReply{
			Kind:  wire.KindPage,
			Items: []wire.StoreItem{{Key: wire.Bytes("a"), Bytes: wire.Bytes("v"), Version: "8", ExpiresAt: now}}, NextCursor: "d", StoreNow: now,
		}},
		{"store.scan.expired", &wire.StoreScanReply{Kind: wire.KindExpired}},
		{"status.get", &wire.StatusGetRequest{}},
		{"status.get.reply", &wire.StatusGetReply{
			Version: "v1.0.0", InstanceID: "i", Revision: 44, StoreNow: now, Rows: 9, Leases: 2, LastError: "store: timeout",
			Server: wire.ServerStatus{Name: "s", Version: "2.14.4", Replicas: 3, Consumers: 2}, Pushed: 43,
			Aggregates: wire.AggregateCounts{Collecting: 1, Prepared: 2, Overdue: 3, Settling: 4, Unreadable: 5, OldestDeadline: now, OldestCommit: 7},
		}},
		{"event.mesh-node", &wire.MeshNodeEvent{EventHead: head, MeshName: "play", RID: "n1", Value: &least}},
		{"event.client-server", &wire.ClientServerEvent{EventHead: serverHead, ChannelName: "match", ServerRID: "s1", Value: &server}},
		{"event.fanout-publisher", &wire.FanoutPublisherEvent{EventHead: publisherHead, ChannelName: "news", PublisherRID: "p1"}},
		{"event.fanout-publisher-upserted", &wire.FanoutPublisherEvent{
			EventHead:   wire.EventHead{Revision: 43, Kind: wire.EventFanoutPublisher, Change: wire.ChangeUpserted, StoreTime: now},
			ChannelName: "news", PublisherRID: "p1", Value: &publisher,
		}},
		{"event.owner-lease", &wire.OwnerLeaseEvent{EventHead: leaseHead, OwnerID: "owner-a"}},
		{"event.owner-lease-claimed", &wire.OwnerLeaseEvent{
			EventHead: leaseHead, OwnerID: "owner-a", Value: &wire.OwnerLease{OwnerToken: token, LeaseExpiresAt: now + 5},
		}},
		{"error", &wire.ErrorBody{Error: wire.ErrorDetail{Code: wire.CodeInvalidArgument, Message: "invalid <a>", Field: "a"}}},
	})
}

// probe has an optional field of every type, so that a test can send one alone.
type probe struct {
	Text   *string           `json:"text"`
	Role   *wire.ObjectRole  `json:"role"`
	RID    *wire.RID         `json:"rid"`
	Bytes  wire.Bytes        `json:"bytes,omitzero"`
	U64    *wire.U64         `json:"u64"`
	Count  *uint32           `json:"count"`
	Small  *uint8            `json:"small"`
	At     *wire.Instant     `json:"at"`
	Flag   *bool             `json:"flag"`
	List   []string          `json:"list,omitzero"`
	Map    map[string]uint32 `json:"map,omitzero"`
	Rows   []row             `json:"rows,omitzero"`
	Key    *wire.ObjectKey   `json:"key"`
	Nested *probe            `json:"nested"`
	Name   string            `json:"name,omitzero"`
	Limit  uint32            `json:"limit,omitzero"`
	Router wire.RID          `json:"router,omitzero"`
	Plain  bool              `json:"plain,omitzero"`
}

// row has required fields, and one that the service stamps.
type row struct {
	ID    string   `json:"id"`
	Tags  []string `json:"tags"`
	Count uint32   `json:"count"`
	Stamp uint32   `json:"stamp" wire:"stamped"`
}
