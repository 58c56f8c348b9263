package wire

// Names of the headers of requests, replies and events. NATS compares header names by case.
const (
	// HeaderContentType says how the payload is encoded; see [DetectEncoding].
	HeaderContentType = "Content-Type"
	// HeaderDeadline is the instant after which a request is not started and no longer waited for, in decimal.
	HeaderDeadline = "Zlink-Deadline"
	// HeaderMinRevision is the revision that an instance must have seen before it answers a read, in decimal.
	HeaderMinRevision = "Zlink-Min-Revision"
	// HeaderConsistency asks for a stronger read; its only value is [ConsistencyLeader].
	HeaderConsistency = "Zlink-Consistency"
	// HeaderRevision is the store revision that a reply reflects or that an event carries, in decimal.
	HeaderRevision = "Zlink-Revision"
	// HeaderIndex is the place of an event among those of its revision, from 0, in decimal.
	HeaderIndex = "Zlink-Index"
	// HeaderChange repeats the change of an event, so that a subscriber need not decode the payload.
	HeaderChange = "Zlink-Change"
	// HeaderError is one line of text that marks a reply as an error.
	HeaderError = "Nats-Service-Error"
	// HeaderErrorCode is the number of [Code.Status], in decimal.
	HeaderErrorCode = "Nats-Service-Error-Code"
)

// ConsistencyLeader is the value of [HeaderConsistency] with which a read first catches up with the store leader.
const ConsistencyLeader = "leader"
