package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/handlers/feed"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/kvstore/jetkv"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// directory is one or several whole instances on a NATS server: store, sweep, feed and service. Its fixture's clock and store
// are not used.
type directory struct {
	*fixture
	instances []*whole
}

// whole is an instance with all its parts.
type whole struct {
	id    string
	store *jetkv.Store
	feed  *feed.Feed
	*handlers.Service
}

func startDirectory(t *testing.T, o testenv.ServerOptions, ids ...string) *directory {
	t.Helper()
	node := testenv.Server(t, o)
	d := &directory{fixture: &fixture{t: t, node: node, client: node.Connect(t), log: new(logs)}}
	for _, id := range ids {
		d.join(id)
	}
	return d
}

// join adds an instance.
func (d *directory) join(id string) *whole {
	d.t.Helper()
	js, err := jetstream.New(d.node.Connect(d.t, nats.ReconnectBufSize(-1)))
	if err != nil {
		d.t.Fatal(err)
	}
	f := feed.New(feed.Options{JetStream: js, InstanceID: id, Encoding: wire.JSON})
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if err := f.Ensure(ctx); err != nil {
		d.t.Fatal(err)
	}
	position, err := f.Position(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	i := &whole{id: id, feed: f, store: openStore(d.t, d.node, id, func(o *jetkv.Options) { o.HistoryFrom, o.Hold = position, true })}
	running, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for name, run := range map[string]func() error{
		"sweep": func() error { return kvstore.Sweep(running, i.store, slog.New(slog.DiscardHandler)) },
		"feed":  func() error { return f.Run(running, i.store) },
	} {
		parts.Go(func() {
			if err := run(); !errors.Is(err, context.Canceled) {
				d.t.Errorf("%s of %s: %v", name, id, err)
			}
		})
	}
	d.t.Cleanup(func() { stop(); parts.Wait() })
	i.Service = d.serve(id, i.store, nil)
	if d.Service == nil {
		d.Service = i.Service
	}
	d.instances = append(d.instances, i)
	return i
}

// view is what an instance has once it has seen the last commit.
func (d *directory) view(i *whole) kvstore.View {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	v, err := i.store.View(ctx, kvstore.ReadOptions{Leader: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

// pushed waits until every instance knows that all events are out, and returns them.
func (d *directory) pushed() []change {
	d.t.Helper()
	for _, i := range d.instances {
		rev := d.view(i).Revision()
		testenv.Eventually(d.t, patience, func() bool { return i.feed.Stats().Revision >= rev }, "events out up to", rev)
	}
	return d.changes()
}

// change is one message of the stream.
type change struct {
	what     string // change, kind, scope and id
	revision string
	value    struct { // some fields of the payload
		Revision  string
		StoreTime int64
		RID       any
		MeshName  string
	}
}

func (d *directory) changes() (all []change) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(d.client)
	if err != nil {
		d.t.Fatal(err)
	}
	s, err := js.Stream(ctx, subjects.ChangesStream)
	if err != nil {
		d.t.Fatal(err)
	}
	for seq := s.CachedInfo().State.FirstSeq; seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if err != nil {
			d.t.Fatal(err)
		}
		subject, err := subjects.DefaultPrefix.ParseChange(m.Subject)
		if err != nil {
			d.t.Fatal(err)
		}
		c := change{
			what:     fmt.Sprintf("%s %s %s %q", m.Header.Get(wire.HeaderChange), subject.Kind, subject.Scope, subject.ID),
			revision: m.Header.Get(wire.HeaderRevision),
		}
		if err := json.Unmarshal(m.Data, &c.value); err != nil {
			d.t.Fatal(err)
		}
		if c.value.Revision != c.revision {
			d.t.Errorf("%s: revision %s in the payload, %s in the header", c.what, c.value.Revision, c.revision)
		}
		all = append(all, c)
	}
	return all
}

// whats lists what changed, and fails unless the revisions rise, and rise only where they may.
func (d *directory) whats(all []change, sameRevision ...[]int) (list []string) {
	d.t.Helper()
	for i, c := range all {
		list = append(list, c.what)
		together := slices.ContainsFunc(sameRevision, func(g []int) bool { return slices.Contains(g, i) && slices.Contains(g, i-1) })
		if i > 0 && (c.revision == all[i-1].revision) != together {
			d.t.Errorf("%s at %s after %s at %s, want the same revision: %t", c.what, c.revision, all[i-1].what, all[i-1].revision, together)
		}
	}
	return list
}

// TestLeasesThatEndArePushedOnce has two instances see a lease lapse and another one be released. 13, Z-01, Z-02.
func TestLeasesThatEndArePushedOnce(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one", "two")
	a := d.claim("a")
	d.publish(a, "n1", func(n object) { n["entrySpotId"] = "e1" })
	d.publish(a, "", func(n object) { n["rid"] = object{"hex": "00ff"} })
	d.publish(a, "n1", func(n object) { n["meshName"] = "lab" })
	b := d.claim("b")
	d.publish(b, "b1")
	// None of these is pushed.
	d.call(subjects.StoreWrite, `{"mutations":[{"kind":"put","key":"YQ==","bytes":""}]}`, nil).want(map[string]string{"kind": "applied"})
	d.call(subjects.StoreWrite, `{"mutations":[{"kind":"delete","key":"YQ=="}]}`, nil).want(map[string]string{"kind": "applied"})
	d.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"kind": "conflict"})
	d.call(subjects.LeaseRenew, fmt.Sprintf(`{"token":%s,"leaseTtlMs":30000}`, b), nil).want(map[string]string{"kind": "renewed"})

	renewed := d.call(subjects.LeaseRenew, fmt.Sprintf(`{"token":%s,"leaseTtlMs":300}`, a), nil).want(map[string]string{"kind": "renewed"})
	testenv.Eventually(t, patience, func() bool { return len(d.changes()) > 6 }, "events of the lapse")
	d.call(subjects.LeaseRelease, fmt.Sprintf(`{"token":%s}`, b), nil).want(map[string]string{"kind": "released"})

	all := d.pushed()
	want := []string{
		`upserted owner-lease owner "a"`,
		`upserted mesh-node play "n1"`,
		`upserted mesh-node play "\x00\xff"`,
		`upserted mesh-node lab "n1"`,
		`upserted owner-lease owner "b"`,
		`upserted mesh-node play "b1"`,
		`expired owner-lease owner "a"`,
		`expired mesh-node lab "n1"`,
		`expired mesh-node play "\x00\xff"`,
		`expired mesh-node play "n1"`,
		`removed owner-lease owner "b"`,
		`expired mesh-node play "b1"`,
	}
	if diff := cmp.Diff(want, d.whats(all, []int{6, 7, 8, 9}, []int{10, 11})); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{"hex": "00ff"}, all[2].value.RID); diff != "" {
		t.Errorf("routing id of an event (-want +got):\n%s", diff)
	}
	late := all[6].value.StoreTime - int64(renewed["leaseExpiresAt"].(float64))
	if late < 0 {
		t.Errorf("the lease was taken away %d ms before its expiry", -late)
	}
	t.Logf("the lease was taken away %d ms after its expiry", late) // 100 are allowed; how long it takes is the machine's business
}

