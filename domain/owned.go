package domain

import (
	"errors"
	"fmt"
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// ownedRecords is what the rules need to know about the records of one family of
// rows that carry an owner's token. R is their wire type; rules never change one
// that was decoded or sent.
type ownedRecords[R any] struct {
	key func(*R) kvstore.Key
	// facts says what the rules look at.
	facts func(*R) facts
	// stamped returns what to store of a row that was sent.
	stamped func(sent *R, g wire.Generation, updatedAt wire.Instant) *R
	// keep says that rows are few and often read, so that they stay decoded.
	keep bool
}

// facts are the fields of a row that its rules look at.
type facts struct {
	token wire.OwnerToken
	// of descriptors; zero in other rows
	lifecycle wire.Generation
	revision  wire.Revision
	// of the row, not of the content
	generation wire.Generation
	updatedAt  wire.Instant
}

// repeats tells whether two rows agree in everything but the rest of their
// contents.
func (f facts) repeats(o facts) bool {
	return f.token == o.token && f.lifecycle == o.lifecycle && f.revision == o.revision
}

// reply answers an update that left the row as it is now.
func (f facts) reply() *wire.UpdateReply {
	return &wire.UpdateReply{Status: wire.StatusStored, Generation: f.generation, UpdatedAt: f.updatedAt}
}

func refused(tx *kvstore.Tx, status wire.UpdateStatus) *wire.UpdateReply {
	return &wire.UpdateReply{Status: status, UpdatedAt: wire.Instant(tx.Now())}
}

// decode understands a row of the family or returns a *kvstore.DataLostError.
func (o *ownedRecords[R]) decode(r *kvstore.Row) (*R, error) {
	if o.keep {
		return kvstore.Decoded(r, o.decodeAnew)
	}
	return o.decodeAnew(r)
}

func (o *ownedRecords[R]) decodeAnew(r *kvstore.Row) (*R, error) {
	d := new(R)
	if err := decodeRecord(r, d); err != nil {
		return nil, err
	}
	f := o.facts(d)
	switch k := o.key(d); {
	case k != r.Key:
		return nil, lost(r, fmt.Errorf("record of the row %q", k))
	case !generationOf(f.generation, r):
		return nil, lost(r, fmt.Errorf("generation %d in a row of revision %d", f.generation, r.Revision))
	case f.updatedAt <= 0:
		return nil, lost(r, errors.New("record without updatedAt"))
	}
	return d, nil
}

// decodeAny decodes a row that may be nil, as is then the result.
func (o *ownedRecords[R]) decodeAny(r *kvstore.Row) (*R, error) {
	if r == nil {
		return nil, nil
	}
	return o.decode(r)
}

// find returns the stored row of a key; nil when there is none.
func (o *ownedRecords[R]) find(v kvstore.View, k kvstore.Key) (*R, error) {
	return o.decodeAny(v.Row(k))
}

// token returns the token that a row carries.
func (o *ownedRecords[R]) token(r *kvstore.Row) (wire.OwnerToken, error) {
	d, err := o.decode(r)
	if err != nil {
		return wire.OwnerToken{}, err
	}
	return o.facts(d).token, nil
}

// begin stores a row that was sent, with a new generation.
func (o *ownedRecords[R]) begin(tx *kvstore.Tx, sent *R) (*wire.UpdateReply, error) {
	next, err := tx.Next()
	if err != nil {
		return nil, err
	}
	return o.store(tx, sent, wire.Generation(next))
}

// store stores a row that was sent.
func (o *ownedRecords[R]) store(tx *kvstore.Tx, sent *R, g wire.Generation) (*wire.UpdateReply, error) {
	row := o.stamped(sent, g, wire.Instant(tx.Now()))
	if err := putRecord(tx, o.key(row), row, 0); err != nil {
		return nil, err
	}
	return o.facts(row).reply(), nil
}

// remove is the rule of every *.remove. The owner need not be live.
//
// Reads and writes: the row.
func (o *ownedRecords[R]) remove(tx *kvstore.Tx, k kvstore.Key, owner wire.OwnerToken) (*wire.RemoveReply, error) {
	stored, err := o.find(tx.View, k)
	if err != nil {
		return nil, err
	}
	if stored == nil || o.facts(stored).token != owner {
		return &wire.RemoveReply{Status: wire.StatusIgnoredStale}, nil
	}
	if _, err := tx.Delete(k); err != nil {
		return nil, err
	}
	return &wire.RemoveReply{Status: wire.StatusStored}, nil
}

// ownedList says which rows of a family to list, and as what.
type ownedList[R, I any] struct {
	rows     iter.Seq[*kvstore.Row]
	match    func(*R) bool // nil: all of them
	liveOnly bool
	item     func(*R, wire.RowState) *I
}

// listOwned is the rule of every *.list. It returns the key to go on after, empty at
// the end.
//
// Reads: the rows and the leases of the owners of those that match.
func listOwned[R, I any](v kvstore.View, o *ownedRecords[R], l ownedList[R, I], p Page) ([]I, kvstore.Key, error) {
	return fill(itemsOf(l.rows, func(r *kvstore.Row) (*I, error) {
		d, err := o.decode(r)
		if err != nil || (l.match != nil && !l.match(d)) {
			return nil, err
		}
		state, err := rowState(v, r, o.facts(d).token)
		if err != nil || (l.liveOnly && !state.Live) {
			return nil, err
		}
		return l.item(d, state), nil
	}), p)
}

// rowState says what a listed or resolved row has besides its own fields.
func rowState(v kvstore.View, r *kvstore.Row, t wire.OwnerToken) (wire.RowState, error) {
	live, err := isLive(v, t)
	return wire.RowState{Live: live, Version: version(r)}, err
}
