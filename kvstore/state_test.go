package kvstore_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
)

func put(s *kvstore.State, k kvstore.Key, value string, rev kvstore.Revision, expiry kvstore.Instant) kvstore.Entry {
	return s.Put(&kvstore.Row{Key: k, Value: []byte(value), Revision: rev, Expiry: expiry})
}

func tombstones(s *kvstore.State) (all []kvstore.Tombstone) {
	for t := range s.Tombstones() {
		all = append(all, t)
	}
	return all
}

func TestTombstonesLastUntilTheRowIsBackOrForgotten(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	a, b := kvtest.Key("a", "1"), kvtest.Key("a", "2")
	put(s, a, "x", 1, 0)
	put(s, b, "x", 2, 0)
	if e := s.Delete(a, 3, true); e.Prior == nil || e.Row != nil || e.Revision != 3 {
		t.Errorf("removal is %+v", e)
	}
	s.Delete(b, 4, true)
	s.Delete(kvtest.Key("a", "3"), 5, false) // by an engine that keeps no history
	want := []kvstore.Tombstone{{Key: a, Revision: 3}, {Key: b, Revision: 4}}
	if diff := cmp.Diff(want, tombstones(s)); diff != "" {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
	before := s.Copy()
	put(s, a, "y", 6, 0)
	s.Forget(b, 7)
	if got := tombstones(s); got != nil {
		t.Errorf("tombstones %v, want none", got)
	}
	if s.Revision() != 7 || s.View(0).Stamp("a") != 6 {
		t.Errorf("revision %d, stamp %d", s.Revision(), s.View(0).Stamp("a"))
	}
	if diff := cmp.Diff(want, tombstones(before)); diff != "" || before.Revision() != 5 || before.Rows() != 0 {
		t.Errorf("the copy has changed (-want +got):\n%s", diff)
	}
}

func TestAdvanceNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(nil)
	s.Advance(5)
	s.Advance(3)
	if s.Revision() != 5 {
		t.Errorf("revision %d, want 5", s.Revision())
	}
}

// The rows in which a store keeps stamps count for their scopes only.
func TestStoredStampsCount(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	for i, value := range []string{"40", "30", "x", "-1", ""} {
		put(s, kvstore.NewKey("stamp", "a"), value, kvstore.Revision(50+i), 0)
	}
	s.Delete(kvstore.NewKey("stamp", "a"), 60, false)
	if got := s.View(0).Stamp("a"); got != 40 {
		t.Errorf("stamp %d, want the greatest, 40", got)
	}
	put(s, kvtest.Key("a", "1"), "x", 61, 0)
	if got := s.View(0).Stamp("a"); got != 61 {
		t.Errorf("stamp %d, want that of the row, 61", got)
	}
}

func TestSchemaMayBeEmpty(t *testing.T) {
	t.Parallel()
	for _, schema := range []*kvstore.Schema{nil, {}} {
		s := kvstore.NewState(schema)
		put(s, "k", "x", 1, 10)
		put(s, "k", "y", 2, 10)
		if v := s.View(9); string(v.Row("k").Value) != "y" || v.NextExpiry() != 10 || v.Stamp("k") != 0 {
			t.Errorf("row %+v", v.Row("k"))
		}
	}
}

// A version that follows another takes its place in every order.
func TestVersionsReplaceEachOther(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	k := kvtest.Key("a", "1")
	for i, v := range []struct {
		value  string
		expiry kvstore.Instant
	}{{"v w", 5}, {"v w", 5}, {"v", 5}, {"", 0}, {"w v", 7}, {"w", 0}, {"w", 9}} {
		rev := kvstore.Revision(i + 1)
		put(s, k, v.value, rev, v.expiry)
		view := s.View(0)
		if view.NextExpiry() != v.expiry {
			t.Errorf("version %d: next expiry %d, want %d", rev, view.NextExpiry(), v.expiry)
		}
		for r := range view.IndexPrefix(kvtest.WordIndex, "") {
			if r.Revision != rev {
				t.Errorf("version %d: the index has version %d", rev, r.Revision)
			}
		}
		for r := range s.View(100).Expired() {
			if r.Revision != rev {
				t.Errorf("version %d: expired is version %d", rev, r.Revision)
			}
		}
	}
	s.Delete(k, 100, false)
	if v := s.View(0); v.NextExpiry() != 0 || s.Rows() != 0 {
		t.Errorf("%d rows, next expiry %d", s.Rows(), v.NextExpiry())
	}
	for r := range s.View(0).IndexPrefix(kvtest.WordIndex, "") {
		t.Errorf("the index has %+v", r)
	}
}

func TestIterationsMayStop(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(kvtest.Schema())
	for i, name := range []string{"1", "2", "3"} {
		put(s, kvtest.Key("a", name), "w", kvstore.Revision(i+1), 5)
	}
	v := s.View(1)
	for name, rows := range map[string]func(func(*kvstore.Row) bool){
		"scan": v.Scan("", ""), "index": v.Index(kvtest.WordIndex, "w"), "index prefix": v.IndexPrefix(kvtest.WordIndex, ""),
		"expired": s.View(9).Expired(), "all": s.All(),
	} {
		n := 0
		for range rows {
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Errorf("%s: stopped after %d rows, want 2", name, n)
		}
	}
}

