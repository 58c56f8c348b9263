package domain_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/wire"
)

var anyToken = wire.OwnerToken{OwnerID: "owner-a", LeaseGeneration: 1}

func checkServer(m member) error {
	return domain.ValidateClientServerUpdate(&wire.ClientServerUpdateRequest{Descriptor: m.server(), Intent: wire.IntentRenew})
}

func checkPublisher(m member) error {
	return domain.ValidateFanoutPublisherUpdate(&wire.FanoutPublisherUpdateRequest{Descriptor: m.publisher(), Intent: wire.IntentRenew})
}

func TestMemberFields(t *testing.T) { // 1.6
	t.Parallel()
	long := strings.Repeat("x", 1025)
	for name, tt := range map[string]struct {
		edit  func(*member)
		field string // within the descriptor, where "rid" has the name of its family; empty when it is allowed
	}{
		"as it is":                    {func(*member) {}, ""},
		"empty channel name":          {func(m *member) { m.Channel = "" }, "channelName"},
		"NUL in a channel name":       {func(m *member) { m.Channel = "a\x00" }, "channelName"},
		"longest channel name":        {func(m *member) { m.Channel = long[:255] }, ""},
		"channel name too long":       {func(m *member) { m.Channel = long[:256] }, "channelName"},
		"RID of any bytes":            {func(m *member) { m.RID = "\x00\xff" }, ""},
		"empty RID":                   {func(m *member) { m.RID = "" }, "rid"},
		"longest RID":                 {func(m *member) { m.RID = wire.RID(long[:255]) }, ""},
		"RID too long":                {func(m *member) { m.RID = wire.RID(long[:256]) }, "rid"},
		"lifecycle 0":                 {func(m *member) { m.Lifecycle = 0 }, "lifecycleGeneration"},
		"greatest lifecycle":          {func(m *member) { m.Lifecycle = math.MaxInt64 }, ""},
		"lifecycle above 63 bits":     {func(m *member) { m.Lifecycle = math.MaxInt64 + 1 }, "lifecycleGeneration"},
		"revision 0":                  {func(m *member) { m.Revision = 0 }, "descriptorRevision"},
		"greatest revision":           {func(m *member) { m.Revision = math.MaxInt64 }, ""},
		"revision above 63 bits":      {func(m *member) { m.Revision = math.MaxInt64 + 1 }, "descriptorRevision"},
		"empty endpoint":              {func(m *member) { m.Endpoint = "" }, "endpoint"},
		"longest endpoint":            {func(m *member) { m.Endpoint = long[1:] }, ""},
		"endpoint too long":           {func(m *member) { m.Endpoint = long }, "endpoint"},
		"NUL in an endpoint":          {func(m *member) { m.Endpoint = "tcp://\x00" }, "endpoint"},
		"no state":                    {func(m *member) { m.State = "" }, "state"},
		"state of no node":            {func(m *member) { m.State = "sleeping" }, "state"},
		"empty security identity":     {func(m *member) { m.Identity = "" }, "securityIdentity"},
		"longest security identity":   {func(m *member) { m.Identity = long[1:] }, ""},
		"security identity too long":  {func(m *member) { m.Identity = long }, "securityIdentity"},
		"empty owner":                 {func(m *member) { m.OwnerID = "" }, "ownerId"},
		"lease generation 0":          {func(m *member) { m.LeaseGeneration = 0 }, "leaseGeneration"},
		"stamped fields are not read": {func(m *member) { m.Generation, m.UpdatedAt = math.MaxUint64, -1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memberOf("n1", anyToken, tt.edit)
			field := func(rid string) string {
				switch tt.field {
				case "":
					return ""
				case "rid":
					return "descriptor." + rid
				}
				return "descriptor." + tt.field
			}
			wantInvalid(t, checkServer(m), field("serverRid"))
			wantInvalid(t, checkPublisher(m), field("publisherRid"))
		})
	}
}

func TestServerWeight(t *testing.T) { // 1.6
	t.Parallel()
	for weight, field := range map[uint32]string{0: "", 10_000: "", 10_001: "descriptor.weight"} {
		m := memberOf("n1", anyToken, func(m *member) { m.Weight = weight })
		wantInvalid(t, checkServer(m), field)
		wantInvalid(t, checkPublisher(m), "") // it has none
	}
}

