package kvtest

import (
	"maps"
	"slices"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
)

// Family is the family of the rows that the [Schema] knows, and WordIndex its
// index.
const (
	Family    = "r"
	WordIndex = "word"
)

// Key is a row of the [Schema] in a scope.
func Key(scope, name string) kvstore.Key { return kvstore.NewKey(Family, scope, name) }

// Schema indexes the rows of a family by every word of their values, counts the
// words in a sum for each, and stamps the rows' scopes.
func Schema() *kvstore.Schema {
	return &kvstore.Schema{
		Index: func(r *kvstore.Row) (entries []kvstore.IndexEntry) {
			if scope(r.Key) == "" {
				return nil
			}
			for _, w := range words(r.Value) {
				entries = append(entries, kvstore.IndexEntry{Index: WordIndex, Value: w})
			}
			return entries
		},
		Amounts: func(r *kvstore.Row) (amounts []kvstore.Amount) {
			if scope(r.Key) == "" {
				return nil
			}
			counts := make(map[string]int64)
			for _, w := range words(r.Value) {
				counts[w]++
			}
			for _, w := range slices.Sorted(maps.Keys(counts)) {
				amounts = append(amounts, kvstore.Amount{Sum: w, N: counts[w]})
			}
			return amounts
		},
		Stamp: func(e kvstore.Entry) []kvstore.Stamp {
			if s := scope(e.Key); s != "" {
				return []kvstore.Stamp{{Scope: s}}
			}
			return nil
		},
	}
}

// scope is the second segment of a key of the family; "" of any other.
func scope(k kvstore.Key) string {
	if parts := k.Split(3); len(parts) == 3 && parts[0] == Family {
		return parts[1]
	}
	return ""
}

// words are the words of a value; values of a megabyte are no text.
func words(value []byte) []string {
	if len(value) > 256 {
		return nil
	}
	return strings.Fields(string(value))
}
