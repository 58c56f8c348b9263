package wire

// ClientServerDescriptor describes a server of a channel. The server writes it, under its owner's lease.
type ClientServerDescriptor struct {
	ChannelName         string     `json:"channelName"`         // identifier; with ServerRID the identity
	ServerRID           RID        `json:"serverRid"`           // the server's routing id within the channel
	LifecycleGeneration Generation `json:"lifecycleGeneration"` // 1..2^63-1, of the server's process
	DescriptorRevision  Revision   `json:"descriptorRevision"`  // 1..2^63-1, rises with every change
	Endpoint            string     `json:"endpoint"`            // 1..1024 bytes
	Weight              uint32     `json:"weight"`              // 0..10,000; 0 gets no new clients
	State               NodeState  `json:"state"`               // where it stands
	SecurityIdentity    string     `json:"securityIdentity"`    // 1..1024 bytes
	OwnerToken                     // whose descriptor it is
	Generation          Generation `json:"generation" wire:"stamped"` // of the row: its last newClaim or takeover
	UpdatedAt           Instant    `json:"updatedAt" wire:"stamped"`  // the store's time when it was stored
}

// ClientServerUpdateRequest is the request of client-server.update; the reply is an [UpdateReply].
type ClientServerUpdateRequest struct {
	Descriptor ClientServerDescriptor `json:"descriptor"` // what to store
	Intent     Intent                 `json:"intent"`     // what the writer takes the row for
}

// ClientServerRemoveRequest is the request of client-server.remove; the reply is a [RemoveReply].
type ClientServerRemoveRequest struct {
	ChannelName string     `json:"channelName"` // identifier
	ServerRID   RID        `json:"serverRid"`   // the server
	Owner       OwnerToken `json:"owner"`       // the token that the descriptor must have; it need not be live
}

// ClientServerListRequest is the request of client-server.list.
type ClientServerListRequest struct {
	ChannelName string `json:"channelName"` // identifier
	PageRequest
}

// ClientServerItem is a descriptor as it is listed.
type ClientServerItem struct {
	ClientServerDescriptor
	RowState
}

// ClientServerListReply is the reply of client-server.list, in ascending byte order of the RIDs.
type ClientServerListReply struct {
	Items []ClientServerItem `json:"items"` // descriptors of the channel
	Page
}

// ClientServerEvent is an event of the kind client-server.
type ClientServerEvent struct {
	EventHead
	ChannelName string                  `json:"channelName"`    // the channel
	ServerRID   RID                     `json:"serverRid"`      // the server within it
	Value       *ClientServerDescriptor `json:"value,omitzero"` // upserted: the row
}
