package domain

import (
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

// locationFamily is what the rules of location rows need to know about one family
// of them. R is its wire type.
type locationFamily[R any] struct {
	ownedRecords[R]
	// same compares everything that callers send.
	same func(a, b *R) bool
}

// update is the rule of every *.update of location rows.
//
// Reads: the writer's lease, the row, and the lease of the row's owner. Writes: the
// row.
func (f *locationFamily[R]) update(tx *kvstore.Tx, sent *R, intent wire.Intent) (*wire.UpdateReply, error) {
	live, err := isLive(tx.View, f.facts(sent).token)
	if err != nil {
		return nil, err
	}
	if !live {
		return refused(tx, wire.StatusRejectedConflict), nil
	}
	stored, err := f.find(tx.View, f.key(sent))
	switch {
	case err != nil:
		return nil, err
	case stored != nil:
		return f.replace(tx, stored, sent, intent)
	case intent == wire.IntentRenew:
		return refused(tx, wire.StatusRejectedConflict), nil
	default:
		return f.begin(tx, sent)
	}
}

// replace is update where there is a row and the writer is live.
func (f *locationFamily[R]) replace(tx *kvstore.Tx, stored, sent *R, intent wire.Intent) (*wire.UpdateReply, error) {
	row := f.facts(stored)
	own := row.token == f.facts(sent).token
	switch {
	case own && f.same(stored, sent):
		return row.reply(), nil
	case intent == wire.IntentRenew && !own:
		return refused(tx, wire.StatusIgnoredStale), nil
	case intent == wire.IntentRenew:
		return f.store(tx, sent, row.generation)
	case intent == wire.IntentNewClaim:
		live, err := isLive(tx.View, row.token)
		if err != nil {
			return nil, err
		}
		if live {
			return refused(tx, wire.StatusRejectedConflict), nil
		}
	}
	return f.begin(tx, sent)
}

// resolve returns the row of a key, live or not; nil when there is none.
//
// Reads: the row and the lease of its owner.
func (f *locationFamily[R]) resolve(v kvstore.View, k kvstore.Key) (*R, wire.RowState, error) {
	r := v.Row(k)
	if r == nil {
		return nil, wire.RowState{}, nil
	}
	stored, err := f.decode(r)
	if err != nil {
		return nil, wire.RowState{}, err
	}
	state, err := rowState(v, r, f.facts(stored).token)
	return stored, state, err
}

// filterOf is the filter of a list: one without fields when none was sent.
func filterOf[F any](sent *F) F {
	if sent == nil {
		var all F
		return all
	}
	return *sent
}

// asked tells whether a field of a filter is absent or has the value of a row.
func asked[T comparable](field, value T) bool {
	var absent T
	return field == absent || field == value
}

// scanOf lists the rows of a family whose keys begin with the given parts, up to
// the first that is empty.
func scanOf(v kvstore.View, after kvstore.Key, family string, parts ...string) iter.Seq[*kvstore.Row] {
	segments := []string{family}
	for _, part := range parts {
		if part == "" {
			break
		}
		segments = append(segments, part)
	}
	return v.Scan(kvstore.Prefix(segments...), after)
}
