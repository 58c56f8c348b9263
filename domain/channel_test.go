package domain_test

import (
	"slices"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// member is a descriptor of a channel, of a client server or a fanout publisher.
type member struct {
	Channel   string
	RID       wire.RID
	Lifecycle wire.Generation
	Revision  wire.Revision
	Endpoint  string
	Weight    uint32 // of client servers
	State     wire.NodeState
	Identity  string
	wire.OwnerToken
	Generation wire.Generation
	UpdatedAt  wire.Instant
}

// memberOf is the descriptor of a member of the channel "match".
func memberOf(rid wire.RID, token wire.OwnerToken, edits ...func(*member)) member {
	m := member{
		Channel: "match", RID: rid, Lifecycle: 7, Revision: 1, Endpoint: "tcp://" + string(rid) + ":7000",
		Weight: 100, State: wire.StateServing, Identity: "s", OwnerToken: token,
	}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func (m member) server() wire.ClientServerDescriptor {
	return wire.ClientServerDescriptor{
		ChannelName: m.Channel, ServerRID: m.RID, LifecycleGeneration: m.Lifecycle, DescriptorRevision: m.Revision,
		Endpoint: m.Endpoint, Weight: m.Weight, State: m.State, SecurityIdentity: m.Identity,
		OwnerToken: m.OwnerToken, Generation: m.Generation, UpdatedAt: m.UpdatedAt,
	}
}

func (m member) publisher() wire.FanoutPublisherDescriptor {
	return wire.FanoutPublisherDescriptor{
		ChannelName: m.Channel, PublisherRID: m.RID, LifecycleGeneration: m.Lifecycle, DescriptorRevision: m.Revision,
		Endpoint: m.Endpoint, State: m.State, SecurityIdentity: m.Identity,
		OwnerToken: m.OwnerToken, Generation: m.Generation, UpdatedAt: m.UpdatedAt,
	}
}

// channelFamily is a family of channel descriptors, so that a test is written once
// for both. Requests that it sends have been validated.
type channelFamily struct {
	key    func(channel string, rid wire.RID) kvstore.Key
	stamp  wire.StampKind
	put    func(*world, wire.Intent, member) (*wire.UpdateReply, error)
	remove func(*world, string, wire.RID, wire.OwnerToken) (*wire.RemoveReply, error)
	// list returns a channel page by page, the descriptors as they are on the wire.
	list  func(*world, string, wire.PageRequest, uint32) [][]channelItem
	page  func(v kvstore.View, channel string, after kvstore.Key) error
	body  func(member) any // its descriptor, as list and event values show it
	event func(wire.EventHead, string, wire.RID, *member) any
}

// channelItem is a listed descriptor.
type channelItem struct {
	Body any
	RID  wire.RID
	wire.RowState
}

var channelFamilies = map[string]*channelFamily{
	"client-server": {
		key: domain.ClientServerKey, stamp: wire.StampClientServer,
		put: func(w *world, intent wire.Intent, m member) (*wire.UpdateReply, error) {
			req := &wire.ClientServerUpdateRequest{Descriptor: m.server(), Intent: intent}
			if err := domain.ValidateClientServerUpdate(req); err != nil {
				w.t.Fatal(err)
			}
			return try(w, domain.UpdateClientServer, req)
		},
		remove: func(w *world, channel string, rid wire.RID, owner wire.OwnerToken) (*wire.RemoveReply, error) {
			return try(w, domain.RemoveClientServer, &wire.ClientServerRemoveRequest{ChannelName: channel, ServerRID: rid, Owner: owner})
		},
		list: func(w *world, channel string, p wire.PageRequest, size uint32) (all [][]channelItem) {
			for _, page := range pages(w, domain.ListClientServers, &wire.ClientServerListRequest{ChannelName: channel, PageRequest: p}, size) {
				var items []channelItem
				for _, i := range page {
					items = append(items, channelItem{i.ClientServerDescriptor, i.ServerRID, i.RowState})
				}
				all = append(all, items)
			}
			return all
		},
		page: func(v kvstore.View, channel string, after kvstore.Key) error {
			_, _, err := domain.ListClientServers(v, &wire.ClientServerListRequest{ChannelName: channel}, after, domain.Page{})
			return err
		},
		body: func(m member) any { return m.server() },
		event: func(head wire.EventHead, channel string, rid wire.RID, m *member) any {
			head.Kind = wire.EventClientServer
			e := &wire.ClientServerEvent{EventHead: head, ChannelName: channel, ServerRID: rid}
			if m != nil {
				d := m.server()
				e.Value = &d
			}
			return e
		},
	},
	"fanout-publisher": {
		key: domain.FanoutPublisherKey, stamp: wire.StampFanoutPublisher,
		put: func(w *world, intent wire.Intent, m member) (*wire.UpdateReply, error) {
			req := &wire.FanoutPublisherUpdateRequest{Descriptor: m.publisher(), Intent: intent}
			if err := domain.ValidateFanoutPublisherUpdate(req); err != nil {
				w.t.Fatal(err)
			}
			return try(w, domain.UpdateFanoutPublisher, req)
		},
		remove: func(w *world, channel string, rid wire.RID, owner wire.OwnerToken) (*wire.RemoveReply, error) {
			return try(w, domain.RemoveFanoutPublisher, &wire.FanoutPublisherRemoveRequest{ChannelName: channel, PublisherRID: rid, Owner: owner})
		},
		list: func(w *world, channel string, p wire.PageRequest, size uint32) (all [][]channelItem) {
			for _, page := range pages(w, domain.ListFanoutPublishers, &wire.FanoutPublisherListRequest{ChannelName: channel, PageRequest: p}, size) {
				var items []channelItem
				for _, i := range page {
					items = append(items, channelItem{i.FanoutPublisherDescriptor, i.PublisherRID, i.RowState})
				}
				all = append(all, items)
			}
			return all
		},
		page: func(v kvstore.View, channel string, after kvstore.Key) error {
			_, _, err := domain.ListFanoutPublishers(v, &wire.FanoutPublisherListRequest{ChannelName: channel}, after, domain.Page{})
			return err
		},
		body: func(m member) any { return m.publisher() },
		event: func(head wire.EventHead, channel string, rid wire.RID, m *member) any {
			head.Kind = wire.EventFanoutPublisher
			e := &wire.FanoutPublisherEvent{EventHead: head, ChannelName: channel, PublisherRID: rid}
			if m != nil {
				d := m.publisher()
				e.Value = &d
			}
			return e
		},
	},
}

// channelWorld is a world with one family of channel descriptors in it.
type channelWorld struct {
	*world
	f *channelFamily
}

// eachChannelFamily runs a test for either family, in a world of its own.
func eachChannelFamily(t *testing.T, test func(*testing.T, channelWorld)) {
	t.Helper()
	for name, f := range channelFamilies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, channelWorld{newWorld(t), f})
		})
	}
}

