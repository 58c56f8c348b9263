package kvstore

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/btree"
)

// stampFamily holds the stamps of removals that the log has forgotten, one row a
// scope, so that a stamp never decreases. They belong to the store itself.
const stampFamily = "stamp"

// State is what a log adds up to at a revision. It is built by one goroutine
// with [State.Apply] and [State.Load]; once another goroutine can see it, it is
// only read and copied. Copying costs nothing: trees are shared until written.
type State struct {
	schema   *Schema
	revision Revision
	rows     *btree.BTreeG[*Row]
	index    *btree.BTreeG[indexItem]
	sums     *btree.BTreeG[Amount] // none is 0
	expiring *btree.BTreeG[*Row]
	stamps   *btree.BTreeG[Stamp]
	removed  *btree.BTreeG[Tombstone]
	families []familyCount // copied when changed
}

type familyCount struct {
	family string
	rows   int
}

// indexItem names a row by its key, so that a version of the row that has the same
// entries as the one before it changes nothing here.
type indexItem struct {
	index, value string
	key          Key
}

// Tombstone remembers a removed row whose history the log still holds. A key has
// at most one, and none while it has a row.
type Tombstone struct {
	Key      Key
	Revision Revision
}

// NewState returns the empty state. A nil schema declares nothing.
func NewState(schema *Schema) *State {
	if schema == nil {
		schema = &Schema{}
	}
	return &State{
		schema:   schema,
		rows:     newTree(func(a, b *Row) bool { return a.Key < b.Key }),
		index:    newTree(lessIndex),
		sums:     newTree(func(a, b Amount) bool { return a.Sum < b.Sum }),
		expiring: newTree(lessExpiry),
		stamps:   newTree(func(a, b Stamp) bool { return a.Scope < b.Scope }),
		removed:  newTree(func(a, b Tombstone) bool { return a.Key < b.Key }),
	}
}

// newTree leaves locking out: a state has one writer and is immutable for
// readers.
func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})
}

func lessIndex(a, b indexItem) bool {
	if c := strings.Compare(a.index, b.index); c != 0 {
		return c < 0
	}
	if c := strings.Compare(a.value, b.value); c != 0 {
		return c < 0
	}
	return a.key < b.key
}

func lessExpiry(a, b *Row) bool {
	if a.Expiry != b.Expiry {
		return a.Expiry < b.Expiry
	}
	return a.Key < b.Key
}

// Copy returns an independent state with the same content.
func (s *State) Copy() *State {
	c := *s
	c.rows, c.index, c.sums, c.expiring = s.rows.Copy(), s.index.Copy(), s.sums.Copy(), s.expiring.Copy()
	c.stamps, c.removed = s.stamps.Copy(), s.removed.Copy()
	return &c
}

// Revision is that of the last entry applied.
func (s *State) Revision() Revision { return s.revision }

// Advance moves the revision forward over log positions that hold no row any
// more. It never moves it back.
func (s *State) Advance(to Revision) { s.revision = max(s.revision, to) }

// Rows counts the stored rows, expired ones included.
func (s *State) Rows() int { return s.rows.Len() }

// Put stores a row version and returns the entry of the commit.
func (s *State) Put(r *Row) Entry {
	prior, _ := s.rows.Set(r)
	if prior == nil {
		s.count(r.Key, 1)
		s.removed.Delete(Tombstone{Key: r.Key}) // its history has gone on
	}
	s.relink(prior, r)
	e := Entry{Key: r.Key, Revision: r.Revision, Row: r, Prior: prior}
	s.stamp(e)
	s.revision = r.Revision
	e.Overlaid = s.overlay(e)
	return e
}

// Delete removes a row at a revision and returns the entry of the commit. With
// tombstone the state remembers that the log has the row's history.
func (s *State) Delete(k Key, rev Revision, tombstone bool) Entry {
	prior, _ := s.rows.Delete(&Row{Key: k})
	if prior != nil {
		s.relink(prior, nil)
		s.count(k, -1)
	}
	e := Entry{Key: k, Revision: rev, Prior: prior}
	s.removed.Delete(Tombstone{Key: k})
	if tombstone {
		s.removed.Set(Tombstone{Key: k, Revision: rev})
	}
	s.stamp(e)
	s.revision = rev
	e.Overlaid = s.overlay(e)
	return e
}

