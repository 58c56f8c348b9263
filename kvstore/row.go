package kvstore

import (
	"strconv"
	"sync/atomic"
)

// MaxRevision is the greatest revision there can be. A commit that would pass it
// is refused with [ErrExhausted].
const MaxRevision Revision = 1<<63 - 1

// Revision numbers the writes of a store, 1..MaxRevision. 0 is the empty store.
type Revision uint64

// String returns the decimal text, which is also the row's opaque version.
func (r Revision) String() string { return strconv.FormatUint(uint64(r), 10) }

// Instant is a time of the store's clock in milliseconds since the Unix epoch.
// 0 means "never" where an expiry is meant.
type Instant int64

// Row is one stored row. Rows are immutable: a change is a new Row.
type Row struct {
	Key   Key
	Value []byte // owned by the store; not to be modified
	// Revision is the number of the write that stored this version.
	Revision Revision
	// Expiry is the instant from which the row counts as absent; 0 is never.
	Expiry Instant
	// Over is what the commit of another row makes of the value, by
	// [Schema.Overlay]; nil for a row that reads as it is stored.
	Over any
	memo atomic.Pointer[any] // see Decoded; nil while nobody has asked
}

// Live tells whether the row counts as present at the instant.
func (r *Row) Live(now Instant) bool { return r.Expiry == 0 || r.Expiry > now }

// Entry is one row's part of a commit.
type Entry struct {
	Key      Key
	Revision Revision
	// Row is the version stored by the commit; nil when it removed the row.
	Row *Row
	// Prior is the version before, expired or not; nil when there was none.
	Prior *Row
	// Overlaid are the rows that read otherwise from this entry on, in key order.
	Overlaid []*Row
	// Expired is true when the row was removed because its expiry had come.
	Expired bool
}

// Commit is one transaction that was carried out, as [Watcher] delivers it.
type Commit struct {
	// Revision is that of the last entry, so the revision of the store after it.
	Revision Revision
	// Time is when the store's server stored the commit.
	Time    Instant
	Entries []Entry
	// Before and After are the states around the commit. After contains every
	// entry; Before none.
	Before, After *State
	// Writer is the id of the store instance that made the commit; empty when
	// another tool wrote into the store.
	Writer string
	// Gap is true when the entries are what is left of several commits whose
	// rows have been rewritten since.
	Gap bool
}

// Decoded returns what decode makes of the row. It is kept with the row, so that the
// many who read a version decode it once: for rows that are few and often read. All
// of them share the value and must not change it. Errors are those of decode; they
// are not kept.
func Decoded[T any](r *Row, decode func(*Row) (*T, error)) (*T, error) {
	if kept := Kept[T](r); kept != nil {
		return kept, nil
	}
	value, err := decode(r)
	if err != nil {
		return nil, err
	}
	var kept any = value
	r.memo.Store(&kept)
	return value, nil
}

// Kept returns what is kept with the row by [Decoded] or [Tx.PutDecoded]; nil if it is
// nothing or of another type.
func Kept[T any](r *Row) *T {
	if kept := r.memo.Load(); kept != nil {
		if value, ok := (*kept).(*T); ok {
			return value
		}
	}
	return nil
}
