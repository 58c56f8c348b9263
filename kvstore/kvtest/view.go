package kvtest

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zlink/zlink-nats/kvstore"
)

var viewPromises = []promise{
	{name: "ScansAndIndexesAreExact", test: scansAndIndexes},
	{name: "SnapshotsDoNotChange", test: snapshotsDoNotChange},
	{name: "ExpiryIsExact", test: expiryIsExact},
	{name: "StampsOnlyGrow", test: stampsOnlyGrow},
	{name: "PrefixesAndPositions", test: prefixes},
}

// keys are the keys of rows in their order.
func keys(rows iter.Seq[*kvstore.Row]) []kvstore.Key {
	var all []kvstore.Key
	for r := range rows {
		all = append(all, r.Key)
	}
	return all
}

// changes commits random changes and keeps a plain map of what they lead to.
type changes struct {
	*env
	rnd    *rand.Rand
	rows   map[kvstore.Key]*kvstore.Row
	stamps map[string]kvstore.Revision
}

func (e *env) newChanges() *changes {
	return &changes{
		env: e, rnd: rand.New(rand.NewPCG(1, 2)),
		rows: make(map[kvstore.Key]*kvstore.Row), stamps: make(map[string]kvstore.Revision),
	}
}

// commit changes a few random rows at once.
func (c *changes) commit(s kvstore.Store) kvstore.Revision {
	c.Helper()
	picked := make(map[kvstore.Key]bool)
	for range 1 + c.rnd.IntN(4) {
		picked[Key(fmt.Sprint("s", c.rnd.IntN(3)), fmt.Sprint("n", c.rnd.IntN(20)))] = c.rnd.IntN(3) > 0
	}
	value := fmt.Sprintf("w%d w%d", c.rnd.IntN(6), c.rnd.IntN(6))
	var expiry kvstore.Instant
	if c.rnd.IntN(3) == 0 {
		expiry = c.clock.Now() + kvstore.Instant(c.rnd.IntN(20))
	}
	ordered := slices.Sorted(maps.Keys(picked))
	var written map[kvstore.Key]kvstore.Revision
	rev := c.update(s, func(tx *kvstore.Tx) (err error) {
		written = make(map[kvstore.Key]kvstore.Revision)
		for _, k := range ordered {
			if picked[k] {
				written[k], err = tx.Put(k, []byte(value), expiry)
			} else {
				written[k], err = tx.Delete(k)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for k, put := range picked {
		if put {
			c.rows[k] = &kvstore.Row{Key: k, Value: []byte(value), Revision: written[k], Expiry: expiry}
		} else {
			delete(c.rows, k)
		}
		c.stamps[scope(k)] = max(c.stamps[scope(k)], written[k])
	}
	return rev
}

// live lists the keys of the map's rows that a filter takes, in order.
func (c *changes) live(now kvstore.Instant, takes func(*kvstore.Row) bool) []kvstore.Key {
	var all []kvstore.Key
	for k, r := range c.rows {
		if r.Live(now) && takes(r) {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return all
}

// sum is how often a word is in the map's rows, expired ones included.
func (c *changes) sum(word string) (n int64) {
	for _, r := range c.rows {
		for _, w := range words(r) {
			if w == word {
				n++
			}
		}
	}
	return n
}

// check compares everything that a view can be asked with the map.
func (c *changes) check(v kvstore.View) {
	c.Helper()
	equal := func(what string, got, want any) {
		c.Helper()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(kvstore.Row{})); diff != "" {
			c.Fatalf("%s at revision %d (-want +got):\n%s", what, v.Revision(), diff)
		}
	}
	now := v.Now()
	for k, want := range c.rows {
		if got := v.Row(k); got != nil {
			equal("row", got, want)
		} else if want.Live(now) {
			c.Fatalf("row %q is missing", k)
		}
	}
	for _, prefix := range []kvstore.Key{"", kvstore.Prefix(Family), kvstore.Prefix(Family, "s1"), Key("s1", "n1"), "zz"} {
		for _, after := range []kvstore.Key{"", Key("s1", "n10"), Key("s1", "n1"), Key("s0", ""), "zzz"} {
			want := c.live(now, func(r *kvstore.Row) bool { return r.Key.HasPrefix(prefix) && r.Key > after })
			equal(fmt.Sprintf("scan of %q after %q", prefix, after), keys(v.Scan(prefix, after)), want)
		}
	}
	var byPrefix []kvstore.Key
	for w := range 6 {
		word := fmt.Sprint("w", w)
		want := c.live(now, func(r *kvstore.Row) bool { return slices.Contains(words(r), word) })
		equal("index "+word, keys(v.Index(WordIndex, word)), want)
		byPrefix = append(byPrefix, want...)
	}
	for _, after := range []kvstore.Key{"", Key("s1", "n10"), Key("s0", ""), "zzz"} {
		want := c.live(now, func(r *kvstore.Row) bool { return slices.Contains(words(r), "w1") && r.Key > after })
		equal(fmt.Sprintf("index w1 after %q", after), keys(v.IndexAfter(WordIndex, "w1", after)), want)
	}
	for w := range 7 {
		word := fmt.Sprint("w", w)
		equal("sum of "+word, v.Sum(word), c.sum(word))
	}
	equal("index prefix", keys(v.IndexPrefix(WordIndex, "w")), byPrefix)
	var values []string
	for w := range 6 {
		if c.sum(fmt.Sprint("w", w)) > 0 {
			values = append(values, fmt.Sprint("w", w))
		}
	}
	equal("index values", slices.Collect(v.IndexValues(WordIndex, "w")), values)
	equal("index values of nothing", slices.Collect(v.IndexValues(WordIndex, "x")), []string(nil))
	equal("index prefix of nothing", keys(v.IndexPrefix(WordIndex, "x")), []kvstore.Key(nil))
	equal("other index", keys(v.IndexPrefix("wor", "")), []kvstore.Key(nil))
	for scope, want := range c.stamps {
		equal("stamp of "+scope, v.Stamp(scope), want)
	}
	c.checkExpiry(v)
}

func (c *changes) checkExpiry(v kvstore.View) {
	c.Helper()
	var next kvstore.Instant
	expired := 0
	for _, r := range c.rows {
		if r.Expiry != 0 && (next == 0 || r.Expiry < next) {
			next = r.Expiry
		}
		if !r.Live(v.Now()) {
			expired++
		}
	}
	if got := v.NextExpiry(); got != next {
		c.Fatalf("next expiry is %d, want %d", got, next)
	}
	var last kvstore.Instant
	for r := range v.Expired() {
		expired--
		if r.Live(v.Now()) || r.Expiry < last {
			c.Fatalf("expired row %+v at %d after one of %d", r, v.Now(), last)
		}
		last = r.Expiry
	}
	if expired != 0 {
		c.Fatalf("%d expired rows are not listed", expired)
	}
}

func scansAndIndexes(e *env) {
	stores := e.instances()
	c := e.newChanges()
	for i := range 200 {
		rev := c.commit(stores[i%len(stores)])
		if i%5 == 0 {
			e.clock.Advance(time.Duration(c.rnd.IntN(4)) * time.Millisecond)
		}
		if i%10 == 9 {
			for _, s := range stores {
				c.check(e.view(s, rev))
			}
		}
	}
	if e.shared {
		c.check(e.view(e.open(), 0))
	}
}

func snapshotsDoNotChange(e *env) {
	c := e.newChanges()
	type snapshot struct {
		view kvstore.View
		rows map[kvstore.Key]*kvstore.Row
		at   map[string]kvstore.Revision
	}
	var kept []snapshot
	for range 60 {
		v := e.view(e.store, c.commit(e.store))
		kept = append(kept, snapshot{v, maps.Clone(c.rows), maps.Clone(c.stamps)})
		e.clock.Advance(time.Millisecond)
	}
	for _, s := range kept {
		(&changes{env: e, rows: s.rows, stamps: s.at}).check(s.view)
	}
}

func expiryIsExact(e *env) {
	at := e.clock.Now() + 1000
	k := Key("a", "1")
	rev := e.put(e.store, k, "word", at)
	for _, s := range e.instances() {
		e.clock.Set(int64(at - 1))
		v := e.view(s, rev)
		if r := v.Row(k); r == nil || r.Expiry != at {
			e.Errorf("one millisecond before its expiry the row is %+v", r)
		}
		if len(keys(v.Expired())) != 0 || v.NextExpiry() != at {
			e.Errorf("expired %v, next expiry %d, want none and %d", keys(v.Expired()), v.NextExpiry(), at)
		}
		e.clock.Set(int64(at))
		if v.Row(k) == nil {
			e.Error("an old view judges by a newer instant")
		}
		v = e.view(s, rev)
		if v.Now() != at {
			e.Errorf("view is of instant %d, want %d", v.Now(), at)
		}
		if r := v.Row(k); r != nil {
			e.Errorf("at its expiry the row is %+v", r)
		}
		listed := slices.Concat(keys(v.Scan("", "")), keys(v.Index(WordIndex, "word")), keys(v.IndexPrefix(WordIndex, "w")))
		if len(listed) != 0 {
			e.Errorf("at its expiry the row is listed: %q", listed)
		}
		if r := v.State().Get(k); r == nil || len(keys(v.Expired())) != 1 {
			e.Errorf("stored row is %+v, expired are %q", r, keys(v.Expired()))
		}
	}
	e.update(e.store, func(tx *kvstore.Tx) error {
		if r := tx.Row(k); r != nil {
			return fmt.Errorf("closure sees %+v at its expiry", r)
		}
		_, err := tx.Put(k, []byte("again"), 0)
		return err
	})
	if got := text(e.view(e.store, 0).Row(k)); got != "again" {
		e.Errorf("row that was put again is %q", got)
	}
}

func stampsOnlyGrow(e *env) {
	a, b := Key("a", "1"), Key("b", "1")
	first := e.put(e.store, a, "x", 0)
	second := e.put(e.store, b, "x", 0)
	third := e.remove(e.store, a)
	v := e.view(e.store, third)
	got := []kvstore.Revision{v.Stamp("a"), v.Stamp("b"), v.Stamp("c")}
	if diff := cmp.Diff([]kvstore.Revision{third, second, 0}, got); diff != "" || first >= second {
		e.Errorf("stamps (-want +got):\n%s", diff)
	}
}

func prefixes(e *env) {
	for _, k := range []kvstore.Key{"a", "a\x00", "a\x00b", "a\x01", "ab", "\xff", "\xff\xff"} {
		e.put(e.store, k, "x", 0)
	}
	v := e.view(e.store, 0)
	for prefix, want := range map[kvstore.Key]string{
		"":                  "a|a\x00|a\x00b|a\x01|ab|\xff|\xff\xff",
		"a":                 "a|a\x00|a\x00b|a\x01|ab",
		kvstore.Prefix("a"): "a\x00|a\x00b",
		"ab":                "ab",
		"b":                 "",
		"\xff":              "\xff|\xff\xff",
	} {
		var got []string
		for _, k := range keys(v.Scan(prefix, "")) {
			got = append(got, string(k))
		}
		if diff := cmp.Diff(want, strings.Join(got, "|")); diff != "" {
			e.Errorf("scan of %q (-want +got):\n%s", prefix, diff)
		}
	}
}
