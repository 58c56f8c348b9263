package kvtest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
)

var instancePromises = []promise{
	{name: "RefusalsSeeTheLatestCommit", shared: true, test: refusalsAreFresh},
	{name: "LeaderViewsSeeTheLatestCommit", shared: true, test: leaderViews},
	{name: "InstancesAgree", shared: true, test: instancesAgree},
	{name: "RequestsAreCarriedOutOnce", shared: true, test: requestsOnce},
	{name: "HistoryBeforeTheStartIsGone", shared: true, test: historyBeforeStart},
	{name: "WatchersSeeOtherInstances", shared: true, test: watchOthers},
}

// refusalsAreFresh: what one instance committed, another that refuses because of
// it must know at once.
func refusalsAreFresh(e *env) {
	a, b := e.store, e.open()
	k := Key("a", "1")
	for i := range 200 {
		want := strconv.Itoa(i)
		rev := e.put(a, k, want, 0)
		var seen string
		reflects, err := b.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			seen = text(tx.Row(k))
			return errRefused
		})
		if !errors.Is(err, errRefused) || seen != want || reflects < rev {
			e.Fatalf("round %d: refused with %v at revision %d after seeing %q; committed at %d", i, err, reflects, seen, rev)
		}
		a, b = b, a
	}
}

var errRefused = errors.New("refused")

func leaderViews(e *env) {
	a, b := e.store, e.open()
	k := Key("a", "1")
	for i := range 100 {
		want := strconv.Itoa(i)
		rev := e.put(a, k, want, 0)
		v, err := b.View(e.ctx(), kvstore.ReadOptions{Leader: true})
		if err != nil {
			e.Fatal(err)
		}
		if got := text(v.Row(k)); got != want || v.Revision() < rev {
			e.Fatalf("round %d: view of revision %d shows %q, committed at %d", i, v.Revision(), got, rev)
		}
		a, b = b, a
	}
}

func instancesAgree(e *env) {
	stores := []kvstore.Store{e.store, e.open(), e.open()}
	var wg sync.WaitGroup
	for i, s := range stores {
		for c := range 4 {
			wg.Go(func() {
				for j := range 25 {
					k := Key(fmt.Sprint("s", j%2), fmt.Sprint("n", (i+c+j)%5))
					e.update(s, func(tx *kvstore.Tx) error {
						if tx.Row(k) != nil && j%3 == 0 {
							_, err := tx.Delete(k)
							return err
						}
						_, err := tx.Put(k, fmt.Append(nil, "w", i, c, j), 0)
						return err
					})
				}
			})
		}
	}
	wg.Wait()
	var rev kvstore.Revision
	for _, s := range stores {
		rev = max(rev, e.view(s, 0).Revision())
	}
	want := Dump(e.view(e.store, rev).State())
	for i, s := range append(stores[1:], e.open()) {
		if diff := cmp.Diff(want, Dump(e.view(s, rev).State())); diff != "" {
			e.Errorf("instance %d differs (-first +it):\n%s", i+1, diff)
		}
	}
}

// Dump lists the rows of a state as text, for comparison.
func Dump(s *kvstore.State) []string {
	all := []string{fmt.Sprintf("revision %d", s.Revision())}
	for r := range s.All() {
		all = append(all, fmt.Sprintf("%q = %q, revision %d, expiry %d", r.Key, r.Value, r.Revision, r.Expiry))
	}
	return all
}

func requestsOnce(e *env) {
	stores := []kvstore.Store{e.store, e.open()}
	const rounds = 100
	carriedOut := 0
	for i := range rounds {
		o := kvstore.UpdateOptions{Request: fmt.Sprint("request ", i)}
		errs := make([]error, len(stores))
		var wg sync.WaitGroup
		for j, s := range stores {
			wg.Go(func() { errs[j] = Increment(e.ctx(), s, o, Key("a", fmt.Sprint(i))) })
		}
		wg.Wait()
		for _, err := range errs {
			switch {
			case err == nil:
				carriedOut++
			case !errors.Is(err, kvstore.ErrUnknown):
				e.Fatalf("round %d: %v", i, err)
			}
		}
	}
	v, err := e.store.View(e.ctx(), kvstore.ReadOptions{Leader: true})
	if err != nil {
		e.Fatal(err)
	}
	for i := range rounds {
		if got := text(v.Row(Key("a", fmt.Sprint(i)))); got != "1" {
			e.Errorf("request %d was carried out %q times", i, got)
		}
	}
	if carriedOut != rounds {
		e.Errorf("%d requests were acknowledged, want %d", carriedOut, rounds)
	}
}

func historyBeforeStart(e *env) {
	e.put(e.store, Key("a", "1"), "x", 0)
	rev := e.put(e.store, Key("a", "2"), "x", 0)
	b := e.open()
	if _, err := b.Watch(rev - 1); !errors.Is(err, kvstore.ErrResync) {
		e.Errorf("watch of history before the start: got %v, want ErrResync", err)
	}
	w := e.watch(b, rev)
	next := e.put(e.store, Key("a", "3"), "x", 0)
	if got := e.commits(w, next); len(got) != 1 || got[0].Revision != next {
		e.Errorf("%d commits from %d, want that of %d", len(got), got[0].Revision, next)
	}
}

func watchOthers(e *env) {
	b := e.open()
	w := e.watch(b, e.start)
	at := e.clock.Now() + 5
	first := e.put(e.store, Key("a", "1"), "x", at)
	mine := e.put(b, Key("a", "2"), "x", 0)
	last := e.remove(e.store, Key("a", "1"))
	got := e.commits(w, last)
	if len(got) != 3 || got[0].Revision != first || got[1].Revision != mine || got[2].Revision != last {
		e.Fatalf("commits %+v", got)
	}
	if got[0].Writer == "" || got[0].Writer == got[1].Writer || got[0].Writer != got[2].Writer {
		e.Errorf("writers %q, %q, %q", got[0].Writer, got[1].Writer, got[2].Writer)
	}
	if r := got[2].Entries[0].Prior; r == nil || r.Expiry != at || r.Revision != first {
		e.Errorf("removed row is %+v", r)
	}
}