// stored puts a descriptor and returns its generation.
func (w channelWorld) stored(intent wire.Intent, m member) wire.Generation {
	w.t.Helper()
	r, err := w.f.put(w.world, intent, m)
	if err != nil || r.Status != wire.StatusStored || r.UpdatedAt != wire.Instant(w.clock.Now()) {
		w.t.Fatalf("%s of %q: %+v, %v, want stored", intent, m.RID, r, err)
	}
	return r.Generation
}

// repeated puts a descriptor that is stored already and requires that it stays as
// it is, whatever the intent.
func (w channelWorld) repeated(m member, g wire.Generation, updatedAt wire.Instant) {
	w.t.Helper()
	for _, intent := range []wire.Intent{wire.IntentNewClaim, wire.IntentRenew, wire.IntentTakeover} {
		w.quiet(func() {
			w.t.Helper()
			r, err := w.f.put(w.world, intent, m)
			want(w.t, err, nil)
			want(w.t, r, &wire.UpdateReply{Status: wire.StatusStored, Generation: g, UpdatedAt: updatedAt})
		})
	}
}

// refused puts a descriptor and requires that it is refused without a trace.
func (w channelWorld) refused(status wire.UpdateStatus, intent wire.Intent, m member) {
	w.t.Helper()
	w.quiet(func() {
		w.t.Helper()
		r, err := w.f.put(w.world, intent, m)
		want(w.t, err, nil)
		want(w.t, r, &wire.UpdateReply{Status: status, UpdatedAt: wire.Instant(w.clock.Now())})
	})
}

func (w channelWorld) removed(channel string, rid wire.RID, owner wire.OwnerToken) wire.UpdateStatus {
	w.t.Helper()
	r, err := w.f.remove(w.world, channel, rid, owner)
	want(w.t, err, nil)
	return r.Status
}

// listed returns all descriptors of the channel "match".
func (w channelWorld) listed() []channelItem {
	w.t.Helper()
	return slices.Concat(w.f.list(w.world, "match", wire.PageRequest{}, 1000)...)
}

// stampOf is the stamp of a channel, or of the whole kind when it has no name.
func (w channelWorld) stampOf(channel string) wire.Revision {
	w.t.Helper()
	return read(w.world, domain.GetChangeStamp, &wire.ChangeStampGetRequest{Kind: w.f.stamp, ChannelName: channel}).Stamp
}

// changed is an event of a member of a channel, at t0 plus some milliseconds.
func (w channelWorld) changed(rev wire.Revision, change wire.ChangeType, ms wire.Instant, channel string, rid wire.RID, value *member) domain.Event {
	kind := wire.EventKind(w.f.key("", "").Split(2)[0])
	return domain.Event{
		Revision: kvstore.Revision(rev), Kind: kind, Scope: channel, ID: string(rid), Change: change,
		Value: w.f.event(wire.EventHead{Revision: rev, Change: change, StoreTime: t0 + ms}, channel, rid, value),
	}
}
