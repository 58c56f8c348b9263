package domaintest_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// harm is what happens to a row of an aggregate.
type harm struct {
	name string
	key  func(*group) kvstore.Key
	// to returns the new value of the row; nil removes it.
	to func([]byte) []byte
	// traceless removes it from the log, and leaves no marker.
	traceless bool
}

func aggregateRow(g *group) kvstore.Key { return domain.AggregateKey(g.fence) }

func pageRow(g *group) kvstore.Key {
	return kvstore.NewKey(domain.FamilyInventory, g.fence.AggregateID, "1", "000000")
}

func stagedRowOf(g *group) kvstore.Key {
	return kvstore.NewKey(domain.FamilyParticipant, g.fence.AggregateID, "1", "000001")
}

func cutOff(v []byte) []byte  { return v[:len(v)/2] }
func newer(v []byte) []byte   { return append([]byte{v[0], 2}, v[2:]...) }
func removed([]byte) []byte   { return nil }
func altered(v []byte) []byte { return bytes.Replace(v, []byte("moved "), []byte("Moved "), 1) }

// swapped changes a key within a page, whose digest stays.
func swapped(v []byte) []byte { return bytes.Replace(v, []byte("zla1:a:"), []byte("zla1:b:"), 1) }

var harms = []harm{
	{"page cut off", pageRow, cutOff, false},
	{"page of another version", pageRow, newer, false},
	{"page without its digest", pageRow, swapped, false},
	{"page removed", pageRow, removed, false},
	{"page gone", pageRow, removed, true},
	{"participant cut off", stagedRowOf, cutOff, false},
	{"participant altered", stagedRowOf, altered, false},
	{"participant removed", stagedRowOf, removed, false},
	{"participant gone", stagedRowOf, removed, true},
	{"aggregate cut off", aggregateRow, cutOff, false},
	{"aggregate of another version", aggregateRow, newer, false},
	{"aggregate removed", aggregateRow, removed, false},
	{"aggregate gone", aggregateRow, removed, true},
}

// damage is a store with a group whose aggregate is harmed, and with what has nothing to
// do with it.
type damage struct {
	*testing.T
	bucket
	harm
	*groups
	lived    *instance
	group    *group
	moved    kvstore.Revision // of the commit; 0 if it is not committed
	locked   bool
	aside    *group // prepared
	bystands *wire.Authority
	was      []byte // the value of the row that is harmed
}

func newDamage(t *testing.T, p place, h harm) *damage {
	t.Helper()
	b := newBucket(p)
	d := &damage{T: t, bucket: b, harm: h, lived: b.open()}
	d.groups = newGroups(t, d.lived)
	d.group, d.aside = d.groups.group("-harmed", 2), d.groups.group("-aside", 1)
	d.bystands = d.ready("r9")[0]
	d.asked(d.aside.prepare(true), wire.KindPrepared)
	return d
}

// asked makes a request whose answer is known.
func (d *damage) asked(c command, kind wire.Kind) {
	d.Helper()
	if a := d.answered(c); a.said() != string(kind) {
		d.Fatalf("%s: %s, want %s", c.name, a.said(), kind)
	}
}

// reach brings the aggregate into a state.
func (d *damage) reach(s wire.AggregateState) {
	d.Helper()
	d.asked(d.group.stage(0, len(d.group.all)), wire.KindStaged)
	if s != wire.AggregateCollecting {
		d.asked(d.group.prepare(false), wire.KindPrepared)
		d.locked = true
	}
	if s == wire.AggregateCommitted {
		d.asked(d.group.commit(), wire.KindCommitted)
		d.moved, d.locked = latest(d, d.lived).Revision(), false
	}
}

// happen does the harm.
func (d *damage) happen() {
	d.Helper()
	k := d.key(d.group)
	d.was = slices.Clone(latest(d, d.lived).Row(k).Value)
	if d.traceless {
		d.purge(k)
		return
	}
	d.plant(k, d.harm.to(slices.Clone(d.was)))
}

