package domain

import (
	"errors"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// abortMarkTTL is how long an abort can be repeated, in milliseconds.
const abortMarkTTL kvstore.Instant = 300_000

func abortMarkKey(k wire.ObjectKey, reservationID string) kvstore.Key {
	return kvstore.NewKey(FamilyAbortMark, k.Text(), reservationID)
}

// abortMark is the body of an abort mark.
type abortMark struct{}

// AbortObject removes a reservation whose owner is live.
//
// Reads: the authority, the owner's lease, the abort mark. Writes: the authority,
// the abort mark. Answers aborted, alreadyAborted or stale. Errors:
// *kvstore.DataLostError and those of tx.Put.
func AbortObject(tx *kvstore.Tx, req *wire.ObjectAbortRequest) (*wire.ObjectAbortReply, error) {
	a, err := findAuthority(tx.View, AuthorityKey(req.Key))
	if err != nil {
		return nil, err
	}
	mark := abortMarkKey(req.Key, req.ReservationID)
	if a == nil || !a.reserved() || a.ReservationID != req.ReservationID {
		return repeatedAbort(tx.Row(mark))
	}
	r := reservation{req.ReservationID, req.ExpectedStoreVersion, req.Target}
	live, err := isLive(tx.View, a.token())
	switch {
	case err != nil:
		return nil, err
	case !r.is(a) || !live:
		return &wire.ObjectAbortReply{Kind: wire.KindStale}, nil
	}
	if _, err := tx.Delete(a.row.Key); err != nil {
		return nil, err
	}
	if err := putRecord(tx, mark, abortMark{}, tx.Now()+abortMarkTTL); err != nil {
		return nil, err
	}
	return &wire.ObjectAbortReply{Kind: wire.KindAborted}, nil
}

// repeatedAbort answers an abort that finds no reservation, by its mark; nil when
// there is none.
func repeatedAbort(mark *kvstore.Row) (*wire.ObjectAbortReply, error) {
	if mark == nil {
		return &wire.ObjectAbortReply{Kind: wire.KindStale}, nil
	}
	if _, err := decodeAbortMark(mark); err != nil {
		return nil, err
	}
	return &wire.ObjectAbortReply{Kind: wire.KindAlreadyAborted}, nil
}

// decodeAbortMark understands an abort mark or returns a *kvstore.DataLostError.
func decodeAbortMark(r *kvstore.Row) (*abortMark, error) {
	m := new(abortMark)
	if err := decodeRecord(r, m); err != nil {
		return nil, err
	}
	if r.Expiry == 0 {
		return nil, lost(r, errors.New("abort mark without expiry"))
	}
	return m, nil
}
