package kvstore

import "github.com/tidwall/btree"

// Overlay is what a row version makes of other rows: from its commit on they read
// otherwise, although nobody has rewritten them. So one write can change any number
// of rows at one instant.
type Overlay struct {
	// Rows take the place of the rows of their keys, which must be there, in key
	// order. Each has the key, the value and the expiry of the row before, the
	// revision that readers see, and in Over what the schema makes of the value.
	Rows []*Row
	// Derived is what changes in the indexes and sums by that; nil: it is found out
	// from the schema, row by row.
	Derived *Derived
}

// Derived is a change of indexes and sums: exactly what the schema says of some rows
// after a change, less what it says of them before.
type Derived struct {
	Removed, Added []IndexedKey
	Sums           []Amount
}

// IndexedKey is a row's place in an index.
type IndexedKey struct {
	IndexEntry
	Key Key
}

// overlay carries out what an entry makes of other rows and returns them.
func (s *State) overlay(e Entry) []*Row {
	if s.schema.Overlay == nil {
		return nil
	}
	o := s.schema.Overlay(s, e)
	if o == nil {
		return nil
	}
	var hint btree.PathHint
	for _, r := range o.Rows {
		prior, _ := s.rows.SetHint(r, &hint)
		switch {
		case o.Derived == nil:
			s.relink(prior, r)
		case r.Expiry != 0:
			s.expiring.Set(r)
		}
	}
	if o.Derived != nil {
		s.derive(o.Derived)
	}
	return o.Rows
}

func (s *State) derive(d *Derived) {
	var removed, added btree.PathHint
	for _, i := range d.Removed {
		s.index.DeleteHint(indexItem{i.Index, i.Value, i.Key}, &removed)
	}
	for _, i := range d.Added {
		s.index.SetHint(indexItem{i.Index, i.Value, i.Key}, &added)
	}
	for _, a := range d.Sums {
		s.add(a.Sum, a.N)
	}
}
