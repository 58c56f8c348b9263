package domain

import (
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// fanoutPublishers are the rules of fanout-publisher descriptors.
var fanoutPublishers = descriptorFamily[wire.FanoutPublisherDescriptor]{
	ownedRecords: ownedRecords[wire.FanoutPublisherDescriptor]{
		key: fanoutPublisherKey, facts: fanoutPublisherFacts, stamped: stampedFanoutPublisher,
	},
	same: sameFanoutPublisher, renewable: renewableFanoutPublisher,
}

func fanoutPublisherKey(d *wire.FanoutPublisherDescriptor) kvstore.Key {
	return FanoutPublisherKey(d.ChannelName, d.PublisherRID)
}

func fanoutPublisherFacts(d *wire.FanoutPublisherDescriptor) facts {
	return facts{
		token: d.OwnerToken, lifecycle: d.LifecycleGeneration, revision: d.DescriptorRevision,
		generation: d.Generation, updatedAt: d.UpdatedAt,
	}
}

// stampedFanoutPublisher is what the service stores of a descriptor that was sent.
func stampedFanoutPublisher(sent *wire.FanoutPublisherDescriptor, g wire.Generation, updatedAt wire.Instant) *wire.FanoutPublisherDescriptor {
	d := *sent
	d.Generation, d.UpdatedAt = g, updatedAt
	return &d
}

// sameFanoutPublisher compares contents: everything but the stamps.
func sameFanoutPublisher(a, b *wire.FanoutPublisherDescriptor) bool {
	return *stampedFanoutPublisher(a, 0, 0) == *stampedFanoutPublisher(b, 0, 0)
}

// renewableFanoutPublisher compares what a renewal must not change: everything but
// the revision and the state.
func renewableFanoutPublisher(stored, sent *wire.FanoutPublisherDescriptor) bool {
	d := *sent
	d.DescriptorRevision, d.State = stored.DescriptorRevision, stored.State
	return sameFanoutPublisher(stored, &d)
}

// UpdateFanoutPublisher stores a fanout-publisher descriptor, as its intent and the
// row allow.
//
// Reads: the writer's lease, the row, the lease of the row's owner. Writes: the row.
// Errors: *kvstore.DataLostError and those of tx.Put, kvstore.ErrExhausted among
// them.
func UpdateFanoutPublisher(tx *kvstore.Tx, req *wire.FanoutPublisherUpdateRequest) (*wire.UpdateReply, error) {
	return fanoutPublishers.update(tx, &req.Descriptor, req.Intent)
}

// RemoveFanoutPublisher removes a descriptor if it carries the token of the request,
// which need not be live.
//
// Reads and writes: the row. Answers stored or ignoredStale. Errors:
// *kvstore.DataLostError and those of tx.Delete.
func RemoveFanoutPublisher(tx *kvstore.Tx, req *wire.FanoutPublisherRemoveRequest) (*wire.RemoveReply, error) {
	return fanoutPublishers.remove(tx, FanoutPublisherKey(req.ChannelName, req.PublisherRID), req.Owner)
}

// ListFanoutPublishers lists the descriptors of a channel that come after a row, in
// byte order of their routing ids. It returns the key to go on after, empty at the
// end.
//
// Reads: the rows and the leases of their owners. Errors: *kvstore.DataLostError.
func ListFanoutPublishers(v kvstore.View, req *wire.FanoutPublisherListRequest, after kvstore.Key, p Page) ([]wire.FanoutPublisherItem, kvstore.Key, error) {
	return listOwned(v, &fanoutPublishers.ownedRecords, ownedList[wire.FanoutPublisherDescriptor, wire.FanoutPublisherItem]{
		rows: v.Scan(kvstore.Prefix(FamilyFanoutPublisher, req.ChannelName), after), liveOnly: req.LiveOnly,
		item: func(d *wire.FanoutPublisherDescriptor, s wire.RowState) *wire.FanoutPublisherItem {
			return &wire.FanoutPublisherItem{FanoutPublisherDescriptor: *d, RowState: s}
		},
	}, p)
}

func fanoutPublisherEvent(head wire.EventHead, k ownedKey, r *kvstore.Row) (any, error) {
	d, err := fanoutPublishers.decodeAny(r)
	return &wire.FanoutPublisherEvent{EventHead: head, ChannelName: k.scope, PublisherRID: wire.RID(k.id), Value: d}, err
}

// ValidateFanoutPublisherUpdate checks a request of fanout-publisher.update. No
// descriptor whose fields are valid is too large when encoded.
func ValidateFanoutPublisherUpdate(req *wire.FanoutPublisherUpdateRequest) error {
	var c checks
	c.within("descriptor", checkFanoutPublisher(&req.Descriptor))
	c.intent(req.Intent)
	return c.err
}

func checkFanoutPublisher(d *wire.FanoutPublisherDescriptor) error {
	var c checks
	c.identifier("channelName", d.ChannelName)
	c.rid("publisherRid", d.PublisherRID)
	c.generation("lifecycleGeneration", uint64(d.LifecycleGeneration))
	c.generation("descriptorRevision", uint64(d.DescriptorRevision))
	c.endpoint("endpoint", d.Endpoint)
	c.nodeState("state", d.State)
	c.endpoint("securityIdentity", d.SecurityIdentity)
	c.within("", checkToken(d.OwnerToken))
	return c.err
}

// ValidateFanoutPublisherRemove checks a request of fanout-publisher.remove.
func ValidateFanoutPublisherRemove(req *wire.FanoutPublisherRemoveRequest) error {
	var c checks
	c.identifier("channelName", req.ChannelName)
	c.rid("publisherRid", req.PublisherRID)
	c.token("owner", req.Owner)
	return c.err
}

// ValidateFanoutPublisherList checks a request of fanout-publisher.list.
func ValidateFanoutPublisherList(req *wire.FanoutPublisherListRequest) error {
	var c checks
	c.identifier("channelName", req.ChannelName)
	c.page(&req.PageRequest)
	return c.err
}
