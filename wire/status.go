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
}

// ServerStatus describes the NATS server behind the store.
type ServerStatus struct {
	Name     string `json:"name"`     // server name
	Version  string `json:"version"`  // server version
	Replicas uint32 `json:"replicas"` // of the store's bucket
}