// Forget drops the tombstone of a key: the log has no history of it any more. The
// write that made it so has a revision as well. A state that has not seen the
// removal loses the row here; that is no change of its own, and its stamps come
// with the rows that keep them.
func (s *State) Forget(k Key, rev Revision) {
	s.removed.Delete(Tombstone{Key: k})
	if prior, ok := s.rows.Delete(&Row{Key: k}); ok {
		s.relink(prior, nil)
		s.count(k, -1)
	}
	s.Advance(rev)
}

// relink lets a row version take the place of another in what follows from rows.
// Either may be nil.
func (s *State) relink(prior, next *Row) {
	if prior != nil && prior.Expiry != 0 && (next == nil || next.Expiry != prior.Expiry) {
		s.expiring.Delete(prior)
	}
	if next != nil && next.Expiry != 0 {
		s.expiring.Set(next)
	}
	before, after := s.factsOf(prior), s.factsOf(next)
	s.reindex(prior, next, before.Index, after.Index)
	s.resum(before.Amounts, after.Amounts)
}

// factsOf asks the schema. What it says of the version before is asked again instead of
// being kept with every row: that would be most of what a small row takes.
func (s *State) factsOf(r *Row) Facts {
	if r == nil || s.schema.Derive == nil {
		return Facts{}
	}
	return s.schema.Derive(r)
}

func (s *State) reindex(prior, next *Row, before, after []IndexEntry) {
	if slices.Equal(before, after) {
		return
	}
	for _, e := range before {
		if !slices.Contains(after, e) {
			s.index.Delete(indexItem{e.Index, e.Value, prior.Key})
		}
	}
	for _, e := range after {
		if !slices.Contains(before, e) {
			s.index.Set(indexItem{e.Index, e.Value, next.Key})
		}
	}
}

func (s *State) resum(before, after []Amount) {
	if slices.Equal(before, after) {
		return
	}
	for _, a := range before {
		s.add(a.Sum, -a.N)
	}
	for _, a := range after {
		s.add(a.Sum, a.N)
	}
}

func (s *State) add(sum string, n int64) {
	was, _ := s.sums.Get(Amount{Sum: sum})
	if n += was.N; n == 0 {
		s.sums.Delete(Amount{Sum: sum})
		return
	}
	s.sums.Set(Amount{sum, n})
}

func (s *State) count(k Key, n int) {
	family := k.Split(2)[0]
	s.families = slices.Clone(s.families)
	i := slices.IndexFunc(s.families, func(f familyCount) bool { return f.family == family })
	if i < 0 {
		i = len(s.families)
		s.families = append(s.families, familyCount{family: family})
	}
	s.families[i].rows += n
}

func (s *State) stamp(e Entry) {
	if scope, ok := strings.CutPrefix(string(e.Key), stampFamily+Separator); ok {
		if e.Row != nil {
			rev, err := strconv.ParseUint(string(e.Row.Value), 10, 63)
			if err == nil {
				s.raise(Stamp{scope, Revision(rev)})
			}
		}
		return
	}
	if s.schema.Stamp == nil {
		return
	}
	for _, st := range s.schema.Stamp(e) {
		if st.Revision == 0 {
			st.Revision = e.Revision
		}
		s.raise(st)
	}
}

func (s *State) raise(st Stamp) {
	if old, ok := s.stamps.Get(st); !ok || old.Revision < st.Revision {
		s.stamps.Set(st)
	}
}

// Tombstones lists the removed rows whose history the log still holds, in key
// order.
func (s *State) Tombstones() iter.Seq[Tombstone] { return s.removed.Scan }

// All lists every stored row in key order, expired ones included.
func (s *State) All() iter.Seq[*Row] { return s.rows.Scan }

// Get returns the stored row, expired or not; nil when there is none.
func (s *State) Get(k Key) *Row {
	r, _ := s.rows.Get(&Row{Key: k})
	return r
}

// Getter returns a Get that is quick when it is asked for keys in order. It is for one
// goroutine.
func (s *State) Getter() func(Key) *Row {
	var hint btree.PathHint
	var pivot Row
	return func(k Key) *Row {
		pivot.Key = k
		r, _ := s.rows.GetHint(&pivot, &hint)
		return r
	}
}

// View reads the state as of an instant.
func (s *State) View(now Instant) View { return View{s, now} }
