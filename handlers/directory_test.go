package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// directory is one or several whole instances on a NATS server or a cluster: store, sweeps, feed and service. Its fixture's clock
// and store are not used.
type directory struct {
	*fixture
	nodes     []*testenv.Node // the i-th instance is on the i-th of them, and so on from the first
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
	return startDirectoryOn(t, []*testenv.Node{testenv.Server(t, o)}, ids...)
}

// startDirectoryOn keeps as many replicas of everything as there are servers.
func startDirectoryOn(t *testing.T, nodes []*testenv.Node, ids ...string) *directory {
	t.Helper()
	d := &directory{fixture: &fixture{t: t, node: nodes[0], client: nodes[0].Connect(t), log: new(logs)}, nodes: nodes}
	for _, id := range ids {
		d.join(id)
	}
	return d
}

// join adds an instance.
func (d *directory) join(id string) *whole {
	d.t.Helper()
	node, replicas := d.nodes[len(d.instances)%len(d.nodes)], len(d.nodes)
	js, err := jetstream.New(node.Connect(d.t, nats.ReconnectBufSize(-1)))
	if err != nil {
		d.t.Fatal(err)
	}
	f := feed.New(feed.Options{JetStream: js, InstanceID: id, Encoding: wire.JSON, Replicas: replicas})
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if err := f.Ensure(ctx); err != nil {
		d.t.Fatal(err)
	}
	position, err := f.Position(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	i := &whole{id: id, feed: f, store: openStore(d.t, node, id, func(o *jetkv.Options) {
		o.HistoryFrom, o.Hold, o.Replicas = position, true, replicas
	})}
	running, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for name, run := range map[string]func() error{
		"sweep":      func() error { return kvstore.Sweep(running, i.store, slog.New(slog.DiscardHandler)) },
		"aggregates": func() error { return domain.SweepAggregates(running, i.store, slog.New(d.log)) },
		"feed":       func() error { return f.Run(running, i.store) },
	} {
		parts.Go(func() {
			if err := run(); !errors.Is(err, context.Canceled) {
				d.t.Errorf("%s of %s: %v", name, id, err)
			}
		})
	}
	d.t.Cleanup(func() { stop(); parts.Wait() })
	i.Service = d.serve(id, i.store, func(o *handlers.Options) { o.Conn = node.Connect(d.t) })
	if d.Service == nil {
		d.Service = i.Service
	}
	d.instances = append(d.instances, i)
	d.reach(id)
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
	node := testenv.Server(t, testenv.ServerOptions{MaxBatchSize: limit})
	d := &fixture{t: t, node: node, client: node.Connect(t), log: new(logs)}
	store := openStore(t, node, "one")
	d.Service = d.serve("one", store, nil)
	if got := store.Limits().CommitRows; got != limit {
		t.Fatalf("commits hold %d rows, want %d", got, limit)
	}
	a, b := d.claim("a"), d.claim("b")
	d.publish(b, "other")
	n := nodeOf(t, a, "")
	for from := 0; from < rows; from += limit {
		_, err := store.Update(t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
			for i := range limit {
				n.RID = wire.RID(fmt.Sprintf("n%04d", from+i))
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
	before := store.Status().Revision
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
