package kvstore

import (
	"fmt"
	"slices"
)

// Tx is a transaction that a closure decides: reads come from its View and never
// show its own writes; each key is written at most once. Writes get consecutive
// revisions in the order in which they are made.
type Tx struct {
	View
	limits Limits
	writes []Write
	err    error
}

// Write is one row's part of a transaction that is to be committed.
type Write struct {
	Kind  WriteKind
	Key   Key
	Value []byte
	// Decoded is what Decoded will return of the row that is put, if its type is the
	// one asked for; nil if nothing is known.
	Decoded any
	// Expiry of the row that is put; 0 is never.
	Expiry Instant
	// Expired marks the removal of a row whose expiry has come.
	Expired bool
	// Forgotten is the revision of the removal that a Forget is about.
	Forgotten Revision
}

// WriteKind says what a Write does.
type WriteKind uint8

const (
	// WritePut stores a version of the row.
	WritePut WriteKind = iota
	// WriteDelete removes the row and keeps its history.
	WriteDelete
	// WriteForget removes the history of a row that was removed before.
	WriteForget
)

// NewTx begins a transaction on a view. It is for engines.
func NewTx(v View, limits Limits) *Tx { return &Tx{View: v, limits: limits} }

// Writes returns what the closure wrote, or the error that a write met: a
// closure that ignores it does not commit a part. It is for engines.
func (tx *Tx) Writes() ([]Write, error) { return tx.writes, tx.err }

// Len is the number of rows written so far.
func (tx *Tx) Len() int { return len(tx.writes) }

// Wrote tells whether the transaction has written a key. It costs their number.
func (tx *Tx) Wrote(k Key) bool {
	return slices.ContainsFunc(tx.writes, func(w Write) bool { return w.Key == k })
}

// Limits are what one commit may hold.
func (tx *Tx) Limits() Limits { return tx.limits }

// Next is the revision that the next write of the transaction will have. It
// returns ErrExhausted when there is none left; a closure that then writes
// nothing may still answer as it likes. The generation that a commit begins is
// read here, before the record is encoded.
func (tx *Tx) Next() (Revision, error) {
	next := tx.Revision() + Revision(len(tx.writes)) + 1
	if next > MaxRevision {
		return 0, ErrExhausted
	}
	return next, nil
}

// Put stores a row with an expiry (0 for none) and returns its revision. The
// value is owned by the store from here on. Errors: ErrExhausted,
// ErrTooManyRows, ErrTooLarge.
func (tx *Tx) Put(k Key, value []byte, expiry Instant) (Revision, error) {
	return tx.PutDecoded(k, value, nil, expiry)
}

// PutDecoded is Put by a writer who knows what [Decoded] will make of the row, a
// pointer: whoever reads the row in this instance is spared the decoding.
func (tx *Tx) PutDecoded(k Key, value []byte, decoded any, expiry Instant) (Revision, error) {
	if n := len(k) + len(value); tx.limits.RowBytes > 0 && n > tx.limits.RowBytes {
		return 0, tx.fail(fmt.Errorf("%w: %d bytes of key and value, the server takes %d: raise max_payload to 8MB",
			ErrTooLarge, n, tx.limits.RowBytes))
	}
	return tx.add(Write{Kind: WritePut, Key: k, Value: value, Decoded: decoded, Expiry: expiry})
}

// Delete removes a stored row, expired or not, and returns the revision of its
// removal. Removing an absent row writes nothing and returns 0.
func (tx *Tx) Delete(k Key) (Revision, error) {
	if tx.state.Get(k) == nil {
		return 0, nil
	}
	return tx.add(Write{Kind: WriteDelete, Key: k})
}

// Expire removes a row whose expiry has come, so that watchers can tell it from
// a row that somebody removed.
func (tx *Tx) Expire(r *Row) (Revision, error) {
	return tx.add(Write{Kind: WriteDelete, Key: r.Key, Expired: true})
}

func (tx *Tx) forget(t Tombstone) error {
	_, err := tx.add(Write{Kind: WriteForget, Key: t.Key, Forgotten: t.Revision})
	return err
}

func (tx *Tx) add(w Write) (Revision, error) {
	rev, err := tx.Next()
	if err != nil {
		return 0, tx.fail(err)
	}
	if len(w.Key) == 0 || len(w.Key) > MaxKeyBytes {
		panic(fmt.Sprintf("kvstore: key of %d bytes", len(w.Key)))
	}
	if len(tx.writes) >= tx.limits.CommitRows {
		return 0, tx.fail(fmt.Errorf("%w: more than %d; raise jetstream { limits { batch { max_msgs } } } of the NATS server",
			ErrTooManyRows, tx.limits.CommitRows))
	}
	tx.writes = append(tx.writes, w)
	return rev, nil
}

func (tx *Tx) fail(err error) error {
	if tx.err == nil {
		tx.err = err
	}
	return err
}

// Apply carries writes out on a state that only the caller sees and returns the
// commit. It is for engines.
func Apply(s *State, writes []Write, tombstones bool) []Entry {
	entries := make([]Entry, 0, len(writes))
	for _, w := range writes {
		rev := s.revision + 1
		switch w.Kind {
		case WritePut:
			r := &Row{Key: w.Key, Value: w.Value, Revision: rev, Expiry: w.Expiry}
			if decoded := w.Decoded; decoded != nil {
				r.memo.Store(&decoded)
			}
			entries = append(entries, s.Put(r))
		case WriteDelete:
			e := s.Delete(w.Key, rev, tombstones)
			e.Expired = w.Expired
			entries = append(entries, e)
		case WriteForget:
			s.Forget(w.Key, rev)
		}
	}
	return entries
}
