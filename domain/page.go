package domain

import (
	"iter"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/wire"
)

const (
	// DefaultPageItems is the page size of a request that names none.
	DefaultPageItems = 100
	// MaxPageItems is the greatest page size a request may name.
	MaxPageItems = 1000
	// MaxPageBytes bounds an encoded page of more than one item. One item alone may
	// be larger in JSON, where escaped text takes up to six times its bytes: no row
	// is left out.
	MaxPageBytes = 4 << 20

	// pageHeadBytes is kept free for what a page holds besides its items: a
	// continuation token and a few small fields.
	pageHeadBytes = maxTokenBytes + 512
)

// Page says how much of a list to return.
type Page struct {
	// Items is the greatest number of items, 1..MaxPageItems; 0 is
	// DefaultPageItems.
	Items uint32
	// Bytes bounds the encoded page; 0, or more than that, is MaxPageBytes.
	Bytes int
	// Encoding is how the items will be written: Bytes counts it.
	Encoding wire.Encoding
}

// listed is an item that could be the next one of a page.
type listed[T any] struct {
	item T
	// row is the last row that the item was made from: a list goes on after it.
	row *kvstore.Row
}

// fill takes items into a page until it is full, and returns the key to go on
// after: empty when no further item follows. A page has at least one item if
// there is one, however large.
//
// A row that is lost fails the page that it would be in. Behind a page that has its
// number of items it only shows that the list goes on: the next page fails.
func fill[T any](list iter.Seq2[listed[T], error], p Page) (items []T, next kvstore.Key, err error) {
	if p.Items == 0 {
		p.Items = DefaultPageItems
	}
	m := meter{encoding: p.Encoding, room: MaxPageBytes - pageHeadBytes}
	if p.Bytes > 0 {
		m.room = min(m.room, p.Bytes-pageHeadBytes)
	}
	for l, err := range list {
		if len(items) == int(p.Items) {
			return items, next, nil
		}
		if err != nil {
			return nil, "", err
		}
		items = append(items, l.item)
		if fits, err := measure(&m, items, l.row); err != nil {
			return nil, "", err
		} else if !fits && len(items) > 1 {
			return items[:len(items)-1], next, nil
		}
		next = l.row.Key
	}
	return items, "", nil
}

// meter adds up how large a page is. Encoding an item only to know its size
// costs as much as the reply itself, so items are measured only once their
// estimates, which are never too low, do not fit any more.
type meter struct {
	encoding wire.Encoding
	room     int // bytes for items
	measured int // items whose exact size is in bytes
	bytes    int // size of the items; that of the unmeasured ones is estimated
	exact    int // size of the measured items alone
}

// measure counts the last of items, made from a row, and tells whether the page
// still fits.
func measure[T any](m *meter, items []T, row *kvstore.Row) (bool, error) {
	m.bytes += m.estimate(row)
	if m.bytes <= m.room {
		return true, nil
	}
	for ; m.measured < len(items); m.measured++ {
		b, err := wire.Marshal(m.encoding, &items[m.measured])
		if err != nil {
			return false, err
		}
		m.exact += len(b) + 1 // a comma
	}
	m.bytes = m.exact
	return m.exact <= m.room, nil
}

// estimate bounds the encoded size of an item from that of the row it was made
// from. An item adds some fields to its row, may name its key twice, and may have a
// number for every zero of the row: a mesh node's usage, for which each type of spot
// takes 8 bytes more than the 57 that it has in the row. Besides, a byte of CBOR
// becomes at most six of JSON, and a comma.
func (m *meter) estimate(row *kvstore.Row) int {
	const added = 512
	n := 2*len(row.Key) + len(row.Value)*5/4
	if p, ok := row.Over.(*projection); ok && p.staged != nil {
		const moved = 1280 // a membership, a mesh, a routing id and an owner, each at its longest
		n += len(p.staged.AuthorityPayload)*5/4 + moved
	}
	if m.encoding == wire.JSON {
		n *= 7
	}
	return n + added
}

// itemsOf lists what item makes of the rows, leaving out the rows of which it
// makes nothing.
func itemsOf[T any](rows iter.Seq[*kvstore.Row], item func(*kvstore.Row) (*T, error)) iter.Seq2[listed[T], error] {
	return func(yield func(listed[T], error) bool) {
		for r := range rows {
			it, err := item(r)
			switch {
			case err != nil:
				yield(listed[T]{}, err)
				return
			case it != nil && !yield(listed[T]{*it, r}, nil):
				return
			}
		}
	}
}
