// Package fenced appends messages to a JetStream stream right after a known
// position, or not at all.
//
// A message may carry the condition that nothing was stored since sequence N, so
// a writer knows beforehand where its messages will stand. Several messages go
// out together in one of two ways:
//
//   - [Batch]: all are stored or none (ADR-50). On a stream of one replica the
//     server stages every batch in a file of its own, at 2 ms and more.
//   - [Chain]: each is stored on its own, and only right after the one before it.
//     So a chain may be stored in part, but never around a stranger's message.
//
// [Costs] chooses between the two by what they took lately. The package imports
// nothing of ours; its functions are for one writer at a time.
package fenced

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Headers that make an append conditional.
const (
	HeaderExpectedLast    = jetstream.ExpectedLastSeqHeader
	HeaderExpectedID      = jetstream.ExpectedLastMsgIDHeader
	HeaderExpectedSubject = jetstream.ExpectedLastSubjSeqHeader
	HeaderID              = jetstream.MsgIDHeader
	HeaderBatchID         = "Nats-Batch-Id"
	HeaderBatchSequence   = "Nats-Batch-Sequence"
	HeaderBatchCommit     = "Nats-Batch-Commit"
)

// Error codes of refusals.
const (
	CodeNoCluster     jetstream.ErrorCode = 10008 // the cluster has no leader at the moment
	CodeNotLeader     jetstream.ErrorCode = 10009 // nor does this server know one
	CodeNoMessage     jetstream.ErrorCode = 10037 // no message at the position that was asked for
	CodeWrongLastID   jetstream.ErrorCode = 10070 // the last message is not the expected one
	CodeWrongLast     jetstream.ErrorCode = 10071 // something was stored since the expected sequence
	CodeIDInFlight    jetstream.ErrorCode = 10158 // replicated: the same message id may be stored already
	CodeUndecided     jetstream.ErrorCode = 10164 // replicated: lost against an append that is not decided yet
	CodeBatchesOff    jetstream.ErrorCode = 10174 // allow_atomic is off
	CodeBatchTooLarge jetstream.ErrorCode = 10199 // above jetstream { limits { batch { max_msgs } } }
	CodeDuplicate     jetstream.ErrorCode = 10201 // a batch with a message id that is stored already
)

// ErrNoResponder says that a message reached no stream: it is not stored.
var ErrNoResponder = errors.New("no stream leader answers")

// Batch makes the messages one atomic batch right after a sequence. The caller
// sets the reply subject of the last one. A single message needs no batch.
func Batch(msgs []*nats.Msg, after uint64) {
	msgs[0].Header[HeaderExpectedLast] = []string{strconv.FormatUint(after, 10)}
	Group(msgs)
}

// Group makes the messages one atomic batch without a condition of its own.
func Group(msgs []*nats.Msg) {
	if len(msgs) < 2 {
		return
	}
	id := nuid.Next()
	for i, m := range msgs {
		m.Header[HeaderBatchID] = []string{id}
		m.Header[HeaderBatchSequence] = []string{strconv.Itoa(i + 1)}
	}
	msgs[len(msgs)-1].Header[HeaderBatchCommit] = []string{"1"}
}

// Chain lets the messages be stored one by one right after a sequence. Each has
// a HeaderID of its own. The sequence alone would not do: it says how many
// messages there are, not which; the id of the last one does.
func Chain(msgs []*nats.Msg, after uint64) {
	for i, m := range msgs {
		m.Header[HeaderExpectedLast] = []string{strconv.FormatUint(after+uint64(i), 10)}
		if i > 0 {
			m.Header[HeaderExpectedID] = msgs[i-1].Header[HeaderID]
		} else {
			delete(m.Header, HeaderExpectedID) // of an earlier try, further on in the chain
		}
	}
}

// Ack is the answer to an append.
type Ack struct {
	Sequence  uint64              `json:"seq"` // of the last message
	Duplicate bool                `json:"duplicate"`
	Error     *jetstream.APIError `json:"error"` // nil when it is stored
}

// ReadAck reads the answer to an append. An error other than ErrNoResponder says
// nothing about whether it is stored.
func ReadAck(m *nats.Msg) (Ack, error) {
	if len(m.Data) == 0 {
		if s := m.Header["Status"]; len(s) > 0 && s[0] == "503" {
			return Ack{}, ErrNoResponder
		}
	}
	var a Ack
	err := json.Unmarshal(m.Data, &a)
	return a, err
}
