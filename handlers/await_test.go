package handlers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

func TestAwaitAnswersAtOnceWhatHolds(t *testing.T) { // 6.8, C-13
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	f.reserved("r1", "n1", a)
	made := f.ready("r2", "n1", a)
	revision := f.store.Status().Revision
	for _, c := range []struct {
		why     string
		req     *wire.ObjectAwaitRequest
		missing bool
	}{
		{"settled: it is active", settled("r2"), false},
		{"settled: it is not there", settled("r9"), true},
		{"settled: there is no such actor", settled("a2"), true},
		{"changed: it is there", changed("r2", ""), false},
		{"changed: it has another version", changed("r2", "1"), false},
		{"changed: a text that is no version", changed("r2", "x"), false},
		{"changed: it is not there any more", changed("r9", "7"), true},
	} {
		reply := f.call(subjects.ObjectAwait, payload(t, c.req), nil)
		if c.missing {
			reply.isMissing(revision)
			continue
		}
		got := resultOf[wire.Authority](reply)
		want := f.read("r2")
		if diff := cmp.Diff(want, got); diff != "" || got.StoreVersion != made.StoreVersion {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
	f.call(subjects.ObjectAwait, payload(t, changed("r1", "1")), nil).fields() // one that is reserved has a version too
}

func TestAwaitEndsWithTheCommitThatSettles(t *testing.T) { // 6.8
	t.Parallel()
	f := start(t, nil)
	a, b := f.hosts("n1", "a", 0), f.hosts("n2", "b", 0)
	w := f.waits()

	r1 := f.reserved("r1", "n1", a)
	w.parks(settled("r1"), settled("r1"))
	ready := answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, r1.commit()).Ready
	for range 2 {
		got := w.next().shows(ready.StoreVersion)
		ready.Kind = wire.KindSnapshot
		if diff := cmp.Diff(ready, got); diff != "" {
			t.Errorf("answer (-commit +got):\n%s", diff)
		}
	}

	r2 := f.reserved("r2", "n1", a)
	w.parks(settled("r2"))
	answerTo[wire.ObjectAbortReply](f, subjects.ObjectAbort, r2.abort())
	w.next().isMissing(f.store.Status().Revision)

	a1, a2 := f.reserved("a1", "n1", a), f.reserved("a2", "n1", a)
	w.parks(settled("a1"))
	created := answerTo[wire.ObjectCompleteCreationReply](f, subjects.ObjectCompleteCreation, a1.complete(wire.CompletionCreated, 1, wire.Instant(testT0)))
	got := w.next()
	if v := resultOf[wire.Authority](got).StoreVersion; v != created.Ready.StoreVersion || got.revision() != f.store.Status().Revision.String() {
		t.Errorf("version %s at revision %s, want %s at %d", v, got.revision(), created.Ready.StoreVersion, f.store.Status().Revision)
	}
	w.parks(settled("a2"))
	answerTo[wire.ObjectCompleteCreationReply](f, subjects.ObjectCompleteCreation, a2.complete(wire.CompletionRejected, 2, wire.Instant(testT0)))
	w.next().isMissing(f.store.Status().Revision)

	// An object that is reserved anew, because its reservation has ended, is not settled.
	r3 := f.reserved("r3", "n2", b)
	f.call(subjects.LeaseRelease, payload(t, wire.LeaseReleaseRequest{Token: b}), nil).want(map[string]string{"kind": "released"})
	w.parks(settled("r3"), changed("r3", r3.version))
	again := f.reserved("r3", "n1", a)
	w.next().shows(again.version)
	answerTo[wire.ObjectAbortReply](f, subjects.ObjectAbort, again.abort())
	w.next().isMissing(f.store.Status().Revision)
	w.quiet()
}

func TestAwaitEndsWithTheCommitThatChanges(t *testing.T) { // 6.8
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	w := f.waits()
	w.parks(changed("r1", ""))
	r1 := f.reserved("r1", "n1", a)
	w.next().shows(r1.version)

	w.parks(changed("r1", r1.version))
	v := answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, r1.commit()).Ready.StoreVersion
	w.next().shows(v)

	w.parks(changed("r1", v))
	f.ready("r2", "n1", a) // another object is none of its business
	v = f.exchanged("r1", v, wire.AuthorityPut).StoreVersion
	w.next().shows(v)

	w.parks(changed("r1", v))
	f.exchanged("r1", v, wire.AuthorityDelete)
	w.next().isMissing(f.store.Status().Revision)
	w.quiet()
}

// TestAwaitShowsTheViewInWhichItFirstHeld passes on several commits at once. 6.8, C-13
func TestAwaitShowsTheViewInWhichItFirstHeld(t *testing.T) {
	t.Parallel()
	d := startDelayed(t, nil)
	a := d.hosts("n1", "a", 0)
	r1 := d.reserved("r1", "n1", a)
	d.pass()
	w := d.waits()
	w.parks(settled("r1"), changed("r1", r1.version))
	ready := answerTo[wire.ObjectCommitReply](d.fixture, subjects.ObjectCommit, r1.commit()).Ready
	v := d.exchanged("r1", ready.StoreVersion, wire.AuthorityPut).StoreVersion
	d.exchanged("r1", v, wire.AuthorityDelete)
	d.reserved("r1", "n1", a)
	d.clock.Advance(time.Second)
	w.quiet()
	d.pass()
	for range 2 {
		got := w.next().shows(ready.StoreVersion)
		if string(got.Payload) != "ready" || got.StoreNow != wire.Instant(testT0+1000) {
			t.Errorf("payload %q at %d, want that of the first commit at the time of the reply", got.Payload, got.StoreNow)
		}
	}
}

