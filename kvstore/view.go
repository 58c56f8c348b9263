package kvstore

import (
	"iter"
	"strings"
)

// View is a state and the instant at which its expiries are judged. It is a
// small value that may be copied and read by many goroutines. The zero View must
// not be used.
type View struct {
	state *State
	now   Instant
}

// Now is the instant of the view.
func (v View) Now() Instant { return v.now }

// Revision is the store revision that the view shows.
func (v View) Revision() Revision { return v.state.revision }

// State returns what the view reads.
func (v View) State() *State { return v.state }

// Row returns the row of a key; nil when it is absent or has expired.
func (v View) Row(k Key) *Row {
	if r := v.state.Get(k); r != nil && r.Live(v.now) {
		return r
	}
	return nil
}

// Scan lists the rows whose key begins with prefix and is greater than after, in
// key order. An empty after starts at the beginning.
func (v View) Scan(prefix, after Key) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		from := max(prefix, after)
		v.state.rows.Ascend(&Row{Key: from}, func(r *Row) bool {
			if !r.Key.HasPrefix(prefix) {
				return false
			}
			if (after != "" && r.Key <= after) || !r.Live(v.now) {
				return true
			}
			return yield(r)
		})
	}
}

// Index lists the rows under exactly one value of an index, in key order.
func (v View) Index(index, value string) iter.Seq[*Row] { return v.IndexAfter(index, value, "") }

// IndexAfter is Index for the rows whose key is greater than after.
func (v View) IndexAfter(index, value string, after Key) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		v.state.index.Ascend(indexItem{index, value, after}, func(i indexItem) bool {
			if i.index != index || i.value != value {
				return false
			}
			return i.key == after || v.visit(i.key, yield)
		})
	}
}

// IndexPrefix lists the rows under the values of an index that begin with
// prefix, ordered by value and then by key.
func (v View) IndexPrefix(index, prefix string) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		v.state.index.Ascend(indexItem{index: index, value: prefix}, func(i indexItem) bool {
			if i.index != index || !strings.HasPrefix(i.value, prefix) {
				return false
			}
			return v.visit(i.key, yield)
		})
	}
}

// IndexValues lists the values of an index that begin with prefix and have rows,
// expired ones included, in order. It costs their number, not that of the rows.
func (v View) IndexValues(index, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from := indexItem{index: index, value: prefix}
		for {
			found := false
			v.state.index.Ascend(from, func(i indexItem) bool {
				found = i.index == index && strings.HasPrefix(i.value, prefix)
				from.value = i.value
				return false
			})
			if !found || !yield(from.value) {
				return
			}
			from.value += "\x00" // the least value that is greater
		}
	}
}

// visit yields the row of a key in an index, unless it has expired.
func (v View) visit(k Key, yield func(*Row) bool) bool {
	r := v.Row(k)
	return r == nil || yield(r)
}

// Sum is the total of what the stored rows add to a sum, expired ones included
// until they are removed; 0 when none adds to it.
func (v View) Sum(name string) int64 {
	a, _ := v.state.sums.Get(Amount{Sum: name})
	return a.N
}

// Stamp is the revision of the last change in a scope; 0 if there never was one.
func (v View) Stamp(scope string) Revision {
	st, _ := v.state.stamps.Get(Stamp{Scope: scope})
	return st.Revision
}

// Count is the number of rows whose key begins with the segment family. It costs what
// [View.Families] does.
func (v View) Count(family string) int { return v.Families()[family].Live }

// FamilyRows counts rows by the first segment of their keys.
type FamilyRows struct {
	Live    int
	Expired int // and not removed yet
}

// Families counts all stored rows, those of the store itself included. It costs the number
// of families and of rows that have expired and were not removed yet.
func (v View) Families() map[string]FamilyRows {
	all := make(map[string]FamilyRows, len(v.state.families))
	for _, f := range v.state.families {
		if f.rows > 0 {
			all[f.family] = FamilyRows{Live: f.rows}
		}
	}
	for r := range v.Expired() {
		family := r.Key.Split(2)[0]
		n := all[family]
		all[family] = FamilyRows{Live: n.Live - 1, Expired: n.Expired + 1}
	}
	return all
}

// NextExpiry is the earliest expiry of a stored row, which may have passed; 0
// when no row expires.
func (v View) NextExpiry() Instant {
	if r, ok := v.state.expiring.Min(); ok {
		return r.Expiry
	}
	return 0
}

// Expired lists the stored rows whose expiry has come, earliest first.
func (v View) Expired() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		v.state.expiring.Scan(func(r *Row) bool {
			return !r.Live(v.now) && yield(r)
		})
	}
}
