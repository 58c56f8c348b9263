package kvtest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
)

var overlayPromises = []promise{
	{name: "OneWriteChangesHowManyRowsRead", test: oneWriteForMany},
	{name: "OverlaidRowsCanBeWritten", test: overlaidRowsWritten},
	{name: "OverlaysComeOnTopOfEachOther", test: overlaysInARow},
	{name: "OverlaidRowsExpire", test: overlaidRowsExpire},
	{name: "WatchersSeeOverlaidRows", test: watchOverlaid},
	{name: "OverlaysFollowTheRows", test: overlaysAndChanges},
}

// everywhere checks the views of all instances, and of one that loads the store now.
func (e *env) everywhere(rev kvstore.Revision, check func(kvstore.View)) {
	e.Helper()
	stores := []kvstore.Store{e.store}
	if e.shared {
		stores = append(stores, e.open())
	}
	for _, s := range stores {
		check(e.view(s, rev))
	}
}

// reading is what a row reads as with its revision; "" when there is no row.
func reading(v kvstore.View, name string) string {
	r := v.Row(Key("a", name))
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s at %d", Reads(r), r.Revision)
}

func (e *env) same(what string, got, want any) {
	e.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func oneWriteForMany(e *env) {
	n := min(300, e.store.Limits().CommitRows)
	for _, derived := range []bool{false, true} {
		prefix, word := fmt.Sprint(derived), fmt.Sprint("word-", derived)
		first := e.update(e.store, func(tx *kvstore.Tx) error {
			for i := range n {
				if _, err := tx.Put(Key("a", fmt.Sprintf("%s%03d", prefix, i)), []byte("old "+prefix), 0); err != nil {
					return err
				}
			}
			return nil
		}) - kvstore.Revision(n) + 1
		before := e.view(e.store, 0)
		rev := e.put(e.store, WordsKey(prefix), Adds("a", prefix, word, derived), 0)
		e.same("revision", rev, first+kvstore.Revision(n))
		e.everywhere(rev, func(v kvstore.View) {
			e.Helper()
			for i := range n {
				e.same("row", reading(v, fmt.Sprintf("%s%03d", prefix, i)), fmt.Sprintf("old %s %s at %d", prefix, word, rev))
			}
			all := keys(v.Scan(Key("a", prefix), ""))
			e.same("rows", len(all), n)
			e.same("index of what they were", keys(v.Index(WordIndex, prefix)), all)
			e.same("index of what is new", keys(v.Index(WordIndex, word)), all)
			e.same("sums", []int64{v.Sum(prefix), v.Sum(word)}, []int64{int64(n), int64(n)})
			for r := range v.Index(WordIndex, word) {
				e.same("row of the index", Reads(r), "old "+prefix+" "+word)
			}
			e.same("stamp", v.Stamp("a"), rev-1) // the schema says nothing of that of the write
		})
		e.same("row of an old view", reading(before, prefix+"000"), fmt.Sprintf("old %s at %d", prefix, first))
		e.same("sum of an old view", before.Sum(word), int64(0))
		e.same("index of an old view", keys(before.Index(WordIndex, word)), []kvstore.Key(nil))
	}
}

func overlaidRowsWritten(e *env) {
	for i, derived := range []bool{false, true} {
		name := func(n int) string { return fmt.Sprint(i, n) }
		for n := range 4 {
			e.put(e.store, Key("a", name(n)), fmt.Sprint("old", i), 0)
		}
		word := fmt.Sprint("more", i)
		rev := e.put(e.store, WordsKey(word), Adds("a", fmt.Sprint(i), word, derived), 0)
		e.update(e.store, func(tx *kvstore.Tx) error {
			if got := reading(tx.View, name(1)); got != fmt.Sprintf("old%d %s at %d", i, word, rev) {
				return fmt.Errorf("closure reads %q", got)
			}
			if _, err := tx.Put(Key("a", name(1)), []byte("new"), 0); err != nil {
				return err
			}
			_, err := tx.Delete(Key("a", name(2)))
			return err
		})
		last := e.put(e.store, Key("a", name(4)), "late", 0) // was not there
		e.everywhere(last, func(v kvstore.View) {
			e.Helper()
			e.same("row as it was", reading(v, name(0)), fmt.Sprintf("old%d %s at %d", i, word, rev))
			e.same("row that was written", reading(v, name(1)), fmt.Sprintf("new at %d", rev+1))
			e.same("row that was removed", reading(v, name(2)), "")
			e.same("row as it was", reading(v, name(3)), fmt.Sprintf("old%d %s at %d", i, word, rev))
			e.same("row that is new", reading(v, name(4)), fmt.Sprintf("late at %d", last))
			e.same("index", keys(v.Index(WordIndex, word)), []kvstore.Key{Key("a", name(0)), Key("a", name(3))})
			e.same("sums", []int64{v.Sum(word), v.Sum(fmt.Sprint("old", i))}, []int64{2, 2})
		})
	}
}

func overlaysInARow(e *env) {
	e.put(e.store, Key("a", "1"), "old", 0)
	e.put(e.store, Key("a", "12"), "old", 0)
	e.put(e.store, WordsKey("x"), Adds("a", "1", "x", false), 0)
	e.put(e.store, WordsKey("y"), Adds("a", "12", "y", true), 0)
	rev := e.put(e.store, WordsKey("z"), Adds("a", "1", "z", true), 0)
	e.everywhere(rev, func(v kvstore.View) {
		e.Helper()
		e.same("row", reading(v, "1"), fmt.Sprintf("old x z at %d", rev))
		e.same("row", reading(v, "12"), fmt.Sprintf("old x y z at %d", rev))
		e.same("sums", []int64{v.Sum("old"), v.Sum("x"), v.Sum("y"), v.Sum("z")}, []int64{2, 2, 1, 2})
		e.same("index", keys(v.Index(WordIndex, "y")), []kvstore.Key{Key("a", "12")})
	})
}

func overlaidRowsExpire(e *env) {
	at := e.clock.Now() + 10
	e.put(e.store, Key("a", "1"), "old", at)
	e.put(e.store, Key("a", "2"), "old", at)
	e.put(e.store, WordsKey("x"), Adds("a", "1", "x", false), 0)
	rev := e.put(e.store, WordsKey("y"), Adds("a", "2", "y", true), 0)
	e.everywhere(rev, func(v kvstore.View) {
		e.Helper()
		e.same("next expiry", v.NextExpiry(), at)
	})
	e.clock.Set(int64(at))
	e.everywhere(rev, func(v kvstore.View) {
		e.Helper()
		e.same("rows", []string{reading(v, "1"), reading(v, "2")}, []string{"", ""})
		var expired []string
		for r := range v.Expired() {
			expired = append(expired, Reads(r))
		}
		e.same("expired", expired, []string{"old x", "old y"})
	})
	rev = e.update(e.store, func(tx *kvstore.Tx) error {
		for r := range tx.Expired() {
			if _, err := tx.Expire(r); err != nil {
				return err
			}
		}
		return nil
	})
	e.everywhere(rev, func(v kvstore.View) {
		e.Helper()
		e.same("expired", keys(v.Expired()), []kvstore.Key(nil))
		e.same("sums", []int64{v.Sum("old"), v.Sum("x"), v.Sum("y")}, []int64{0, 0, 0})
		e.same("next expiry", v.NextExpiry(), kvstore.Instant(0))
	})
}

func watchOverlaid(e *env) {
	stores := e.instances()
	var watchers []*kvstore.Watcher
	for _, s := range stores {
		watchers = append(watchers, e.watch(s, e.start))
	}
	for _, name := range []string{"2", "1", "3"} {
		e.put(e.store, Key("a", name), "old", 0)
	}
	first := e.put(e.store, WordsKey("x"), Adds("a", "", "x", false), 0)
	e.put(e.store, Key("a", "2"), "new", 0)
	last := e.put(e.store, WordsKey("y"), Adds("a", "", "y", true), 0)
	none := e.put(e.store, WordsKey("z"), Adds("b", "", "z", true), 0)
	overlaid := func(en kvstore.Entry) (all []string) {
		for _, r := range en.Overlaid {
			all = append(all, fmt.Sprintf("%s: %s at %d", r.Key.Split(3)[2], Reads(r), r.Revision))
		}
		return all
	}
	want := map[kvstore.Revision][]string{
		first: {fmt.Sprintf("1: old x at %d", first), fmt.Sprintf("2: old x at %d", first), fmt.Sprintf("3: old x at %d", first)},
		last:  {fmt.Sprintf("1: old x y at %d", last), fmt.Sprintf("2: new y at %d", last), fmt.Sprintf("3: old x y at %d", last)},
	}
	for _, w := range watchers {
		for _, c := range e.commits(w, none) {
			for _, en := range c.Entries {
				e.same(fmt.Sprintf("overlaid by %q", en.Key), overlaid(en), want[en.Revision])
				for _, r := range en.Overlaid {
					if c.After.Get(r.Key) != r || c.Before.Get(r.Key) == r || c.Before.Get(r.Key) == nil {
						e.Errorf("%q: the state after the commit must have the overlaid row, the one before another", r.Key)
					}
				}
			}
		}
	}
}

// add lets a write change how random rows read.
func (c *changes) add(s kvstore.Store, derived bool) kvstore.Revision {
	c.Helper()
	scope, prefix, word := fmt.Sprint("s", c.rnd.IntN(3)), fmt.Sprint("n", 1+c.rnd.IntN(2)), fmt.Sprint("w", c.rnd.IntN(6))
	k := WordsKey(fmt.Sprint(c.rnd.Uint64())) // one that is written again would count from then on
	rev := c.put(s, k, Adds(scope, prefix, word, derived), 0)
	for key, r := range c.rows {
		if key.HasPrefix(Key(scope, prefix)) {
			c.rows[key] = &kvstore.Row{Key: r.Key, Value: r.Value, Revision: rev, Expiry: r.Expiry, Over: Reads(r) + " " + word}
		}
	}
	return rev
}

func overlaysAndChanges(e *env) {
	stores := e.instances()
	c := e.newChanges()
	for i := range 150 {
		s := stores[i%len(stores)]
		rev := c.commit(s)
		if i%7 == 3 {
			rev = c.add(s, i%2 == 0)
		}
		if i%10 == 9 {
			for _, s := range stores {
				c.checkRows(e.view(s, rev))
			}
		}
	}
	c.checkRows(e.view(e.open(), 0))
}

// checkRows is check without the rows that add words, which only scans of everything see.
func (c *changes) checkRows(v kvstore.View) {
	c.Helper()
	now := v.Now()
	for k, want := range c.rows {
		if got := v.Row(k); want.Live(now) && (got == nil || Reads(got) != Reads(want) || got.Revision != want.Revision || got.Expiry != want.Expiry) {
			c.Fatalf("row %q is %+v, want %+v", k, got, want)
		}
	}
	c.same("scan", keys(v.Scan(kvstore.Prefix(Family), "")), c.live(now, func(*kvstore.Row) bool { return true }))
	for w := range 6 {
		word := fmt.Sprint("w", w)
		c.same("index "+word, keys(v.Index(WordIndex, word)), c.live(now, func(r *kvstore.Row) bool { return slices.Contains(words(r), word) }))
		c.same("sum of "+word, v.Sum(word), c.sum(word))
	}
	c.checkExpiry(v)
}