// plant puts a value in the place of a row; nil removes it.
func (d *damage) plant(k kvstore.Key, value []byte) {
	d.Helper()
	_, err := d.lived.Update(within(d), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) (err error) {
		if value == nil {
			_, err = tx.Delete(k)
		} else {
			_, err = tx.Put(k, value, 0)
		}
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
}

// purge removes all versions of a row from the log.
func (d *damage) purge(k kvstore.Key) {
	d.Helper()
	js, err := jetstream.New(d.connect(d))
	if err != nil {
		d.Fatal(err)
	}
	s, err := js.Stream(within(d), "KV_"+d.bucketName())
	if err != nil {
		d.Fatal(err)
	}
	subject := "$KV." + d.bucketName() + "." + subjects.KeySubject(string(k))
	if err := s.Purge(within(d), jetstream.WithPurgeSubject(subject)); err != nil {
		d.Fatal(err)
	}
}

func (d *damage) bucketName() string { return d.bucket.name }

// check looks at everything through an instance.
func (d *damage) check(when string, s kvstore.Store) {
	d.Helper()
	v := latest(d, s)
	for i := range d.group.keys {
		d.checkRead(when, v, i)
		d.checkPut(when, s, i)
	}
	if !d.traceless && d.moved != 0 && s == kvstore.Store(d.lived) && d.keyIsStaged() {
		if at, err := d.group.seen(v); err != nil || at != d.moved {
			d.Errorf("%s: an instance that has seen the commit reads it as of %d, %v", when, at, err)
		}
	}
	d.checkOthers(when, s, v)
}

// keyIsStaged tells of harm that does not concern the aggregate's row.
func (d *damage) keyIsStaged() bool { return d.key(d.group) != aggregateRow(d.group) }

// checkRead requires that a participant reads as it should, or is lost.
func (d *damage) checkRead(when string, v kvstore.View, i int) {
	d.Helper()
	want := d.group.before[i]
	if d.moved != 0 {
		want = d.group.after(i, d.moved)
	}
	a, err := domain.ReadAuthority(v, &wire.AuthorityReadRequest{Key: d.group.keys[i]})
	var lost *kvstore.DataLostError
	switch {
	case errors.As(err, &lost):
	case err != nil:
		d.Fatal(err)
	case a.StoreVersion != want.StoreVersion || a.OwnerID != want.OwnerID || !bytes.Equal(a.Payload, want.Payload):
		d.Errorf("%s: %s reads as version %s of %s with %q, want version %s of %s with %q", when, want.Key,
			a.StoreVersion, a.OwnerID, a.Payload, want.StoreVersion, want.OwnerID, want.Payload)
	}
}

// errTried ends a transaction that is only to be decided.
var errTried = errors.New("tried")

// tried is what a request would be answered now; nothing is written.
func tried[R any](t testing.TB, s kvstore.Store, rule func(*kvstore.Tx) (*R, error)) (reply *R, err error) {
	t.Helper()
	_, failed := s.Update(within(t), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
		reply, err = rule(tx)
		return errTried
	})
	if !errors.Is(failed, errTried) {
		t.Fatal(failed)
	}
	return reply, err
}

func (d *damage) put(s kvstore.Store, a *wire.Authority) (kind wire.Kind, lost bool) {
	d.Helper()
	k, err := wire.ParseObjectKey(a.Key)
	if err != nil {
		d.Fatal(err)
	}
	reply, err := tried(d, s, func(tx *kvstore.Tx) (*wire.AuthorityCompareExchangeReply, error) {
		return domain.CompareExchangeAuthority(tx, &wire.AuthorityCompareExchangeRequest{
			Key: k, ExpectedStoreVersion: a.StoreVersion,
			Mutation: wire.AuthorityMutation{Kind: wire.AuthorityPut, GenerationTransition: wire.GenerationPreserve},
		})
	})
	var l *kvstore.DataLostError
	switch {
	case errors.As(err, &l):
		return "", true
	case err != nil:
		d.Fatal(err)
	}
	return reply.Kind, false
}

// checkPut requires that a participant that is locked is not changed, and another is, or
// that it is lost.
func (d *damage) checkPut(when string, s kvstore.Store, i int) {
	d.Helper()
	a, want := d.group.before[i], wire.KindStored
	if d.moved != 0 {
		a = d.group.after(i, d.moved)
	}
	if d.locked {
		want = wire.KindConflict
	}
	if kind, lost := d.put(s, a); !lost && kind != want {
		d.Errorf("%s: put of %s is %s, want %s", when, a.Key, kind, want)
	}
	if d.moved == 0 {
		return
	}
	if kind, lost := d.put(s, d.group.before[i]); !lost && kind != wire.KindConflict {
		d.Errorf("%s: put of the old version of %s is %s", when, a.Key, kind)
	}
}

