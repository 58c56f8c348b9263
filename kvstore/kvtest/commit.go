package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
)

var commitPromises = []promise{
	{name: "RevisionsAreKnownBeforehand", test: revisionsAreKnown},
	{name: "RevisionsAreKnownUnderContention", test: revisionsUnderContention},
	{name: "RevisionsBeginWhereTheStoreDoes", start: 1000, test: revisionsBegin},
	{name: "CommitsAreAtomic", test: commitsAreAtomic},
	{name: "ClosuresReadTheLatestCommit", test: closuresReadLatest},
	{name: "ClosuresDoNotSeeTheirWrites", test: closuresDoNotSeeTheirWrites},
	{name: "ClosureErrorsAreReturnedAndNothingIsWritten", test: closureErrors},
	{name: "RemovingAnAbsentRowWritesNothing", test: removingAbsent},
}

func revisionsAreKnown(e *env) {
	stores := e.instances()
	for i := range 20 {
		writer := stores[i%len(stores)]
		known := make(map[kvstore.Key]kvstore.Revision)
		rev := e.update(writer, func(tx *kvstore.Tx) error {
			clear(known)
			for j := range 1 + i%5 {
				k := Key("a", fmt.Sprint(i, j))
				next, err := tx.Next()
				if err != nil {
					return err
				}
				put, err := tx.Put(k, []byte(next.String()), 0)
				if err != nil {
					return err
				}
				if put != next {
					return fmt.Errorf("put returned %d, Next said %d", put, next)
				}
				known[k] = next
			}
			return nil
		})
		for _, s := range stores {
			v := e.view(s, rev)
			for k, want := range known {
				if r := v.Row(k); r == nil || r.Revision != want || text(r) != want.String() {
					e.Fatalf("row %q is %+v, want revision %d", k, r, want)
				}
				if want > rev {
					e.Fatalf("commit has revision %d, its row %d", rev, want)
				}
			}
		}
	}
}

func revisionsUnderContention(e *env) {
	const callers, rounds = 16, 25
	stores := e.instances()
	var mu sync.Mutex
	given := make(map[kvstore.Revision]string)
	before := e.view(e.store, 0).Revision()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			s := stores[c%len(stores)]
			for i := range rounds {
				k := Key("c", fmt.Sprint(c, i))
				var rev kvstore.Revision
				reached, err := s.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
					rev, err = tx.Put(k, []byte("x"), 0)
					return err
				})
				if err != nil {
					e.Errorf("caller %d: %v", c, err)
					return
				}
				mu.Lock()
				if other, taken := given[rev]; taken || reached < rev {
					e.Errorf("%q got revision %d at %d, which %q has", k, rev, reached, other)
				}
				given[rev] = string(k)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		v := e.view(s, before+callers*rounds)
		for rev, k := range given {
			if r := v.Row(kvstore.Key(k)); r == nil || r.Revision != rev {
				e.Fatalf("row %q is %+v, want revision %d", k, r, rev)
			}
		}
		if got, want := v.Revision(), before+callers*rounds; got != want {
			e.Fatalf("store has revision %d, want %d", got, want)
		}
	}
}

func revisionsBegin(e *env) {
	if got := e.view(e.store, 0).Revision(); got != e.start {
		e.Fatalf("empty store has revision %d, want %d", got, e.start)
	}
	if got := e.put(e.store, Key("a", "1"), "x", 0); got != e.start+1 {
		e.Fatalf("first write has revision %d, want %d", got, e.start+1)
	}
}

