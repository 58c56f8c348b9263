package histories_test

import (
	"math/rand/v2"
	"time"

	"github.com/zlink/zlink-nats/instance/instancetest"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
)

// fault is something that goes wrong for a while.
type fault struct {
	name string
	// clustered faults need several servers.
	clustered bool
	// do makes it happen and returns how it is mended.
	do func(*world, *rand.Rand) (mend func())
}

var faults = []fault{
	{"an instance is killed", false, func(w *world, r *rand.Rand) func() {
		place := r.IntN(len(w.instances))
		w.instances[place].kill()
		w.instances[place] = nil
		return func() { w.startInstance(place) }
	}},
	{"an instance is stopped", false, func(w *world, r *rand.Rand) func() {
		place := r.IntN(len(w.instances))
		w.instances[place].Stop()
		w.instances[place] = nil
		return func() { w.startInstance(place) }
	}},
	{"a connection is cut", false, onWay((*way).cut, (*way).heal)},
	{"a connection stands still", false, onWay((*way).pause, (*way).resume)},
	{"replies are lost", false, onWay(func(w *way) { w.dropReplies(true) }, func(w *way) { w.dropReplies(false) })},
	{"a connection is slow", false, func(w *world, r *rand.Rand) func() {
		late := time.Duration(1+r.IntN(120)) * time.Millisecond
		return onWay(func(w *way) { w.delay(late) }, func(w *way) { w.delay(0) })(w, r)
	}},
	{"a server restarts", false, func(w *world, r *rand.Rand) func() {
		n := w.nodes[r.IntN(len(w.nodes))]
		if r.IntN(2) == 0 {
			n.Kill()
		} else {
			n.Stop()
		}
		return func() { w.startServer(n) }
	}},
	{"the leader of the bucket stops", true, stopLeader("KV_" + instancetest.Bucket)},
	{"the leader of the changes stops", true, stopLeader(subjects.ChangesStream)},
	{"the leader of the bucket hands over", true, func(w *world, _ *rand.Rand) func() {
		w.cluster.StepDown(w.t, testenv.GlobalAccount, "KV_"+instancetest.Bucket)
		return func() {}
	}},
}

// onWay makes a fault of the way of an instance, or of that of some callers.
func onWay(harm, mend func(*way)) func(*world, *rand.Rand) func() {
	return func(w *world, r *rand.Rand) func() {
		way := w.ways[r.IntN(len(w.ways))]
		if r.IntN(3) > 0 {
			way = w.instances[r.IntN(len(w.instances))].way
		}
		harm(way)
		return func() { mend(way) }
	}
}

// stopLeader stops the server that leads a stream, in good order or not.
func stopLeader(stream string) func(*world, *rand.Rand) func() {
	return func(w *world, r *rand.Rand) func() {
		leader := w.cluster.WaitStreamLeader(w.t, testenv.GlobalAccount, stream)
		if r.IntN(2) == 0 {
			leader.Kill()
		} else {
			leader.Stop()
		}
		return func() { w.startServer(leader) }
	}
}

// startServer starts a server again, and waits until the streams have all of their replicas: the next fault may take another.
func (w *world) startServer(n *testenv.Node) {
	w.t.Helper()
	if w.cluster == nil {
		n.Start()
		return
	}
	for i := range w.cluster.Len() {
		if w.cluster.Node(i) == n {
			w.cluster.StartNode(i)
		}
	}
	for _, stream := range []string{"KV_" + instancetest.Bucket, subjects.ChangesStream} {
		w.cluster.WaitStreamCurrent(w.t, testenv.GlobalAccount, stream)
	}
}

// disturb lets faults happen one after the other until the time is over, and mends the last.
func (w *world) disturb(r *rand.Rand, rec *recorder, until time.Duration) {
	w.t.Helper()
	for w.more(rec, r, until) {
		f := faults[r.IntN(len(faults))]
		if f.clustered && w.cluster == nil {
			continue
		}
		began := rec.since()
		mend := f.do(w, r)
		w.more(rec, r, until)
		mend()
		w.t.Logf("%v..%v: %s", began.Round(time.Millisecond), rec.since().Round(time.Millisecond), f.name)
	}
}

// more waits until a number of calls have returned, or until a time has passed, both of which the dice tell: half of the calls go
// to an instance that stands still. It tells whether there is time for more.
func (w *world) more(rec *recorder, r *rand.Rand, until time.Duration) bool {
	w.t.Helper()
	calls, enough := rec.done.Load()+int64(20+r.IntN(150)), rec.since()+time.Duration(100+r.IntN(1200))*time.Millisecond
	testenv.Eventually(w.t, patience, func() bool {
		return w.t.Failed() || rec.since() > min(until, enough) || rec.done.Load() > calls
	}, "more calls")
	return rec.since() < until && !w.t.Failed()
}
