package handlers_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// waits are requests of object.await and what is answered to them, in the order in which it comes.
type waits struct {
	f     *fixture
	inbox string
	sub   *nats.Subscription
	sent  int
}

func (f *fixture) waits() *waits {
	f.t.Helper()
	w := &waits{f: f, inbox: f.client.NewInbox()}
	var err error
	if w.sub, err = f.client.SubscribeSync(w.inbox + ".*"); err != nil {
		f.t.Fatal(err)
	}
	return w
}

// send asks without waiting for the answer, and returns the subject on which it comes.
func (w *waits) send(req *wire.ObjectAwaitRequest, h headers) string {
	w.f.t.Helper()
	m := request(subjects.DefaultPrefix.Operation(subjects.ObjectAwait), []byte(payload(w.f.t, req)), h)
	w.sent++
	m.Reply = fmt.Sprintf("%s.%d", w.inbox, w.sent)
	if err := w.f.client.PublishMsg(m); err != nil {
		w.f.t.Fatal(err)
	}
	return m.Reply
}

// parks sends requests that have to wait.
func (w *waits) parks(requests ...*wire.ObjectAwaitRequest) {
	w.f.t.Helper()
	n := w.f.Counters().Awaiting
	for _, req := range requests {
		w.send(req, nil)
	}
	w.f.parked(n + len(requests))
}

// parked waits until so many requests wait for objects.
func (f *fixture) parked(n int) {
	f.t.Helper()
	testenv.Eventually(f.t, patience, func() bool { return f.Counters().Awaiting == n }, n, "requests wait for objects")
}

// next is the next answer.
func (w *waits) next() answer {
	w.f.t.Helper()
	m, err := w.sub.NextMsg(patience)
	if err != nil {
		w.f.t.Fatalf("next answer: %v", err)
	}
	return answer{w.f.t, m}
}

// quiet fails the test unless everything that was answered has been looked at.
func (w *waits) quiet() {
	w.f.t.Helper()
	w.f.call(subjects.StatusGet, "{}", nil).fields() // the service's replies come in order
	if m, err := w.sub.NextMsg(time.Millisecond); err == nil {
		w.f.t.Errorf("answered %q %q", m.Header, m.Data)
	}
}

// settled waits until an object is there for good or gone.
func settled(id string) *wire.ObjectAwaitRequest {
	return &wire.ObjectAwaitRequest{Key: keyOf(id), Until: wire.AwaitSettled}
}

// changed waits until an object has another version than this, or until it is there at all.
func changed(id string, since wire.Version) *wire.ObjectAwaitRequest {
	return &wire.ObjectAwaitRequest{Key: keyOf(id), Until: wire.AwaitChanged, SinceVersion: since}
}

// shows checks that an answer is the snapshot of a version, as of the commit that made it.
func (a answer) shows(v wire.Version) *wire.Authority {
	a.t.Helper()
	got := resultOf[wire.Authority](a)
	if got.Kind != wire.KindSnapshot || got.StoreVersion != v || a.revision() != string(v) {
		a.t.Errorf("got %s of version %s at revision %s, want the snapshot of version %s", got.Kind, got.StoreVersion, a.revision(), v)
	}
	return got
}

// isMissing checks that an answer is missing, as of a revision.
func (a answer) isMissing(revision kvstore.Revision) {
	a.t.Helper()
	got := resultOf[wire.Authority](a)
	want := wire.Authority{Kind: wire.KindMissing, StoreNow: got.StoreNow}
	if diff := cmp.Diff(&want, got); diff != "" || got.StoreNow == 0 || a.revision() != revision.String() {
		a.t.Errorf("got %+v at revision %s, want missing at %s", got, a.revision(), revision)
	}
}

// delayed is a service whose followers see commits when the test passes them on.
type delayed struct {
	*fixture
	log     *kvstore.Log
	commits *kvstore.Watcher
	// refused is how often the history could not be read from where somebody wanted it.
	refused atomic.Int32
	// broken refuses it every time.
	broken atomic.Bool
}

func startDelayed(t *testing.T, edit func(*handlers.Options)) *delayed {
	t.Helper()
	d := &delayed{log: kvstore.NewLog(0, 64, false)}
	d.fixture = start(t, func(o *handlers.Options) {
		if edit != nil {
			edit(o)
		}
		commits, err := o.Store.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		d.commits = commits
		o.Store = &stub{Store: o.Store, watch: d.watch}
	})
	return d
}

func (d *delayed) watch(after kvstore.Revision) (*kvstore.Watcher, error) {
	if d.broken.Load() {
		d.refused.Add(1)
		return nil, kvstore.ErrResync
	}
	return d.log.Watch(after)
}

// pass lets followers see what was committed.
func (d *delayed) pass() { d.log.Append(d.commits.Ready()...) }

// lose makes it a gap in the history.
func (d *delayed) lose() {
	d.commits.Ready()
	d.log.Reset(d.store.Status().Revision)
}
