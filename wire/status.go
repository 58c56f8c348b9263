package wire

// StatusGetRequest is the request of status.get.
type StatusGetRequest struct{}

// StatusGetReply is the reply of status.get: how the instance that answers sees the world.
type StatusGetReply struct {
	Version      string       `json:"version"`            // of the program
	InstanceID   string       `json:"instanceId"`         // of the instance that answers
	Revision     Revision     `json:"revision"`           // that it has seen
	StoreNow     Instant      `json:"storeNow"`           // the store's time
	Rows         uint32       `json:"rows"`               // stored rows of the service, without opaque ones
	Leases       uint32       `json:"leases"`             // live leases
	StoreHealthy bool         `json:"storeHealthy"`       // the last dealing with the store succeeded, at most 10,000 ms ago
	LastError    string       `json:"lastError,omitzero"` // the last failure since it was last healthy
	Server       ServerStatus `json:"server"`             // the NATS server it is connected to
	// Pushed is the revision up to which all changes are pushed; how far it is behind Revision is the lag of the feed.
	Pushed     Revision        `json:"pushed"`
	Aggregates AggregateCounts `json:"aggregates"` // that are not done with
	// Unreadable are keys of the bucket, as a KV tool takes them, of rows that nobody can read: 16 at most; absent if there are none.
	Unreadable []string `json:"unreadable,omitzero"`
}

// AggregateCounts are the numbers of aggregates by what is to become of them. Those that have ended and whose staged data is
// deleted do not count.
type AggregateCounts struct {
	Collecting     uint32   `json:"collecting"`              // participants are being staged; the deadline has not passed
	Prepared       uint32   `json:"prepared"`                // participants are locked; the deadline has not passed
	Overdue        uint32   `json:"overdue"`                 // the deadline has passed and the service has not aborted it yet
	Settling       uint32   `json:"settling"`                // has ended; participants are rewritten, then staged data is deleted
	Unreadable     uint32   `json:"unreadable"`              // nobody can read its row
	OldestDeadline Instant  `json:"oldestDeadline,omitzero"` // earliest deadline of those that have one; absent if none has
	OldestCommit   Revision `json:"oldestCommit,omitzero"`   // earliest commit of those that are settling; absent if none was committed
}

// ServerStatus describes the NATS server behind the store.
type ServerStatus struct {
	Name     string `json:"name"`     // server name
	Version  string `json:"version"`  // server version
	Replicas uint32 `json:"replicas"` // of the store's bucket
	// Consumers read the bucket's stream: one of each instance, and whoever else does. 0 is unknown.
	Consumers uint32 `json:"consumers,omitzero"`
}
