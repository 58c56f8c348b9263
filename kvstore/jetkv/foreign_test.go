package jetkv_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// plainKey is a row's key as KV clients name it.
func plainKey(k kvstore.Key) string { return subjects.KeySubject(string(k)) }

func TestForeignWritesAreTakenIn(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	s := open(t, node.Connect(t), o)
	kv := plainClient(t, node.Connect(t), o.Bucket)
	k := kvtest.Key("a", "1")
	w, err := s.Watch(0)
	if err != nil {
		t.Fatal(err)
	}
	writes := []struct {
		name  string
		write func() error
		want  string // the row's value afterwards; "" is none
		prior string
	}{
		{"put", func() error { _, err := kv.Put(t.Context(), plainKey(k), []byte("x")); return err }, "x", ""},
		{"put again", func() error { _, err := kv.Put(t.Context(), plainKey(k), []byte("y")); return err }, "y", "x"},
		{"delete", func() error { return kv.Delete(t.Context(), plainKey(k)) }, "", "y"},
		{"create", func() error { _, err := kv.Create(t.Context(), plainKey(k), []byte("z")); return err }, "z", ""},
		{"purge", func() error { return kv.Purge(t.Context(), plainKey(k)) }, "", "z"},
		{"put after purge", func() error { _, err := kv.Put(t.Context(), plainKey(k), []byte("last")); return err }, "last", ""},
	}
	for i, tt := range writes {
		if err := tt.write(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		rev := kvstore.Revision(i + 1)
		v := s.reaches(rev)
		r := v.Row(k)
		if text(r) != tt.want || v.Revision() != rev || (r != nil && r.Revision != rev) {
			t.Errorf("%s: row %+v at revision %d, want %q at %d", tt.name, r, v.Revision(), tt.want, rev)
		}
		if got := v.Stamp("a"); got != rev {
			t.Errorf("%s: stamp %d, want %d", tt.name, got, rev)
		}
		commits, err := w.Next(within(t))
		if err != nil {
			t.Fatal(err)
		}
		c := commits[0]
		if len(commits) != 1 || len(c.Entries) != 1 || c.Revision != rev || c.Writer != "" ||
			text(c.Entries[0].Row) != tt.want || text(c.Entries[0].Prior) != tt.prior {
			t.Errorf("%s: %d commits, the first %+v; want one to %q from %q", tt.name, len(commits), c, tt.want, tt.prior)
		}
	}
	agree(t, node.Connect(t), o, s)
}

// Whatever another tool stores, a commit is decided on a state that has it.
func TestForeignWritesAreNeverOverwrittenUnseen(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	s := open(t, node.Connect(t), o)
	kv := plainClient(t, node.Connect(t), o.Bucket)
	k := kvtest.Key("a", "counter")
	const callers, rounds = 4, 200
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				if err := kvtest.Increment(t.Context(), s, kvstore.UpdateOptions{}, k); err != nil {
					t.Errorf("increment: %v", err)
					return
				}
			}
		})
	}
	foreign := 0
	for foreign < rounds {
		e, err := kv.Get(t.Context(), plainKey(k))
		if err != nil {
			continue // not there yet
		}
		n, err := strconv.Atoi(string(e.Value()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.Update(t.Context(), plainKey(k), []byte(strconv.Itoa(n+1)), e.Revision()); err == nil {
			foreign++
		}
		if s.Stats().Commits >= callers*rounds {
			break // nobody else is writing any more
		}
	}
	wg.Wait()
	want := strconv.Itoa(callers*rounds + foreign)
	if got := text(agree(t, node.Connect(t), o, s).Row(k)); got != want || foreign == 0 {
		t.Errorf("counter is %s, want %s of which %d foreign", got, want, foreign)
	}
}

// Messages that are no rows count as positions of the log and nothing else.
func TestForeignSubjectsAdvanceTheRevision(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	nc := node.Connect(t)
	s := open(t, nc, o)
	first := s.put(kvtest.Key("a", "1"), "x")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{"=", "a.=4", "a.=zz"} // no key has such a subject
	for _, subject := range bad {
		m := &nats.Msg{Subject: "$KV." + o.Bucket + "." + subject, Data: []byte("x"), Header: nats.Header{"Zlink-Expiry": {"soon"}}}
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	next := s.put(kvtest.Key("a", "2"), "x")
	if want := first + kvstore.Revision(len(bad)) + 1; next != want {
		t.Errorf("next commit has revision %d, want %d", next, want)
	}
	for i, v := range []kvstore.View{s.latest(), open(t, node.Connect(t), o).latest()} {
		if v.State().Rows() != 2 || v.Revision() != next {
			t.Errorf("view %d: %d rows at revision %d", i, v.State().Rows(), v.Revision())
		}
	}
}

// The last message of a batch can be gone: a tool purged it, or its time to live
// has passed.
func TestBatchWithoutItsEnd(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	o := jetkv.Options{Bucket: bucketName()}
	nc := node.Connect(t)
	relay := testenv.Proxy(t, node.URL())
	away := open(t, relay.Connect(t), o)
	s := open(t, nc, o)
	relay.Pause()
	rev := s.update(func(tx *kvstore.Tx) error {
		for i := range 3 {
			if _, err := tx.Put(kvtest.Key("a", fmt.Sprint(i)), []byte("x"), 0); err != nil {
				return err
			}
		}
		return nil
	})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "KV_"+o.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV."+o.Bucket+"."+plainKey(kvtest.Key("a", "2")))); err != nil {
		t.Fatal(err)
	}
	relay.Resume()
	if v := away.reaches(rev); v.Row(kvtest.Key("a", "1")) == nil {
		t.Error("the instance that was away misses a row")
	}
	if v := open(t, node.Connect(t), o).latest(); v.Row(kvtest.Key("a", "1")) == nil || v.Revision() != rev {
		t.Errorf("%d rows at revision %d after reopening", v.State().Rows(), v.Revision())
	}
}