func commitsAreAtomic(e *env) {
	const rows, rounds = 7, 60
	stores := e.instances()
	ctx, cancel := context.WithCancel(e.ctx())
	var readers sync.WaitGroup
	for _, s := range stores {
		readers.Go(func() {
			for rev := e.start; ; rev++ {
				v, err := s.View(ctx, kvstore.ReadOptions{MinRevision: rev})
				if err != nil {
					return // all is written
				}
				rev = v.Revision()
				for j := range rows {
					if got, want := text(v.Row(Key("a", strconv.Itoa(j)))), text(v.Row(Key("a", "0"))); got != want {
						e.Errorf("revision %d: row %d is %q, row 0 is %q", rev, j, got, want)
						return
					}
				}
			}
		})
	}
	for i := range rounds {
		e.update(stores[i%len(stores)], func(tx *kvstore.Tx) error {
			for j := range rows {
				if _, err := tx.Put(Key("a", strconv.Itoa(j)), []byte(strconv.Itoa(i)), 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
	cancel()
	readers.Wait()
}

func closuresReadLatest(e *env) {
	const callers, rounds = 8, 30
	stores := e.instances()
	k := Key("a", "counter")
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for range rounds {
				if err := Increment(e.ctx(), stores[c%len(stores)], kvstore.UpdateOptions{}, k); err != nil {
					e.Errorf("increment: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		v, err := s.View(e.ctx(), kvstore.ReadOptions{Leader: true})
		if err != nil {
			e.Fatal(err)
		}
		if got, want := text(v.Row(k)), strconv.Itoa(callers*rounds); got != want {
			e.Errorf("counter is %s, want %s", got, want)
		}
	}
}

// Increment adds one to the decimal number in a row; an absent row is 0.
func Increment(ctx context.Context, s kvstore.Store, o kvstore.UpdateOptions, k kvstore.Key) error {
	_, err := s.Update(ctx, o, func(tx *kvstore.Tx) error {
		n := 0
		if r := tx.Row(k); r != nil {
			var err error
			if n, err = strconv.Atoi(string(r.Value)); err != nil {
				return err
			}
		}
		_, err := tx.Put(k, []byte(strconv.Itoa(n+1)), 0)
		return err
	})
	return err
}

func closuresDoNotSeeTheirWrites(e *env) {
	k := Key("a", "1")
	e.put(e.store, k, "old", 0)
	before := e.view(e.store, 0)
	type reading struct {
		Row, Index string
		Stamp      kvstore.Revision
		Scanned    int
	}
	var got reading
	e.update(e.store, func(tx *kvstore.Tx) error {
		if _, err := tx.Put(k, []byte("new"), 0); err != nil {
			return err
		}
		if _, err := tx.Put(Key("a", "2"), []byte("new"), 0); err != nil {
			return err
		}
		got = reading{Row: text(tx.Row(k)), Stamp: tx.Stamp("a"), Scanned: len(keys(tx.Scan("", "")))}
		for r := range tx.IndexPrefix(WordIndex, "") {
			got.Index += text(r)
		}
		return nil
	})
	want := reading{Row: "old", Index: "old", Stamp: before.Stamp("a"), Scanned: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("reads after writes (-want +got):\n%s", diff)
	}
}

func closureErrors(e *env) {
	mine := errors.New("no")
	before := e.view(e.store, 0).Revision()
	rev, err := e.store.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		if _, err := tx.Put(Key("a", "1"), []byte("x"), 0); err != nil {
			return err
		}
		return mine
	})
	if err != mine { //nolint:errorlint // it is promised as it is
		e.Errorf("got error %v, want the closure's", err)
	}
	if rev != before {
		e.Errorf("refusal reflects revision %d, want %d", rev, before)
	}
	if r := e.view(e.store, 0).Row(Key("a", "1")); r != nil {
		e.Errorf("row %+v was written", r)
	}
	if got := e.put(e.store, Key("a", "2"), "x", 0); got != before+1 {
		e.Errorf("next commit has revision %d, want %d", got, before+1)
	}
}

func removingAbsent(e *env) {
	k := Key("a", "1")
	want := e.put(e.store, k, "x", 0) + 1
	if got := e.remove(e.store, k); got != want {
		e.Errorf("removal has revision %d, want %d", got, want)
	}
	if got := e.remove(e.store, k); got != want {
		e.Errorf("second removal reflects revision %d, want %d", got, want)
	}
	if r := e.view(e.store, 0).Row(k); r != nil {
		e.Errorf("row %+v is left", r)
	}
}
