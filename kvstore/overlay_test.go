package kvstore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
)

func wantSame(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// shown is everything that a state shows of the rows of a scope: what they read as, and
// what follows from them.
func shown(s *kvstore.State) (all []string) {
	v := s.View(0)
	for r := range v.Scan(kvstore.Prefix(kvtest.Family), "") {
		all = append(all, fmt.Sprintf("%q reads %q at %d until %d", r.Key, kvtest.Reads(r), r.Revision, r.Expiry))
	}
	for word := range v.IndexValues(kvtest.WordIndex, "") {
		for r := range v.Index(kvtest.WordIndex, word) {
			all = append(all, fmt.Sprintf("%q has %q, reads %q", word, r.Key, kvtest.Reads(r)))
		}
		all = append(all, fmt.Sprintf("%q is there %d times", word, v.Sum(word)))
	}
	for r := range s.View(1 << 40).Expired() {
		all = append(all, fmt.Sprintf("%q will expire, reads %q", r.Key, kvtest.Reads(r)))
	}
	return append(all, fmt.Sprintf("%d rows, next expiry %d", s.Rows(), v.NextExpiry()))
}

func TestOverlayIsTheSameWithWhatTheSchemaKnows(t *testing.T) {
	t.Parallel()
	var states [2]*kvstore.State
	for i, derived := range []bool{false, true} {
		s := kvstore.NewState(kvtest.Schema())
		put(s, kvtest.Key("a", "1"), "v w w", 1, 0)
		put(s, kvtest.Key("a", "2"), "w", 2, 5)
		put(s, kvtest.Key("b", "1"), "w", 3, 0)
		e := put(s, kvtest.WordsKey("x"), kvtest.Adds("a", "", "w", derived), 4, 0)
		wantSame(t, "overlaid", len(e.Overlaid), 2)
		put(s, kvtest.WordsKey("y"), kvtest.Adds("a", "1", "y", derived), 5, 0)
		states[i] = s
	}
	wantSame(t, "with and without", shown(states[1]), shown(states[0]))
	wantSame(t, "rows", shown(states[0])[:3], []string{
		`"r\x00a\x001" reads "v w w w y" at 5 until 0`, `"r\x00a\x002" reads "w w" at 4 until 5`, `"r\x00b\x001" reads "w" at 3 until 0`,
	})
}

func TestOverlayLeavesCopiesAlone(t *testing.T) {
	t.Parallel()
	for _, derived := range []bool{false, true} {
		s := kvstore.NewState(kvtest.Schema())
		put(s, kvtest.Key("a", "1"), "v", 1, 7)
		before := s.Copy()
		as := shown(before)
		put(s, kvtest.WordsKey("x"), kvtest.Adds("a", "", "w", derived), 2, 0)
		after := s.Copy()
		with := shown(after)
		s.Delete(kvtest.Key("a", "1"), 3, false)
		wantSame(t, "before", shown(before), as)
		wantSame(t, "after", shown(after), with)
		wantSame(t, "without the row", shown(s), []string{"1 rows, next expiry 0"})
		if r := before.Get(kvtest.Key("a", "1")); r.Over != nil || r.Revision != 1 {
			t.Errorf("the row itself has changed: %+v", r)
		}
	}
}

func TestEntriesSayWhatTheyOverlay(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	for i, name := range []string{"2", "3", "1"} {
		if e := put(s, kvtest.Key("a", name), "v", kvstore.Revision(i+1), 0); e.Overlaid != nil {
			t.Errorf("%q overlays %v", name, e.Overlaid)
		}
	}
	e := put(s, kvtest.WordsKey("x"), kvtest.Adds("a", "", "w", true), 4, 0)
	var names []string
	for _, r := range e.Overlaid {
		names = append(names, r.Key.Split(3)[2])
		if s.Get(r.Key) != r {
			t.Errorf("%q is not in the state", r.Key)
		}
	}
	wantSame(t, "overlaid", names, []string{"1", "2", "3"})
	for what, e := range map[string]kvstore.Entry{
		"of nothing":   put(s, kvtest.WordsKey("y"), kvtest.Adds("b", "", "w", true), 5, 0),
		"damaged":      put(s, kvtest.WordsKey("z"), "what", 6, 0),
		"of a removal": s.Delete(kvtest.WordsKey("x"), 7, false),
	} {
		if len(e.Overlaid) > 0 {
			t.Errorf("%s: overlaid %v", what, e.Overlaid)
		}
	}
	wantSame(t, "revision", s.Revision(), kvstore.Revision(7))
	wantSame(t, "rows", s.Rows(), 5)
}

// A state that is loaded in the order of revisions is the same as the one that was there.
func TestOverlaidRowsAreLoaded(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	rows := []*kvstore.Row{
		{Key: kvtest.Key("a", "1"), Value: []byte("v")},
		{Key: kvtest.Key("a", "2"), Value: []byte("v")},
		{Key: kvtest.WordsKey("x"), Value: []byte(kvtest.Adds("a", "", "x", true))},
		{Key: kvtest.Key("a", "2"), Value: []byte("u")},
		{Key: kvtest.WordsKey("y"), Value: []byte(kvtest.Adds("a", "", "y", false))},
		{Key: kvtest.Key("a", "3"), Value: []byte("u")},
	}
	last := make(map[kvstore.Key]*kvstore.Row)
	for i, r := range rows {
		r.Revision = kvstore.Revision(i + 1)
		s.Put(r)
		last[r.Key] = r
	}
	loaded := kvstore.NewState(kvtest.Schema())
	for _, r := range rows {
		if last[r.Key] == r { // the version before is gone
			loaded.Put(&kvstore.Row{Key: r.Key, Value: r.Value, Revision: r.Revision})
		}
	}
	wantSame(t, "loaded", shown(loaded), shown(s))
}

func TestGetterIsGet(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	var all []kvstore.Key
	for i := range 500 {
		k := kvtest.Key("a", fmt.Sprintf("%03d", i))
		all = append(all, k)
		if i%3 > 0 {
			put(s, k, "x", kvstore.Revision(i+1), 0)
		}
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	get := s.Getter()
	for _, k := range slices.Concat(all, backwards, all) {
		if get(k) != s.Get(k) {
			t.Fatalf("%q: got %+v, want %+v", k, get(k), s.Get(k))
		}
	}
}