// stamps are those of the scopes that the tests write, in words.
func (d *directory) stamps(i *whole) string {
	d.t.Helper()
	var list []string
	for _, scope := range []string{`"meshNode"`, `"meshNode","meshName":"play"`, `"meshNode","meshName":"lab"`, `"ownerLease"`, `"route"`} {
		subject := subjects.DefaultPrefix.Instance(i.id, subjects.ChangeStampGet)
		reply := d.send(subject, []byte(`{"kind":`+scope+`}`), headers{wire.HeaderConsistency: wire.ConsistencyLeader})
		list = append(list, fmt.Sprint(reply.fields()["stamp"]))
	}
	return strings.Join(list, " ")
}

// TestStampsOutliveTheHistory compares an instance that saw everything with one that starts when the store has forgotten the
// removals. 11.
func TestStampsOutliveTheHistory(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one")
	one := d.instances[0]
	a := d.claim("a")
	d.publish(a, "n1")
	d.publish(a, "n2")
	d.publish(a, "n1", func(n object) { n["meshName"] = "lab" })
	d.call(subjects.MeshNodeRemove, `{"meshName":"play","rid":"n1","owner":`+a+`}`, nil).want(map[string]string{"status": "stored"})
	d.call(subjects.LeaseRelease, `{"token":`+a+`}`, nil).want(map[string]string{"kind": "released"})
	b := d.claim("b")
	claimed := d.view(one).Revision()
	for range 70 { // more versions than a bucket keeps
		d.call(subjects.LeaseRenew, `{"token":`+b+`,"leaseTtlMs":30000}`, nil).want(map[string]string{"kind": "renewed"})
	}
	stamps := d.stamps(one)
	if want := fmt.Sprintf("5 5 4 %d 0", claimed); stamps != want {
		t.Errorf("stamps %s, want %s", stamps, want)
	}
	testenv.Eventually(t, patience, func() bool {
		for range d.view(one).State().Tombstones() {
			return false
		}
		return true
	}, "removals are forgotten")
	if got := d.stamps(d.join("two")); got != stamps {
		t.Errorf("stamps %s after a start, want %s", got, stamps)
	}
	if got := d.stamps(one); got != stamps {
		t.Errorf("stamps %s later on, want %s", got, stamps)
	}
}

