package histories_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/wire"
)

// call is one request and what its caller was told of it.
type call struct {
	caller  int
	op      subjects.Operation
	request any // of package wire
	// fresh says that the answer must be no older than the request: writes, and reads that ask the leader.
	fresh bool
	min   uint64 // a read must have seen this revision

	group *group // that the request is about; nil for those about single things
	part  string // the object of the history that the call stands in, of those of its group

	since            uint64        // a revision that was known before the call
	called, returned time.Duration // since the start of the run

	outcome  outcome
	code     wire.Code // refused, and unknown where the service said so
	doubt    string    // unknown: why
	reply    any       // answered: of package wire
	revision uint64    // answered: of the reply

	// made is the event of a write that an answer tells of; nil when it tells of what an earlier one did.
	made *event
	// until is when a call of unknown outcome no longer had an effect on leases, objects and nodes, and untilEnded when it had none on
	// its aggregate; see [horizon].
	until, untilEnded time.Duration
	// maybe are the events by which a write of unknown outcome may have taken effect; see attribute.
	maybe []*event
	// removed are the events of what an answered owner.remove-all removed.
	removed []*event
}

// outcome is how much a caller knows.
type outcome int

const (
	answered outcome = iota // the result, and that it was carried out
	refused                 // that nothing was written
	unknown                 // nothing: it may have been carried out, or will be, or never
)

// replies makes an empty reply of each operation that the callers use.
var replies = map[subjects.Operation]func() any{
	subjects.LeaseClaim:               func() any { return new(wire.LeaseClaimReply) },
	subjects.LeaseRead:                func() any { return new(wire.LeaseReadReply) },
	subjects.LeaseRenew:               func() any { return new(wire.LeaseRenewReply) },
	subjects.LeaseRelease:             func() any { return new(wire.LeaseReleaseReply) },
	subjects.MeshNodeUpdate:           func() any { return new(wire.UpdateReply) },
	subjects.MeshNodeRemove:           func() any { return new(wire.RemoveReply) },
	subjects.MeshNodeList:             func() any { return new(wire.MeshNodeListReply) },
	subjects.AuthorityRead:            func() any { return new(wire.Authority) },
	subjects.AuthorityList:            func() any { return new(wire.AuthorityListReply) },
	subjects.AuthorityCompareExchange: func() any { return new(wire.AuthorityCompareExchangeReply) },
	subjects.ObjectReserve:            func() any { return new(wire.ObjectReserveReply) },
	subjects.ObjectPlace:              func() any { return new(wire.ObjectReserveReply) },
	subjects.ObjectCommit:             func() any { return new(wire.ObjectCommitReply) },
	subjects.ObjectAbort:              func() any { return new(wire.ObjectAbortReply) },
	subjects.ObjectCompleteCreation:   func() any { return new(wire.ObjectCompleteCreationReply) },
	subjects.ObjectReleaseEnded:       func() any { return new(wire.ObjectReleaseEndedReply) },
	subjects.ObjectFind:               func() any { return new(wire.ObjectFindReply) },
	subjects.AggregateStage:           func() any { return new(wire.AggregateStageReply) },
	subjects.AggregatePrepare:         func() any { return new(wire.AggregatePrepareReply) },
	subjects.AggregateCommit:          func() any { return new(wire.AggregateCommitReply) },
	subjects.AggregateAbort:           func() any { return new(wire.AggregateAbortReply) },
	subjects.AggregateFind:            func() any { return new(wire.AggregateFindReply) },
	subjects.SpotUpdate:               func() any { return new(wire.UpdateReply) },
	subjects.SpotRemove:               func() any { return new(wire.RemoveReply) },
	subjects.SpotResolve:              func() any { return new(wire.SpotResolveReply) },
	subjects.StoreRead:                func() any { return new(wire.StoreReadReply) },
	subjects.StoreWrite:               func() any { return new(wire.StoreWriteReply) },
	subjects.OwnerRemoveAll:           func() any { return new(wire.OwnerRemoveAllReply) },
}

// reads are the operations that write nothing.
var reads = map[subjects.Operation]bool{
	subjects.LeaseRead: true, subjects.MeshNodeList: true, subjects.AuthorityRead: true, subjects.AuthorityList: true,
	subjects.ObjectFind: true, subjects.AggregateFind: true, subjects.StoreRead: true, subjects.SpotResolve: true,
}

// nothingWritten are the codes of refusals that promise it.
var nothingWritten = map[wire.Code]bool{
	wire.CodeDeadlineExceeded: true, wire.CodeOverloaded: true, wire.CodeUnavailable: true,
}

// settle notes the answer, or that there was none. It returns an error when the answer is one that the service must not give:
// the callers ask nothing that is out of range, and nothing that is stored gets damaged.
func (c *call) settle(reply *nats.Msg, err error) error {
	if err != nil {
		c.outcome, c.doubt = unknown, err.Error()
		return nil
	}
	if reply.Header.Get(wire.HeaderError) != "" {
		return c.settleRefusal(reply.Data)
	}
	c.reply = replies[c.op]()
	if err := wire.Unmarshal(wire.JSON, reply.Data, c.reply); err != nil {
		return fmt.Errorf("%s: reply %q: %w", c.op, reply.Data, err)
	}
	c.revision, err = strconv.ParseUint(reply.Header.Get(wire.HeaderRevision), 10, 63)
	return err
}

func (c *call) settleRefusal(data []byte) error {
	var body wire.ErrorBody
	if err := wire.Unmarshal(wire.JSON, data, &body); err != nil {
		return fmt.Errorf("%s: refusal %q: %w", c.op, data, err)
	}
	c.code, c.doubt = body.Error.Code, body.Error.Message
	switch {
	case nothingWritten[c.code]:
		c.outcome = refused
	case c.code == wire.CodeOutcomeUnknown:
		c.outcome = unknown
	default:
		return fmt.Errorf("%s %s: refused with %s: %s", c.op, text(c.request), c.code, body.Error.Message)
	}
	return nil
}

// String tells of the call in one line.
func (c *call) String() string {
	told := text(c.reply)
	switch c.outcome {
	case refused:
		told = "refused: " + string(c.code)
	case unknown:
		told = "unknown: " + c.doubt
	}
	return fmt.Sprintf("%v..%v caller %d: %s %s -> %s @%d", c.called, c.returned, c.caller, c.op, text(c.request), told, c.revision)
}

// text is a value as JSON, for people.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}
