package kvtest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/zlink/zlink-nats/kvstore"
)

var limitPromises = []promise{
	{name: "KeysAreAnyBytes", test: keysAreAnyBytes},
	{name: "ValuesOfAnySize", test: valuesOfAnySize},
	{name: "RevisionsEnd", start: kvstore.MaxRevision - 3, test: revisionsEnd},
	{name: "TooManyRows", test: tooManyRows},
	{name: "TooLargeRow", test: tooLargeRow},
	{name: "AsManyRowsAsTheLimitSays", test: manyRows},
}

// odd are keys that a store might get wrong.
var odd = []kvstore.Key{
	"\x00", "\x00\x00", ".", "..", "*", ">", "a.b", "a b", "a\tb\r\n", "%41", "=41", "A", "$JS", "$KV.x", "a\x00", "\x00a", "a\x00\x00b",
	"r\x00.\x00>", "\xff", "\u00fc\u4e16", kvstore.Key(strings.Repeat("\x00", 1024)), kvstore.Key(strings.Repeat("\xff", 1024)),
	kvstore.Key(strings.Repeat("\u4e16", 341)) + "x", kvstore.Key(strings.Repeat("a\x00", 512)), kvstore.Key(strings.Repeat("=", 1024)),
	kvstore.Key(strings.Repeat("\xff", kvstore.MaxKeyBytes)), kvstore.Key(strings.Repeat("\x00", kvstore.MaxKeyBytes)),
}

func keysAreAnyBytes(e *env) {
	stores := e.instances()
	rev := e.update(e.store, func(tx *kvstore.Tx) error {
		for i, k := range odd {
			if _, err := tx.Put(k, fmt.Append(nil, i), 0); err != nil {
				return err
			}
		}
		return nil
	})
	for i, k := range odd[len(odd)/2:] {
		rev = e.put(stores[i%len(stores)], k, fmt.Sprint(i+len(odd)/2), 0)
	}
	if e.shared {
		stores = append(stores, e.open())
	}
	for _, s := range stores {
		v := e.view(s, rev)
		for i, k := range odd {
			if got := text(v.Row(k)); got != fmt.Sprint(i) {
				e.Errorf("row %.20q of %d bytes is %q, want %d", k, len(k), got, i)
			}
		}
		if got := v.State().Rows(); got != len(odd) {
			e.Errorf("%d rows, want %d", got, len(odd))
		}
	}
}

func valuesOfAnySize(e *env) {
	stores := e.instances()
	values := [][]byte{nil, {}, {0}, []byte("x"), bytes.Repeat([]byte{0xff, 0, '\r', '\n'}, 1<<18)}
	for i, value := range values {
		e.update(stores[i%len(stores)], func(tx *kvstore.Tx) error {
			_, err := tx.Put(Key("a", fmt.Sprint(i)), bytes.Clone(value), 0)
			return err
		})
	}
	rev := e.update(e.store, func(tx *kvstore.Tx) error { // together in one commit as well
		for i, value := range values {
			if _, err := tx.Put(Key("b", fmt.Sprint(i)), bytes.Clone(value), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if e.shared {
		stores = append(stores, e.open())
	}
	for _, s := range stores {
		v := e.view(s, rev)
		for i, value := range values {
			for _, scope := range []string{"a", "b"} {
				if r := v.Row(Key(scope, fmt.Sprint(i))); r == nil || !bytes.Equal(r.Value, value) {
					e.Errorf("value of %d bytes in scope %s differs", len(value), scope)
				}
			}
		}
	}
}

// revisionsEnd uses one instance only: nats-server 2.15 delivers no message with
// a sequence of 2^62 or more, so that a second one could not read the store.
func revisionsEnd(e *env) {
	full := func(s kvstore.Store, rows int) {
		e.Helper()
		_, err := s.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			for i := range rows {
				if _, err := tx.Put(Key("b", fmt.Sprint(i)), nil, 0); err != nil {
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, kvstore.ErrExhausted) {
			e.Errorf("commit of %d rows: got %v, want ErrExhausted", rows, err)
		}
	}
	e.put(e.store, Key("a", "1"), "x", 0)
	e.put(e.store, Key("a", "2"), "x", 0)
	full(e.store, 2)
	if got := e.put(e.store, Key("a", "3"), "x", 0); got != kvstore.MaxRevision {
		e.Errorf("last write has revision %d, want %d", got, kvstore.MaxRevision)
	}
	full(e.store, 1)
	rev := e.update(e.store, func(tx *kvstore.Tx) error {
		if next, err := tx.Next(); !errors.Is(err, kvstore.ErrExhausted) {
			return fmt.Errorf("next is %d, %w", next, err)
		}
		return nil // answering is still possible
	})
	if v := e.view(e.store, 0); rev != kvstore.MaxRevision || v.State().Rows() != 3 {
		e.Errorf("%d rows at revision %d, want 3", v.State().Rows(), rev)
	}
}

func tooManyRows(e *env) {
	limit := e.store.Limits().CommitRows
	for _, ignore := range []bool{false, true} {
		_, err := e.store.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			for i := range limit + 1 {
				if _, err := tx.Put(Key("a", fmt.Sprint(i)), nil, 0); err != nil && !ignore {
					return err
				}
			}
			return nil // a closure that ignores the error does not commit a part
		})
		if !errors.Is(err, kvstore.ErrTooManyRows) {
			e.Errorf("ignore=%v: got %v, want ErrTooManyRows", ignore, err)
		}
	}
	if v := e.view(e.store, 0); v.State().Rows() != 0 || v.Revision() != e.start {
		e.Errorf("%d rows at revision %d, want none", v.State().Rows(), v.Revision())
	}
}

func tooLargeRow(e *env) {
	limit := e.store.Limits().RowBytes
	if limit == 0 {
		e.Skip("rows of any size fit")
	}
	k := Key("a", "1")
	for _, size := range []int{limit - len(k), limit - len(k) + 1} {
		_, err := e.store.Update(e.ctx(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			if _, err := tx.Put(Key("a", "2"), []byte("x"), 0); err != nil {
				return err
			}
			_, err := tx.Put(k, make([]byte, size), e.clock.Now()+1)
			return err
		})
		if fits := size+len(k) <= limit; fits != (err == nil) || (!fits && !errors.Is(err, kvstore.ErrTooLarge)) {
			e.Errorf("row of %d bytes, limit %d: got %v", size+len(k), limit, err)
		}
	}
}

func manyRows(e *env) {
	limit := e.store.Limits().CommitRows
	stores := e.instances()
	var rev kvstore.Revision
	for round := range 2 {
		rev = e.update(e.store, func(tx *kvstore.Tx) error {
			for i := range limit {
				if _, err := tx.Put(Key("a", fmt.Sprint(i)), fmt.Append(nil, round), 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, s := range stores {
		v := e.view(s, rev)
		if v.Revision() != kvstore.Revision(2*limit) || v.State().Rows() != limit {
			e.Errorf("%d rows at revision %d, want %d at %d", v.State().Rows(), v.Revision(), limit, 2*limit)
		}
	}
}
