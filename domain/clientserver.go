package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// clientServers are the rules of client-server descriptors.
var clientServers = descriptorFamily[wire.ClientServerDescriptor]{
	ownedRecords: ownedRecords[wire.ClientServerDescriptor]{
		key: clientServerKey, facts: clientServerFacts, stamped: stampedClientServer,
	},
	same: sameClientServer, renewable: renewableClientServer,
}

func clientServerKey(d *wire.ClientServerDescriptor) kvstore.Key {
	return ClientServerKey(d.ChannelName, d.ServerRID)
}

func clientServerFacts(d *wire.ClientServerDescriptor) facts {
	return facts{
		token: d.OwnerToken, lifecycle: d.LifecycleGeneration, revision: d.DescriptorRevision,
		generation: d.Generation, updatedAt: d.UpdatedAt,
	}
}

// stampedClientServer is what the service stores of a descriptor that was sent.
func stampedClientServer(sent *wire.ClientServerDescriptor, g wire.Generation, updatedAt wire.Instant) *wire.ClientServerDescriptor {
	d := *sent
	d.Generation, d.UpdatedAt = g, updatedAt
	return &d
}

// sameClientServer compares contents: everything but the stamps.
func sameClientServer(a, b *wire.ClientServerDescriptor) bool {
	return *stampedClientServer(a, 0, 0) == *stampedClientServer(b, 0, 0)
}

// renewableClientServer compares what a renewal must not change: everything but the
// revision, the weight and the state.
func renewableClientServer(stored, sent *wire.ClientServerDescriptor) bool {
	d := *sent
	d.DescriptorRevision, d.Weight, d.State = stored.DescriptorRevision, stored.Weight, stored.State
	return sameClientServer(stored, &d)
}

// UpdateClientServer stores a client-server descriptor, as its intent and the row
// allow.
//
// Reads: the writer's lease, the row, the lease of the row's owner. Writes: the row.
// Errors: *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted among
// them.
func UpdateClientServer(tx *kvstore.Tx, req *wire.ClientServerUpdateRequest) (*wire.UpdateReply, error) {
	return clientServers.update(tx, &req.Descriptor, req.Intent)
}

// RemoveClientServer removes a descriptor if it carries the token of the request,
// which need not be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemoveClientServer(tx *kvstore.Tx, req *wire.ClientServerRemoveRequest) (*wire.RemoveReply, error) {
	return clientServers.remove(tx, ClientServerKey(req.ChannelName, req.ServerRID), req.Owner)
}

// ListClientServers lists the descriptors of a channel that come after a row, in
// byte order of their routing ids. It returns the key to go on after, empty at the
// end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListClientServers(v kvstore.View, req *wire.ClientServerListRequest, after kvstore.Key, p Page) ([]wire.ClientServerItem, kvstore.Key, error) {
	return listOwned(v, &clientServers.ownedRecords, ownedList[wire.ClientServerDescriptor, wire.ClientServerItem]{
		rows: v.Scan(kvstore.Prefix(FamilyClientServer, req.ChannelName), after), liveOnly: req.LiveOnly,
		item: func(d *wire.ClientServerDescriptor, s wire.RowState) *wire.ClientServerItem {
			return &wire.ClientServerItem{ClientServerDescriptor: *d, RowState: s}
		},
	}, p)
}

func clientServerEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	d, err := clientServers.decodeAny(r)
	return &wire.ClientServerEvent{EventHead: head, ChannelName: k.scope, ServerRID: wire.RID(k.id), Value: d}, err
}

// ValidateClientServerUpdate checks a request of client-server.update. No descriptor
// whose fields are valid is too large when encoded.
func ValidateClientServerUpdate(req *wire.ClientServerUpdateRequest) error {
	var c checks
	c.within("descriptor", checkClientServer(&req.Descriptor))
	c.intent(req.Intent)
	return c.err
}

func checkClientServer(d *wire.ClientServerDescriptor) error {
	var c checks
	c.identifier("channelName", d.ChannelName)
	c.rid("serverRid", d.ServerRID)
	c.generation("lifecycleGeneration", uint64(d.LifecycleGeneration))
	c.generation("descriptorRevision", uint64(d.DescriptorRevision))
	c.endpoint("endpoint", d.Endpoint)
	c.uint("weight", d.Weight, 0, maxWeight)
	c.nodeState("state", d.State)
	c.endpoint("securityIdentity", d.SecurityIdentity)
	c.within("", checkToken(d.OwnerToken))
	return c.err
}

// ValidateClientServerRemove checks a request of client-server.remove.
func ValidateClientServerRemove(req *wire.ClientServerRemoveRequest) error {
	var c checks
	c.identifier("channelName", req.ChannelName)
	c.rid("serverRid", req.ServerRID)
	c.token("owner", req.Owner)
	return c.err
}

// ValidateClientServerList checks a request of client-server.list.
func ValidateClientServerList(req *wire.ClientServerListRequest) error {
	var c checks
	c.identifier("channelName", req.ChannelName)
	c.page(&req.PageRequest)
	return c.err
}
