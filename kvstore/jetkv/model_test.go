package jetkv_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/kvstore/kvtest"
	"github.com/zlink/zlink-nats/kvstore/memkv"
	"github.com/zlink/zlink-nats/testenv"
)

// Whatever is done to two instances of a store, it answers as the reference
// implementation does and has the same rows.
func TestStoreBehavesAsItsModel(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	rapid.Check(t, func(rt *rapid.T) {
		clock := kvtest.NewClock()
		p := &pair{
			clock: clock,
			model: memkv.New(memkv.Options{Schema: kvtest.Schema(), Clock: clock}),
		}
		p.open = func() *instance {
			return open(t, node.ConnectInProcess(t), jetkv.Options{Bucket: p.bucket, Clock: clock})
		}
		p.bucket = bucketName()
		p.stores = []*instance{p.open(), p.open()}
		defer func() {
			for _, s := range p.stores {
				s.stop()
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"":        p.check,
			"commit":  p.commit,
			"refuse":  p.refuse,
			"advance": p.advance,
			"expire":  p.expire,
			"reopen":  p.reopen,
		})
	})
}

// pair is a store with two instances, and its model.
type pair struct {
	clock  kvtest.Clock
	model  *memkv.Store
	bucket string
	open   func() *instance
	stores []*instance
}

// answer is what a transaction tells its caller.
type answer struct {
	Seen     []string
	Given    []kvstore.Revision
	Revision kvstore.Revision
	Err      error
}

// do runs a transaction on one instance and on the model; the closure returns
// what it saw and was given.
func (p *pair) do(rt *rapid.T, decide func(*kvstore.Tx, *answer) error) {
	run := func(s kvstore.Store) (a answer) {
		rev, err := s.Update(within(p.stores[0].t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			a = answer{}
			return decide(tx, &a)
		})
		a.Revision, a.Err = rev, err
		return a
	}
	got := run(p.stores[rapid.IntRange(0, 1).Draw(rt, "instance")])
	want := run(p.model)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
		rt.Fatalf("answers differ (-model +store):\n%s", diff)
	}
}

var (
	drawKey = rapid.Custom(func(t *rapid.T) kvstore.Key {
		return kvtest.Key(rapid.SampledFrom([]string{"s", "t"}).Draw(t, "scope"), rapid.StringN(0, 2, -1).Draw(t, "name"))
	})
	drawValue = rapid.SampledFrom([]string{"", "v", "v w", "w"})
)

func (p *pair) commit(rt *rapid.T) {
	type write struct {
		key    kvstore.Key
		value  string
		life   kvstore.Instant
		remove bool
		unless bool // not if the row is there
	}
	one := rapid.Custom(func(t *rapid.T) write {
		return write{
			drawKey.Draw(t, "key"), drawValue.Draw(t, "value"), rapid.SampledFrom([]kvstore.Instant{0, 0, 1, 5}).Draw(t, "life"),
			rapid.Bool().Draw(t, "remove"), rapid.Bool().Draw(t, "unless"),
		}
	})
	writes := rapid.SliceOfNDistinct(one, 1, 4, func(w write) kvstore.Key { return w.key }).Draw(rt, "writes")
	p.do(rt, func(tx *kvstore.Tx, a *answer) error {
		for _, w := range writes {
			r := tx.Row(w.key)
			a.Seen = append(a.Seen, version(r))
			if w.unless && r != nil {
				continue
			}
			var rev kvstore.Revision
			var err error
			switch {
			case w.remove:
				rev, err = tx.Delete(w.key)
			case w.life == 0:
				rev, err = tx.Put(w.key, []byte(w.value), 0)
			default:
				rev, err = tx.Put(w.key, []byte(w.value), tx.Now()+w.life)
			}
			if err != nil {
				return err
			}
			a.Given = append(a.Given, rev)
		}
		return nil
	})
}

var errRefused = errors.New("refused")

// refuse writes and then refuses, after reading everything in one scope.
func (p *pair) refuse(rt *rapid.T) {
	k, word := drawKey.Draw(rt, "key"), drawValue.Draw(rt, "word")
	p.do(rt, func(tx *kvstore.Tx, a *answer) error {
		for r := range tx.Scan(kvstore.Prefix(kvtest.Family, "s"), k) {
			a.Seen = append(a.Seen, version(r))
		}
		for r := range tx.Index(kvtest.WordIndex, word) {
			a.Seen = append(a.Seen, string(r.Key))
		}
		a.Given = []kvstore.Revision{tx.Stamp("s"), tx.Stamp("t")}
		if _, err := tx.Put(k, []byte("never"), 0); err != nil {
			return err
		}
		return errRefused
	})
}

func (p *pair) advance(rt *rapid.T) {
	p.clock.Advance(time.Duration(rapid.IntRange(1, 4).Draw(rt, "ms")) * time.Millisecond)
}

// expire does what Sweep does when rows have expired.
func (p *pair) expire(rt *rapid.T) {
	p.do(rt, func(tx *kvstore.Tx, a *answer) error {
		for r := range tx.Expired() {
			rev, err := tx.Expire(r)
			if err != nil {
				return err
			}
			a.Seen, a.Given = append(a.Seen, string(r.Key)), append(a.Given, rev)
		}
		return nil
	})
}

func (p *pair) reopen(rt *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(rt, "instance")
	p.stores[i].stop()
	p.stores[i] = p.open()
}

func (p *pair) check(rt *rapid.T) {
	v, err := p.model.View(within(p.stores[0].t), kvstore.ReadOptions{})
	if err != nil {
		rt.Fatal(err)
	}
	for i, s := range p.stores {
		if diff := cmp.Diff(describe(v), describe(s.reaches(v.Revision()))); diff != "" {
			rt.Fatalf("instance %d differs (-model +store):\n%s", i, diff)
		}
	}
}

// describe lists everything that a view can be asked.
func describe(v kvstore.View) []string {
	all := append(kvtest.Dump(v.State()), fmt.Sprint("stamps ", v.Stamp("s"), v.Stamp("t"), ", next expiry ", v.NextExpiry()))
	for r := range v.IndexPrefix(kvtest.WordIndex, "") {
		all = append(all, "indexed "+string(r.Key))
	}
	for r := range v.Expired() {
		all = append(all, "expired "+string(r.Key))
	}
	return all
}
