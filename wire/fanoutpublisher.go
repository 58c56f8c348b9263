package wire

// FanoutPublisherDescriptor describes a publisher of a channel. The publisher writes it, under its owner's lease.
type FanoutPublisherDescriptor struct {
	ChannelName         string     `json:"channelName"`         // identifier; with PublisherRID the identity
	PublisherRID        RID        `json:"publisherRid"`        // the publisher's routing id within the channel
	LifecycleGeneration Generation `json:"lifecycleGeneration"` // 1..2^63-1, of the publisher's process
	DescriptorRevision  Revision   `json:"descriptorRevision"`  // 1..2^63-1, rises with every change
	Endpoint            string     `json:"endpoint"`            // 1..1024 bytes
	State               NodeState  `json:"state"`               // where it stands
	SecurityIdentity    string     `json:"securityIdentity"`    // 1..1024 bytes
	OwnerToken                     // whose descriptor it is
	Generation          Generation `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt           Instant    `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// FanoutPublisherUpdateRequest is the request of fanout-publisher.update; the reply is an [UpdateReply].
type FanoutPublisherUpdateRequest struct {
	Descriptor FanoutPublisherDescriptor `json:"descriptor"` // what to store
	Intent     Intent                    `json:"intent"`     // what the writer takes the row for
}

// FanoutPublisherRemoveRequest is the request of fanout-publisher.remove; the reply is a [RemoveReply].
type FanoutPublisherRemoveRequest struct {
	ChannelName  string     `json:"channelName"`  // identifier
	PublisherRID RID        `json:"publisherRid"` // the publisher
	Owner        OwnerToken `json:"owner"`        // the token that the descriptor must have; it need not be live
}

// FanoutPublisherListRequest is the request of fanout-publisher.list.
type FanoutPublisherListRequest struct {
	ChannelName string `json:"channelName"` // identifier
	PageRequest
}

// FanoutPublisherItem is a descriptor as it is listed.
type FanoutPublisherItem struct {
	FanoutPublisherDescriptor
	RowState
}

// FanoutPublisherListReply is the reply of fanout-publisher.list, in ascending byte order of the RIDs.
type FanoutPublisherListReply struct {
	Items []FanoutPublisherItem `json:"items"` // descriptors of the channel
	Page
}

// FanoutPublisherEvent is an event of the kind fanout-publisher.
type FanoutPublisherEvent struct {
	EventHead
	ChannelName  string                     `json:"channelName"`    // the channel
	PublisherRID RID                        `json:"publisherRid"`   // the publisher within it
	Value        *FanoutPublisherDescriptor `json:"value,omitzero"` // upserted: the row
}
