package kvstore

// Schema is what a store needs to know about the rows it keeps. Its functions
// are pure (Overlay also of the state) and are called for every row that is stored, loaded, replaced or
// removed; they must not panic on a value that they cannot decode.
type Schema struct {
	// Derive returns what follows from a row; the zero Facts for one from which nothing
	// does or that cannot be decoded.
	Derive func(*Row) Facts
	// Overlay returns what the entry of a row makes of other rows from its commit on;
	// nil for nothing. It is called with the state that has the entry already, must
	// not change it, and may look at anything in it. A row that was overlaid and is
	// written again is as it was written.
	Overlay func(*State, Entry) *Overlay
	// Stamp returns the scopes whose stamp the entry moves, each with the
	// revision it moves to (0 stands for the entry's own). A scope's stamp is
	// the greatest revision it ever got. For a removal it may only look at the
	// key and the revision: the rest can be missing.
	Stamp func(Entry) []Stamp
}

// Facts are what follows from a row alone.
type Facts struct {
	Index   []IndexEntry // the places in indexes
	Amounts []Amount     // what the row adds to sums, each sum at most once
}

// IndexEntry puts a row under a value of an index.
type IndexEntry struct {
	Index string // name of the index
	Value string // any bytes; entries of one index are ordered by it
}

// Amount is what a row adds to a sum over all rows.
type Amount struct {
	Sum string // name of the sum, any bytes
	N   int64  // may be negative
}

// Stamp is the revision of the last change in a scope.
type Stamp struct {
	Scope    string
	Revision Revision
}