// TestRenewalsThatRaceAllSucceed sends them to two instances at once. L-09.
func TestRenewalsThatRaceAllSucceed(t *testing.T) {
	t.Parallel()
	d := startDirectory(t, testenv.ServerOptions{}, "one", "two")
	renew := []byte(`{"token":` + d.claim("a") + `,"leaseTtlMs":30000}`)
	replies := make([]answer, 50)
	var wg sync.WaitGroup
	for i := range replies {
		subject := subjects.DefaultPrefix.Instance(d.instances[i%2].id, subjects.LeaseRenew)
		wg.Go(func() { replies[i] = d.send(subject, renew, nil) })
	}
	wg.Wait()
	for _, reply := range replies {
		reply.want(map[string]string{"kind": "renewed"})
	}
	if got := d.view(d.instances[0]).Revision(); got != 51 {
		t.Errorf("revision %d, want one commit for each of the 50 renewals", got)
	}
}

// TestRemoveAllOfManyRows has five times as many as a commit holds. O-04.
func TestRemoveAllOfManyRows(t *testing.T) {
	t.Parallel()
	const rows, limit = 5000, 1000
	d := startDirectory(t, testenv.ServerOptions{MaxBatchSize: limit}, "one")
	store := d.instances[0].store
	if got := store.Limits().CommitRows; got != limit {
		t.Fatalf("commits hold %d rows, want %d", got, limit)
	}
	a, b := d.claim("a"), d.claim("b")
	d.publish(b, "other")
	for from := 0; from < rows; from += limit {
		_, err := store.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			for i := range limit {
				n := nodeOf(t, a, fmt.Sprintf("n%04d", from+i))
				r, err := domain.UpdateMeshNode(tx, &wire.MeshNodeUpdateRequest{Descriptor: n, Intent: wire.IntentTakeover})
				if err != nil || r.Status != wire.StatusStored {
					return fmt.Errorf("%+v: %w", r, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	before := d.view(d.instances[0]).Revision()
	reply := d.call(subjects.OwnerRemoveAll, `{"owner":`+a+`}`, headers{"Zlink-Deadline": "4102444800000"})
	reply.want(map[string]string{"removed": fmt.Sprint(rows)})
	if got, want := reply.revision(), (before + rows).String(); got != want {
		t.Errorf("revision %s, want that of the last commit, %s", got, want)
	}
	d.call(subjects.OwnerRemoveAll, `{"owner":`+a+`}`, nil).want(map[string]string{"removed": "0"})
	list := d.call(subjects.MeshNodeList, page(10, ""), headers{"Zlink-Min-Revision": reply.revision()}).fields()
	if got := rids(list); got != "other" {
		t.Errorf("nodes %s, want other", got)
	}
}

// TestNoRevisionIsLeft goes up to the last revision there is. L-10.
func TestNoRevisionIsLeft(t *testing.T) {
	t.Parallel()
	node := testenv.Server(t, testenv.ServerOptions{})
	f := &fixture{t: t, node: node, client: node.Connect(t), log: new(logs)}
	store := openStore(t, node, "one", func(o *jetkv.Options) { o.FirstRevision = kvstore.MaxRevision - 1 })
	f.Service = f.serve("one", store, nil)
	a := f.claim("a")
	f.publish(a, "n1")
	if got := store.Status().Revision; got != kvstore.MaxRevision {
		t.Fatalf("revision %d, want %d", got, kvstore.MaxRevision)
	}
	for range 2 {
		got := f.call(subjects.LeaseClaim, `{"ownerId":"b","leaseTtlMs":1}`, nil).fields()
		if diff := cmp.Diff(object{"kind": "generationExhausted"}, got); diff != "" {
			t.Errorf("claim (-want +got):\n%s", diff)
		}
	}
	f.call(subjects.LeaseRead, `{"ownerId":"b"}`, nil).want(map[string]string{"kind": "missing"})
	f.call(subjects.MeshNodeUpdate, update(t, a, "n2"), nil).refused(wire.CodeUnavailable, "")
	f.call(subjects.StoreWrite, `{"mutations":[{"kind":"put","key":"YQ==","bytes":""}]}`, nil).refused(wire.CodeUnavailable, "")
	f.call(subjects.OwnerRemoveAll, `{"owner":`+a+`}`, nil).refused(wire.CodeUnavailable, "")
	// What changes nothing needs no revision.
	f.call(subjects.MeshNodeUpdate, update(t, a, "n1"), nil).want(map[string]string{"status": "stored", "generation": kvstore.MaxRevision.String()})
	f.call(subjects.LeaseClaim, claimA, nil).want(map[string]string{"kind": "conflict"})
}