func TestMemberRequests(t *testing.T) { // 1.6
	t.Parallel()
	server, publisher := memberOf("n1", anyToken).server(), memberOf("n1", anyToken).publisher()
	wantInvalid(t, domain.ValidateClientServerUpdate(&wire.ClientServerUpdateRequest{Descriptor: server}), "intent")
	wantInvalid(t, domain.ValidateFanoutPublisherUpdate(&wire.FanoutPublisherUpdateRequest{Descriptor: publisher}), "intent")
	for channel, ok := range identifiers {
		field := "channelName"
		if ok {
			field = ""
		}
		wantInvalid(t, domain.ValidateClientServerRemove(&wire.ClientServerRemoveRequest{ChannelName: channel, ServerRID: "r", Owner: anyToken}), field)
		wantInvalid(t, domain.ValidateFanoutPublisherRemove(&wire.FanoutPublisherRemoveRequest{ChannelName: channel, PublisherRID: "r", Owner: anyToken}), field)
		wantInvalid(t, domain.ValidateClientServerList(&wire.ClientServerListRequest{ChannelName: channel}), field)
		wantInvalid(t, domain.ValidateFanoutPublisherList(&wire.FanoutPublisherListRequest{ChannelName: channel}), field)
	}
	wantInvalid(t, domain.ValidateClientServerRemove(&wire.ClientServerRemoveRequest{ChannelName: "c", Owner: anyToken}), "serverRid")
	wantInvalid(t, domain.ValidateFanoutPublisherRemove(&wire.FanoutPublisherRemoveRequest{ChannelName: "c", Owner: anyToken}), "publisherRid")
	wantInvalid(t, domain.ValidateClientServerRemove(&wire.ClientServerRemoveRequest{ChannelName: "c", ServerRID: "r"}), "owner.ownerId")
	wantInvalid(t, domain.ValidateFanoutPublisherRemove(&wire.FanoutPublisherRemoveRequest{ChannelName: "c", PublisherRID: "r"}), "owner.ownerId")
	tooGreat := wire.PageRequest{PageSize: 1001}
	wantInvalid(t, domain.ValidateClientServerList(&wire.ClientServerListRequest{ChannelName: "c", PageRequest: tooGreat}), "pageSize")
	wantInvalid(t, domain.ValidateFanoutPublisherList(&wire.FanoutPublisherListRequest{ChannelName: "c", PageRequest: tooGreat}), "pageSize")
}

// TestLargestMemberIsFarBelowTheLimit: so the limit of an encoded descriptor needs no
// check. 1.6
func TestLargestMemberIsFarBelowTheLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1024)
	m := memberOf(wire.RID(strings.Repeat("\xff", 255)), wire.OwnerToken{OwnerID: long[:255], LeaseGeneration: math.MaxInt64}, func(m *member) {
		m.Channel, m.Endpoint, m.Identity, m.State, m.Weight = long[:255], long, long, wire.StateRelocating, 10_000
		m.Lifecycle, m.Revision, m.Generation, m.UpdatedAt = math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64
	})
	wantInvalid(t, checkServer(m), "")
	server := m.server()
	b, err := domain.EncodeRecord(&server)
	if err != nil || len(b) > 4096 {
		t.Errorf("%d bytes, error %v, want a few thousand", len(b), err)
	}
}

// TestContentOfMembers goes through every field of the descriptors, whatever fields
// there are: which are content, and which of them a renewal may change. 3.1
func TestContentOfMembers(t *testing.T) {
	t.Parallel()
	mutable := map[string]bool{"DescriptorRevision": true, "Weight": true, "State": true}
	stamped := map[string]bool{"Generation": true, "UpdatedAt": true}
	check := func(family, path string, same, renewable bool) {
		if want := stamped[path]; same != want {
			t.Errorf("%s with another %s: same content is %t, want %t", family, path, same, want)
		}
		if want := stamped[path] || mutable[path]; renewable != want {
			t.Errorf("%s with another %s: renewable is %t, want %t", family, path, renewable, want)
		}
	}
	fields := 0
	server, publisher := memberOf("n1", anyToken).server(), memberOf("n1", anyToken).publisher()
	changed, changedPublisher := server, publisher
	walkLeaves(reflect.ValueOf(&changed).Elem(), "", "", func(path, _ string) {
		fields++
		check("server", path, domain.SameClientServer(&server, &changed), domain.RenewableClientServer(&server, &changed))
	})
	walkLeaves(reflect.ValueOf(&changedPublisher).Elem(), "", "", func(path, _ string) {
		fields++
		check("publisher", path, domain.SameFanoutPublisher(&publisher, &changedPublisher),
			domain.RenewableFanoutPublisher(&publisher, &changedPublisher))
	})
	want(t, fields, 12+11)
	want(t, changed, server) // nothing above was changed in place
	want(t, changedPublisher, publisher)
}
