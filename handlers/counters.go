package handlers

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// Outcomes of requests besides the codes of refusals.
const (
	// OutcomeOK is a request that was answered with a result, wanted or not.
	OutcomeOK = "ok"
	// OutcomeForwarded is a request that another instance answered, whatever it answered; that instance counts the answer.
	OutcomeForwarded = "forwarded"
)

// outcomes lists what can become of a request; counts are kept by index.
var outcomes = [...]string{
	OutcomeOK, OutcomeForwarded,
	string(wire.CodeInvalidArgument), string(wire.CodeForbidden), string(wire.CodeDeadlineExceeded), string(wire.CodeScanExpired),
	string(wire.CodeTooLarge), string(wire.CodeOverloaded), string(wire.CodeInternal), string(wire.CodeDataLost),
	string(wire.CodeUnavailable), string(wire.CodeOutcomeUnknown),
}

// Counters are the figures of a [Service] since its start.
type Counters struct {
	// InFlight is the number of requests that are being worked on now, without reads that are answered at once.
	InFlight int
	// Awaiting is the number of requests that wait for an object.
	Awaiting int
	// Operations has one entry for each operation that the service answers.
	Operations []OperationCounters
}

// OperationCounters are the figures of one operation.
type OperationCounters struct {
	Operation subjects.Operation
	// Outcomes counts the requests by [OutcomeOK], [OutcomeForwarded] or the code of their refusal. Outcomes that never occurred
	// are left out.
	Outcomes map[string]uint64
	// Duration is the sum of the times from arrival to reply.
	Duration time.Duration
}

// counters are kept for each endpoint.
type counters struct {
	outcomes [len(outcomes)]atomic.Uint64
	nanos    atomic.Int64
}

func (c *counters) add(outcome string, took time.Duration) {
	c.outcomes[slices.Index(outcomes[:], outcome)].Add(1)
	c.nanos.Add(int64(took))
}

func (c *counters) snapshot(op subjects.Operation) OperationCounters {
	s := OperationCounters{Operation: op, Outcomes: make(map[string]uint64), Duration: time.Duration(c.nanos.Load())}
	for i, name := range outcomes {
		if n := c.outcomes[i].Load(); n > 0 {
			s.Outcomes[name] = n
		}
	}
	return s
}

// endpointStats is the data that $SRV.STATS has for an endpoint: the framework's own figures only see how long the hand-over
// took. The names are those of the framework.
type endpointStats struct {
	NumRequests           uint64            `json:"num_requests"`
	NumErrors             uint64            `json:"num_errors"`
	Outcomes              map[string]uint64 `json:"outcomes"`
	ProcessingTime        time.Duration     `json:"processing_time"`         // nanoseconds
	AverageProcessingTime time.Duration     `json:"average_processing_time"` // nanoseconds
}

func (c OperationCounters) stats() endpointStats {
	s := endpointStats{Outcomes: c.Outcomes, ProcessingTime: c.Duration}
	for _, n := range c.Outcomes {
		s.NumRequests += n
	}
	s.NumErrors = s.NumRequests - c.Outcomes[OutcomeOK] - c.Outcomes[OutcomeForwarded]
	if s.NumRequests > 0 {
		s.AverageProcessingTime = c.Duration / time.Duration(s.NumRequests)
	}
	return s
}