// checkOthers requires that what is outside of the scope goes on as ever. 1.5
func (d *damage) checkOthers(when string, s kvstore.Store, v kvstore.View) {
	d.Helper()
	if kind, lost := d.put(s, d.bystands); lost || kind != wire.KindStored {
		d.Errorf("%s: put of an object aside is %q, lost %t", when, kind, lost)
	}
	if _, err := list[wire.AuthorityListRequest, wire.AuthorityItem](domain.ListAuthorities).whole(v, &wire.AuthorityListRequest{Prefix: "zla1:s:2:r9", Limit: 9}, 9); err != nil {
		d.Errorf("%s: list of an object aside: %v", when, err)
	}
	if _, err := domain.FindObject(v, &wire.ObjectFindRequest{Kind: wire.LookupSpot, GlobalID: "r9"}); err != nil {
		d.Errorf("%s: find of an object aside: %v", when, err)
	}
	reply, err := tried(d, s, func(tx *kvstore.Tx) (*wire.AggregateCommitReply, error) {
		return domain.CommitAggregate(tx, &wire.AggregateCommitRequest{Fence: d.aside.fence})
	})
	if err != nil || reply.Kind != wire.KindCommitted {
		d.Errorf("%s: commit of another aggregate: %+v, %v", when, reply, err)
	}
}

// forget lets the log forget all rows that were removed, as it does after a while.
func (d *damage) forget() {
	d.Helper()
	for tomb := range latest(d, d.lived).State().Tombstones() {
		d.purge(tomb.Key)
	}
}

// commit commits the harmed aggregate.
func (d *damage) commit(s kvstore.Store, state wire.AggregateState) {
	d.Helper()
	a := d.group.commit().do(within(d), s, 0)
	var lost *kvstore.DataLostError
	switch {
	case errors.As(a.Err, &lost):
	case a.Err != nil:
		d.Fatal(a.Err)
	case a.said() == string(wire.KindStale) && (state == wire.AggregateCollecting || d.key(d.group) == aggregateRow(d.group)):
	case d.traceless && s == kvstore.Store(d.lived) && a.said() == string(wire.KindCommitted): // it does not know of the harm
		d.moved, d.locked = a.Revision, false
	case d.moved != 0 && a.said() == string(wire.KindAlreadyCommitted):
	default:
		d.Errorf("commit of a harmed aggregate that is %s: %s", state, a.said())
	}
}

// work does what is due, as the sweep does: what fails does not keep it from the rest.
func (d *damage) work(s kvstore.Store) {
	d.Helper()
	for f, err := range domain.AggregateWork(latest(d, s)) {
		if err == nil {
			_, _, err = workOn(within(d), s, f, kvstore.MaxRevision)
		}
		var lost *kvstore.DataLostError
		if err != nil && !errors.As(err, &lost) {
			d.Fatal(err)
		}
	}
}

// fresh lets an instance that reads the whole log do something.
func (d *damage) fresh(use func(kvstore.Store)) {
	d.Helper()
	s := d.bucket.open()
	defer s.stop()
	use(s)
}

// Whatever happens to the rows of an aggregate: its participants read as they should or
// are lost, never as somebody else's; all the rest goes on. 1.5, 8.2, 8.6
func TestDamagedAggregateNeverMisleads(t *testing.T) {
	testenv.OneGoroutine(t)
	t.Parallel()
	p := oneServer(t)
	for _, h := range harms {
		for _, state := range []wire.AggregateState{wire.AggregateCollecting, wire.AggregatePrepared, wire.AggregateCommitted} {
			t.Run(fmt.Sprintf("%s/%s", h.name, state), func(t *testing.T) {
				t.Parallel()
				own := p
				own.TB = t
				d := newDamage(t, own, h)
				d.reach(state)
				d.happen()
				d.check("damaged, lived", d.lived)
				d.fresh(func(s kvstore.Store) { d.check("damaged, opened", s) })
				d.commit(d.lived, state)
				d.fresh(func(s kvstore.Store) { d.commit(s, state) })
				d.check("commit tried, lived", d.lived)
				d.work(d.lived)
				d.check("worked on, lived", d.lived)
				d.forget()
				d.fresh(func(s kvstore.Store) {
					d.check("worked on, opened", s)
					d.work(s)
					d.check("worked on again, opened", s)
				})
				if d.traceless {
					return
				}
				d.plant(d.key(d.group), d.was)
				d.mended("mended, lived", d.lived)
				d.fresh(func(s kvstore.Store) { d.mended("mended, opened", s) })
			})
		}
	}
}

// mended requires that nothing is lost any more once the row has its old bytes again.
func (d *damage) mended(when string, s kvstore.Store) {
	d.Helper()
	d.check(when, s)
	if s == kvstore.Store(d.lived) && d.keyIsStaged() {
		return // what it could not read when it had to, it does not read again
	}
	if at, err := d.group.seen(latest(d, s)); err != nil || at != d.moved {
		d.Errorf("%s: moved at %d, %v, want %d", when, at, err, d.moved)
	}
}
