package kvtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
)

// Family is the family of the rows that the [Schema] knows, and WordIndex its
// index.
const (
	Family    = "r"
	WordIndex = "word"

	wordsFamily = "words"
)

// Key is a row of the [Schema] in a scope.
func Key(scope, name string) kvstore.Key { return kvstore.NewKey(Family, scope, name) }

// WordsKey is the key of a row that adds words to others, by what [Adds] makes.
func WordsKey(name string) kvstore.Key { return kvstore.NewKey(wordsFamily, name) }

// Adds is the value of a row under a [WordsKey]: from its commit on, the rows of a scope
// that begin with a prefix read with a word more. With derived, the schema says what that
// changes in indexes and sums, otherwise it is left to the store.
func Adds(scope, prefix, word string, derived bool) string {
	return strings.Join([]string{scope, prefix, word, strconv.FormatBool(derived)}, " ")
}

// Schema indexes the rows of a family by every word of what they read as, counts the
// words in a sum for each, and stamps the rows' scopes. Rows of another family add words
// to those.
func Schema() *kvstore.Schema {
	return &kvstore.Schema{
		Derive:  func(r *kvstore.Row) kvstore.Facts { return kvstore.Facts{Index: indexesOf(r), Amounts: amountsOf(r)} },
		Overlay: addedBy,
		Stamp: func(e kvstore.Entry) []kvstore.Stamp {
			if s := scope(e.Key); s != "" {
				return []kvstore.Stamp{{Scope: s}}
			}
			return nil
		},
	}
}

func indexesOf(r *kvstore.Row) (entries []kvstore.IndexEntry) {
	if scope(r.Key) == "" {
		return nil
	}
	for _, w := range words(r) {
		entries = append(entries, kvstore.IndexEntry{Index: WordIndex, Value: w})
	}
	return entries
}

func amountsOf(r *kvstore.Row) (amounts []kvstore.Amount) {
	if scope(r.Key) == "" {
		return nil
	}
	counts := make(map[string]int64)
	for _, w := range words(r) {
		counts[w]++
	}
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		amounts = append(amounts, kvstore.Amount{Sum: w, N: counts[w]})
	}
	return amounts
}

// addedBy is the schema's Overlay: rows that were written later are left as they are.
func addedBy(s *kvstore.State, e kvstore.Entry) *kvstore.Overlay {
	if e.Row == nil || !e.Key.HasPrefix(kvstore.Prefix(wordsFamily)) {
		return nil
	}
	parts := strings.Split(string(e.Row.Value), " ")
	if len(parts) != 4 {
		return nil
	}
	o := new(kvstore.Overlay)
	for r := range s.View(0).Scan(Key(parts[0], parts[1]), "") {
		if r.Revision < e.Revision {
			o.Rows = append(o.Rows, &kvstore.Row{
				Key: r.Key, Value: r.Value, Revision: e.Revision, Expiry: r.Expiry, Over: Reads(r) + " " + parts[2],
			})
		}
	}
	if parts[3] == "true" {
		o.Derived = added(s, o.Rows)
	}
	return o
}

// added is what rows change in indexes and sums when they take the place of others.
func added(s *kvstore.State, rows []*kvstore.Row) *kvstore.Derived {
	d := new(kvstore.Derived)
	sums := make(map[string]int64)
	count := func(r *kvstore.Row, sign int64) {
		for _, a := range amountsOf(r) {
			sums[a.Sum] += sign * a.N
		}
	}
	for _, r := range rows {
		prior := s.Get(r.Key)
		old, now := indexesOf(prior), indexesOf(r)
		for _, e := range now {
			if !slices.Contains(old, e) {
				d.Added = append(d.Added, kvstore.IndexedKey{IndexEntry: e, Key: r.Key})
			}
		}
		count(prior, -1)
		count(r, 1)
	}
	for name, n := range sums {
		d.Sums = append(d.Sums, kvstore.Amount{Sum: name, N: n})
	}
	return d
}

// Reads is what a row reads as.
func Reads(r *kvstore.Row) string {
	if text, ok := r.Over.(string); ok {
		return text
	}
	return string(r.Value)
}

// scope is the second segment of a key of the family; "" of any other.
func scope(k kvstore.Key) string {
	if parts := k.Split(3); len(parts) == 3 && parts[0] == Family {
		return parts[1]
	}
	return ""
}

// words are the words that a row reads as; values of a megabyte are no text.
func words(r *kvstore.Row) []string {
	if len(r.Value) > 256 {
		return nil
	}
	return strings.Fields(Reads(r))
}
