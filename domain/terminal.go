package domain

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// terminalRetention is how long a terminal record is kept after the deadline of its
// operation, in milliseconds.
const terminalRetention wire.Instant = 300_000

// TerminalKey is the key of an operation's terminal record. The routing id comes
// last, because it may hold any byte.
func TerminalKey(o wire.OperationKey) kvstore.Key {
	return kvstore.NewKey(FamilyTerminal,
		strconv.FormatUint(uint64(o.SourceNodeGeneration), 10),
		strconv.FormatUint(uint64(o.OperationID.High), 10), strconv.FormatUint(uint64(o.OperationID.Low), 10),
		string(o.SourceNodeRID))
}

// terminalRecord is the body of a terminal row.
type terminalRecord struct {
	State            wire.CompletionKind `json:"state"`
	Operation        wire.OperationKey   `json:"operation"`
	ReservationID    string              `json:"reservationId"`
	ObjectKind       wire.ObjectKind     `json:"objectKind"`
	TerminalEnvelope wire.Bytes          `json:"terminalEnvelope"`
	EnvelopeSHA256   wire.Bytes          `json:"terminalEnvelopeSha256"`
}

// shown is the record in a reply.
func (t *terminalRecord) shown(expiresAt, now kvstore.Instant) *wire.TerminalRecord {
	return &wire.TerminalRecord{
		State: t.State, Operation: t.Operation, ReservationID: t.ReservationID, ObjectKind: t.ObjectKind,
		TerminalEnvelope: t.TerminalEnvelope, TerminalEnvelopeSHA256: t.EnvelopeSHA256,
		ExpiresAt: wire.Instant(expiresAt), StoreNow: wire.Instant(now),
	}
}

// findTerminal returns the terminal record of an operation; nil when there is none.
func findTerminal(v kvstore.View, o wire.OperationKey) (*wire.TerminalRecord, error) {
	r := v.Row(TerminalKey(o))
	if r == nil {
		return nil, nil
	}
	t, err := decodeTerminal(r)
	if err != nil {
		return nil, err
	}
	return t.shown(r.Expiry, v.Now()), nil
}

// decodeTerminal understands a terminal row or returns a *kvstore.DataLostError.
func decodeTerminal(r *kvstore.Row) (*terminalRecord, error) {
	t := new(terminalRecord)
	if err := decodeRecord(r, t); err != nil {
		return nil, err
	}
	switch {
	case TerminalKey(t.Operation) != r.Key:
		return nil, lost(r, fmt.Errorf("record names operation %+v", t.Operation))
	case t.ReservationID == "" || t.ObjectKind != wire.ObjectActor:
		return nil, lost(r, fmt.Errorf("record of the reservation %q of %s", t.ReservationID, t.ObjectKind))
	case !isDigestOf(t.EnvelopeSHA256, t.TerminalEnvelope):
		return nil, lost(r, errors.New("envelope does not have its digest"))
	case r.Expiry == 0:
		return nil, lost(r, errors.New("terminal record without expiry"))
	}
	return t, nil
}

// ReadTerminal answers the outcome of an operation until it expires, then missing.
//
// Reads: the terminal record. Errors: *kvstore.DataLostError.
func ReadTerminal(v kvstore.View, req *wire.ObjectReadTerminalRequest) (*wire.ObjectReadTerminalReply, error) {
	t, err := findTerminal(v, req.Operation)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return &wire.ObjectReadTerminalReply{Kind: wire.KindMissing, StoreNow: wire.Instant(v.Now())}, nil
	}
	return &wire.ObjectReadTerminalReply{Kind: wire.KindFound, Record: t}, nil
}

// CompleteCreation ends the creation of an actor and keeps its outcome.
//
// Reads: the terminal record, the authority, descriptor and lease of the target, and
// for a membership in a user spot that spot's authority and its owner's lease.
// Writes: the authority, the terminal record. Answers created, rejected, failed,
// alreadyCompleted, stale or generationExhausted. Errors: *kvstore.DataLostError, those
// of tx.Put, and *wire.InvalidError for a terminal whose retention is over.
func CompleteCreation(tx *kvstore.Tx, req *wire.ObjectCompleteCreationRequest) (*wire.ObjectCompleteCreationReply, error) {
	terminal := &req.Completion.Terminal
	expiresAt := kvstore.Instant(terminal.OperationDeadline + terminalRetention)
	if expiresAt <= tx.Now() {
		return nil, &wire.InvalidError{
			Field: "completion.terminal.operationDeadline", Got: strconv.FormatInt(int64(terminal.OperationDeadline), 10),
			Want: fmt.Sprintf("less than %d ms before the store's time, which is %d", terminalRetention, tx.Now()),
		}
	}
	done, err := findTerminal(tx.View, terminal.Operation)
	switch {
	case err != nil:
		return nil, err
	case done != nil:
		return &wire.ObjectCompleteCreationReply{Kind: wire.KindAlreadyCompleted, Terminal: done}, nil
	}
	a, err := completable(tx.View, req)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return &wire.ObjectCompleteCreationReply{Kind: wire.KindStale}, nil
	}
	if !revisionsLeft(tx, 2) { // of the authority and the terminal record
		return &wire.ObjectCompleteCreationReply{Kind: wire.KindGenerationExhausted}, nil
	}
	return complete(tx, a, req, expiresAt)
}

// complete carries the completion out.
func complete(tx *kvstore.Tx, a *authority, req *wire.ObjectCompleteCreationRequest, expiresAt kvstore.Instant) (
	*wire.ObjectCompleteCreationReply, error,
) {
	c := &req.Completion
	reply := &wire.ObjectCompleteCreationReply{Kind: wire.Kind(c.Kind)}
	if c.Kind == wire.CompletionCreated {
		ready, err := activated(a.authorityRecord, c.ReadyPayload, c.Membership).put(tx)
		if err != nil {
			return nil, err
		}
		if reply.Ready, err = ready.snapshot(tx.View); err != nil {
			return nil, err
		}
	} else if _, err := tx.Delete(a.row.Key); err != nil {
		return nil, err
	}
	record := terminalRecord{
		State: c.Kind, Operation: c.Terminal.Operation, ReservationID: req.ReservationID, ObjectKind: req.Key.Kind,
		TerminalEnvelope: c.Terminal.TerminalEnvelope, EnvelopeSHA256: c.Terminal.TerminalEnvelopeSHA256,
	}
	reply.Terminal = record.shown(expiresAt, tx.Now())
	return reply, putRecord(tx, TerminalKey(record.Operation), record, expiresAt)
}

// completable returns the reservation that the request may end; nil when it is
// stale.
func completable(v kvstore.View, req *wire.ObjectCompleteCreationRequest) (*authority, error) {
	a, err := findAuthority(v, AuthorityKey(req.Key))
	if err != nil || !(reservation{req.ReservationID, req.ExpectedStoreVersion, req.Target}).is(a) {
		return nil, err
	}
	node, err := liveTarget(v, req.Target)
	if err != nil || node == nil {
		return nil, err
	}
	ok, err := joins(v, nil, req.Completion.Membership)
	if err != nil || !ok {
		return nil, err
	}
	return a, nil
}