func TestTransactionsKnowTheirRevisions(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(nil)
	s.Advance(kvstore.MaxRevision - 2)
	tx := kvstore.NewTx(s.View(0), kvstore.Limits{CommitRows: 10, RowBytes: 10})
	for want := kvstore.MaxRevision - 1; want <= kvstore.MaxRevision; want++ {
		next, err := tx.Next()
		if err != nil || next != want {
			t.Fatalf("next is %d, %v, want %d", next, err, want)
		}
		if got, err := tx.Put(kvstore.Key(want.String()[18:]), nil, 0); got != want || err != nil {
			t.Fatalf("put at %d, %v, want %d", got, err, want)
		}
	}
	if _, err := tx.Next(); !errors.Is(err, kvstore.ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
	if writes, err := tx.Writes(); err != nil || len(writes) != 2 {
		t.Errorf("%d writes, %v: asking alone does no harm", len(writes), err)
	}
	if _, err := tx.Put("k", make([]byte, 10), 0); !errors.Is(err, kvstore.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := tx.Put("k", nil, 0); !errors.Is(err, kvstore.ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
	if _, err := tx.Writes(); !errors.Is(err, kvstore.ErrTooLarge) {
		t.Errorf("got %v, want the first error", err)
	}
}

func TestKeysThatNoRowCanHavePanic(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]kvstore.Key{"empty": "", "too long": kvstore.Key(make([]byte, kvstore.MaxKeyBytes+1))} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s key: no panic", name)
				}
			}()
			tx := kvstore.NewTx(kvstore.NewState(nil).View(0), kvstore.Limits{CommitRows: 1})
			_, _ = tx.Put(k, nil, 0)
		}()
	}
}

func TestKeysAreListsOfSegments(t *testing.T) {
	t.Parallel()
	k := kvstore.NewKey("f", "a", "b\x00c")
	if diff := cmp.Diff([]string{"f", "a", "b\x00c"}, k.Split(3)); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	if !k.HasPrefix(kvstore.Prefix("f", "a")) || k.HasPrefix(kvstore.Prefix("f", "")) || kvstore.NewKey("f", "ab").HasPrefix(kvstore.Prefix("f", "a")) {
		t.Error("prefixes do not end between segments")
	}
}

func TestErrorsTellWhatHappened(t *testing.T) {
	t.Parallel()
	cause := errors.New("bad byte")
	lost := &kvstore.DataLostError{Key: "k\x00", Cause: cause}
	if !errors.Is(lost, cause) || lost.Error() != `stored row "k\x00": bad byte` {
		t.Errorf("error %q", lost)
	}
	if got := (&kvstore.ContendedError{Writer: "w"}).Error(); got != `store instance "w" is writing` {
		t.Errorf("error %q", got)
	}
}

func TestDecodedIsKeptWithTheVersion(t *testing.T) {
	t.Parallel()
	type first struct{ text string }
	type second struct{ size int }
	calls := 0
	asFirst := func(r *kvstore.Row) (*first, error) {
		calls++
		if len(r.Value) == 0 {
			return nil, errors.New("empty")
		}
		return &first{string(r.Value)}, nil
	}
	r := &kvstore.Row{Key: "k", Value: []byte("x")}
	a, errA := kvstore.Decoded(r, asFirst)
	b, errB := kvstore.Decoded(r, asFirst)
	if a != b || a.text != "x" || errA != nil || errB != nil || calls != 1 {
		t.Errorf("decoded %v, %v and %v, %v in %d calls", a, errA, b, errB, calls)
	}
	other, err := kvstore.Decoded(r, func(r *kvstore.Row) (*second, error) { return &second{len(r.Value)}, nil })
	if err != nil || other.size != 1 {
		t.Errorf("decoded as another type %v, %v", other, err)
	}
	damaged := &kvstore.Row{Key: "k"}
	for range 2 {
		if got, err := kvstore.Decoded(damaged, asFirst); err == nil || got != nil {
			t.Errorf("decoded %v of a row that cannot be, %v", got, err)
		}
	}
}

func TestWriterMayKnowWhatDecodingGives(t *testing.T) {
	t.Parallel()
	type text struct{ string }
	s := kvstore.NewState(nil)
	tx := kvstore.NewTx(s.View(0), kvstore.Limits{CommitRows: 2})
	known := &text{"x"}
	if _, err := tx.PutDecoded("k", []byte("x"), known, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Put("l", []byte("y"), 0); err != nil {
		t.Fatal(err)
	}
	writes, err := tx.Writes()
	if err != nil {
		t.Fatal(err)
	}
	kvstore.Apply(s, writes, false)
	decode := func(r *kvstore.Row) (*text, error) { return &text{string(r.Value)}, nil }
	if got, err := kvstore.Decoded(s.Get("k"), decode); got != known || err != nil {
		t.Errorf("decoded %v, %v, want what the writer knew", got, err)
	}
	if got, err := kvstore.Decoded(s.Get("l"), decode); *got != (text{"y"}) || err != nil {
		t.Errorf("decoded %v, %v", got, err)
	}
}

func TestFamiliesTellTheExpiredFromTheLive(t *testing.T) {
	t.Parallel()
	s := kvstore.NewState(nil)
	for i, r := range []*kvstore.Row{
		{Key: kvstore.NewKey("lease", "a"), Expiry: 100},
		{Key: kvstore.NewKey("lease", "b"), Expiry: 101},
		{Key: kvstore.NewKey("lease", "c")},
		{Key: kvstore.NewKey("node", "a")},
		{Key: kvstore.NewKey("gone", "a")},
	} {
		r.Revision = kvstore.Revision(i + 1)
		s.Put(r)
	}
	s.Delete(kvstore.NewKey("gone", "a"), 6, false)
	want := map[string]kvstore.FamilyRows{"lease": {Live: 2, Expired: 1}, "node": {Live: 1}}
	if diff := cmp.Diff(want, s.View(100).Families()); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	if got := s.View(100).Count("lease"); got != 2 {
		t.Errorf("%d leases, want 2", got)
	}
}