// TestAwaitDoesNotLookBack has the follower lag behind what the request has to have seen. 6.8
func TestAwaitDoesNotLookBack(t *testing.T) {
	t.Parallel()
	d := startDelayed(t, nil)
	a := d.hosts("n1", "a", 0)
	w := d.waits()
	w.parks(changed("r9", "")) // somebody for whom commits are followed
	d.exchanged("r1", d.ready("r1", "n1", a).StoreVersion, wire.AuthorityDelete)
	again := d.reserved("r1", "n1", a)
	w.send(settled("r1"), headers{wire.HeaderMinRevision: string(again.version)})
	d.parked(2)
	w.quiet()
	d.pass() // it was settled in between, but before the request
	ready := answerTo[wire.ObjectCommitReply](d.fixture, subjects.ObjectCommit, again.commit()).Ready
	d.pass()
	w.next().shows(ready.StoreVersion)
	d.parked(1)
}

func TestAwaitWithMinRevisionWaitsForThatFirst(t *testing.T) { // protocol 1
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	next := f.store.Status().Revision + 1
	w := f.waits()
	w.send(settled("r1"), headers{wire.HeaderMinRevision: next.String()})
	testenv.Eventually(t, patience, func() bool { return f.Counters().InFlight == 1 }, "a request that waits for a revision")
	w.quiet() // there is no such object, but that may change until then
	r1 := f.reserved("r1", "n1", a)
	f.parked(1)
	ready := answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, r1.commit()).Ready
	w.next().shows(ready.StoreVersion)
	w.send(settled("r1"), headers{wire.HeaderMinRevision: "99", wire.HeaderDeadline: fmt.Sprint(testT0 + 5)})
	w.next().refused(wire.CodeDeadlineExceeded, "")
	w.send(settled("r1"), headers{wire.HeaderConsistency: wire.ConsistencyLeader})
	w.next().shows(ready.StoreVersion)
}

// TestEndOfALeaseEndsNoWait: it changes no version. 6.8
func TestEndOfALeaseEndsNoWait(t *testing.T) {
	t.Parallel()
	for why, end := range map[string]func(*fixture, wire.OwnerToken){
		"released": func(f *fixture, a wire.OwnerToken) {
			f.call(subjects.LeaseRelease, payload(f.t, wire.LeaseReleaseRequest{Token: a}), nil).want(map[string]string{"kind": "released"})
		},
		"lapsed": func(f *fixture, a wire.OwnerToken) {
			f.clock.Set(testT0 + 30_000)
			_, err := f.store.Update(f.t.Context(), kvstore.UpdateOptions{}, func(tx *kvstore.Tx) error {
				_, err := tx.Expire(tx.State().Get(domain.LeaseKey(a.OwnerID)))
				return err
			})
			if err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			f := start(t, nil)
			a := f.hosts("n1", "a", 0)
			active, r2 := f.ready("r1", "n1", a), f.reserved("r2", "n1", a)
			w := f.waits()
			w.parks(changed("r1", active.StoreVersion), settled("r2"), changed("r2", r2.version))
			end(f, a)
			if live := f.read("r2").Live; live == nil || *live {
				t.Fatal("the owner is live")
			}
			reply := answerTo[wire.ObjectReleaseEndedReply](f, subjects.ObjectReleaseEnded, r2.releaseEnded())
			if reply.Kind != wire.KindReleased {
				t.Fatalf("release: %+v", reply)
			}
			released := f.store.Status().Revision
			w.next().isMissing(released)
			w.next().isMissing(released)
			f.parked(1)
			w.quiet()
		})
	}
}

func TestAwaitEndsAtItsDeadline(t *testing.T) { // C-13
	t.Parallel()
	f := start(t, func(o *handlers.Options) { o.RequestTimeout = time.Millisecond })
	a := f.hosts("n1", "a", 0)
	r1 := f.reserved("r1", "n1", a)
	w := f.waits()
	w.parks(settled("r1")) // it has the time of a wait, not of a request
	for range 3 {
		w.send(settled("r1"), headers{wire.HeaderDeadline: fmt.Sprint(testT0 + 5)})
		w.next().refused(wire.CodeDeadlineExceeded, "")
	}
	w.send(settled("r1"), headers{wire.HeaderDeadline: fmt.Sprint(testT0)})
	w.next().refused(wire.CodeDeadlineExceeded, "")
	w.send(settled("r1"), headers{wire.HeaderDeadline: fmt.Sprint(int64(1<<63 - 1))})
	f.parked(2)
	w.quiet()
	v := answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, r1.commit()).Ready.StoreVersion
	w.next().shows(v)
	w.next().shows(v)
	want := map[string]uint64{handlers.OutcomeOK: 2, string(wire.CodeDeadlineExceeded): 4}
	if diff := cmp.Diff(want, f.outcomes(subjects.ObjectAwait)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestAwaitWithoutDeadlineHasTheDefault(t *testing.T) { // 1.1
	t.Parallel()
	f := start(t, func(o *handlers.Options) { o.AwaitTimeout = 5 * time.Millisecond })
	f.call(subjects.ObjectAwait, payload(t, changed("r1", "")), nil).refused(wire.CodeDeadlineExceeded, "")
	f.parked(0)
}
