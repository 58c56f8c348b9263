package handlers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/zlink/zlink-nats/domain"
	"github.com/zlink/zlink-nats/handlers"
	"github.com/zlink/zlink-nats/kvstore"
	"github.com/zlink/zlink-nats/subjects"
	"github.com/zlink/zlink-nats/testenv"
	"github.com/zlink/zlink-nats/wire"
)

// TestEveryWaitIsAnsweredOnce lets commits race with the arrival of requests and with their deadlines, while the follower ends and
// starts again and again.
func TestEveryWaitIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	const objects, rounds = 8, 40
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	w := f.waits()
	var wg sync.WaitGroup
	for i := range objects {
		id := fmt.Sprintf("r%d", i)
		v := f.ready(id, "n1", a).StoreVersion
		wg.Go(func() {
			for range rounds {
				var both sync.WaitGroup
				var got *wire.Authority
				since := changed(id, v)
				both.Go(func() { got = resultOf[wire.Authority](f.call(subjects.ObjectAwait, payload(t, since), nil)) })
				v = f.exchanged(id, v, wire.AuthorityPut).StoreVersion
				both.Wait()
				if got.StoreVersion != v {
					t.Errorf("%s: answered version %s after %s, want %s", id, got.StoreVersion, since.SinceVersion, v)
				}
			}
		})
	}
	for i := range rounds {
		id := fmt.Sprintf("r%d", i%objects)
		w.send(changed(id, f.read(id).StoreVersion), headers{wire.HeaderDeadline: fmt.Sprint(testT0 + 1)})
	}
	wg.Wait()
	f.parked(0)
	for range rounds {
		w.next()
	}
	w.quiet()
}

func TestStopRefusesWhoWaits(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	f.reserved("r1", "n1", a)
	w := f.waits()
	w.parks(settled("r1"), settled("r1"), changed("r2", ""))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := f.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.next().refused(wire.CodeUnavailable, "")
	}
	if n := f.Counters().Awaiting; n != 0 {
		t.Errorf("%d wait after the stop", n)
	}
}

// TestWaitOfWhoIsGone ends with the change that it is for.
func TestWaitOfWhoIsGone(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	r1 := f.reserved("r1", "n1", a)
	gone := f.node.Connect(t)
	for _, reply := range []string{gone.NewInbox(), ""} {
		m := request(subjects.DefaultPrefix.Operation(subjects.ObjectAwait), []byte(payload(t, settled("r1"))), nil)
		m.Reply = reply
		if err := gone.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	f.parked(2)
	gone.Close()
	answerTo[wire.ObjectCommitReply](f, subjects.ObjectCommit, r1.commit())
	f.parked(0)
	if got := f.outcomes(subjects.ObjectAwait)[handlers.OutcomeOK]; got != 2 {
		t.Errorf("%d answers, want 2", got)
	}
}

// TestWaitSurvivesAGapInTheHistory: it goes on from a view.
func TestWaitSurvivesAGapInTheHistory(t *testing.T) {
	t.Parallel()
	d := startDelayed(t, nil)
	a := d.hosts("n1", "a", 0)
	r1, r2 := d.reserved("r1", "n1", a), d.reserved("r2", "n1", a)
	d.pass()
	w := d.waits()
	w.parks(settled("r1"), settled("r2"), changed("r1", r1.version))
	v := answerTo[wire.ObjectCommitReply](d.fixture, subjects.ObjectCommit, r1.commit()).Ready.StoreVersion
	d.lose()
	w.next().shows(v)
	w.next().shows(v)
	d.parked(1)
	// Nothing comes of a history that cannot be read, until it can.
	d.broken.Store(true)
	d.lose()
	testenv.Eventually(t, patience, func() bool { return d.refused.Load() > 2 }, "history asked for again and again")
	w.quiet()
	d.broken.Store(false)
	v = answerTo[wire.ObjectCommitReply](d.fixture, subjects.ObjectCommit, r2.commit()).Ready.StoreVersion
	d.pass()
	w.next().shows(v)
}

// TestWaitEndsWithAStoreThatFails when there is no history to go on with.
func TestWaitEndsWithAStoreThatFails(t *testing.T) {
	t.Parallel()
	d := startDelayed(t, nil)
	a := d.hosts("n1", "a", 0)
	d.reserved("r1", "n1", a)
	d.pass()
	w := d.waits()
	w.parks(settled("r1"), changed("r2", ""))
	d.reserved("r3", "n1", a) // is in the gap
	d.store.Fail(kvstore.ErrUnavailable)
	d.lose()
	w.next().refused(wire.CodeUnavailable, "")
	w.next().refused(wire.CodeUnavailable, "")
	w.send(settled("r1"), nil)
	w.next().refused(wire.CodeUnavailable, "")
	d.store.Fail(nil)
	w.parks(settled("r1"))
}

func TestWaitForADamagedObject(t *testing.T) { // 1.5
	t.Parallel()
	f := start(t, nil)
	a := f.hosts("n1", "a", 0)
	f.reserved("r1", "n1", a)
	w := f.waits()
	w.parks(settled("r1"), changed("r2", ""))
	put(t, f.store, domain.AuthorityKey(keyOf("r1")), "not a record")
	w.next().refused(wire.CodeDataLost, "")
	f.call(subjects.ObjectAwait, payload(t, settled("r1")), nil).refused(wire.CodeDataLost, "")
	f.parked(1)
	logged := f.log.errors()
	if len(logged) != 2 || logged[0]["key"] != string(domain.AuthorityKey(keyOf("r1"))) || logged[0]["op"] != "object.await" {
		t.Errorf("logged %q", logged)
	}
}

func TestAwaitRefusesBadInput(t *testing.T) { // 1.6
	t.Parallel()
	f := start(t, nil)
	for request, field := range map[string]string{
		`{"key":"zla1:a:01:A","until":"settled"}`:                            "key",
		`{"key":"zla1:a:1:A"}`:                                               "until",
		`{"key":"zla1:a:1:A","until":"ready"}`:                               "until",
		`{"key":"zla1:a:1:A","until":"changed","sinceVersion":""}`:           "sinceVersion",
		`{"key":"zla1:a:1:A","until":"settled","sinceVersion":"1"}`:          "sinceVersion",
		`{"key":{"kind":"actor","globalId":""},"until":"changed"}`:           "key.globalId",
		`{"key":"zla1:a:1:A","until":"changed","sinceVersion":"1","wait":1}`: "wait",
	} {
		f.call(subjects.ObjectAwait, request, nil).refused(wire.CodeInvalidArgument, field)
	}
}
